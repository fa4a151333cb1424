package openapisim_test

import (
	"net/http"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The console shows what DescribeHealthStatus returns, and the admin address leads to it.
func TestConsole(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.Update(func(c *state.Cloud) {
		no := false
		c.Instances["i-2"].Healthy = &no
	})
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb, "VServerGroupName", "g", "BackendServers",
		`[{"ServerId":"i-1","Port":80},{"ServerId":"i-2","Port":80}]`)["VServerGroupId"].(string)
	c.must("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", lb, "ListenerPort", "80", "Bandwidth", "-1", "VServerGroupId", group)
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lb, "ListenerPort", "80")
	status, page := admin(t, sim, http.MethodGet, "/", "")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, page)
	}
	for _, want := range []string{lb, "1 of 2 healthy", `<span class="mark good">normal</span>`, `<span class="mark bad">abnormal</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page doesn't show %s", want)
		}
	}
}

// Calls can be filtered by every product that is called.
func TestConsoleKnowsEveryProduct(t *testing.T) {
	t.Parallel()
	_, page := admin(t, newCloud(t, openapisim.Config{}), http.MethodGet, "/console", "")
	for product := range versions() {
		if !strings.Contains(page, "<option>"+product+"</option>") {
			t.Errorf("no filter for %s", product)
		}
	}
}
