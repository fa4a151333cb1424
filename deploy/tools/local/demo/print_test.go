package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestLeftovers(t *testing.T) {
	t.Parallel()
	before := state.New("r", "a")
	before.LoadBalancers["lb-old"] = &state.LoadBalancer{ID: "lb-old"}
	after := state.New("r", "a")
	after.LoadBalancers["lb-old"] = before.LoadBalancers["lb-old"]
	if left := leftovers(before, after); left != nil {
		t.Errorf("left: %v", left)
	}
	after.LoadBalancers["lb-new"] = &state.LoadBalancer{ID: "lb-new"}
	after.ServerGroups["rsp-new"] = &state.ServerGroup{ID: "rsp-new"}
	after.NLBs["nlb-new"] = &state.NLB{ID: "nlb-new"}
	after.NLBServerGroups["sgp-new"] = &state.NLBServerGroup{ID: "sgp-new"}
	after.RouteTables["vtb"] = &state.RouteTable{ID: "vtb", Entries: []*state.RouteEntry{
		{Type: "System", Cidr: "192.168.0.0/24"},
		{Type: "Custom", Cidr: "10.0.0.0/24", NextHopID: "i-1"},
		{Type: "Custom", Cidr: "10.0.1.0/24", NextHopID: "i-2", Status: "Deleting"},
	}}
	want := []string{"load balancer lb-new", "server group rsp-new", "network load balancer nlb-new", "server group sgp-new",
		"route 10.0.0.0/24 via i-1 in vtb"}
	if diff := cmp.Diff(want, leftovers(before, after)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
