package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	toolUser   = "system:serviceaccount:tools:tool"
	scopedUser = "system:serviceaccount:tools:scoped"
	toolSecret = "secret-of-the-tool-0123"
	// scopedSecret is of the tool with a scope.
	scopedSecret = "secret-of-the-scoped-0123"
)

// fronted starts a gateway with the OpenAPI front, and a key pair for a tool and one for a tool with a scope.
func fronted(t *testing.T, more string) *world {
	t.Helper()
	w := newWorld(t, func(c *state.Cloud) {
		c.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}
		for i, team := range []string{"web", "db"} {
			c.Instances["i-"+team] = &state.Instance{
				VSwitchID: "vsw-1", PrivateIPs: []string{fmt.Sprintf("192.168.0.%d", 10+i)}, Tags: []state.Tag{{Key: "team", Value: team}},
			}
		}
	})
	w.toolMay = map[string]bool{"cs:*": true, "kms:*": true, "ram:*": false, "ecs:Describe*": true, "slb:*": true, "vpc:DescribeVpcs": true,
		"ecs:DeleteInstance":  true,
		"ecs:DeleteInstances": true, "ecs:RunInstances": true}
	w.write("keys.yaml",
		fmt.Sprintf("keys:\n- {id: tool, secret: %s, user: %q}\n- {id: scoped, secret: %s, user: %q}\n",
			toolSecret, toolUser, scopedSecret, scopedUser))
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.file = w.write("fronted.yaml", string(text)+fmt.Sprintf("front: {listen: 127.0.0.1:0, keysFile: %s/keys.yaml, wait: 3s}\n", w.dir)+more)
	return w
}

// openFront waits until the front of a gateway listens.
func (w *world) openFront(g *Gateway) string {
	w.t.Helper()
	addr := ""
	until(w.t, "the front listens", func() bool {
		addr = g.front.Addr()
		return addr != ""
	})
	return "https://" + addr
}

// tool is a client that signs as the cloud's documents say.
type tool struct {
	url, id, secret string
	token           string // of a session
	host            string // instead of that of the URL
	client          *http.Client
}

func newTool(t *testing.T, address, id, secret string) *tool {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &tool{url: address, id: id, secret: secret, client: &http.Client{Transport: transport}}
}

// versions of the products' APIs.
var versions = map[string]string{
	"slb": "2014-05-15", "vpc": "2016-04-28", "ecs": "2014-05-26", "ram": "2015-05-01", "cs": "2015-12-15", "sts": "2015-04-01",
	"alb": "2020-06-16", "alidns": "2015-01-09", "pvtz": "2018-01-01", "nas": "2017-06-26",
	"ess": "2014-08-28", "kms": "2016-01-20",
}

func (c *tool) params(name string, params map[string]string) map[string]string {
	product, action, _ := strings.Cut(name, ":")
	all := map[string]string{
		"Action": action, "Version": versions[product], "Format": "JSON", "AccessKeyId": c.id, "SignatureMethod": "HMAC-SHA1",
		"SignatureVersion": "1.0",
		"SignatureNonce":   rand.Text(), "Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z"), "RegionId": "cn-hangzhou",
	}
	maps.Copy(all, params)
	return all
}

func encoded(params map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, percent(name)+"="+percent(params[name]))
	}
	return strings.Join(pairs, "&")
}

func percent(s string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(s))
}

