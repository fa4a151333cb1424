package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestDoctor examines configurations as the command does.
func TestDoctor(t *testing.T) {
	sim, err := openapisim.New(openapisim.Config{LimitsOff: true,
		Seed: &state.Cloud{Vpcs: map[string]*state.Vpc{"vpc-1": {CidrBlock: "10.0.0.0/8"}}}})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(product string) string {
		server := httptest.NewServer(sim.Handler(product))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("id", openapisim.DefaultAccessKeyID)
	write("good", openapisim.DefaultAccessKeySecret)
	write("bad", "another-secret")
	config := func(secret string) string {
		return write(secret+".yaml", fmt.Sprintf(`
region: cn-hangzhou
vpcID: vpc-1
tls: {certFile: tls.crt, keyFile: tls.key}
credentials:
  accessKey: {idFile: %[1]s/id, secretFile: %[1]s/%[2]s}
  assumeRole: {roleARN: "acs:ram::1000000000000001:role/cloudgateway"}
metadataEndpoint: http://%[3]s
endpoints: {slb: %[4]q, vpc: %[5]q, ecs: %[6]q, sts: %[7]q}
scheme: HTTP
`, dir, secret, serve("metadata"), serve("slb"), serve("vpc"), serve("ecs"), serve("sts")))
	}
	const routes, nodes = "vpc:CreateRouteEntries", "ecs:ModifyNetworkInterfaceAttribute"
	installed := func(features string) map[string]string { return map[string]string{"DOCTOR_FEATURES": features} }
	tests := []struct {
		name    string
		args    []string
		env     map[string]string
		wantErr string
		want    string
		not     string
	}{
		{name: "all controllers", args: []string{"--config", config("good")}, want: routes},
		{name: "without routecontroller", args: []string{"--config", config("good")}, env: installed("load-balancers,nodes"),
			want: nodes, not: routes},
		{name: "only the gateway", args: []string{"--config", config("good")}, env: installed(""), want: "credentials", not: nodes},
		{name: "a feature that is named", args: []string{"--config", config("good"), "--features", "routes"},
			env: installed("nodes"), want: routes},
		{name: "unknown feature is installed", args: []string{"--config", config("good")}, env: installed("pods"), wantErr: `"pods" is none of`},
		{name: "good", args: []string{"--config", config("good")}, want: "acs:ram::1000000000000001:assumed-role/cloudgateway/cloudgateway"},
		{name: "bad", args: []string{"--config", config("bad")}, wantErr: "can't work like this, 1 of ", want: "FAILED"},
		{name: "some features", args: []string{"--config", config("good"), "--features", "nodes, routes"},
			want: "ecs:ModifyNetworkInterfaceAttribute"},
		{name: "unknown feature", args: []string{"--config", config("good"), "--features", "pods"}, wantErr: `"pods" is none of`},
		{name: "no configuration", wantErr: "name one with --config FILE"},
		{name: "wrong configuration", args: []string{"--config", write("empty.yaml", "")}, wantErr: "tls.certFile: is required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			var out strings.Builder
			err := examine(tt.args, &out)
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("the output lacks %q:\n%s", tt.want, out.String())
			}
			if tt.not != "" && strings.Contains(out.String(), tt.not) {
				t.Errorf("the output has %q:\n%s", tt.not, out.String())
			}
		})
	}
}
