package sts_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/proto/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSessionOverItsLife: an assumed role is renewed when a third of the session is left; while STS fails, the old session is
// used to its end; and everything comes back by itself.
func TestSessionOverItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		provider := w.run(credentials.AssumeRole{Base: key{}, STS: w.sts, Role: role()})
		first := w.mustCall(provider)
		if !strings.HasPrefix(first, "STS.") {
			t.Fatalf("the call was signed with %s", first)
		}
		after(39 * time.Minute)
		if got := w.mustCall(provider); got != first {
			t.Errorf("renewed after less than two thirds of the session")
		}
		after(2 * time.Minute)
		second := w.mustCall(provider)
		if second == first || w.count("AssumeRole") != 2 {
			t.Errorf("not renewed after two thirds, or too often: %d sessions", w.count("AssumeRole"))
		}

		w.inject(fault.Rule{Product: "sts", Drop: true})
		after(58 * time.Minute) // 59 of 60 are over
		if got := w.mustCall(provider); got != second {
			t.Errorf("while STS is away: %s, want the second session", got)
		}
		after(time.Minute)
		if _, err := w.call(provider); err == nil || !strings.Contains(err.Error(), "no valid cloud credentials from key+assume_role") {
			t.Errorf("after the session's end: %v", err)
		}
		w.inject()
		after(time.Minute)
		if got := w.mustCall(provider); got == second {
			t.Error("still the session that has ended")
		}
	})
}

// TestReplacedKey: who replaces the files of an AccessKey need not restart anything, and need not wait for the next look at
// the files either, since a key that the cloud does not know makes the gateway look.
func TestReplacedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		dir := t.TempDir()
		files := credentials.Files{IDFile: filepath.Join(dir, "id"), SecretFile: filepath.Join(dir, "secret")}
		write := func(id, secret string) {
			for path, text := range map[string]string{files.IDFile: id, files.SecretFile: secret} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		write("LTAIdeleted", "old")
		provider := w.run(files)
		if _, err := w.call(provider); rpcerr.ReasonOf(err) != rpcerr.CloudCredentials {
			t.Errorf("with a key that was deleted: %v", err)
		}
		write(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
		after(6 * time.Second)
		if got := w.mustCall(provider); got != openapisim.DefaultAccessKeyID {
			t.Errorf("signed with %s", got)
		}
	})
}

// token makes a ServiceAccount token.
func token(audience string, expires time.Time) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return encode(`{"alg":"RS256"}`) + "." + encode(fmt.Sprintf(
		`{"iss":"https://oidc.example","sub":"system:serviceaccount:kube-system:cloudgateway","aud":[%q],"exp":%d}`, audience, expires.Unix(),
	)) + "." + encode("signature")
}

