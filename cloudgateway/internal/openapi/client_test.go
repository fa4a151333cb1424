package openapi

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

func TestHosts(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string // URL of SLB
	}{
		{name: "public", cfg: Config{Region: "cn-chengdu"}, want: "https://slb.cn-chengdu.aliyuncs.com/"},
		{name: "public, of an old region", cfg: Config{Region: "cn-hangzhou"}, want: "https://slb.aliyuncs.com/"},
		{name: "inside a VPC", cfg: Config{Region: "cn-hangzhou", Network: "vpc"}, want: "https://slb-vpc.cn-hangzhou.aliyuncs.com/"},
		{name: "endpoint", cfg: Config{Region: "cn-hangzhou", Endpoints: map[Product]string{SLB: "127.0.0.1:9000"}},
			want: "https://127.0.0.1:9000/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Budget = &fakeBudget{}
			tt.cfg.Credentials = &fakeCredentials{keys: []credentials.Credentials{testKey}}
			if got := New(tt.cfg).URL(SLB); got != tt.want {
				t.Errorf("URL %q, want %q", got, tt.want)
			}
		})
	}
}

// TestQuotaCenterHasOneHost: wherever the gateway runs, and whatever its network is.
func TestQuotaCenterHasOneHost(t *testing.T) {
	for _, network := range []string{"public", "vpc"} {
		client := New(Config{Region: "cn-beijing", Network: network, Budget: &fakeBudget{}, Credentials: &fakeCredentials{}})
		if got := client.URL(Quotas); got != "https://quotas.aliyuncs.com/" {
			t.Errorf("%s: URL %q", network, got)
		}
	}
}
