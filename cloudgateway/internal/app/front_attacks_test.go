package app

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// rawly sends the bytes of a request to the front and reads one answer; the status is 0 if there was none.
func rawly(t *testing.T, address, text string) (status int, body string) {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", strings.TrimPrefix(address, "https://"),
		&tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	read, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read)
}

// TestFrontAttacks: tricks with names of actions and products, with the ways to sign, and with HTTP. None changes
// anything, and each is answered with the code that is expected, or by the server of HTTP itself.
func TestFrontAttacks(t *testing.T) {
	w := fronted(t, "scopes: [{callers: [\""+scopedUser+"\"], tags: {team: web}}]\n")
	for _, name := range []string{
		"ecs:*", "ecs:Delete*", "ecs:Release*", "vpc:*", "vpc:Modify*", "vpc:Diagnose*", "alidns:*", "nas:*", "cas:*",
	} {
		w.toolMay[name] = true
	}
	w.write("keys.yaml", string(must(os.ReadFile(w.dir+"/keys.yaml")))+"sessionSecrets: ["+sealSecret+"]\n")
	address := w.openFront(w.start())
	host := strings.TrimPrefix(address, "https://")
	good, scoped := newTool(t, address, "tool", toolSecret), newTool(t, address, "scoped", scopedSecret)
	one := sessionOf(t, address, assume(t, newTool(t, address, "", ""), "pod-of-tool", nil))
	send := func(c *tool, method, query string, body []byte, headers map[string]string) (int, string) {
		t.Helper()
		got, err := c.send(t.Context(), method, query, body, headers)
		if err != nil {
			t.Fatal(err)
		}
		return got.Status, got.Body
	}
	call := func(c *tool, name string, params map[string]string) func() (int, string) {
		return func() (int, string) { got := c.call(t, name, params); return got.Status, got.Body }
	}
	signed := func(c *tool, method, name string, params map[string]string) string {
		return c.sign(method, c.params(name, params))
	}
	at := func(host string) *tool { c := *good; c.host = host; return &c }
	v3 := func(change func(headers map[string]string)) func() (int, string) {
		return func() (int, string) {
			body, headers := good.sign3("ecs:DeleteInstance", map[string]string{"InstanceId": "i-web"})
			change(headers)
			return send(good, http.MethodPost, "", body, headers)
		}
	}
	const erase = "ecs:DeleteInstance"
	inject := func(lines, body string) func() (int, string) { // into a request whose signature is right
		return func() (int, string) {
			query := signed(good, http.MethodPost, "ecs:DescribeInstances", nil)
			return rawly(t, address, "POST /?"+query+" HTTP/1.1\r\nHost: "+host+"\r\n"+lines+"\r\n"+body)
		}
	}
	tests := []struct {
		name   string
		attack func() (int, string)
		status int
		want   string // in the answer
	}{
		// Names of actions and products.
		{
			"VPC's vSwitch by ECS, which a pattern allows",
			call(good, "ecs:DeleteVSwitch", map[string]string{"VSwitchId": "vsw-1"}),
			403, "Forbidden.RAM",
		},
		{
			"an EIP by ECS, in another spelling",
			call(good, "ecs:releaseEIPAddress", map[string]string{"AllocationId": "eip-1"}),
			403, "Forbidden.RAM",
		},
		{"keys of a VPN by a diagnosis", call(good, "vpc:DiagnoseVpnConnections", nil), 403, "Forbidden.RAM"},
		{
			"keys of a VPN by a change of its name",
			call(good, "vpc:ModifyVpnConnectionAttribute", map[string]string{"Name": "x"}),
			403, "Forbidden.RAM",
		},
		{"keys of a tunnel, in small letters", call(good, "vpc:modifytunnelattribute", nil), 403, "Forbidden.RAM"},
		{"keys of the private DNS", call(good, "alidns:DescribePdnsAppKeys", nil), 403, "Forbidden.RAM"},
		{"passwords of a CPFS", call(good, "nas:DescribeMountTargets", nil), 403, "Forbidden.RAM"},
		{
			"a key by the state of its certificate",
			call(good, "cas:DescribeCertificateState", map[string]string{"Version": "2020-04-07"}),
			403, "Forbidden.RAM",
		},
		{"a pattern as the action", call(good, "ecs:Describe*", nil), 400, "MissingAction"},
		{"a product in the action", call(good, "ecs:ecs/DescribeInstances", nil), 400, "MissingAction"},
		{
			"the version of another product",
			call(good, "ecs:DeleteVSwitch", map[string]string{"Version": versions["slb"]}),
			404, "NotFound",
		},
		{
			"a version in two forms",
			call(good, "ecs:DescribeInstances", map[string]string{"version": versions["vpc"]}),
			400, "InvalidParameter",
		},
		{
			"a name of a product with a port and a dot",
			call(at("cloudgateway-slb.:1"), erase, nil),
			400, "InvalidVersion",
		},
		{"a host in the target of the request", func() (int, string) {
			query := signed(good, http.MethodPost, erase, map[string]string{"InstanceId": "i-web"})
			return rawly(t, address, "POST http://cloudgateway-slb/?"+query+" HTTP/1.1\r\nHost: cloudgateway-ecs\r\n"+
				"Content-Length: 0\r\n\r\n")
		}, 400, "InvalidVersion"},

		// Ways to sign.
		{"version 1 for GET, sent by POST", func() (int, string) {
			return send(good, http.MethodPost, signed(good, http.MethodGet, erase, map[string]string{"InstanceId": "i-web"}), nil, nil)
		}, 400, "SignatureDoesNotMatch"},
		{"a body below a signed GET", func() (int, string) {
			query := signed(good, http.MethodGet, erase, map[string]string{"InstanceId": "i-web"})
			return send(good, http.MethodGet, query, []byte("Force=true"), nil)
		}, 400, "SignatureDoesNotMatch"},
		{"version 1 in the header of version 3", func() (int, string) {
			query := signed(good, http.MethodPost, erase, map[string]string{"InstanceId": "i-web"})
			_, signature, _ := strings.Cut(query, "Signature=")
			return send(good, http.MethodPost, query, nil, map[string]string{"Authorization": "acs tool:" + signature})
		}, 400, "InvalidSignatureMethod"},
		{"version 3 with a query of version 1", func() (int, string) {
			body, headers := good.sign3(erase, map[string]string{"InstanceId": "i-web"})
			return send(good, http.MethodPost, signed(good, http.MethodPost, erase, nil), body, headers)
		}, 400, "InvalidParameter"},
		{"version 3, the body as the query", func() (int, string) {
			body, headers := good.sign3(erase, map[string]string{"InstanceId": "i-web"})
			return send(good, http.MethodPost, string(body), nil, headers)
		}, 400, "SignatureDoesNotMatch"},
		{
			"version 3 for another host",
			v3(func(h map[string]string) { h["Host"] = "cloudgateway-ecs" }),
			400, "SignatureDoesNotMatch",
		},
		{"version 3 with the signed headers in another order", v3(func(h map[string]string) {
			h["Authorization"] = strings.Replace(h["Authorization"], "host;x-acs-action", "x-acs-action;host", 1)
		}), 400, "SignatureDoesNotMatch"},
		{"version 3 with an empty signature", v3(func(h map[string]string) {
			h["Authorization"] = h["Authorization"][:strings.Index(h["Authorization"], "Signature=")+10]
		}), 400, "SignatureDoesNotMatch"},
		{
			"version 3 with a second signature",
			v3(func(h map[string]string) { h["Authorization"] += ",Signature=00" }),
			400, "SignatureDoesNotMatch",
		},
		{
			"another action in version 3",
			v3(func(h map[string]string) { h["x-acs-action"] = "RebootInstance" }),
			400, "SignatureDoesNotMatch",
		},
		{"a session without its token in the signature", func() (int, string) {
			c := *one
			c.token = ""
			query := signed(&c, http.MethodPost, erase, map[string]string{"InstanceId": "i-web"})
			return send(&c, http.MethodPost, query+"&SecurityToken="+url.QueryEscape(one.token), nil, nil)
		}, 400, "SignatureDoesNotMatch"},
		{"a session, version 3, its token in the body", func() (int, string) {
			c := *one
			c.token = ""
			body, headers := c.sign3(erase, map[string]string{"InstanceId": "i-web", "SecurityToken": one.token})
			return send(&c, http.MethodPost, "", body, headers)
		}, 400, "InvalidParameter"},
		{"a session with its last sign changed", func() (int, string) {
			c := *one
			last, sign := len(c.token)-2, "x" // Of the very last some bits count for nothing.
			if c.token[last] == 'x' {
				sign = "y"
			}
			c.token = c.token[:last] + sign + c.token[last+1:]
			return call(&c, erase, nil)()
		}, 400, "InvalidSecurityToken.Malformed"},
		{"a session for a signed request, and more", func() (int, string) {
			return send(good, http.MethodPost, "Action=AssumeRoleWithOIDC&Version=2015-04-01&Signature=x&OIDCToken=pod-of-tool", nil, nil)
		}, 400, "InvalidSignatureMethod"},
		{
			"a time with another zone",
			call(good, erase, map[string]string{"Timestamp": time.Now().Format("2006-01-02T15:04:05+00:00")}),
			400, "InvalidTimeStamp.Format",
		},
		{
			"a nonce that is long",
			call(good, erase, map[string]string{"SignatureNonce": strings.Repeat("n", 200)}),
			400, "MissingSignatureNonce",
		},

		// Out of the scope.
		{
			"a zero in the id",
			call(scoped, erase, map[string]string{"InstanceId": "i-web\x00i-db"}),
			403, "Forbidden.RAM",
		},
		{
			"two ids with a comma",
			call(scoped, erase, map[string]string{"InstanceId": "i-web,i-db"}),
			403, "Forbidden.RAM",
		},
		{
			"a number with a zero before it",
			call(scoped, "ecs:DeleteInstances", map[string]string{"InstanceId.1": "i-web", "InstanceId.02": "i-db"}),
			403, "Forbidden.RAM",
		},
		{
			"a member of an id",
			call(scoped, "ecs:DeleteInstances", map[string]string{"InstanceId.1": "i-web", "InstanceId.2.Id": "i-db"}),
			403, "Forbidden.RAM",
		},
		{
			"ids in JSON with more behind them",
			call(scoped, "ecs:DeleteInstances", map[string]string{"InstanceId": `["i-web"] ["i-db"]`}),
			403, "Forbidden.RAM",
		},
		{
			"the action in small letters",
			call(scoped, "ecs:deleteinstance", map[string]string{"InstanceId": "i-db"}),
			403, "Forbidden.RAM",
		},

		// HTTP.
		{
			"a name of a header with a space",
			inject("Content-Length: 0\r\nX-Acs-Action : DeleteInstance\r\n", ""),
			400, "",
		},
		{"two hosts", inject("Host: cloudgateway-slb\r\nContent-Length: 0\r\n", ""), 400, ""},
		{"two lengths", inject("Content-Length: 0\r\nContent-Length: 20\r\n", "InstanceId=i-web&a=b"), 400, ""},
		{
			"chunks beside a length",
			inject("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "8\r\nForce=tr\r\n0\r\n\r\n"),
			400, "SignatureDoesNotMatch",
		},
		{"chunks in another spelling", inject("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501, ""},
		{"a long header", inject("X: "+strings.Repeat("x", 80<<10)+"\r\nContent-Length: 0\r\n", ""), 431, ""},
		{"another method in a header", func() (int, string) {
			return send(good, http.MethodPost, signed(good, http.MethodPost, "ecs:DescribeInstances", nil), nil,
				map[string]string{"X-HTTP-Method-Override": "DELETE", "X-Acs-Action": "DeleteInstance", "X-Forwarded-Host": "cloudgateway-slb"})
		}, 200, "Instances"},
	}
	before := len(w.sim.Calls(0))
	for _, tt := range tests {
		if status, body := tt.attack(); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: got %d %.300s, want %d %s", tt.name, status, body, tt.status, tt.want)
		}
	}
	for _, call := range w.sim.Calls(int64(before)) {
		if call.Mutating {
			t.Errorf("%s %v came to the cloud", call.Action, call.Params)
		}
	}
}