// TestRRSAOverTheLifeOfTheToken: Kubernetes replaces the token in the file, and each session takes the one that is there.
func TestRRSAOverTheLifeOfTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		file := filepath.Join(t.TempDir(), "token")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(token("sts.aliyuncs.com", time.Now().Add(time.Hour)))
		provider := w.run(credentials.RRSA{STS: w.sts, Role: rrsa(providerARN, file)})
		first := w.mustCall(provider)
		if c, err := provider.Current(); err != nil || time.Until(c.Expires) != time.Hour {
			t.Errorf("%v ends in %v, %v", c, time.Until(c.Expires), err)
		}
		after(41 * time.Minute)
		second := w.mustCall(provider)
		if second == first {
			t.Error("not renewed")
		}
		after(40 * time.Minute) // the token's hour is over
		if got := w.mustCall(provider); got != second {
			t.Error("the old session is not used although it has not ended")
		}
		after(20 * time.Minute)
		if err := provider.Ready(); err == nil || !strings.Contains(err.Error(), "Kubernetes did not replace the token") {
			t.Errorf("after the end: %v", err)
		}
		write(token("sts.aliyuncs.com", time.Now().Add(time.Hour)))
		after(time.Minute)
		if got := w.mustCall(provider); got == second {
			t.Error("still the session that has ended")
		}
		for _, call := range w.sim.Calls(0) {
			if call.Action == "AssumeRoleWithOIDC" && call.Params["AccessKeyId"] != "" {
				t.Error("the exchange was signed")
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	refuse := func(status int, code string) fault.Rule {
		return fault.Rule{Product: "sts", Error: &fault.Error{Status: status, Code: code, Message: "refused"}}
	}
	good := func() string { return token("sts.aliyuncs.com", time.Now().Add(time.Hour)) }
	tests := []struct {
		name  string
		fault []fault.Rule
		do    func(ctx context.Context, c *sts.Client) error
		want  []string
	}{
		{
			name: "no such role", fault: []fault.Rule{refuse(404, "EntityNotExist.Role")}, do: assume(role()),
			want: []string{"assume role " + roleARN, "EntityNotExist.Role", "check the name and the account in roleARN"},
		},
		{
			name: "not trusted", fault: []fault.Rule{refuse(403, "NoPermission")}, do: assume(role()),
			want: []string{"NoPermission", "the role's trust policy must name this identity"},
		},
		{
			name: "role of another account",
			do:   assume(config.AssumeRole{Session: config.Session{RoleARN: "acs:ram::2:role/x", SessionName: "gateway"}}),
			want: []string{"InvalidParameter.RoleArn"},
		},
		{
			name: "too long", do: assume(config.AssumeRole{Session: config.Session{RoleARN: roleARN, SessionName: "gateway",
				DurationSeconds: 86400}}),
			want: []string{"assume role", "DurationSeconds"},
		},
		{
			name: "ServiceAccount not trusted", fault: []fault.Rule{refuse(403, "AuthenticationFail.NoPermission")}, do: exchange(good, providerARN),
			want: []string{"with the ServiceAccount token", "oidc:sub"},
		},
		{
			name: "token for another audience", do: exchange(func() string { return token("kubernetes", time.Now().Add(time.Hour)) }, providerARN),
			want: []string{"AuthenticationFail.OIDCToken.AudienceNotMatch", "the audience sts.aliyuncs.com"},
		},
		{
			name: "not a token", do: exchange(func() string { return "x.y" }, providerARN), want: []string{"AuthenticationFail.OIDCToken.Invalid"},
		},
		{
			name: "no such provider", do: exchange(good, "acs:ram::2:oidc-provider/x"),
			want: []string{"EntityNotExist.OIDCProvider", "enable RRSA for the cluster"},
		},
		{
			name: "STS fails", fault: []fault.Rule{refuse(503, "ServiceUnavailable")}, do: exchange(good, providerARN),
			want: []string{"ServiceUnavailable"},
		},
		{
			name: "connection lost", fault: []fault.Rule{{Product: "sts", Drop: true}}, do: exchange(good, providerARN), want: []string{"EOF"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.inject(tt.fault...)
				err := tt.do(t.Context(), w.sts)
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q lacks %q", err, want)
					}
				}
				for _, secret := range []string{"eyJ", "Signature=", openapisim.DefaultAccessKeySecret} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("error %q holds %q", err, secret)
					}
				}
			})
		})
	}
}

func assume(r config.AssumeRole) func(context.Context, *sts.Client) error {
	return func(ctx context.Context, c *sts.Client) error {
		with, err := key{}.Fetch(ctx)
		if err != nil {
			return err
		}
		_, err = c.AssumeRole(ctx, with, r)
		return err
	}
}

func exchange(token func() string, provider string) func(context.Context, *sts.Client) error {
	return func(ctx context.Context, c *sts.Client) error {
		_, err := c.AssumeRoleWithOIDC(ctx, rrsa(provider, ""), token())
		return err
	}
}

// TestTokenIsNowhereWritten: what proves the pod's identity lies in the body only, and the simulated cloud keeps none of it.
func TestTokenIsNowhereWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if _, err := w.sts.AssumeRoleWithOIDC(t.Context(), rrsa(providerARN, ""),
			token("sts.aliyuncs.com", time.Now().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		for _, call := range w.sim.Calls(0) {
			if text := fmt.Sprint(call.Params); strings.Contains(text, "eyJ") {
				t.Errorf("the journal holds the token: %s", text)
			}
		}
	})
}

func TestCallerIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		with, err := key{}.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.sts.CallerIdentity(t.Context(), with); err != nil || got.ARN != "acs:ram::1000000000000001:root" {
			t.Errorf("%+v, %v", got, err)
		}
		session, err := w.sts.AssumeRole(t.Context(), with, config.AssumeRole{Session: config.Session{RoleARN: roleARN,
			SessionName: "gateway"}, ExternalID: "tenant"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.sts.CallerIdentity(t.Context(), session); err != nil ||
			got.ARN != "acs:ram::1000000000000001:assumed-role/gateway/gateway" {
			t.Errorf("%+v, %v", got, err)
		}
		for _, call := range w.sim.Calls(0) {
			if call.Action == "AssumeRole" && (call.Params["ExternalId"] != "tenant" || call.Params["DurationSeconds"] != "") {
				t.Errorf("parameters %v", call.Params)
			}
		}
	})
}

// TestRefusedSignatureShowsNoToken: the cloud quotes what it signed, and with it the security token.
func TestRefusedSignatureShowsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		with, err := key{}.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		session, err := w.sts.AssumeRole(t.Context(), with, role())
		if err != nil {
			t.Fatal(err)
		}
		session.AccessKeySecret = "another"
		_, err = w.sts.CallerIdentity(t.Context(), session)
		if rpcerr.ReasonOf(err) != rpcerr.CloudCredentials || strings.Contains(err.Error(), session.SecurityToken[:16]) {
			t.Errorf("error %v", err)
		}
	})
}