func (c *tool) sign(method string, params map[string]string) string {
	mac := hmac.New(sha1.New, []byte(c.secret+"&"))
	mac.Write([]byte(method + "&%2F&" + percent(encoded(params))))
	if c.token != "" {
		params["SecurityToken"] = c.token
		mac.Reset()
		mac.Write([]byte(method + "&%2F&" + percent(encoded(params))))
	}
	return encoded(params) + "&Signature=" + percent(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// reply is what a tool gets.
type reply struct {
	Status     int
	Type, Body string
	Code       string
	Header     http.Header
}

func (c *tool) send(ctx context.Context, method, query string, body []byte, headers map[string]string) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+"/?"+query, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	if c.host != "" {
		r.Host = c.host
	}
	res, err := c.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var e struct{ Code string }
	_ = json.Unmarshal(text, &e) // Only errors in JSON have one.
	return reply{Status: res.StatusCode, Type: res.Header.Get("Content-Type"), Body: string(text), Code: e.Code, Header: res.Header}, err
}

// call makes a call with version 1 of the signature.
func (c *tool) call(t *testing.T, name string, params map[string]string) reply {
	t.Helper()
	got, err := c.send(t.Context(), http.MethodPost, c.sign(http.MethodPost, c.params(name, params)), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

// sign3 makes a body and headers with version 3 of the signature.
func (c *tool) sign3(name string, params map[string]string) (body []byte, headers map[string]string) {
	product, action, _ := strings.Cut(name, ":")
	form := url.Values{"RegionId": {"cn-hangzhou"}}
	for name, value := range params {
		form.Set(name, value)
	}
	body = []byte(form.Encode())
	sum := sha256.Sum256(body)
	host := cmp.Or(c.host, strings.TrimPrefix(strings.TrimPrefix(c.url, "https://"), "http://"))
	headers = map[string]string{
		"content-type": "application/x-www-form-urlencoded", "host": host, "x-acs-action": action,
		"x-acs-content-sha256": hex.EncodeToString(sum[:]),
		"x-acs-date":           time.Now().UTC().Format("2006-01-02T15:04:05Z"), "x-acs-signature-nonce": rand.Text(),
		"x-acs-version": versions[product],
	}
	if c.token != "" {
		headers["x-acs-security-token"] = c.token
	}
	signed, text := slices.Sorted(maps.Keys(headers)), ""
	for _, name := range signed {
		text += name + ":" + headers[name] + "\n"
	}
	canonical := "POST\n/\n\n" + text + "\n" + strings.Join(signed, ";") + "\n" + hex.EncodeToString(sum[:])
	hash := sha256.Sum256([]byte(canonical))
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hex.EncodeToString(hash[:])))
	headers["Authorization"] = "ACS3-HMAC-SHA256 Credential=" + c.id + ",SignedHeaders=" + strings.Join(signed, ";") +
		",Signature=" + hex.EncodeToString(mac.Sum(nil))
	delete(headers, "host")
	return body, headers
}

// call3 makes a call with version 3 of the signature, whose parameters are in the body.
func (c *tool) call3(t *testing.T, name string, params map[string]string) reply {
	t.Helper()
	body, headers := c.sign3(name, params)
	got, err := c.send(t.Context(), http.MethodPost, "", body, headers)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

// path makes a call of a path with version 3 of the signature.
func (c *tool) path(t *testing.T, method, path, name, body string) reply {
	t.Helper()
	product, action, _ := strings.Cut(name, ":")
	sum := sha256.Sum256([]byte(body))
	headers := map[string]string{
		"host": cmp.Or(c.host, strings.TrimPrefix(c.url, "https://")), "x-acs-action": action, "x-acs-content-sha256": hex.EncodeToString(sum[:]),
		"x-acs-date": time.Now().UTC().Format("2006-01-02T15:04:05Z"), "x-acs-signature-nonce": rand.Text(), "x-acs-version": versions[product],
	}
	if c.token != "" {
		headers["x-acs-security-token"] = c.token
	}
	signed, text := slices.Sorted(maps.Keys(headers)), ""
	for _, name := range signed {
		text += name + ":" + headers[name] + "\n"
	}
	canonical := method + "\n" + path + "\n\n" + text + "\n" + strings.Join(signed, ";") + "\n" + hex.EncodeToString(sum[:])
	hash := sha256.Sum256([]byte(canonical))
	mac := hmac.New(sha256.New, []byte(c.secret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hex.EncodeToString(hash[:])))
	r := must(http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body)))
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Host = headers["host"]
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "ACS3-HMAC-SHA256 Credential="+c.id+",SignedHeaders="+strings.Join(signed, ";")+
		",Signature="+hex.EncodeToString(mac.Sum(nil)))
	res, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer := must(io.ReadAll(res.Body))
	var e struct{ Code string }
	_ = json.Unmarshal(answer, &e) // Only errors in JSON have one.
	return reply{Status: res.StatusCode, Type: res.Header.Get("Content-Type"), Body: string(answer), Code: e.Code, Header: res.Header}
}

