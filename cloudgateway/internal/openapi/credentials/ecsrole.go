package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

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
	return parseRole(role, text)
}

func parseRole(role, text string) (Credentials, error) {
	var answer struct {
		Code            string
		AccessKeyID     string `json:"AccessKeyId"`
		AccessKeySecret string
		SecurityToken   string
		Expiration      time.Time
	}
	// The decoder's error could quote the answer, and with it a secret.
	if json.Unmarshal([]byte(text), &answer) != nil {
		return Credentials{}, fmt.Errorf("the credentials of RAM role %q are not the JSON document that was expected", role)
	}
	if answer.Code != "" && answer.Code != "Success" {
		return Credentials{}, fmt.Errorf("the credentials of RAM role %q: the metadata service answered %s", role, answer.Code)
	}
	if answer.SecurityToken == "" || answer.Expiration.IsZero() {
		return Credentials{}, fmt.Errorf("the credentials of RAM role %q lack SecurityToken or Expiration", role)
	}
	return Credentials{
		AccessKeyID: answer.AccessKeyID, AccessKeySecret: answer.AccessKeySecret,
		SecurityToken: answer.SecurityToken, Expires: answer.Expiration,
	}, nil
}
