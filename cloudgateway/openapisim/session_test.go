package openapisim_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

func TestTemporaryKeys(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(-10 * time.Minute) // so that the end of the session lies within the skew that is allowed
	sim := newCloud(t, openapisim.Config{Now: func() time.Time { return now }, SessionDuration: 900 * time.Second})
	answer := newClient(t, sim).must("sts", "AssumeRole", "RoleArn", "acs:ram::1000000000000001:role/reader",
		"RoleSessionName", "me", "DurationSeconds", "900")
	text := func(name string) string { return at(t, answer, "Credentials", name).(string) }
	id, secret, token := text("AccessKeyId"), text("AccessKeySecret"), text("SecurityToken")
	tests := []struct {
		name   string
		client *client
		want   string
	}{
		{"token", newClientWith(t, sim, credentials.NewStsTokenCredential(id, secret, token)), ""},
		{"wrong token", newClientWith(t, sim, credentials.NewStsTokenCredential(id, secret, "x")), "InvalidSecurityToken.Malformed"},
		{"no token", newClientWith(t, sim, credentials.NewAccessKeyCredential(id, secret)), "MissingSecurityToken"},
		{
			"token of another key", newClientWith(t, sim, credentials.NewStsTokenCredential(openapisim.DefaultAccessKeyID,
				openapisim.DefaultAccessKeySecret, token)),
			"InvalidSecurityToken.MismatchWithAccessKey",
		},
	}
	for _, tt := range tests {
		if _, code := tt.client.call("ecs", "DescribeInstances"); code != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, code, tt.want)
		}
	}
	who := tests[0].client.must("sts", "GetCallerIdentity")
	if who["IdentityType"] != "AssumedRoleUser" || who["Arn"] != "acs:ram::1000000000000001:assumed-role/reader/me" {
		t.Errorf("caller %v", who)
	}
	if who := newClient(t, sim).must("sts", "GetCallerIdentity"); who["IdentityType"] != "Account" || who["AccountId"] != "1000000000000001" {
		t.Errorf("caller %v", who)
	}
	for _, call := range sim.Calls(0) {
		for name, value := range call.Params {
			if name == "SecurityToken" || name == "Signature" || strings.Contains(value, token) {
				t.Errorf("secret in the journal: %s", name)
			}
		}
	}
	ends := map[string]*client{"assumed role": tests[0].client, "role of an instance": newClientWith(t, sim, instanceKey(t, sim))}
	sim.Advance(24 * time.Hour) // the virtual clock has nothing to do with it
	expect := func(when, want string) {
		for name, c := range ends {
			if _, code := c.call("ecs", "DescribeInstances"); code != want {
				t.Errorf("%s, %s: %q, want %q", name, when, code, want)
			}
		}
	}
	now = now.Add(900*time.Second - 1)
	expect("just before the end", "")
	now = now.Add(1)
	expect("at the end", "InvalidSecurityToken.Expired")
}

// instanceKey is a temporary key from the metadata service.
func instanceKey(t *testing.T, sim *openapisim.Simulator) auth.Credential {
	t.Helper()
	w := httptest.NewRecorder()
	sim.Handler("metadata").ServeHTTP(w, httptest.NewRequest(http.MethodGet,
		"/latest/meta-data/ram/security-credentials/KubernetesWorkerRole", nil))
	var key struct{ AccessKeyID, AccessKeySecret, SecurityToken string }
	if err := json.Unmarshal(w.Body.Bytes(), &key); err != nil || key.SecurityToken == "" {
		t.Fatalf("no key in %s: %v", w.Body, err)
	}
	return credentials.NewStsTokenCredential(key.AccessKeyID, key.AccessKeySecret, key.SecurityToken)
}
