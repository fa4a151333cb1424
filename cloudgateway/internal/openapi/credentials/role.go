package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

// STS exchanges a proof of identity for the temporary credentials of a role; *sts.Client does.
type STS interface {
	AssumeRole(ctx context.Context, with Credentials, role config.AssumeRole) (Credentials, error)
	AssumeRoleWithOIDC(ctx context.Context, role config.RRSA, token string) (Credentials, error)
}

// RRSA is a Source of the temporary credentials of the RAM role that the pod's ServiceAccount stands for: the token that
// Kubernetes keeps fresh in a file is exchanged at STS. No long-lived secret is involved.
type RRSA struct {
	STS  STS
	Role config.RRSA
}

// Name of the source.
func (RRSA) Name() string { return "rrsa" }

// Fetch reads the token anew each time, because Kubernetes replaces it about every hour.
func (s RRSA) Fetch(ctx context.Context) (Credentials, error) {
	token, err := readWord(s.Role.TokenFile)
	if err != nil {
		return Credentials{}, fmt.Errorf("read the ServiceAccount token: %w", err)
	}
	return s.STS.AssumeRoleWithOIDC(ctx, s.Role, token)
}

// AssumeRole is a Source of the temporary credentials of a RAM role that those of another source may assume.
type AssumeRole struct {
	Base Source
	STS  STS
	Role config.AssumeRole
}

// Name of the source.
func (s AssumeRole) Name() string { return s.Base.Name() + "+assume_role" }

// Fetch gets the newest credentials of the base for each session, so a key that was replaced is used from the next one on.
func (s AssumeRole) Fetch(ctx context.Context) (Credentials, error) {
	with, err := s.Base.Fetch(ctx)
	if err == nil {
		err = with.Usable(time.Now())
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials from %s, to assume role %s with: %w", s.Base.Name(), s.Role.RoleARN, err)
	}
	return s.STS.AssumeRole(ctx, with, s.Role)
}

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
