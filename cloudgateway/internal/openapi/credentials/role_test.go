package credentials

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// exchange is an STS that notes what it is asked.
type exchange struct{ asked []string }

func (e *exchange) AssumeRole(_ context.Context, with Credentials, role config.AssumeRole) (Credentials, error) {
	e.asked = append(e.asked, with.AccessKeyID+" for "+role.RoleARN)
	return Credentials{AccessKeyID: "STS.role", AccessKeySecret: "s", SecurityToken: "t"}, nil
}

func (e *exchange) AssumeRoleWithOIDC(_ context.Context, role config.RRSA, token string) (Credentials, error) {
	e.asked = append(e.asked, token+" of "+role.OIDCProviderARN+" for "+role.RoleARN)
	return Credentials{AccessKeyID: "STS.oidc", AccessKeySecret: "s", SecurityToken: "t"}, nil
}

func TestRRSA(t *testing.T) {
	sts := &exchange{}
	source := RRSA{STS: sts, Role: config.RRSA{Session: config.Session{RoleARN: "role"}, OIDCProviderARN: "provider",
		TokenFile: put(t, "token\n")}}
	if got, err := source.Fetch(t.Context()); got.AccessKeyID != "STS.oidc" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"token of provider for role"}, sts.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	source.Role.TokenFile = "/none"
	if _, err := source.Fetch(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "read the ServiceAccount token: open /none") {
		t.Errorf("no token: %v", err)
	}
}

func TestAssumeRole(t *testing.T) {
	sts := &exchange{}
	base := &source{life: time.Hour, begin: time.Now()}
	role := AssumeRole{Base: base, STS: sts, Role: config.AssumeRole{Session: config.Session{RoleARN: "role"}}}
	if role.Name() != "test+assume_role" {
		t.Errorf("name %q", role.Name())
	}
	for range 2 {
		if got, err := role.Fetch(t.Context()); got.AccessKeyID != "STS.role" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if diff := cmp.Diff([]string{"key-1 for role", "key-2 for role"}, sts.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	base.failWith(errors.New("connection refused"))
	_, err := role.Fetch(t.Context())
	if want := "credentials from test, to assume role role with: connection refused"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