// requestIDs are what answers may differ in.
var requestIDs = regexp.MustCompile(`[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}`)

// TestFrontPassesOn: the answer through the front is the cloud's, byte for byte but for the ids of requests, whatever
// the version of the signature, the format, and the outcome.
func TestFrontPassesOn(t *testing.T) {
	w := fronted(t, "")
	through := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	tests := []struct {
		name, call string
		params     map[string]string
		status     int
	}{
		{"a list", "ecs:DescribeInstances", nil, 200},
		{"JSON in a parameter", "ecs:DescribeInstances", map[string]string{"InstanceIds": `["i-web","i-none"]`}, 200},
		{"in XML", "ecs:DescribeInstances", map[string]string{"Format": "XML"}, 200},
		{"of another product", "vpc:DescribeVpcs", map[string]string{"VpcId": "vpc-1"}, 200},
		{"not found", "slb:DescribeLoadBalancerAttribute", map[string]string{"LoadBalancerId": "lb-none"}, 404},
		{"not found, in XML", "slb:DescribeLoadBalancerAttribute", map[string]string{"LoadBalancerId": "lb-none", "Format": "XML"}, 404},
		{"what is missing", "slb:DescribeLoadBalancerAttribute", nil, 400},
		{"an action that the cloud does not know", "slb:ListNothing", nil, 404},
		{"strange characters", "slb:DescribeLoadBalancers", map[string]string{"LoadBalancerName": "ü *~+&=/\"'"}, 200},
	}
	for _, tt := range tests {
		product, _, _ := strings.Cut(tt.call, ":")
		direct := newTool(t, "http://"+w.host(product), openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
		for version, call := range map[string]func(*tool) reply{
			"1": func(c *tool) reply { return c.call(t, tt.call, tt.params) },
			"3": func(c *tool) reply { return c.call3(t, tt.call, tt.params) },
		} {
			if version == "3" && tt.params["Format"] != "" {
				continue // Its clients ask for JSON.
			}
			got, want := call(through), call(direct)
			if got.Status != tt.status || got.Status != want.Status || got.Type != want.Type ||
				requestIDs.ReplaceAllString(got.Body, "") != requestIDs.ReplaceAllString(want.Body, "") {
				t.Errorf("%s, version %s:\n got %d %s %s\nwant %d %s %s", tt.name, version, got.Status, got.Type, got.Body,
					want.Status, want.Type, want.Body)
			}
		}
	}
	// What the gateway refuses itself is in the format that the tool asks for.
	if got := through.call(t, "ecs:StopInstance", map[string]string{"Format": "XML"}); got.Status != 403 ||
		!strings.Contains(got.Body, "<Code>Forbidden.RAM</Code>") ||
		got.Type != "text/xml;charset=utf-8" {
		t.Errorf("got %+v", got)
	}
}

// host is where the gateway calls a product.
func (w *world) host(product string) string {
	return regexp.MustCompile(product + `: "([^"]+)"`).FindStringSubmatch(string(must(os.ReadFile(w.file))))[1]
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestFrontRefuses: each attack is refused with the cloud's own code, is in the audit log, and does not come to the cloud.
func TestFrontRefuses(t *testing.T) {
	w := fronted(t, "scopes: [{callers: [\""+scopedUser+"\"], tags: {team: web}}]\n")
	address := w.openFront(w.start())
	good := newTool(t, address, "tool", toolSecret)
	scoped := newTool(t, address, "scoped", scopedSecret)
	signed := good.sign(http.MethodPost, good.params("ecs:DescribeInstances", nil))
	if got, err := good.send(t.Context(), http.MethodPost, signed, nil, nil); err != nil || got.Status != 200 {
		t.Fatalf("the first use of a signed request: %+v, %v", got, err)
	}
	at := func(ago time.Duration) map[string]string {
		return map[string]string{"Timestamp": time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05Z")}
	}
	raw := func(c *tool, query string, body []byte, headers map[string]string) reply {
		got, err := c.send(t.Context(), http.MethodPost, query, body, headers)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	fresh := func(c *tool, name string, params map[string]string) string {
		return c.sign(http.MethodPost, c.params(name, params))
	}
	makes := func(more map[string]string) reply {
		params := map[string]string{"VSwitchId": "vsw-1", "ImageId": "i", "InstanceType": "t", "Tag.1.Key": "team", "Tag.1.Value": "web"}
		maps.Copy(params, more)
		return scoped.call(t, "ecs:RunInstances", params)
	}
	v3 := "ACS3-HMAC-SHA256 Credential=tool," +
		"SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature=00"
	tests := []struct {
		name   string
		attack func() reply
		status int
		code   string
	}{
		{"unknown key", func() reply {
			return newTool(t, address, "nobody", toolSecret).call(t, "ecs:DescribeInstances",
				nil)
		}, 404, "InvalidAccessKeyId.NotFound"},
		{"wrong secret", func() reply {
			return newTool(t, address, "tool", "x"+toolSecret).call(t, "ecs:DescribeInstances",
				nil)
		}, 400, "SignatureDoesNotMatch"},
		{"replay", func() reply { return raw(good, signed, nil, nil) }, 400, "SignatureNonceUsed"},
		{"replay by another method", func() reply {
			return must(good.send(t.Context(), http.MethodGet, signed, nil, nil))
		}, 400, "SignatureDoesNotMatch"},
		{"old timestamp", func() reply { return good.call(t, "ecs:DescribeInstances", at(16*time.Minute)) }, 400, "InvalidTimeStamp.Expired"},
		{"of before this replica was active", func() reply {
			return good.call(t, "ecs:DescribeInstances",
				at(2*time.Minute))
		}, 503, "ServiceUnavailable"},
		{"of the future", func() reply { return good.call(t, "ecs:DescribeInstances", at(-5*time.Minute)) }, 400, "InvalidTimeStamp.Expired"},
		{"a parameter more", func() reply {
			return raw(good, fresh(good, "ecs:DescribeInstances", nil)+"&InstanceName=x", nil,
				nil)
		}, 400, "SignatureDoesNotMatch"},
		{"a body more", func() reply {
			return raw(good, fresh(good, "ecs:DescribeInstances", nil), []byte("InstanceName=x"), nil)
		}, 400, "SignatureDoesNotMatch"},
		{"action without permission",
			func() reply { return good.call(t, "ecs:StopInstance", map[string]string{"InstanceId": "i-web"}) }, 403, "Forbidden.RAM"},
		{"a read that gives control", func() reply {
			return good.call(t, "ecs:DescribeInstanceVncUrl", map[string]string{"InstanceId": "i-web"})
		}, 403, "Forbidden.RAM"},
		{"a read that gives control, in another spelling", func() reply {
			return good.call(t, "ecs:DescribeInstanceVNCURL", map[string]string{"InstanceId": "i-web"})
		}, 403, "Forbidden.RAM"},
		{"replay in the name of another", func() reply {
			body, headers := good.sign3("ecs:DescribeInstances", nil)
			headers["Authorization"] = strings.Replace(headers["Authorization"], "Credential=tool", "Credential=scoped", 1)
			return raw(good, "", body, headers)
		}, 400, "SignatureDoesNotMatch"},
		{"a token in small letters", func() reply {
			return good.call(t, "ecs:DescribeInstances", map[string]string{"securitytoken": "x"})
		}, 400, "InvalidParameter"},
		{"a line of the audit log in the id of the key", func() reply {
			return newTool(t, address, "x\"}\r\n{\"msg\":\"audit\",\"outcome\":\"ok\"", toolSecret).call(t, "ecs:DescribeInstances", nil)
		}, 404, "InvalidAccessKeyId.NotFound"},
		{"credentials", func() reply { return good.call(t, "sts:AssumeRole", map[string]string{"Version": "2015-04-01"}) }, 403, "Forbidden.RAM"},
		{"an unknown product",
			func() reply { return good.call(t, "oss:ListBuckets", map[string]string{"Version": "2019-05-17"}) }, 400, "InvalidVersion"},
		{"a product that no role names", func() reply { return good.call(t, "ram:ListUsers", nil) }, 403, "Forbidden.RAM"},
		{"a role's changes of RAM by a pattern", func() reply {
			return good.call(t, "ram:AttachPolicyToUser", map[string]string{"UserName": "me", "PolicyName": "AdministratorAccess"})
		}, 403, "Forbidden.RAM"},
		{"a secret of KMS by a pattern", func() reply {
			return good.call(t, "kms:GetSecretValue", map[string]string{"SecretName": "db"})
		}, 403, "Forbidden.RAM"},
		{"the name of another product", func() reply {
			c := *good
			c.host = "cloudgateway-ecs.kube-system.svc"
			return c.call(t, "slb:DescribeLoadBalancers", nil)
		}, 400, "InvalidVersion"},
		{"the name of no product", func() reply {
			c := *good
			c.host = "cloudgateway-oss.kube-system.svc"
			return c.call(t, "slb:DescribeLoadBalancers", nil)
		}, 404, "InvalidProduct.NotFound"},
		{"the name of a product that only the doctor calls", func() reply {
			c := *good
			c.host = "cloudgateway-quotas.kube-system.svc"
			return c.call(t, "quotas:ListProductQuotas", map[string]string{"Version": "2020-05-10"})
		}, 404, "InvalidProduct.NotFound"},
		{"an action of CS by its name", func() reply { return good.call(t, "cs:DescribeClusterDetail", nil) }, 404, "InvalidAction.NotFound"},
		{"a path of a product that has none", func() reply {
			return good.path(t, "GET", "/clusters/c-1", "ecs:DescribeInstances", "")
		}, 404, "InvalidAction.NotFound"},
		{"a path under the name of a permitted action", func() reply {
			return good.path(t, "GET", "/k8s/c-1/user_config", "cs:DescribeClusterDetail", "")
		}, 400, "InvalidAction.NotFound"},
		{"a deletion under the name of a permitted action", func() reply {
			return good.path(t, "DELETE", "/clusters/c-1", "cs:DescribeClusterDetail", "")
		}, 404, "InvalidAction.NotFound"},
		{"a kubeconfig by a pattern", func() reply {
			return good.path(t, "GET", "/k8s/c-1/user_config", "cs:DescribeClusterUserKubeconfig", "")
		}, 403, "Forbidden.RAM"},
		{"a token with a key pair", func() reply {
			c := *good
			c.token = "x.y"
			return c.call(t, "ecs:DescribeInstances", nil)
		}, 400, "InvalidSecurityToken.Malformed"},
		{"a session where there are none", func() reply { return assume(t, good, "pod-of-tool", nil) }, 403, "Forbidden.RAM"},
		{"a product that only the doctor calls", func() reply {
			return good.call(t, "quotas:ListProductQuotas", map[string]string{"Version": "2020-05-10"})
		}, 400, "InvalidVersion"},
		{"another region", func() reply {
			return good.call(t, "ecs:DescribeInstances", map[string]string{"RegionId": "cn-beijing"})
		}, 400, "RegionId.ApiNotSupported"},
		{"another region in small letters", func() reply {
			params := good.params("ecs:DescribeInstances", map[string]string{"regionid": "cn-beijing"})
			delete(params, "RegionId")
			return raw(good, good.sign(http.MethodPost, params), nil, nil)
		}, 400, "RegionId.ApiNotSupported"},
		{"out of scope", func() reply {
			return scoped.call(t, "ecs:DeleteInstance",
				map[string]string{"InstanceId": "i-db"})
		}, 403, "Forbidden.RAM"},
		{"out of scope in a list", func() reply {
			return scoped.call(t, "ecs:DeleteInstances", map[string]string{"InstanceId.1": "i-web", "InstanceId.2": "i-db"})
		}, 403, "Forbidden.RAM"},
		{"out of scope in JSON", func() reply {
			return scoped.call(t, "ecs:DeleteInstances", map[string]string{"InstanceId": `["i-web","i-db"]`})
		}, 403, "Forbidden.RAM"},
		{"out of scope in another spelling", func() reply {
			return scoped.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "InstanceIds": `["i-db"]`})
		}, 403, "Forbidden.RAM"},
		{"out of scope in small letters", func() reply {
			return scoped.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "instanceid": "i-db"})
		}, 400, "InvalidParameter"},
		{"out of scope with a space", func() reply {
			return scoped.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "InstanceId ": "i-db"})
		}, 400, "InvalidParameter"},
		{"out of scope in brackets", func() reply {
			return scoped.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "InstanceId[]": "i-db"})
		}, 400, "InvalidParameter"},
		{"made for two teams", func() reply { return makes(map[string]string{"Tag.2.Key": "team", "Tag.2.Value": "db"}) }, 403, "Forbidden.RAM"},
		{"made for two teams, in the former spelling",
			func() reply { return makes(map[string]string{"Tag.2.key": "team", "Tag.2.value": "db"}) }, 403, "Forbidden.RAM"},
		{"made with the role of others", func() reply { return makes(map[string]string{"RamRoleName": "admin"}) }, 403, "Forbidden.RAM"},
		{"twice", func() reply {
			return raw(scoped, fresh(scoped, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web"}), []byte("InstanceId=i-db"), nil)
		}, 400, "InvalidParameter"},
		{"of unknown scope", func() reply {
			return scoped.call(t, "slb:SetVServerGroupAttribute", map[string]string{"VServerGroupId": "rsp-1"})
		}, 403, "Forbidden.RAM"},
		{"header injection", func() reply {
			return raw(good, "", nil, map[string]string{"Authorization": v3, "X-Acs-Action": "DescribeInstances\tX", "X-Acs-Version": "2014-05-26"})
		}, 400, "SignatureDoesNotMatch"},
		{"an action beside the signed one", func() reply {
			return raw(good, "", []byte("Action=DeleteInstance"), map[string]string{"Authorization": v3})
		}, 400, "SignatureDoesNotMatch"},
	}
	calls := len(w.sim.Calls(0))
	for _, tt := range tests {
		before := len(w.log.String())
		got := tt.attack()
		if got.Status != tt.status || got.Code != tt.code {
			t.Errorf("%s: got %d %s, want %d %s", tt.name, got.Status, got.Body, tt.status, tt.code)
		}
		if text := w.log.String()[before:]; strings.Count(text, `"msg":"audit"`) != 1 || !strings.Contains(text, `"outcome":"`+tt.code+`"`) {
			t.Errorf("%s: the log says %s", tt.name, text)
		}
	}
	for _, call := range w.sim.Calls(int64(calls)) {
		if call.Mutating {
			t.Errorf("%s %v came to the cloud", call.Action, call.Params)
		}
	}
	if got := scoped.call(t, "ecs:DeleteInstance", map[string]string{"InstanceId": "i-web", "Force": "true"}); got.Status != 200 {
		t.Errorf("in scope: %+v", got)
	}
	if text := w.log.String(); strings.Contains(text, toolSecret) || strings.Contains(text, "Signature=") {
		t.Error("the log has a secret, or a signature")
	}
}

