package openapisim_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// At one port a request goes to the product whose host name it calls, else to the one of its version.
func TestOnePortForAllProducts(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	for _, tt := range []struct{ product, action string }{
		{"slb", "DescribeLoadBalancers"}, {"vpc", "DescribeVpcs"}, {"ecs", "DescribeInstances"}, {"sts", "GetCallerIdentity"},
	} {
		sim.ClearCalls()
		r := c.request(tt.product, tt.action)
		r.Domain = sim.Endpoint("all")
		if _, code := c.do(r); code != "" {
			t.Errorf("%s %s: %s", tt.product, tt.action, code)
		}
		if calls := sim.Calls(0); len(calls) != 1 || calls[0].Product != tt.product {
			t.Errorf("%s %s: the journal has %+v", tt.product, tt.action, calls)
		}
	}
}

func TestFrontChoosesByHost(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	for _, tt := range []struct{ method, url, host, body, want string }{
		{http.MethodGet, "/?Action=X&Version=none", "slb.cn-hangzhou.aliyuncs.com", "", "slb"},
		{http.MethodGet, "/?Action=X&Version=none", "slb-vpc.cn-hangzhou.aliyuncs.com:443", "", "slb"},
		{http.MethodGet, "/?Action=X&Version=none", "ecs-cn-hangzhou.aliyuncs.com", "", "ecs"},
		{http.MethodGet, "/?Action=X&Version=none", "location-readonly.aliyuncs.com", "", "location"},
		{http.MethodGet, "/?Action=X&Version=2016-04-28", "127.0.0.1:9108", "", "vpc"},
		{http.MethodPost, "/", "localhost", "Action=X&Version=2016-04-28", "vpc"},
		{http.MethodGet, "/?Action=X&Version=none", "localhost", "", "ecs"},
	} {
		sim.ClearCalls()
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.url, strings.NewReader(tt.body))
		r.Host = tt.host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		sim.Handler("all").ServeHTTP(httptest.NewRecorder(), r)
		if calls := sim.Calls(0); len(calls) != 1 || calls[0].Product != tt.want {
			t.Errorf("%s %s: %+v, want %s", tt.host, tt.url, calls, tt.want)
		}
	}
	for path, want := range map[string]string{"/admin/healthz": "ok", "/latest/meta-data/region-id": "cn-hangzhou", "/console": "html"} {
		w := httptest.NewRecorder()
		sim.Handler("all").ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.80s", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	sim.Handler("all").ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusFound {
		t.Errorf("a person at the port gets %d", w.Code)
	}
}

// A client that trusts the certificate authority calls with TLS, as STS of SDK v1 and the aliyun CLI always do.
func TestTLS(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	roots := x509.NewCertPool()
	w := httptest.NewRecorder()
	sim.Handler("admin").ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/ca", nil))
	if ca := w.Body.Bytes(); !bytes.Equal(ca, sim.CA()) || !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("certificate authority %q", ca)
	}
	for name, accepted := range map[string]bool{"sts.cn-hangzhou.aliyuncs.com": true, "sts.aliyuncs.com": true,
		"localhost": true, "example.org": false} {
		// The certificate is checked for the name that the client calls; the address is that of the simulator.
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
		c, err := sdk.NewClientWithOptions("cn-hangzhou", sdk.NewConfig().WithHttpTransport(transport),
			credentials.NewAccessKeyCredential(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret))
		if err != nil {
			t.Fatal(err)
		}
		r := newClient(t, sim).request("sts", "GetCallerIdentity")
		r.Scheme, r.Domain = "HTTPS", sim.Endpoint("tls")
		_, err = c.ProcessCommonRequest(r)
		if (err == nil) != accepted {
			t.Errorf("%s: %v", name, err)
		}
		transport.CloseIdleConnections()
	}
}
