package server

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// TestCloudThatTakesItsTime: in a cloud that is busy after every write, as the real one is, callers never hear of it.
func TestCloudThatTakesItsTime(t *testing.T) {
	slow := func(c *openapisim.Config) {
		settings := api.DefaultSettings()
		c.Settings = &settings
	}
	t.Run("a load balancer comes and goes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slow)
		at := withListener(t, w)
		for _, first := range []int{30, 60} {
			if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
				LoadBalancerId: at.lb, ServerGroupId: at.group, Add: ecsServers(first, 10), Remove: ecsServers(first-30, 10),
			}); err != nil {
				t.Errorf("server changes: %v", err)
			}
		}
		if _, err := w.Listeners.DeleteListener(t.Context(), &slbv1.DeleteListenerRequest{
			Key: listenerRequest(at.lb, at.group).GetKey(),
		}); err != nil {
			t.Errorf("delete listener: %v", err)
		}
		// The group stays in use for a while.
		if _, err := w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{
			LoadBalancerId: at.lb, ServerGroupId: at.group,
		}); err != nil {
			t.Errorf("delete vServer group: %v", err)
		}
	})
	t.Run("routes come and go", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slow)
		entries := []*vpcv1.RouteEntry{{RouteTableId: testTable, DestinationCidr: "10.0.0.0/24", NextHopId: instanceID(0)}}
		created, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{
			VpcId: testVPC, RouteEntries: entries,
		})
		if err := firstFailure(err, created.GetResults()); err != nil || created.GetResults()[0].GetStatus() != "Available" {
			t.Errorf("create: got %v, %v", created.GetResults(), err)
		}
		deleted, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{
			VpcId: testVPC, RouteEntries: entries,
		})
		if err := firstFailure(err, deleted.GetResults()); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
}
