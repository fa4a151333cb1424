package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const besides = "\nregion: cn-hangzhou\ntls: {certFile: a, keyFile: b}\n"

func TestCredentials(t *testing.T) {
	pod := map[string]string{
		"ALIBABA_CLOUD_ROLE_ARN":          "acs:ram::1:role/pod",
		"ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "acs:ram::1:oidc-provider/ack-rrsa-c1",
		"ALIBABA_CLOUD_OIDC_TOKEN_FILE":   "/var/run/token",
	}
	rrsa := func(change func(*RRSA)) *RRSA {
		r := &RRSA{
			OIDCProviderARN: "acs:ram::1:oidc-provider/ack-rrsa-c1", TokenFile: "/var/run/token",
			Session: Session{RoleARN: "acs:ram::1:role/pod", SessionName: "cloudgateway", DurationSeconds: 3600},
		}
		if change != nil {
			change(r)
		}
		return r
	}
	tests := []struct {
		name string
		file string
		env  map[string]string
		want Credentials
	}{
		{"all of RRSA from the environment", "", pod, Credentials{RRSA: rrsa(nil)}},
		{"RRSA named, the rest from the environment", "credentials: {rrsa: {}}", pod, Credentials{RRSA: rrsa(nil)}},
		{
			"the file wins over the environment",
			"credentials: {rrsa: {roleARN: 'acs:ram::1:role/file', sessionName: me, durationSeconds: 900}}", pod,
			Credentials{RRSA: rrsa(func(r *RRSA) {
				r.Session = Session{RoleARN: "acs:ram::1:role/file", SessionName: "me", DurationSeconds: 900}
			})},
		},
		{
			"a key in the environment comes before RRSA", "",
			map[string]string{"ACCESS_KEY_ID": "x", "ALIBABA_CLOUD_ROLE_ARN": "r", "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "f"},
			Credentials{Environment: true},
		},
		{"the environment does not add a source to a named one", "credentials: {ecsRAMRole: {}}", pod, Credentials{ECSRAMRole: &ECSRAMRole{}}},
		{"token file", "credentials: {stsTokenFile: /token}", nil, Credentials{STSTokenFile: "/token"}},
		{"add-on token file", "credentials: {addonTokenFile: /var/addon/token-config}", nil,
			Credentials{AddonTokenFile: "/var/addon/token-config"}},
		{
			"a role on top of a source from the environment",
			"credentials: {assumeRole: {roleARN: 'acs:ram::2:role/other', externalID: tenant}}", pod,
			Credentials{
				RRSA: rrsa(nil),
				AssumeRole: &AssumeRole{
					Session:    Session{RoleARN: "acs:ram::2:role/other", SessionName: "cloudgateway", DurationSeconds: 3600},
					ExternalID: "tenant",
				},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := Load(write(t, "gateway.yaml", tt.file+besides), "", func(name string) string { return tt.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Credentials, cmp.AllowUnexported(Credentials{})); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentialsReportAllProblems(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{
			"nothing named", "",
			`credentials: none named; set one of accessKey, environment, ecsRAMRole, rrsa, stsTokenFile, addonTokenFile`,
		},
		{
			"two named", "credentials: {stsTokenFile: a, addonTokenFile: b}",
			`credentials: stsTokenFile and addonTokenFile are named; keep one of them`,
		},
		{
			"RRSA outside of a pod", "credentials: {rrsa: {}}",
			`credentials.rrsa.roleARN: is required, e.g. acs:ram::1000000000000001:role/cloudgateway
credentials.rrsa.oidcProviderARN: is required, e.g. acs:ram::1000000000000001:oidc-provider/ack-rrsa-c1
credentials.rrsa.tokenFile: is required`,
		},
		{
			"a bad session", "credentials: {ecsRAMRole: {}, assumeRole: {roleARN: cloudgateway, sessionName: a b, durationSeconds: 60}}",
			`credentials.assumeRole.roleARN: "cloudgateway" is not of the form acs:ram::1000000000000001:role/cloudgateway
credentials.assumeRole.sessionName: "a b" is not 2 to 64 of the characters A-Z a-z 0-9 . @ _ -
credentials.assumeRole.durationSeconds: 60 is not in 900 to 43200`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Load(write(t, "gateway.yaml", tt.file+besides), "", none)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, problems(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// problems gives the text behind the name of the file.
func problems(t *testing.T, err error) string {
	t.Helper()
	_, text, ok := strings.Cut(err.Error(), "gateway.yaml: ")
	if !ok {
		t.Errorf("the error doesn't name the file: %v", err)
	}
	return text
}

func TestSTSEndpoint(t *testing.T) {
	file := write(t, "gateway.yaml", "credentials: {ecsRAMRole: {}}"+besides)
	got, _, err := Load(file, "", func(name string) string {
		return map[string]string{"ALIBABA_CLOUD_STS_ENDPOINT": "https://sts.example"}[name]
	})
	if err != nil || got.Endpoints.STS != "sts.example" {
		t.Errorf("endpoint %q, %v", got.Endpoints.STS, err)
	}
	_, _, err = Load(write(t, "gateway.yaml", "credentials: {ecsRAMRole: {}}\nendpoints: {sts: 'https://sts'}"+besides), "", none)
	if err == nil || !strings.Contains(err.Error(), "endpoints.sts") {
		t.Errorf("error %v", err)
	}
}