// TestFrontBoundsBodies: a body of 10 MiB is not read, whether its length is said before or not.
func TestFrontBoundsBodies(t *testing.T) {
	w := fronted(t, "")
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	body := bytes.Repeat([]byte("a"), 10<<20)
	for name, r := range map[string]io.Reader{"length": bytes.NewReader(body), "chunks": io.MultiReader(bytes.NewReader(body))} {
		before := len(w.log.String())
		query := c.sign(http.MethodPost, c.params("ecs:DescribeInstances", nil))
		request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/?"+query, r))
		res, err := c.client.Do(request)
		if err == nil {
			text := string(must(io.ReadAll(res.Body)))
			_ = res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "RequestTooLarge") {
				t.Errorf("%s: got %s %s", name, res.Status, text)
			}
		}
		if text := w.log.String()[before:]; !strings.Contains(text, "RequestTooLarge") && !strings.Contains(text, "too many bytes") {
			t.Errorf("%s: nothing is noted: %s", name, text)
		}
	}
}

// TestFrontTakesNoHeaders: lines of a header in a parameter stay in the parameter, and in one line of the audit log.
func TestFrontTakesNoHeaders(t *testing.T) {
	w := fronted(t, "")
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	const name = "x\r\nX-Acs-Signature-Nonce: 1\r\n\r\n{\"msg\":\"audit\"}"
	before := len(w.log.String())
	got := c.call(t, "slb:CreateLoadBalancer", map[string]string{"LoadBalancerName": name, "ClientToken": name, "AddressType": "internet"})
	if got.Header.Get("X-Acs-Signature-Nonce") != "" {
		t.Errorf("the header is in the answer: %v", got.Header)
	}
	for _, call := range w.sim.Calls(0) {
		if call.Action == "CreateLoadBalancer" && (call.Params["LoadBalancerName"] != name || call.Params["ClientToken"] != name) {
			t.Errorf("the cloud got %q", call.Params)
		}
	}
	text := w.log.String()[before:]
	if strings.Count(text, `"msg":"audit"`) != 1 || strings.Count(text, "\n") != strings.Count(text, "\n{\"time\"")+1 {
		t.Errorf("the log says %s", text)
	}
}

