package front

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// TestProductOf: the name that a tool calls says the product, and the version has to be one of its. Other names leave it to the
// version.
func TestProductOf(t *testing.T) {
	t.Parallel()
	const ecs, vpc = "2014-05-26", "2016-04-28"
	for _, tt := range []struct{ name, host, version, want, code string }{
		{"the gateway's own name", "cloudgateway.kube-system.svc:7444", ecs, "ecs", ""},
		{"an address", "192.168.0.1:7444", vpc, "vpc", ""},
		{"an address of IPv6", "[::1]:7444", vpc, "vpc", ""},
		{"no host", "", vpc, "vpc", ""},
		{"the name of a product", "cloudgateway-ecs.kube-system.svc:7444", ecs, "ecs", ""},
		{"in capitals", "CloudGateway-ECS.kube-system.svc", ecs, "ecs", ""},
		{"a name of the operator's", "ecs.gateway.example.com", ecs, "ecs", ""},
		{"the later version of a product", "cloudgateway-ess.kube-system.svc", "2022-02-22", "ess", ""},
		{"the version of another", "cloudgateway-ecs.kube-system.svc", vpc, "", "InvalidVersion"},
		{"the version of another, by a name of the operator's", "ecs.gateway.example.com", vpc, "", "InvalidVersion"},
		{"a product that is not shared", "cloudgateway-quotas.kube-system.svc", "2020-05-10", "", "InvalidProduct.NotFound"},
		{"a product that is not shared, by its version", "cloudgateway.kube-system.svc", "2020-05-10", "", "InvalidVersion"},
		{"no product", "cloudgateway-oss.kube-system.svc", ecs, "", "InvalidProduct.NotFound"},
		{"nothing", "cloudgateway-.kube-system.svc", ecs, "", "InvalidProduct.NotFound"},
		{"no version", "cloudgateway-ecs.kube-system.svc", "", "", "InvalidVersion"},
	} {
		got, err := productOf(tt.host, tt.version)
		refused, _ := errors.AsType[*refusal](err)
		if string(got) != tt.want || tt.code == "" && err != nil || tt.code != "" && (refused == nil || refused.code != tt.code) {
			t.Errorf("%s: %s, %v, want %s%s", tt.name, got, err, tt.want, tt.code)
		}
	}
}

// TestActionOfThePath: what a tool calls an action counts for nothing. If it says another than that of the path, it is refused.
func TestActionOfThePath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, path, action, want string }{
		{"GET", "/clusters/c-1", "", "DescribeClusterDetail"},
		{"GET", "/clusters/c-1", "DescribeClusterDetail", "DescribeClusterDetail"},
		{"GET", "/k8s/c-1/user_config", "DescribeClusterDetail", ""},
		{"DELETE", "/clusters/c-1", "DescribeClusterDetail", ""},
		{"GET", "/clusters/c-1", "describeclusterdetail", ""},
	} {
		req := &request{method: tt.method, path: tt.path, action: tt.action}
		if err := req.byPath(); err == nil && req.action != tt.want || err != nil && tt.want != "" {
			t.Errorf("%s %s as %s: %s, %v", tt.method, tt.path, tt.action, req.action, err)
		}
	}
}

// TestSignatureInHeaders1: a request of CS as the SDK signs it is accepted with the secret and with no other one, and covers method,
// path, query, headers and body.
func TestSignatureInHeaders1(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "a-token"} {
		var came *http.Request
		var body []byte
		network := pipes.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			came, body = r, must(io.ReadAll(r.Body))
			w.Header().Set("X-Acs-Request-Id", "R")
		}))
		client := openapi.New(openapi.Config{Region: "cn-hangzhou", Scheme: "HTTP", Budget: openapi.Unlimited{}, Dial: network.Dial,
			Credentials: credentials.Fixed{Credentials: credentials.Credentials{
				AccessKeyID: "key", AccessKeySecret: "secret", SecurityToken: token}}})
		t.Cleanup(client.Close)
		if _, _, err := client.Pass(t.Context(), openapi.Call{
			Product: openapi.CS, Action: "DescribeClusterAttachScripts", Method: "POST", Path: "/clusters/c-1/attachscript",
			Params: map[string]string{"name": "ü *~+&=/", "empty": ""}, Body: []byte(`{"arch":"arm64"}`), ContentType: "application/json",
		}, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		again := func() *http.Request {
			r := came.Clone(t.Context())
			r.URL = must(url.Parse(came.URL.String()))
			return r
		}
		req, err := parse(again(), body)
		if err != nil {
			t.Fatal(err)
		}
		if !req.signature.by("secret") || req.signature.by("another") || req.token != token || req.keyID != "key" ||
			req.action != "DescribeClusterAttachScripts" || len(req.nonce) < 16 {
			t.Errorf("with token %q: %+v", token, req)
		}
		for what, change := range map[string]func(r *http.Request){
			"method":  func(r *http.Request) { r.Method = http.MethodDelete },
			"path":    func(r *http.Request) { r.URL.Path = "/clusters/c-2/attachscript" },
			"query":   func(r *http.Request) { r.URL.RawQuery = "empty=&name=x" },
			"version": func(r *http.Request) { r.Header.Set("X-Acs-Version", "2014-05-26") },
			"action":  func(r *http.Request) { r.Header.Set("X-Acs-Action", "DescribeClusterDetail") },
			"token":   func(r *http.Request) { r.Header.Set("X-Acs-Security-Token", "another") },
			"nonce":   func(r *http.Request) { r.Header.Set("X-Acs-Signature-Nonce", "another") },
			"type":    func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
			"date":    func(r *http.Request) { r.Header.Set("Date", "Fri, 02 Jan 2026 03:04:05 GMT") },
		} {
			r := again()
			change(r)
			if req, err := parse(r, body); err == nil && req.signature.by("secret") {
				t.Errorf("%s is not covered", what)
			}
		}
		if req, err := parse(again(), []byte(`{"arch":"amd64"}`)); err == nil {
			t.Errorf("the body is not covered: %+v", req)
		}
		without := again()
		without.Header.Del("X-Acs-Signature-Nonce")
		if req, err := parse(without, body); err != nil || req.nonce != req.signature.given {
			t.Errorf("without a nonce: %+v, %v", req, err)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestChartHasTheProducts: the chart has a name for each product that is shared.
func TestChartHasTheProducts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "chart", "templates", "_gateway.tpl"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)define "alicloud-controllers.frontProducts" -}}\s*(\[.*?\])`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the chart has no list of products")
	}
	var names []string
	if err := json.Unmarshal(found[1], &names); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range openapi.Shared() {
		want = append(want, string(p))
	}
	if !slices.Equal(names, want) {
		t.Errorf("the chart has %v, the gateway %v", names, want)
	}
}
