package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	serviceconfig "alicloud-controllers.dev/services/config"

	"alicloud-controllers.dev/routecontroller/internal/config"
)

const minimal = `
gateway: {address: "127.0.0.1:7443", caFile: /tls/ca.crt, tokenFile: /token}
clusterID: c-1
region: cn-hangzhou
clusterCIDRs: [10.0.0.0/8]
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
	want.ClusterID, want.Region, want.ClusterCIDRs = "c-1", "cn-hangzhou", []string{"10.0.0.0/8"}
	want.ClusterTag = "ack.aliyun.com"
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if cfg.SyncInterval != serviceconfig.Duration(5*time.Minute) || cfg.Gather.Quiet != serviceconfig.Duration(time.Second) {
		t.Errorf("syncInterval %s, gather.quiet %s", cfg.SyncInterval, cfg.Gather.Quiet)
	}
}

func TestPrefixesAreMasked(t *testing.T) {
	t.Parallel()
	cfg := config.Config{ClusterCIDRs: []string{" 10.1.2.3/16 ", "172.16.0.0/12"}}
	got, err := cfg.Prefixes()
	want := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("172.16.0.0/12")}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("prefixes %v, error %v, want %v", got, err, want)
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cidrs string
		ipv6        bool
	}{
		{name: "dual stack", cidrs: `[10.0.0.0/8, "fd00:10::/56"]`, ipv6: true},
		{name: "IPv6 only", cidrs: `["fd00:10::/56"]`, ipv6: true},
		{name: "dual stack as the existing CCM has it, with routes for IPv4", cidrs: `[10.0.0.0/8, "fd00:10::/56"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(minimal, "[10.0.0.0/8]", tt.cidrs, 1)
			if tt.ipv6 {
				text += "ipv6: true\n"
			}
			if cfg, _, err := config.Load(file(t, text), ""); err != nil || cfg.IPv6 != tt.ipv6 {
				t.Errorf("ipv6 %t, error %v", cfg.IPv6, err)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, add, want string }{
		{"unknown key", "routeTables: [vtb-1]", `unknown field "routeTables"`},
		{"table", "routeTableIDs: [vtb-1, rtb-2]", `routeTableIDs: item 1: "rtb-2" is not a route table id, "vtb-…"`},
		{"cluster", "clusterID: a/b", `clusterID: "a/b" is longer than 64 characters or has a slash`},
		{"no ranges", "clusterCIDRs: []", "clusterCIDRs: at least one range of pods is required, e.g. 10.0.0.0/8"},
		{"range", "clusterCIDRs: [10.0.0.0]", `clusterCIDRs: "10.0.0.0" is not a CIDR such as 10.0.0.0/8`},
		{"everything", "clusterCIDRs: [0.0.0.0/0]", `clusterCIDRs: "0.0.0.0/0" is everything; name the range of the pods`},
		{"IPv6 without a range", "ipv6: true", "ipv6: clusterCIDRs has no IPv6 range, e.g. fd00:10::/56"},
		{"IPv6 ranges only", `clusterCIDRs: ["fd00:10::/56"]`, "clusterCIDRs: there are IPv6 ranges only, which get routes with ipv6: true"},
		{"everything of IPv6", `clusterCIDRs: ["::/0"]`, `clusterCIDRs: "::/0" is everything; name the range of the pods`},
		{"interval", "syncInterval: 10s", "syncInterval: 10s is shorter than 1m0s"},
		{"grace", "orphanGrace: -1s", "orphanGrace: -1s is below zero"},
		{"gather", "gather: {quiet: 5s, max: 1s}", "gather.max: 1s is shorter than gather.quiet, 5s"},
		{"quota", "routeQuota: -1", "routeQuota: -1 is below zero"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, _, _ := strings.Cut(tt.add, ":")
			var lines []string
			for line := range strings.SplitSeq(minimal, "\n") {
				if !strings.HasPrefix(line, key+":") {
					lines = append(lines, line)
				}
			}
			_, _, err := config.Load(file(t, strings.Join(append(lines, tt.add), "\n")), "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestRangesWithoutRoutesAreNamed: an IPv6 range without the switch has no effect.
func TestRangesWithoutRoutesAreNamed(t *testing.T) {
	t.Parallel()
	both := strings.Replace(minimal, "clusterCIDRs: [", `clusterCIDRs: ["fd00:10::/56", `, 1)
	for add, want := range map[string]int{"": 1, "ipv6: true\n": 0} {
		_, warnings, err := config.Load(file(t, both+add), "")
		if err != nil || len(warnings) != want || want == 1 && warnings[0] != "clusterCIDRs: fd00:10::/56 gets no routes without ipv6: true" {
			t.Errorf("%q: warnings %q, error %v", add, warnings, err)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(file(t, "syncInterval: 1s"), "")
	if err == nil {
		t.Fatal("no error")
	}
	for _, key := range []string{"gateway.address", "gateway.caFile", "gateway.tokenFile", "clusterID", "clusterCIDRs", "syncInterval"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("nothing about %s in: %v", key, err)
		}
	}
}

func TestCloudConfigFillsWhatIsEmpty(t *testing.T) {
	t.Parallel()
	old := file(t,
		`{"Global": {"clusterID": "c-old", "region": "cn-beijing", "vpcid": "vpc-1", "routeTableIDs": "vtb-1, vtb-2", `+
			`"kubernetesClusterTag": "team.example.com", "nodeMaxConcurrentReconciles": 5}}`)
	cfg, warnings, err := config.Load(file(t, strings.Replace(minimal, "clusterID: c-1", "", 1)), old)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.ClusterID != "c-old" || cfg.Region != "cn-hangzhou" || cfg.VPCID != "vpc-1" || cfg.ClusterTag != "team.example.com" ||
		!cmp.Equal(cfg.RouteTableIDs, []string{"vtb-1", "vtb-2"}) {
		t.Errorf("configuration %+v", cfg)
	}
	if len(warnings) != 1 {
		t.Errorf("warnings %v, want one about nodeMaxConcurrentReconciles", warnings)
	}
}