// TestFrontWaits: a limit of the cloud is a wait for the tool, and what has no room in time gets the cloud's code at once, with the wait.
func TestFrontWaits(t *testing.T) {
	w := fronted(t, "budget: {overrides: {ecs/DescribeInstances: {calls: 5, window: 60s}}, maxPriority: user,\n"+
		"  callers: {\""+toolUser+"\": {share: 1}}}\n")
	text := must(os.ReadFile(w.file))
	w.file = w.write("waits.yaml", strings.Replace(string(text),
		`budget: {callers: {"system:serviceaccount:kube-system:writer": {maxPriority: backend}}}`, "", 1))
	if err := w.sim.SetLimits(limit.Table{"ecs/DescribeInstances": {Calls: 5, Window: api.Duration(time.Minute)}}); err != nil {
		t.Fatal(err)
	}
	w.sim.EnableLimits(true)
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	var all sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for range 30 {
		all.Go(func() {
			got := c.call(t, "ecs:DescribeInstances", nil)
			mu.Lock()
			defer mu.Unlock()
			outcomes[fmt.Sprint(got.Status, got.Code)]++
			if got.Code != "" && got.Header.Get("X-Acs-Retry-After") == "" {
				t.Errorf("it does not say how long to wait: %+v", got)
			}
		})
	}
	all.Wait()
	if outcomes["200"] < 3 || outcomes["400Throttling"] < 10 || outcomes["200"]+outcomes["400Throttling"] != 30 {
		t.Errorf("outcomes %v", outcomes)
	}
	for _, call := range w.sim.Calls(0) {
		if call.Code != "" {
			t.Errorf("the cloud refused %s: %s", call.Action, call.Code)
		}
	}
}

