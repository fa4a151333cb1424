package openapisim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// A configuration file sets settings, limits, faults and keys of a cloud from its first call on.
func TestConfigurationFile(t *testing.T) {
	t.Parallel()
	f, err := openapisim.ReadFile([]byte(`{
		"region": "cn-hangzhou", "account": "7", "sessionDuration": "10m",
		"accessKeys": [{"id": "admin", "secret": "s"}, {"id": "reader", "secret": "s", "deny": ["*:Create*"]}],
		"settings": {"routePending": "1m", "quotas": {"vpcs": 3}},
		"limits": {"enabled": true, "actions": {"slb/DescribeLoadBalancers": {"calls": 1, "window": "60s"}}},
		"faults": [{"id": "one", "action": "DescribeRegions", "error": {"code": "Busy", "message": "later"}}]
	}`), api.FastSettings())
	if err != nil {
		t.Fatal(err)
	}
	var cfg openapisim.Config
	f.Apply(&cfg)
	sim, err := openapisim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	settings := sim.Settings()
	got := []any{settings.RoutePending, settings.InstanceStart, settings.Quotas.Vpcs, settings.Quotas.VSwitches,
		sim.Faults()[0].ID, cfg.SessionDuration, cfg.Account}
	want := []any{time.Minute, time.Duration(0), 3, 150, "one", 10 * time.Minute, "7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cloud (-want +got):\n%s", diff)
	}
	if cfg.AccessKeys[1].Deny[0] != "*:Create*" {
		t.Errorf("keys %+v", cfg.AccessKeys)
	}
}

// Every mistake of a file is reported at once, with its key.
func TestConfigurationFileMistakes(t *testing.T) {
	t.Parallel()
	_, err := openapisim.ReadFile([]byte(`{
		"sessionDuration": "soon", "speed": 1, "accessKeys": [{"id": "a"}, {"id": "b", "secret": "s", "deny": ["all"]}],
		"settings": {"routePending": "-1s", "warp": true}, "limits": {"actions": {"slb/X": {"calls": 1}}},
		"faults": [{"probability": 2, "drop": true}, {"acton": "X"}]}`), api.DefaultSettings())
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"sessionDuration: ", "speed: there is no such key", "accessKeys[0]: id and secret are required", "accessKeys[1]: deny[0]: ",
		"settings: setting routePending: ", `settings: unknown setting "warp"`, `limits.actions["slb/X"]: window: `, "faults[0]: probability: 2",
		"faults[1].acton: there is no such key",
	} {
		if !strings.Contains(err.Error(), "\n"+part) {
			t.Errorf("%q is not among the mistakes:\n%v", part, err)
		}
	}
	f, err := openapisim.ReadFile(
		[]byte(`{"limits": {"actions": {"slb/X": {"calls": 1, "window": "1s"}, "vpc/Y": {"calls": 1, "window": "1s"}}}}`), api.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	var cfg openapisim.Config
	f.Apply(&cfg)
	if _, err := openapisim.New(cfg); err == nil || !strings.Contains(err.Error(), "slb/X") || !strings.Contains(err.Error(), "vpc/Y") {
		t.Errorf("unknown actions: %v", err)
	}
}
