package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

// MetadataReader reads an item of the instance metadata; *metadata.Client does.
type MetadataReader interface {
	Get(ctx context.Context, item string) (string, error)
}

// ECSRole is a Source of the temporary credentials of the RAM role that is attached to the ECS instance.
type ECSRole struct {
	Metadata MetadataReader
	// Role is the role's name; empty: the metadata service is asked for it.
	Role string
}

// Name of the source.
func (ECSRole) Name() string { return "ecs_ram_role" }

// Fetch asks the metadata service.
func (s ECSRole) Fetch(ctx context.Context) (Credentials, error) {
	const list = "ram/security-credentials/"
	role := s.Role
	if role == "" {
		text, err := s.Metadata.Get(ctx, list)
		if errors.Is(err, metadata.ErrNotFound) {
			return Credentials{}, errors.New("the ECS instance has no RAM role; attach one, or configure an AccessKey")
		}
		if err != nil {
			return Credentials{}, fmt.Errorf("find the instance's RAM role: %w", err)
		}
		role, _, _ = strings.Cut(text, "\n")
	}
	text, err := s.Metadata.Get(ctx, list+url.PathEscape(role))
	if errors.Is(err, metadata.ErrNotFound) {
		return Credentials{}, fmt.Errorf("the RAM role %q is not attached to the ECS instance", role)
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("get the credentials of RAM role %q: %w", role, err)
	}
	return parseTemporary(fmt.Sprintf("credentials of RAM role %q", role), []byte(text))
}
