package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const minimal = `
clusterID: c-demo
gateway: {address: "127.0.0.1:7443", caFile: /ca, tokenFile: /token}
`

func TestDefaults(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Load(write(t, minimal), "")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	got := []any{cfg.ClusterID, cfg.Gateway.ServerName, cfg.BackendType, cfg.Workers, time.Duration(cfg.NodeGather.Quiet),
		time.Duration(cfg.NodeGather.Max),
		time.Duration(cfg.DriftCheckInterval), cfg.LeaderElection.Enabled, cfg.LeaderElection.Name, cfg.ServiceFields, cfg.BackendIPv6, cfg.CLB}
	if diff := cmp.Diff([]any{"c-demo", "cloudgateway", "node", 10, 2 * time.Second, 5 * time.Second, 4 * time.Hour, true,
		"lbcontroller", true, true, CLB{Class: annotation.CLBClass, WithoutClass: true}}, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestCloudConfig(t *testing.T) {
	t.Parallel()
	cloud := write(t, `{"Global": {"clusterID": "c-old", "region": "cn-hangzhou", "vpcid": "vpc-1",
	"vswitchid": ":vsw-1,vsw-2", "resourceGroupID": "rg-1",
		"serviceBackendType": "eni", "disablePublicSLB": true, "serviceMaxConcurrentReconciles": 5,
		"featureGates": "LoadBalancerTypeAnnotation=true"}}`)
	cfg, _, err := Load(write(t, minimal+"workers: 7\n"), cloud)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{cfg.ClusterID, cfg.Region, cfg.VPCID, cfg.VSwitchIDs, cfg.ResourceGroupID, cfg.BackendType,
		cfg.DisablePublicLoadBalancer, cfg.Workers, cfg.LoadBalancerTypeAnnotation, cfg.ServiceFields}
	// The controller's own file wins where both speak.
	if diff := cmp.Diff([]any{"c-demo", "cn-hangzhou", "vpc-1", []string{"vsw-1", "vsw-2"}, "rg-1", "eni", true, 7,
		true, false}, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	// It also says something with false, but nothing with an empty text or list.
	cfg, _, err = Load(write(t, minimal+"disablePublicLoadBalancer: false\nserviceFields: true\nvpcID: \"\"\nvswitchIDs: []\n"), cloud)
	if err != nil {
		t.Fatal(err)
	}
	got = []any{cfg.DisablePublicLoadBalancer, cfg.ServiceFields, cfg.VPCID, cfg.VSwitchIDs}
	if diff := cmp.Diff([]any{false, true, "vpc-1", []string{"vsw-1", "vsw-2"}}, got); diff != "" {
		t.Errorf("configuration with empty values (-want +got):\n%s", diff)
	}
}

// B-27: without a cluster id two clusters would own each other's objects.
func TestB27ProblemsNameTheKeys(t *testing.T) {
	t.Parallel()
	_, _, err := Load(write(t, `
gateway: {address: "127.0.0.1:7443", caFile: /ca, tokenFile: /token}
backendType: pods
workers: 0
nodeGather: {quiet: 0s}
clb: {class: alibabacloud.com/nlb}
tlsSecretGrace: 1ms
`), "")
	if err == nil {
		t.Fatal("no error")
	}
	for _, key := range []string{"clusterID", "backendType", "workers", "nodeGather.quiet", "clb.class", "tlsSecretGrace"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("the error doesn't name %s: %v", key, err)
		}
	}
	if _, _, err := Load(write(t, minimal+"wrokers: 1\n"), ""); err == nil || !strings.Contains(err.Error(), "wrokers") {
		t.Errorf("unknown key: %v", err)
	}
}