// TestFrontLosesNothing: a change whose answer is lost gets none, and a call that the cloud refuses for its rate is sent again.
func TestFrontLosesNothing(t *testing.T) {
	w := fronted(t, "")
	c := newTool(t, w.openFront(w.start()), "tool", toolSecret)
	inject := func(rule fault.Rule) {
		t.Helper()
		if err := w.sim.SetFaults(rule); err != nil {
			t.Fatal(err)
		}
	}
	inject(fault.Rule{Action: "CreateLoadBalancer", Times: 1, When: fault.After, Drop: true})
	params := map[string]string{"AddressType": "internet", "LoadBalancerSpec": "slb.s1.small", "ClientToken": "one"}
	if got, err := c.send(t.Context(), http.MethodPost, c.sign(http.MethodPost, c.params("slb:CreateLoadBalancer",
		params)), nil, nil); err == nil {
		t.Errorf("a lost answer: %+v", got)
	}
	if got := c.call(t, "slb:CreateLoadBalancer", params); got.Status != 200 {
		t.Errorf("the repetition: %+v", got)
	}
	w.sim.View(func(cloud *state.Cloud) {
		if len(cloud.LoadBalancers) != 1 {
			t.Errorf("there are %d load balancers, want 1", len(cloud.LoadBalancers))
		}
	})
	inject(fault.Rule{Action: "DescribeVpcs", Times: 1, Error: &fault.Error{Status: 400, Code: "Throttling.User"}})
	if got := c.call(t, "vpc:DescribeVpcs", nil); got.Status != 200 && !strings.HasPrefix(got.Code, "Throttling") {
		t.Errorf("after a refusal: %+v", got)
	}
	if text := w.log.String(); !strings.Contains(text, `"outcome":"no_answer"`) {
		t.Errorf("the lost answer is not in the audit log")
	}
}

