package server

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestCloudThatTakesItsTime: in a cloud that takes its time, and in one that is busy after every write as well, callers never hear
// of it.
func TestCloudThatTakesItsTime(t *testing.T) {
	t.Run("default", func(t *testing.T) { t.Parallel(); testCloudThatTakesItsTime(t, api.DefaultSettings()) })
	t.Run("busy", func(t *testing.T) { t.Parallel(); testCloudThatTakesItsTime(t, api.BusySettings()) })
}

func testCloudThatTakesItsTime(t *testing.T, settings api.Settings) {
	t.Helper()
	slow := func(c *openapisim.Config) { c.Settings = &settings }
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
		if err := writetest.FirstFailure(err, created.GetResults()); err != nil || created.GetResults()[0].GetStatus() != "Available" {
			t.Errorf("create: got %v, %v", created.GetResults(), err)
		}
		deleted, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{
			VpcId: testVPC, RouteEntries: entries,
		})
		if err := writetest.FirstFailure(err, deleted.GetResults()); err != nil {
			t.Errorf("delete: %v", err)
		}
	})
}

// TestFewWritesAreRefused: a gateway that has seen some writes knows when a load balancer is ready for the next one. Without that
// each of these writes would be refused first. How few it gets down to is counted on virtual time, in package settle.
func TestFewWritesAreRefused(t *testing.T) {
	t.Parallel()
	const balancers, learning, rounds = 6, 6, 20
	settings := api.BusySettings()
	settings.BusyAfterWrite /= 2 // The rest of the test's time is well spent elsewhere.
	w := newWorld(t, func(c *openapisim.Config) { c.Settings = &settings })
	work := make([]ids, balancers)
	for i := range work {
		work[i].lb = w.createBalancer(t, fmt.Sprintf("lb-%d", i))
		work[i].group = w.createGroup(t, work[i].lb, ecsServers(0, 10)...)
	}
	run := func(from, to int) {
		var all sync.WaitGroup
		for _, at := range work {
			all.Go(func() {
				for n := from; n < to; n++ {
					if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
						LoadBalancerId: at.lb, ServerGroupId: at.group, Add: ecsServers(n+10, 1), Remove: ecsServers(n, 1),
					}); err != nil {
						t.Errorf("write: %v", err)
					}
				}
			})
		}
		all.Wait()
	}
	run(0, learning)
	w.forget()
	run(learning, learning+rounds)
	refused := 0
	for _, c := range w.calls(false) {
		if c.Code != "" {
			refused++
		}
	}
	t.Logf("%d of %d writes refused", refused, balancers*rounds)
	if limit := balancers * rounds / 4; refused > limit {
		t.Errorf("%d of %d writes were refused, at most %d are right", refused, balancers*rounds, limit)
	}
}

// TestBusyStartIsNotLookedAt: a busy instance has not started the listener, so there is nothing to look at.
func TestBusyStartIsNotLookedAt(t *testing.T) {
	w := newWorld(t)
	at := withGroup(t, w)
	w.strike(t, fault.Rule{
		Action: "StartLoadBalancerListener", Times: 1,
		Error: &fault.Error{Status: 400, Code: "ServiceIsConfiguring", Message: "The service is configuring."},
	})
	w.forget()
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(at.lb, at.group)); err != nil {
		t.Fatal(err)
	}
	want := []string{"CreateLoadBalancerTCPListener", "StartLoadBalancerListener", "StartLoadBalancerListener"}
	if diff := cmp.Diff(want, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
