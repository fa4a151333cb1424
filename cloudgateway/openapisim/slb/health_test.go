package slb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	add := `[{"ServerId":"i-sick","Port":"1"},{"ServerId":"eni-1","Port":"1","Type":"eni"}]`
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": add})
	c.state.Instances["i-2"].Status = "Stopped"
	health := func(p params) []string {
		return c.call("DescribeHealthStatus", p.with("LoadBalancerId", "lb-1")).texts("BackendServers.BackendServer", "ServerHealthStatus")
	}
	tcp := []string{"normal", "abnormal", "abnormal", "normal"} // i-1, i-2 stopped, i-sick, eni-1
	if diff := cmp.Diff(tcp, health(params{"ListenerPort": "80"})); diff != "" {
		t.Errorf("TCP (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"unavailable", "unavailable"}, health(params{"ListenerPort": "443"})); diff != "" {
		t.Errorf("without health check (-want +got):\n%s", diff)
	}
	if got := len(health(params{})); got != 4+4+2+2 { // the redirect has no servers
		t.Errorf("all listeners have %d servers, want 12", got)
	}
	c.call("StopLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "80"})
	if got := health(params{"ListenerPort": "80"}); len(got) != 0 {
		t.Errorf("a stopped listener shows %v", got)
	}
}

func TestHealthOfDefaultGroup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.call("AddBackendServers", params{"LoadBalancerId": "lb-1", "BackendServers": `[{"ServerId":"i-1"}]`})
	c.call(action("Create", protoTCP), newListener(protoTCP).with("VServerGroupId", "", "BackendServerPort", "8080"))
	c.call("StartLoadBalancerListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
	got := c.call("DescribeHealthStatus", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
	if port := got.at("BackendServers.BackendServer.0.Port"); port != 8080.0 {
		t.Errorf("the port is %v, want 8080", port)
	}
}