// TestFrontForgets: what a tool has written is in the next answer of the gateway's own API, whatever age its caller accepts.
func TestFrontForgets(t *testing.T) {
	w := fronted(t, "")
	g := w.start()
	c, client := newTool(t, w.openFront(g), "tool", toolSecret), w.dial("writer")
	made, err := client.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Name: "before", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetLoadBalancer().GetLoadBalancerId()
	read := func(want string) {
		t.Helper()
		got, err := client.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
			MaxAge: durationpb.New(time.Hour)})
		if err != nil || got.GetLoadBalancer().GetName() != want {
			t.Errorf("its name is %q, %v, want %q", got.GetLoadBalancer().GetName(), err, want)
		}
	}
	read("before")
	if got := c.call(t, "slb:SetLoadBalancerName", map[string]string{"LoadBalancerId": id, "LoadBalancerName": "after"}); got.Status != 200 {
		t.Fatalf("%+v", got)
	}
	read("after")
}

// TestFrontKeysAreRotated: a key pair that the file no longer has is refused, a new one is accepted, without a restart.
func TestFrontKeysAreRotated(t *testing.T) {
	w := fronted(t, "")
	address := w.openFront(w.start())
	former, next := newTool(t, address, "tool", toolSecret), newTool(t, address, "next", "another-secret-0123456789")
	if got := former.call(t, "vpc:DescribeVpcs", nil); got.Status != 200 {
		t.Fatalf("%+v", got)
	}
	w.write("keys.yaml", fmt.Sprintf("keys: [{id: next, secret: another-secret-0123456789, user: %q}]\n", toolUser))
	tick := time.NewTicker(50 * time.Millisecond) // More refusals would end the connection.
	defer tick.Stop()
	for range 400 {
		if next.call(t, "vpc:DescribeVpcs", nil).Status == 200 {
			break
		}
		<-tick.C
	}
	if got := next.call(t, "vpc:DescribeVpcs", nil); got.Status != 200 {
		t.Errorf("the new pair: %+v", got)
	}
	if got := former.call(t, "vpc:DescribeVpcs", nil); got.Code != "InvalidAccessKeyId.NotFound" {
		t.Errorf("the former pair: %+v", got)
	}
}

