package app

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// assume asks for a session as the clients do: without a signature, with the token in the body.
func assume(t *testing.T, c *tool, token string, change map[string]string) reply {
	t.Helper()
	query := url.Values{"Action": {"AssumeRoleWithOIDC"}, "Version": {"2015-04-01"}, "Format": {"JSON"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}}
	form := map[string]string{
		"RoleArn": "acs:ram::1:role/any", "OIDCProviderArn": "acs:ram::1:oidc-provider/any", "OIDCToken": token, "RoleSessionName": "test",
		"DurationSeconds": "3600",
	}
	maps.Copy(form, change)
	body := url.Values{}
	for name, value := range form {
		body.Set(name, value)
	}
	return must(c.send(t.Context(), http.MethodPost, query.Encode(), []byte(body.Encode()),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded"}))
}

// session is what a tool gets.
type session struct {
	Credentials struct{ AccessKeyId, AccessKeySecret, SecurityToken, Expiration string }
}

func sessionOf(t *testing.T, address string, got reply) *tool {
	t.Helper()
	var s session
	if err := json.Unmarshal([]byte(got.Body), &s); err != nil || got.Status != 200 || !strings.HasPrefix(s.Credentials.AccessKeyId, "STS.") {
		t.Fatalf("no session: %+v, %v", got, err)
	}
	if end, err := time.Parse("2006-01-02T15:04:05Z", s.Credentials.Expiration); err != nil || time.Until(end) > time.Hour {
		t.Errorf("it ends at %s", s.Credentials.Expiration)
	}
	c := newTool(t, address, s.Credentials.AccessKeyId, s.Credentials.AccessKeySecret)
	c.token = s.Credentials.SecurityToken
	return c
}

const sealSecret = "secret-of-the-sessions-0"

// withSessions makes a gateway that gives sessions, with a scope for nobody.
func withSessions(t *testing.T) *world {
	t.Helper()
	w := fronted(t, "")
	text := string(must(os.ReadFile(w.dir + "/keys.yaml")))
	w.write("keys.yaml", text+"sessionSecrets: ["+sealSecret+"]\n")
	return w
}

// TestFrontSessions: a pod with the token of its ServiceAccount needs no key. Its session has the rights of the ServiceAccount, with each
// version of the signature, also at another replica, and ends with the ServiceAccount and with the secret of the gateway.
func TestFrontSessions(t *testing.T) {
	w := withSessions(t)
	address := w.openFront(w.start())
	stranger := newTool(t, address, "", "")
	before := len(w.log.String())
	got := assume(t, stranger, "pod-of-tool", nil)
	c := sessionOf(t, address, got)
	if text := w.log.String()[before:]; strings.Count(text, `"msg":"audit"`) != 1 || !strings.Contains(text, toolUser) ||
		!strings.Contains(text, "AccessKeyId="+c.id) || !strings.Contains(text, "sts:AssumeRoleWithOIDC") {
		t.Errorf("the audit log says %s", text)
	}
	if got := c.call(t, "ecs:DescribeInstances", nil); got.Status != 200 {
		t.Errorf("version 1: %+v", got)
	}
	if got := c.call3(t, "ecs:DescribeInstances", nil); got.Status != 200 {
		t.Errorf("version 3: %+v", got)
	}
	if got := c.call(t, "ecs:StopInstance", nil); got.Code != "Forbidden.RAM" {
		t.Errorf("without permission: %+v", got)
	}
	bare := sessionOf(t, address, assume(t, stranger, "pod-of-bare", nil))
	if got := bare.call(t, "ecs:DescribeInstances", nil); got.Code != "Forbidden.RAM" {
		t.Errorf("of a ServiceAccount without a role: %+v", got)
	}
	xml := assume(t, stranger, "pod-of-tool", map[string]string{"DurationSeconds": "900"})
	if end := sessionEnd(t, xml); time.Until(end) > 15*time.Minute {
		t.Errorf("asked for 15 minutes, it ends at %s", end)
	}
	inQuery := must(stranger.send(t.Context(), http.MethodGet, url.Values{"Action": {"AssumeRoleWithOIDC"}, "Version": {"2015-04-01"},
		"Format": {"XML"}, "OIDCToken": {"pod-of-tool"}, "RoleArn": {"acs:ram::1:role/any"}, "RoleSessionName": {"x"}}.Encode(), nil, nil))
	if inQuery.Status != 200 || !strings.Contains(inQuery.Body, "<AccessKeyId>STS.") || !strings.Contains(inQuery.Type, "xml") {
		t.Errorf("in the query, in XML: %+v", inQuery)
	}

	other := newTool(t, w.openFront(w.start()), c.id, c.secret) // another replica, which never saw it
	other.token = c.token
	if got := other.call(t, "ecs:DescribeInstances", nil); got.Status != 200 {
		t.Errorf("at another replica: %+v", got)
	}
	if text := w.log.String(); strings.Contains(text, "pod-of-tool") || strings.Contains(text, c.secret) || strings.Contains(text, c.token) ||
		strings.Contains(text, sealSecret) {
		t.Error("the log has a token or a secret")
	}
}

func sessionEnd(t *testing.T, got reply) time.Time {
	t.Helper()
	var s session
	if err := json.Unmarshal([]byte(got.Body), &s); err != nil {
		t.Fatal(err)
	}
	return must(time.Parse("2006-01-02T15:04:05Z", s.Credentials.Expiration))
}

// TestFrontSessionsEnd: with their ServiceAccount, and with the secret that signed them. Another one after it takes nothing away.
func TestFrontSessionsEnd(t *testing.T) {
	for _, tt := range []struct {
		name, keys, account, want string
	}{
		{"another secret first", "keys: []\nsessionSecrets: [another-secret-of-sessions, " + sealSecret + "]\n", "", ""},
		{"another secret", "keys: []\nsessionSecrets: [another-secret-of-sessions]\n", "", "InvalidSecurityToken.Malformed"},
		{"no secret", "keys: []\n", "", "InvalidSecurityToken.Malformed"},
		{"a file that can't be read", "keys: [", "", "ServiceUnavailable"},
		{"no ServiceAccount", "keys: []\nsessionSecrets: [" + sealSecret + "]\n", "gone", "InvalidAccessKeyId.Inactive"},
		{"another ServiceAccount of that name", "keys: []\nsessionSecrets: [" + sealSecret + "]\n", "made anew", "InvalidAccessKeyId.Inactive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := withSessions(t)
			address := w.openFront(w.start())
			c := sessionOf(t, address, assume(t, newTool(t, address, "", ""), "pod-of-tool", nil))
			w.accounts.Store("tool", tt.account)
			w.write("keys.yaml", tt.keys)
			c.url = w.openFront(w.start()) // another replica, which remembers nothing
			if got := c.call(t, "ecs:DescribeInstances", nil); got.Code != tt.want {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
}

// TestFrontRefusesSessions: each attack on sessions is refused with the cloud's own code, and no token is in the log.
func TestFrontRefusesSessions(t *testing.T) {
	w := withSessions(t)
	address := w.openFront(w.start())
	stranger, pair := newTool(t, address, "", ""), newTool(t, address, "tool", toolSecret)
	one := sessionOf(t, address, assume(t, stranger, "pod-of-tool", nil))
	two := sessionOf(t, address, assume(t, stranger, "pod-of-bare", nil))
	with := func(change func(c *tool)) reply {
		c := *one
		change(&c)
		return c.call(t, "ecs:DescribeInstances", nil)
	}
	said, seal, _ := strings.Cut(two.token, ".")
	of := must(base64.RawURLEncoding.DecodeString(said))
	forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(of), ":bare", ":tool", 1)))
	host := func(name string) reply {
		c := *stranger
		c.host = name
		return assume(t, &c, "pod-of-tool", nil)
	}
	signed := one.sign(http.MethodPost, one.params("ecs:DescribeInstances", nil))
	if got := must(one.send(t.Context(), http.MethodPost, signed, nil, nil)); got.Status != 200 {
		t.Fatalf("%+v", got)
	}
	for _, tt := range []struct {
		name   string
		attack func() reply
		status int
		code   string
	}{
		{"a token for the gateway's own API", func() reply {
			return assume(t, stranger, "reader", nil)
		}, 400, "AuthenticationFail.OIDCToken.Invalid"},
		{"an invented token", func() reply { return assume(t, stranger, "invented", nil) }, 400, "AuthenticationFail.OIDCToken.Invalid"},
		{"no token", func() reply { return assume(t, stranger, "", nil) }, 400, "InvalidParameter.OIDCToken"},
		{"a person's token", func() reply { return assume(t, stranger, "person", nil) }, 403, "Forbidden.RAM"},
		{"a token of a ServiceAccount without that role", func() reply {
			return assume(t, stranger, "pod-of-none", nil)
		}, 403, "Forbidden.RAM"},
		{"a controller's token", func() reply { return assume(t, stranger, "pod-of-lbcontroller", nil) }, 403, "Forbidden.RAM"},
		{"a weaker session", func() reply {
			return assume(t, stranger, "pod-of-tool", map[string]string{"Policy": `{"Statement":[]}`})
		}, 400, "InvalidParameter.Policy"},
		{"a short session", func() reply {
			return assume(t, stranger, "pod-of-tool", map[string]string{"DurationSeconds": "60"})
		}, 400, "InvalidParameter.DurationSeconds"},
		{"a session for no time", func() reply {
			return assume(t, stranger, "pod-of-tool", map[string]string{"DurationSeconds": "-1"})
		}, 400, "InvalidParameter.DurationSeconds"},
		{"twice in two spellings", func() reply {
			return assume(t, stranger, "pod-of-tool", map[string]string{"oidctoken": "pod-of-bare"})
		}, 400, "InvalidParameter"},
		{"at the name of another product", func() reply { return host("cloudgateway-ecs.kube-system.svc") }, 400, "InvalidVersion"},
		{"with the version of another product", func() reply {
			return assume(t, stranger, "pod-of-tool", map[string]string{"version": "2014-05-26"})
		}, 400, "InvalidParameter"},
		{"AssumeRoleWithOIDC with a signature", func() reply {
			return pair.call(t, "sts:AssumeRoleWithOIDC", map[string]string{"OIDCToken": "pod-of-tool"})
		}, 403, "Forbidden.RAM"},
		{"AssumeRole with a session", func() reply { return one.call(t, "sts:AssumeRole", nil) }, 403, "Forbidden.RAM"},
		{"without its token", func() reply { return with(func(c *tool) { c.token = "" }) }, 404, "InvalidAccessKeyId.NotFound"},
		{"a token of another session", func() reply {
			return with(func(c *tool) { c.token = two.token })
		}, 400, "InvalidSecurityToken.MismatchWithAccessKey"},
		{"a key pair with a token", func() reply {
			c := *pair
			c.token = one.token
			return c.call(t, "ecs:DescribeInstances", nil)
		}, 400, "InvalidSecurityToken.MismatchWithAccessKey"},
		{"another user in the token", func() reply {
			c := *two
			c.token = forged + "." + seal
			return c.call(t, "ecs:DescribeInstances", nil)
		}, 400, "InvalidSecurityToken.Malformed"},
		{"a token with an empty seal", func() reply {
			return with(func(c *tool) { c.token = said + "." })
		}, 400, "InvalidSecurityToken.Malformed"},
		{"a token without a seal", func() reply { return with(func(c *tool) { c.token = said }) }, 400, "InvalidSecurityToken.Malformed"},
		{"a long token", func() reply {
			return with(func(c *tool) { c.token = strings.Repeat("x", 4096) })
		}, 400, "InvalidSecurityToken.Malformed"},
		{"another secret", func() reply { return with(func(c *tool) { c.secret = two.secret }) }, 400, "SignatureDoesNotMatch"},
		{"replay", func() reply {
			return must(one.send(t.Context(), http.MethodPost, signed, nil, nil))
		}, 400, "SignatureNonceUsed"},
	} {
		before := len(w.log.String())
		if got := tt.attack(); got.Status != tt.status || got.Code != tt.code {
			t.Errorf("%s: got %d %s, want %d %s", tt.name, got.Status, got.Body, tt.status, tt.code)
		}
		if text := w.log.String()[before:]; strings.Count(text, `"msg":"audit"`) != 1 || !strings.Contains(text, `"outcome":"`+tt.code+`"`) {
			t.Errorf("%s: the log says %s", tt.name, text)
		}
	}
	if text := w.log.String(); strings.Contains(text, "pod-of-") || strings.Contains(text, "invented") || strings.Contains(text, one.token) {
		t.Error("the log has a token")
	}
}

// TestFrontScopesSessions: the scope of a ServiceAccount holds for its sessions. Of products that only tools call it
// lets no change through.
func TestFrontScopesSessions(t *testing.T) {
	w := fronted(t, "scopes: [{callers: [\""+scopedUser+"\"], tags: {team: web}}]\n")
	w.write("keys.yaml", "sessionSecrets: ["+sealSecret+"]\n")
	for _, name := range []string{"ess:*", "alb:*", "pvtz:*", "alidns:*", "nas:*", "ram:DeleteRole", "kms:Decrypt"} {
		w.toolMay[name] = true
	}
	address := w.openFront(w.start())
	c := sessionOf(t, address, assume(t, newTool(t, address, "", ""), "pod-of-scoped", nil))
	before := len(w.sim.Calls(0))
	for name, params := range map[string]map[string]string{
		"ecs:DeleteInstance": {"InstanceId": "i-db"}, "ess:ModifyScalingGroup": {"ScalingGroupId": "asg-1"},
		"alb:DeleteLoadBalancer": {"LoadBalancerId": "alb-1"},
		"pvtz:AddZoneRecord":     {"ZoneId": "z"}, "alidns:DeleteDomainRecord": {"RecordId": "1"}, "nas:DeleteFileSystem": {"FileSystemId": "n"},
		"ram:DeleteRole": {"RoleName": "r"}, "kms:Decrypt": {"CiphertextBlob": "x"},
	} {
		if got := c.call(t, name, params); got.Code != "Forbidden.RAM" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := c.path(t, "POST", "/clusters/c-1/attachscript", "cs:DescribeClusterAttachScripts", ""); got.Code == "" {
		t.Errorf("a script that leads into a cluster: %+v", got)
	}
	for _, call := range w.sim.Calls(int64(before)) {
		if call.Mutating {
			t.Errorf("%s came to the cloud", call.Action)
		}
	}
	if got := c.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "Force": "true"}); got.Status != 200 {
		t.Errorf("inside of the scope: %+v", got)
	}
}

// TestFrontBoundsTokens: invented tokens cost the API server little: after a burst of an address, no more are looked up.
func TestFrontBoundsTokens(t *testing.T) {
	w := withSessions(t)
	address := w.openFront(w.start())
	looked, throttled := 0, 0
	for begun := time.Now(); throttled < 20; {
		// Two come back in a second: who shows one after the other on a slow machine never shows too many.
		for _, got := range atOnce(20, func(n int) reply {
			return assume(t, newTool(t, address, "", ""), fmt.Sprint("invented-", looked+throttled+n), nil)
		}) {
			switch got.Code {
			case "Throttling":
				throttled++
			case "AuthenticationFail.OIDCToken.Invalid":
				looked++
			default:
				t.Fatalf("got %+v", got)
			}
		}
		if most := 21 + int(2*time.Since(begun).Seconds()); looked > most {
			t.Fatalf("%d were looked up in %s", looked, time.Since(begun))
		}
	}
	if looked < 20 {
		t.Errorf("%d were looked up", looked)
	}
}

// atOnce makes calls side by side.
func atOnce(calls int, call func(n int) reply) []reply {
	answers := make([]reply, calls)
	var asked sync.WaitGroup
	for n := range answers {
		asked.Go(func() { answers[n] = call(n) })
	}
	asked.Wait()
	return answers
}

// TestFrontBoundsSessions: a pod that asks for sessions without end gets those that all pods of a DaemonSet need, and no
// more: each is a line of the audit log, from which those of others would go.
func TestFrontBoundsSessions(t *testing.T) {
	w := withSessions(t)
	address := w.openFront(w.start())
	stranger, given, throttled := newTool(t, address, "", ""), 0, 0
	// With a handshake for each a busy machine asks for no more than come back.
	stranger.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 20
	for begun := time.Now(); throttled < 10; {
		// Twenty come back in a second: who asks for one after the other on a slow machine never asks for too many.
		for _, got := range atOnce(20, func(int) reply { return assume(t, stranger, "pod-of-tool", nil) }) {
			switch {
			case got.Status == 200:
				given++
			case got.Code == "Throttling" && got.Header.Get("X-Acs-Retry-After") != "":
				throttled++
			default:
				t.Fatalf("got %+v", got)
			}
		}
		if most := 110 + int(20*time.Since(begun).Seconds()); given > most {
			t.Fatalf("%d sessions in %s", given, time.Since(begun))
		}
	}
	if given < 100 {
		t.Errorf("%d sessions", given)
	}
}

// TestTokensOfSessionsAreNoOthers: the token for a session is not good for the gateway's own API.
func TestTokensOfSessionsAreNoOthers(t *testing.T) {
	w := withSessions(t)
	w.start()
	w.dial("reader") // It is ready.
	conn, err := gateway.Dial(gateway.Config{Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway",
		TokenFile: w.write("token-pod", "pod-of-tool"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.Client().LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
		AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET})
	if rpcerr.ReasonOf(err) != rpcerr.CallerUnauthenticated {
		t.Errorf("got %v", err)
	}
}
