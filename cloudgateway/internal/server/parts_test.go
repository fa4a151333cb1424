package server

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestPartsThatDoNotExist: a request that names a part only, and not what it is a part of, is answered as one that names both.
func TestPartsThatDoNotExist(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		for name, deletion := range map[string]func() error{
			"server group": func() error {
				return second(w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{ServerGroupId: "rsp-none"}))
			},
			"domain extension": func() error {
				return second(w.DomainExtensions.DeleteDomainExtension(t.Context(), &slbv1.DeleteDomainExtensionRequest{DomainExtensionId: "de-none"}))
			},
			"route table": func() error {
				return second(w.Routes.DeleteRouteTable(t.Context(), &vpcv1.DeleteRouteTableRequest{RouteTableId: "vtb-none"}))
			},
			"vSwitch": func() error {
				return second(w.VSwitches.DeleteVSwitch(t.Context(), &vpcv1.DeleteVSwitchRequest{VswitchId: "vsw-none"}))
			},
		} {
			if err := deletion(); err != nil {
				t.Errorf("deletion of a %s that does not exist: %v", name, err)
			}
		}
		_, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-none",
			Add: ecsServers(0, 1)})
		wantNotFound(t, err, rpcerr.ServerGroupNotFound)
		_, err = w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{RouteEntries: []*vpcv1.RouteEntry{
			{RouteTableId: "vtb-none", DestinationCidr: "10.0.0.0/24", NextHopId: "i-1"},
		}})
		wantNotFound(t, err, rpcerr.RouteTableNotFound)
		w.scopes = []config.Scope{{Callers: []string{scoped}, ClusterID: "c-1"}}
		w.startGateway(t)
	}
}

// TestScopeOfAPart: a scope holds for a part that is named alone.
func TestScopeOfAPart(t *testing.T) {
	w := newWorld(t, inTwoTeams)
	w.scopes = []config.Scope{{Callers: []string{scoped}, Tags: map[string]string{"team": "web"}}}
	w.startGateway(t)
	for which, forbidden := range map[string]bool{"in": false, "out": true} {
		_, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{ServerGroupId: "rsp-" +
			which, Add: ecsServers(0, 1)})
		if got := rpcerr.ReasonOf(err) == rpcerr.CallerForbidden; got != forbidden || !forbidden && err != nil {
			t.Errorf("%s: got %v", which, err)
		}
	}
}

// TestWeightOfANewServer: a server without a weight gets the cloud's default, and one with 0 gets no traffic.
func TestWeightOfANewServer(t *testing.T) {
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	group := w.createGroup(t, lb)
	server := func(i int, weight *int32) *slbv1.Server {
		return &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(i), Port: 80, Weight: weight}
	}
	apply := func(r *slbv1.ApplyServerChangesRequest) error {
		r.ServerGroupId = group
		return second(w.ServerGroups.ApplyServerChanges(t.Context(), r))
	}
	if err := apply(&slbv1.ApplyServerChangesRequest{Add: []*slbv1.Server{server(0, nil), server(1, new(int32(0))),
		server(2, new(int32(7)))}}); err != nil {
		t.Fatal(err)
	}
	if err := apply(&slbv1.ApplyServerChangesRequest{Update: []*slbv1.Server{server(2, nil)}}); rpcerr.ReasonOf(err) != rpcerr.InvalidField {
		t.Errorf("a change without a weight: got %v, want INVALID_FIELD", err)
	}
	found, err := w.ServerGroups.GetServerGroup(t.Context(), &slbv1.GetServerGroupRequest{ServerGroupId: group})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int32{100, 0, 7} {
		if s := found.GetServerGroup().GetServers()[i]; s.Weight == nil || s.GetWeight() != want {
			t.Errorf("server %d has weight %v, want %d", i, s.Weight, want)
		}
	}
}
