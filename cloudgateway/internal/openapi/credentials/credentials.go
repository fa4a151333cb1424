// Package credentials gets the gateway's cloud credentials, keeps them fresh in the background and never lets them out: they
// print as their AccessKeyId at most.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
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

// file is a Source that others may change at any time and that costs nothing to read, so it is read often.
type file interface{ changesAnyTime() }

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
	case c.expired(now):
		return fmt.Errorf("they expired at %s", c.Expires.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

func (c Credentials) expired(now time.Time) bool {
	return !c.Expires.IsZero() && !now.Before(c.Expires)
}