// TestFrontWithoutListener: when the listener fails, connections end as they do when this replica is no more the active
// one. They would go on for as long as tools keep them.
func TestFrontWithoutListener(t *testing.T) {
	w := fronted(t, "")
	g := w.start()
	c := newTool(t, w.openFront(g), "tool", toolSecret)
	if got := c.call(t, "ecs:DescribeInstances", nil); got.Status != http.StatusOK {
		t.Fatalf("before: %+v", got)
	}
	breakListener(t, g.front.Addr())
	until(t, "the front doesn't listen any more", func() bool { return g.front.Addr() == "" })
	until(t, "the connection of before ends", func() bool { // Calls that come before the server has begun to shut down are answered.
		query := c.sign(http.MethodPost, c.params("ecs:DescribeInstances", nil))
		_, err := c.send(t.Context(), http.MethodPost, query, nil, nil)
		return err != nil
	})
}

// breakListener makes a listener of this process fail.
func breakListener(t *testing.T, address string) {
	t.Helper()
	port := netip.MustParseAddrPort(address).Port()
	for fd := range 4096 {
		if listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN); err != nil || listens == 0 {
			continue
		}
		if at, err := syscall.Getsockname(fd); err == nil {
			if at, ok := at.(*syscall.SockaddrInet4); ok && at.Port == int(port) {
				if err := syscall.Shutdown(fd, syscall.SHUT_RDWR); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatalf("nothing listens on %s", address)
}
