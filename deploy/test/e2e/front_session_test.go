package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// sessionTool calls the front of a world, with its certificate's authority.
type sessionTool struct {
	url, id, secret, token string
	client                 *http.Client
}

func (c sessionTool) ask(ctx context.Context, params map[string]string) (status int, answer map[string]any, err error) {
	form := url.Values{}
	for name, value := range params {
		form.Set(name, value)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return res.StatusCode, answer, err
}

// call signs with version 1, as the cloud's documents say.
func (c sessionTool) signed(ctx context.Context, version, action string) (status int, answer map[string]any, err error) {
	params := map[string]string{"Action": action, "Version": version, "Format": "JSON", "AccessKeyId": c.id, "SignatureMethod": "HMAC-SHA1",
		"SignatureVersion": "1.0", "SignatureNonce": rand.Text(), "Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z"),
		"RegionId": world.Region}
	if c.token != "" {
		params["SecurityToken"] = c.token
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, escape(name)+"="+escape(params[name]))
	}
	mac := hmac.New(sha1.New, []byte(c.secret+"&"))
	mac.Write([]byte("POST&%2F&" + escape(strings.Join(pairs, "&"))))
	params["Signature"] = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return c.ask(ctx, params)
}

// TestFrontOfTheLocalWorld: with FRONT=true the environment file has an address, a key pair and a token that are good for the front. The
// token is one of the API server's: it is exchanged for a session, which ends with the ServiceAccount at another gateway; a token for
// another audience is refused.
func TestFrontOfTheLocalWorld(t *testing.T) {
	w := bootWith(t, world.Config{Nodes: 1, Front: true})
	env := map[string]string{}
	text, err := os.ReadFile(w.EnvFile())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		env[name] = strings.Trim(value, "'")
	}
	ca, err := os.ReadFile(env["GATEWAY_CA"])
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	pair := sessionTool{url: "https://" + env["FRONT_ENDPOINT"] + "/", id: env["FRONT_ACCESS_KEY_ID"], secret: env["FRONT_ACCESS_KEY_SECRET"],
		client: &http.Client{Transport: transport}}
	if status, answer, err := pair.signed(t.Context(), "2014-05-26", "DescribeInstances"); err != nil || status != http.StatusOK {
		t.Errorf("with the key pair: %d %v, %v", status, answer, err)
	}
	assume := func(token string) (sessionTool, string) {
		_, answer, err := sessionTool{url: pair.url, client: pair.client}.ask(t.Context(), map[string]string{
			"Action": "AssumeRoleWithOIDC", "Version": "2015-04-01", "Format": "JSON", "OIDCToken": token, "RoleSessionName": "test",
			"RoleArn": "acs:ram::1:role/any", "OIDCProviderArn": "acs:ram::1:oidc-provider/any",
		})
		if err != nil {
			t.Fatal(err)
		}
		given, _ := answer["Credentials"].(map[string]any)
		return sessionTool{url: pair.url, client: pair.client, id: fmt.Sprint(given["AccessKeyId"]), secret: fmt.Sprint(given["AccessKeySecret"]),
			token: fmt.Sprint(given["SecurityToken"])}, fmt.Sprint(answer["Code"])
	}
	token, err := os.ReadFile(env["FRONT_OIDC_TOKEN_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	session, _ := assume(string(token))
	for version, action := range map[string]string{"2014-05-26": "DescribeInstances", "2015-05-01": "GetRole", "2016-04-28": "DescribeVpcs"} {
		status, answer, err := session.signed(t.Context(), version, action)
		if err != nil || status == http.StatusForbidden || answer["HostId"] == "cloudgateway" {
			t.Errorf("%s with a session: %d %v, %v", action, status, answer, err)
		}
	}
	other, err := w.Token(t.Context(), "tools", world.FrontUser, world.Audience)
	if err != nil {
		t.Fatal(err)
	}
	if _, code := assume(other); code != "AuthenticationFail.OIDCToken.Invalid" {
		t.Errorf("a token for the gateway's own API: %s", code)
	}
	if err := w.Client().CoreV1().ServiceAccounts("tools").Delete(t.Context(), world.FrontUser, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Kill("cloudgateway"); err != nil { // It remembers for a minute that the ServiceAccount is there.
		t.Fatal(err)
	}
	if err := w.Restart(t.Context(), "cloudgateway"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session ends with its ServiceAccount", func(ctx context.Context) error {
		_, answer, err := session.signed(ctx, "2014-05-26", "DescribeInstances")
		if err != nil || answer["Code"] != "InvalidAccessKeyId.Inactive" {
			return fmt.Errorf("the answer is %v, %w", answer, err)
		}
		return nil
	})
}
