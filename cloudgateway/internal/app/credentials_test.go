package app

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// TestEverySourceOfCredentials gets credentials in every way that the configuration knows, with and without a role on top, and
// asks the simulated cloud whom it takes their owner for.
func TestEverySourceOfCredentials(t *testing.T) {
	w := newWorld(t)
	log := slog.New(slog.DiscardHandler)
	endpoints := fmt.Sprintf(
		"\nendpoints: {sts: %q}\nmetadataEndpoint: http://%s\nscheme: HTTP\nregion: cn-hangzhou\ntls: {certFile: a, keyFile: b}\n",
		w.serve("sts"), w.serve("metadata"))
	t.Setenv("ACCESS_KEY_ID", openapisim.DefaultAccessKeyID)
	t.Setenv("ACCESS_KEY_SECRET", openapisim.DefaultAccessKeySecret)

	// Somebody else's session, for the files.
	load := func(t *testing.T, text string) config.Config {
		t.Helper()
		cfg, _, err := config.Load(w.write("credentials.yaml", text+endpoints), "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	exchange := sts.New(cloudConfig(load(t, "credentials: {environment: true}"), log))
	session, err := exchange.AssumeRole(t.Context(),
		credentials.Credentials{AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret},
		config.AssumeRole{Session: config.Session{RoleARN: "acs:ram::1000000000000001:role/files", SessionName: "others"}})
	if err != nil {
		t.Fatal(err)
	}
	w.write("token.json", fmt.Sprintf(`{"AccessKeyId":%q,"AccessKeySecret":%q,"SecurityToken":%q,"Expiration":%q}`,
		session.AccessKeyID, session.AccessKeySecret, session.SecurityToken, session.Expires.Format(time.RFC3339)))
	w.write("token-config", fmt.Sprintf(
		`{"access.key.id":%q,"access.key.secret":%q,"security.token":%q,"expiration":%q,"keyring":%q}`,
		seal(t, session.AccessKeyID), seal(t, session.AccessKeySecret), seal(t, session.SecurityToken),
		session.Expires.UTC().Format(time.RFC3339), keyring))
	w.write("pod-token", podToken())

	const account, role = "acs:ram::1000000000000001:root", "acs:ram::1000000000000001:assumed-role/"
	for _, tt := range []struct{ source, want string }{
		{"accessKey: {idFile: DIR/id, secretFile: DIR/secret}", account},
		{"environment: true", account},
		{"ecsRAMRole: {}", role + "KubernetesWorkerRole/ecs-instance"},
		{
			`rrsa: {roleARN: "acs:ram::1000000000000001:role/pod", oidcProviderARN: ` +
				`"acs:ram::1000000000000001:oidc-provider/x", tokenFile: DIR/pod-token}`,
			role + "pod/cloudgateway",
		},
		{"stsTokenFile: DIR/token.json", role + "files/others"},
		{"addonTokenFile: DIR/token-config", role + "files/others"},
	} {
		source := strings.ReplaceAll(tt.source, "DIR", w.dir)
		name, _, _ := strings.Cut(source, ":")
		for _, tt := range []struct{ name, text, want string }{
			{name, "credentials: {" + source + "}", tt.want},
			{
				name + " and a role", "credentials: {" + source + `, assumeRole: {roleARN: "acs:ram::1000000000000001:role/top", sessionName: me}}`,
				role + "top/me",
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got, err := credentialsSource(load(t, tt.text), exchange).Fetch(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if who, err := exchange.CallerIdentity(t.Context(), got); err != nil || who.ARN != tt.want {
					t.Errorf("the cloud takes them for those of %q, %v; want %q", who.ARN, err, tt.want)
				}
			})
		}
	}
}

const keyring = "0123456789abcdef"

// seal enciphers a value as ACK does for its add-ons.
func seal(t *testing.T, text string) string {
	t.Helper()
	block, err := aes.NewCipher([]byte(keyring))
	if err != nil {
		t.Fatal(err)
	}
	padding := aes.BlockSize - len(text)%aes.BlockSize
	padded := append([]byte(text), bytes.Repeat([]byte{byte(padding)}, padding)...)
	iv := make([]byte, aes.BlockSize)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
	return base64.StdEncoding.EncodeToString(append(iv, padded...))
}

// podToken is a ServiceAccount token for STS.
func podToken() string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	claims := fmt.Sprintf(
		`{"iss":"https://oidc.example","sub":"system:serviceaccount:kube-system:cloudgateway","aud":["sts.aliyuncs.com"],"exp":%d}`,
		time.Now().Add(time.Hour).Unix())
	return encode(`{"alg":"RS256"}`) + "." + encode(claims) + "." + encode("signature")
}
