package sts

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// issuer issues one key over and over.
type issuer struct {
	role, name string // of the last session
	life       time.Duration
	assumed    bool // the caller has a session
}

func (*issuer) Now() time.Time { return epoch }

func (i *issuer) Session(string) (role, name string, ok bool) { return i.role, i.name, i.assumed }

func (*issuer) Exists(role string) bool { return role != "none" }

func (i *issuer) Issue(role, name string, life time.Duration) Credentials {
	i.role, i.name, i.life = role, name, life
	return Credentials{AccessKeyID: "STS.1", AccessKeySecret: "s", SecurityToken: "t", Expiration: epoch.Add(life)}
}

func newCaller(t *testing.T) (*apitest.Caller, *issuer) {
	t.Helper()
	i := &issuer{}
	return apitest.New(t, Product(i), state.New(apitest.Region, apitest.Account)), i
}

const role = "acs:ram::" + apitest.Account + ":role/Gateway"

func TestAssumeRole(t *testing.T) {
	t.Parallel()
	c, i := newCaller(t)
	want := map[string]any{
		"AssumedRoleUser": map[string]any{
			"AssumedRoleId": RoleID(apitest.Account, "gateway") + ":me", "Arn": "acs:ram::" + apitest.Account + ":assumed-role/gateway/me",
		},
		"Credentials": map[string]any{
			"AccessKeyId": "STS.1", "AccessKeySecret": "s", "SecurityToken": "t", "Expiration": "2026-01-01T12:15:00Z",
		},
	}
	got := c.Must("AssumeRole", "RoleArn", role, "RoleSessionName", "me", "DurationSeconds", "900")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	c.Must("AssumeRole", "RoleArn", role, "RoleSessionName", "me")
	if i.life != time.Hour {
		t.Errorf("a session of %v by default", i.life)
	}
}

// token is a token with claims; what is nil is left out.
func token(t *testing.T, issuer, subject, audience any, expires time.Time) string {
	t.Helper()
	claims := map[string]any{"iss": issuer, "sub": subject, "aud": audience, "exp": expires.Unix()}
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".c2ln"
}

