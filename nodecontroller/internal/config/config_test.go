package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/budget"

	"alicloud-controllers.dev/nodecontroller/internal/config"
	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

const minimal = `
gateway: {address: "127.0.0.1:7443", caFile: /tls/ca.crt, tokenFile: /token}
clusterID: c-1
region: cn-hangzhou
`

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := config.Load(file(t, minimal), "")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %v", err, warnings)
	}
	want := config.Default()
	want.Gateway.Address, want.Gateway.CAFile, want.Gateway.TokenFile = "127.0.0.1:7443", "/tls/ca.crt", "/token"
	want.ClusterID, want.Region, want.ClusterTag = "c-1", "cn-hangzhou", "ack.aliyun.com"
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	policy := &lifecycle.Policy{ConfirmAfter: time.Minute, Silence: time.Minute,
		Policy: budget.Policy{Window: 10 * time.Minute, Minimum: 3, Percent: 25}}
	if diff := cmp.Diff(policy, cfg.Deletion.Policy()); diff != "" {
		t.Errorf("deletion (-want +got):\n%s", diff)
	}
	if !cfg.ConfigureCloudRoutes || !cfg.DisableSourceDestCheck || cfg.Workers != 100 {
		t.Errorf("configuration %+v", cfg)
	}
}

func TestPartOfASection(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(file(t, minimal+"deletion: {percent: 1}\nleaderElection: {enabled: false}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.Deletion.Enabled || cfg.Deletion.Percent != 1 || cfg.Deletion.Minimum != 3 || cfg.LeaderElection.Enabled {
		t.Errorf("configuration %+v", cfg)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, add, want string }{
		{"unknown key", "nodeMonitorPeriod: 5m", `unknown field "nodeMonitorPeriod"`},
		{"workers", "workers: 0", "workers: 0 is not in 1 to 1000"},
		{"interval", "syncInterval: 0s", "syncInterval: 0s is not above zero"},
		{"confirmation", "deletion: {confirmAfter: 1s}", "deletion.confirmAfter: 1s is shorter than 1m0s"},
		{"window", "deletion: {window: 0s}", "deletion.window: 0s is not above zero"},
		{"share", "deletion: {percent: 101}", "deletion.percent: 101 is not in 0 to 100"},
		{"rule without a tag", "tagRules: [{label: a/b}]", "tagRules[0].tag: is required"},
		{"rule without a target", "tagRules: [{tag: t}]", "tagRules[0]: has 0 of label, annotation and taint, exactly one is needed"},
		{"rule with two targets", "tagRules: [{tag: t, label: a/b, annotation: a/b}]", "tagRules[0]: has 2 of label, annotation and taint"},
		{"rule for a bad label", "tagRules: [{tag: t, label: 'a b'}]", `tagRules[0].label: "a b": `},
		{"rule for a label of ours", "tagRules: [{tag: t, label: topology.kubernetes.io/zone}]",
			"tagRules[0]: label topology.kubernetes.io/zone is the controller's own"},
		{"rule for a label of kubelets", "tagRules: [{tag: t, label: kubernetes.io/hostname}]",
			"tagRules[0]: label kubernetes.io/hostname is the controller's own or that of Kubernetes"},
		{"rule that excludes nodes", "tagRules: [{tag: t, label: service.alibabacloud.com/exclude-node}]",
			"tagRules[0]: label service.alibabacloud.com/exclude-node is the controller's own or that of Kubernetes"},
		{"rule that excludes nodes, by the old name", "tagRules: [{tag: t, label: service.beta.kubernetes.io/exclude-node}]",
			"is the controller's own or that of Kubernetes"},
		{"rule that makes nodes virtual", "tagRules: [{tag: t, label: type}]", "is the controller's own or that of Kubernetes"},
		{"rule for a machine without an instance", "tagRules: [{tag: t, label: alibabacloud.com/lingjun-worker}]",
			"is the controller's own or that of Kubernetes"},
		{"rule for the control plane", "tagRules: [{tag: t, label: node-role.kubernetes.io/control-plane}]",
			"is the controller's own or that of Kubernetes"},
		{"no id of a VPC", "nodeVPCIDs: [db]", `nodeVPCIDs: item 0: "db" is not the id of a VPC`},
		{"rule for a taint of Kubernetes", "tagRules: [{tag: t, taint: node.kubernetes.io/not-ready, effect: NoExecute}]",
			"is the controller's own or that of Kubernetes"},
		{"rule for the autoscaler's taint", "tagRules: [{tag: t, taint: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]",
			"is the controller's own or that of Kubernetes"},
		{"rule for an annotation of ours", "tagRules: [{tag: t, annotation: node.alibabacloud.com/cloud-labels}]",
			"is the controller's own or that of Kubernetes"},
		{"rule without an effect", "tagRules: [{tag: t, taint: a/b}]", `tagRules[0].effect: "" is not one of NoSchedule`},
		{"rule with an effect of a label", "tagRules: [{tag: t, label: a/b, effect: NoSchedule}]", "tagRules[0].effect: is for a taint only"},
		{"two rules for one label", "tagRules: [{tag: t, label: a/b}, {tag: u, label: a/b}]",
			"tagRules[1]: label a/b is that of an earlier rule"},
		{"asking too often", "maintenance: {enabled: true, interval: 1s}", "maintenance.interval: 1s is shorter than 30s"},
		{"lead below zero", "maintenance: {enabled: true, lead: -1s}", "maintenance.lead: -1s is below zero"},
		{"duration", "syncInterval: 5", `syncInterval: 5 is not a duration such as "30s" or "5m"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(file(t, minimal+tt.add+"\n"), "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTagRules(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(file(t,
		minimal+"tagRules: [{tag: team, label: a/team}, {tag: cost, annotation: a/cost}, {tag: t, taint: a/t, effect: NoExecute}]\n"), "")
	want := []nodestate.Rule{{Tag: "team", Label: "a/team"}, {Tag: "cost", Annotation: "a/cost"},
		{Tag: "t", Taint: "a/t", Effect: "NoExecute"}}
	if diff := cmp.Diff(want, cfg.Rules()); err != nil || diff != "" {
		t.Errorf("error %v, rules (-want +got):\n%s", err, diff)
	}
	if !cfg.ShutdownTaint || cfg.ApproveServingCertificates {
		t.Errorf("by default: shutdownTaint %t, approveServingCertificates %t", cfg.ShutdownTaint, cfg.ApproveServingCertificates)
	}
}

func TestDeletionOff(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(file(t, minimal+"deletion: {enabled: false, confirmAfter: 0s}\n"), "")
	if err != nil || cfg.Deletion.Policy() != nil {
		t.Errorf("policy %+v, error %v, want none of either", cfg.Deletion.Policy(), err)
	}
}

func TestCloudConfigFillsWhatIsEmpty(t *testing.T) {
	t.Parallel()
	old := file(t,
		`{"Global": {"clusterID": "c-old", "region": "cn-beijing", "vpcid": "vpc-1", "kubernetesClusterTag": "mine", `+
			`"nodeMaxConcurrentReconciles": 5}}`)
	cfg, warnings, err := config.Load(file(t, strings.Replace(minimal, "clusterID: c-1", "", 1)), old)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.ClusterID != "c-old" || cfg.Region != "cn-hangzhou" || cfg.VPCID != "vpc-1" || cfg.ClusterTag != "mine" {
		t.Errorf("configuration %+v", cfg)
	}
	if len(warnings) != 1 {
		t.Errorf("warnings %v, want one about nodeMaxConcurrentReconciles", warnings)
	}
}

// A cluster that is taken over would lose the IPv6 addresses of its nodes if the gate were overlooked.
func TestDualStackGate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, add, gates string
		want             bool
	}{
		{name: "on", gates: "IPv6DualStack=true", want: true},
		{name: "off", gates: "IPv6DualStack=false"},
		{name: "not named", gates: "EndpointSlice=true"},
		{name: "our own file wins", add: "ipv6: false\n", gates: "IPv6DualStack=true"},
		{name: "our own file alone", add: "ipv6: true\n", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, warnings, err := config.Load(file(t, minimal+tt.add), file(t, `{"Global": {"featureGates": "`+tt.gates+`"}}`))
			if err != nil || len(warnings) > 0 || cfg.IPv6 != tt.want {
				t.Errorf("ipv6 %t, want %t; warnings %v, error %v", cfg.IPv6, tt.want, warnings, err)
			}
		})
	}
}

// TestPeriodsOfTheExistingCCM checks which of its periods becomes the interval of the sweep.
func TestPeriodsOfTheExistingCCM(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		old, own string
		want     time.Duration
	}{
		{`{}`, "", 5 * time.Minute},
		{`{"nodeMonitorPeriod": 120, "nodeAddrSyncPeriod": 240}`, "", 2 * time.Minute},
		{`{"nodeAddrSyncPeriod": 240}`, "", 4 * time.Minute},
		{`{"nodeMonitorPeriod": 5}`, "", time.Minute},
		{`{"nodeMonitorPeriod": 3600}`, "", 5 * time.Minute},
		{`{"nodeMonitorPeriod": 120}`, "syncInterval: 3m", 3 * time.Minute},
	} {
		cfg, warnings, err := config.Load(file(t, minimal+tt.own), file(t, `{"Global": `+tt.old+`}`))
		if err != nil || len(warnings) > 0 || time.Duration(cfg.SyncInterval) != tt.want {
			t.Errorf("%s, %q: every %s, want %s (%v, %v)", tt.old, tt.own, cfg.SyncInterval, tt.want, warnings, err)
		}
	}
}
