// Package credentials gets the gateway's cloud credentials, keeps them fresh in the background and never lets them out: they
// print as their AccessKeyId at most.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
)

// Credentials sign requests. Long-lived keys have neither SecurityToken nor Expires. The names in JSON are those of STS and of the metadata
// service.
type Credentials struct {
	AccessKeyID     string `json:"AccessKeyId"`
	AccessKeySecret string
	SecurityToken   string
	// Expires is the end of their validity; zero: never.
	Expires time.Time `json:"Expiration"`
}

// Source knows where credentials come from. Fetch is called by one goroutine at a time.
type Source interface {
	// Name is for logs and metrics, e.g. "ecs_ram_role".
	Name() string
	// Fetch gets the newest credentials.
	Fetch(ctx context.Context) (Credentials, error)
}

// String hides the secrets from fmt.
func (c Credentials) String() string {
	if c.AccessKeyID == "" {
		return "no credentials"
	}
	return "credentials " + c.AccessKeyID
}

// GoString hides the secrets from %#v.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the secrets from slog.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText hides the secrets from encoders, and keeps a mistake from becoming a leak.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Usable refuses credentials that can't sign anything.
func (c Credentials) Usable(now time.Time) error {
	switch {
	case c.AccessKeyID == "":
		return errors.New("the AccessKey id is empty")
	case c.AccessKeySecret == "":
		return errors.New("the AccessKey secret is empty")
	case !c.Expires.IsZero() && !now.Before(c.Expires):
		return fmt.Errorf("they expired at %s", c.Expires.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

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
