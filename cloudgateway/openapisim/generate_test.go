package openapisim_test

import (
	"net/netip"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A generated seed is read back, and the cloud has what the plan says, with no address twice.
func TestGeneratedSeed(t *testing.T) {
	t.Parallel()
	plan := openapisim.SeedPlan{Nodes: 100, Zones: 3, LoadBalancers: 5, Servers: 20}
	seed, err := plan.Generate()
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapisim.WriteSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range []string{"0001-01-01", `""`, "null", "[]"} {
		if strings.Contains(string(document), noise) {
			t.Errorf("the document has %s", noise)
		}
	}
	read, err := openapisim.ReadSeed(document)
	if err != nil {
		t.Fatal(err)
	}
	sim := newCloud(t, openapisim.Config{Seed: read})
	answer := newClient(t, sim).must("ecs", "DescribeInstances", "VSwitchId", "vsw-seed-c", "PageSize", "100")
	if total := answer["TotalCount"]; total != 33.0 {
		t.Errorf("%v instances in the third zone, want 33", total)
	}
	if health := newClient(t, sim).must("slb", "DescribeHealthStatus", "LoadBalancerId", "lb-seed00001"); len(at(t, health,
		"BackendServers", "BackendServer").([]any)) != 20 {
		t.Errorf("health %v", health)
	}
	sim.View(func(c *state.Cloud) {
		seen := map[string]bool{}
		for _, i := range c.Instances {
			block := netip.MustParsePrefix(c.VSwitches[i.VSwitchID].CidrBlock)
			if ip := i.PrivateIPs[0]; seen[ip] || !block.Contains(netip.MustParseAddr(ip)) {
				t.Errorf("%s has address %s in %s", i.ID, ip, block)
			}
			seen[i.PrivateIPs[0]] = true
		}
		for _, lb := range c.LoadBalancers {
			if seen[lb.Address] || lb.VpcID != "vpc-seed" {
				t.Errorf("%s has address %s in %s", lb.ID, lb.Address, lb.VpcID)
			}
		}
		if len(c.Instances) != 100 || len(c.LoadBalancers) != 5 || len(c.Interfaces) != 100 {
			t.Errorf("%d instances, %d load balancers, %d interfaces", len(c.Instances), len(c.LoadBalancers), len(c.Interfaces))
		}
	})
}

func TestSeedPlanRefusals(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]openapisim.SeedPlan{
		"no block": {Block: "x"}, "IPv6": {Block: "2408::/32"}, "zones": {Zones: 17}, "less than no zone": {Zones: -1}, "nodes": {Nodes: -1},
		"servers": {Nodes: 1, Servers: 2}, "too small": {Block: "10.0.0.0/24", Nodes: 100}, "much too small": {Block: "10.0.0.0/28"},
	} {
		if _, err := plan.Generate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
