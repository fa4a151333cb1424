package openapisim_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The console shows what DescribeHealthStatus tells, and the admin address leads people to it.
func TestConsole(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.Update(func(c *state.Cloud) {
		no := false
		c.Instances["i-2"].Healthy = &no
	})
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "LoadBalancerSpec", "slb.s1.small")["LoadBalancerId"].(string)
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

// Who has the console open doesn't hold up the end of the simulator.
func TestConsoleLetsTheSimulatorStop(t *testing.T) {
	t.Parallel()
	sim, err := openapisim.New(openapisim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := sim.Start(ctx, nil); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sim.Admin()+"/console/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	// A stream that is cut off when calls have had their time ends with an error.
	if events, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(events), "retry: ") {
		t.Errorf("stream %.20q: %v", events, err)
	}
	sim.Wait()
}
