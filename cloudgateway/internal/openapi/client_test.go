package openapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

func TestHosts(t *testing.T) {
	tests := []struct {
		name    string
		cfg     Config
		want    string // URL of SLB
		wantErr string
	}{
		{name: "public", cfg: Config{Region: "cn-hangzhou"}, want: "https://slb.cn-hangzhou.aliyuncs.com/"},
		{name: "inside a VPC", cfg: Config{Region: "cn-hangzhou", Network: "vpc"}, want: "https://slb-vpc.cn-hangzhou.aliyuncs.com/"},
		{name: "endpoint", cfg: Config{Region: "cn-hangzhou", Endpoints: map[Product]string{SLB: "127.0.0.1:9000"}}, want: "https://127.0.0.1:9000/"},
		{name: "no region", wantErr: `region "": want a region id such as cn-hangzhou`},
		{name: "network", cfg: Config{Region: "cn-hangzhou", Network: "classic"}, wantErr: `network "classic": want vpc or public`},
		{name: "URL", cfg: Config{Region: "cn-hangzhou", Endpoints: map[Product]string{SLB: "http://x/"}},
			wantErr: `endpoint of slb "http://x/": want HOST or HOST:PORT`},
		{name: "scheme", cfg: Config{Region: "cn-hangzhou", Scheme: "FTP"}, wantErr: `scheme "FTP": want HTTPS or HTTP`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Budget = &fakeBudget{}
			tt.cfg.Credentials = &fakeCredentials{keys: []credentials.Credentials{testKey}}
			c, err := New(tt.cfg)
			if err != nil {
				if diff := cmp.Diff(tt.wantErr, err.Error()); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				return
			}
			if got := c.URL(SLB); got != tt.want || tt.wantErr != "" {
				t.Errorf("URL %q, want %q, error %q", got, tt.want, tt.wantErr)
			}
		})
	}
}