func TestAssumeRoleWithOIDC(t *testing.T) {
	t.Parallel()
	for _, aud := range []any{"sts.aliyuncs.com", []string{"kubernetes", "sts.aliyuncs.com"}} {
		c, i := newCaller(t)
		got := c.Must("AssumeRoleWithOIDC", "RoleArn", role, "RoleSessionName", "pod",
			"OIDCProviderArn", "acs:ram::"+apitest.Account+":oidc-provider/x", "OIDCToken", token(t, "https://x", "pod", aud,
				epoch.Add(time.Second)))
		if info, ok := got["OIDCTokenInfo"].(map[string]any); !ok || info["Subject"] != "pod" || info["Issuer"] != "https://x" {
			t.Errorf("answer %v", got)
		}
		if i.role != "gateway" || i.name != "pod" {
			t.Errorf("a session %q of %q", i.name, i.role)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	provider := "acs:ram::" + apitest.Account + ":oidc-provider/x"
	good := token(t, "https://x", "pod", audience, epoch.Add(time.Hour))
	with := func(provider, token string) []string {
		return []string{"RoleArn", role, "RoleSessionName", "me", "OIDCProviderArn", provider, "OIDCToken", token}
	}
	tests := []struct {
		name, action string
		params       []string
		want         string
	}{
		{"no role", "AssumeRole", []string{"RoleSessionName", "me"}, "MissingParameter"},
		{"no name", "AssumeRole", []string{"RoleArn", role}, "MissingParameter"},
		{"role of another account", "AssumeRole", []string{"RoleArn", "acs:ram::2:role/x", "RoleSessionName", "me"}, "InvalidParameter.RoleArn"},
		{"bad name", "AssumeRole", []string{"RoleArn", role, "RoleSessionName", "a b"}, "InvalidParameter.RoleSessionName"},
		{"too short", "AssumeRole", []string{"RoleArn", role, "RoleSessionName", "me", "DurationSeconds", "899"}, "InvalidParameter"},
		{"no token", "AssumeRoleWithOIDC", with(provider, "")[:6], "MissingParameter"},
		{
			"role of another account", "AssumeRoleWithOIDC", append(with(provider, good), "RoleArn", "acs:ram::2:role/x"),
			"InvalidParameter.RoleArn",
		},
		{"bad name", "AssumeRoleWithOIDC", append(with(provider, good), "RoleSessionName", "a b"), "InvalidParameter.RoleSessionName"},
		{"no such role", "AssumeRoleWithOIDC", append(with(provider, good), "RoleArn",
			"acs:ram::"+apitest.Account+":role/none"), "EntityNotExist.Role"},
		{"provider of another account", "AssumeRoleWithOIDC", with("acs:ram::2:oidc-provider/x", good), "EntityNotExist.OIDCProvider"},
		{"two parts", "AssumeRoleWithOIDC", with(provider, "a.b"), "AuthenticationFail.OIDCToken.Invalid"},
		{"not base64", "AssumeRoleWithOIDC", with(provider, "a.?.c"), "AuthenticationFail.OIDCToken.Invalid"},
		{"not JSON", "AssumeRoleWithOIDC", with(provider, "a.YQ.c"), "AuthenticationFail.OIDCToken.Invalid"},
		{"nobody's token", "AssumeRoleWithOIDC", with(provider, token(t, "https://x", nil, audience, epoch.Add(1))),
			"AuthenticationFail.OIDCToken.Invalid"},
		{"token at its end", "AssumeRoleWithOIDC", with(provider, token(t, "https://x", "pod", audience, epoch)),
			"AuthenticationFail.OIDCToken.Expired"},
		{
			"token for others", "AssumeRoleWithOIDC", with(provider, token(t, "https://x", "pod", "kubernetes", epoch.Add(time.Hour))),
			"AuthenticationFail.OIDCToken.AudienceNotMatch",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, i := newCaller(t)
			if _, code := c.Call(tt.action, tt.params...); code != tt.want {
				t.Errorf("code %q, want %q", code, tt.want)
			}
			if i.name != "" {
				t.Error("a key was issued nevertheless")
			}
		})
	}
}

func TestGetCallerIdentity(t *testing.T) {
	t.Parallel()
	c, i := newCaller(t)
	if got := c.Must("GetCallerIdentity"); got["Arn"] != "acs:ram::"+apitest.Account+":root" || got["IdentityType"] != "Account" {
		t.Errorf("of the account: %v", got)
	}
	*i = issuer{role: "gateway", name: "me", assumed: true}
	if got := c.Must("GetCallerIdentity"); got["Arn"] != "acs:ram::"+apitest.Account+":assumed-role/gateway/me" ||
		got["IdentityType"] != "AssumedRoleUser" {
		t.Errorf("of a session: %v", got)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("e30.eyJpc3MiOiJ4Iiwic3ViIjoieSIsImF1ZCI6WyJ6Il0sImV4cCI6MX0.c2ln")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := parseToken(text); ok && (c.Issuer == "" || c.Subject == "") {
			t.Errorf("%q is nobody's", text)
		}
	})
}

// TestOnlyTheExchangeIsUnsigned: everything else needs an AccessKey.
func TestOnlyTheExchangeIsUnsigned(t *testing.T) {
	t.Parallel()
	var unsigned []string
	for _, a := range Product(&issuer{}).Actions {
		if a.Unsigned {
			unsigned = append(unsigned, a.Name)
		}
	}
	if diff := cmp.Diff([]string{"AssumeRoleWithOIDC"}, unsigned); diff != "" {
		t.Errorf("unsigned (-want +got):\n%s", diff)
	}
}

// EntityNotExist.Role is what the documents of AssumeRole list for a role that is not there. Each role has an id of its own.
func TestRoles(t *testing.T) {
	t.Parallel()
	c, _ := newCaller(t)
	if _, code := c.Call("AssumeRole", "RoleArn", "acs:ram::"+apitest.Account+":role/none", "RoleSessionName",
		"me"); code != "EntityNotExist.Role" {
		t.Errorf("a role that is not there: %q", code)
	}
	id := func(role string) any {
		answer := c.Must("AssumeRole", "RoleArn", "acs:ram::"+apitest.Account+":role/"+role, "RoleSessionName", "me")
		return answer["AssumedRoleUser"].(map[string]any)["AssumedRoleId"]
	}
	if id("a") == id("b") || id("a") != id("A") {
		t.Errorf("ids of roles: %v, %v, %v", id("a"), id("b"), id("A"))
	}
}
