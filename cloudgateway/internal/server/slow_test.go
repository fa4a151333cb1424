package server

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestWritesInSlowClouds runs every write RPC in a cloud that takes its time, and in one that is busy after every write as well: it
// ends as in a cloud in which all is done at once, and callers never hear of the difference.
func TestWritesInSlowClouds(t *testing.T) {
	clouds := []struct {
		name     string
		settings api.Settings
	}{{"default", api.DefaultSettings()}, {"busy", api.BusySettings()}}
	if testing.Short() { // The busy one alone shows a write that does not wait.
		clouds = clouds[1:]
	}
	var cells errgroup.Group
	cells.SetLimit(runtime.GOMAXPROCS(0))
	for _, op := range writetest.Operations() {
		want := sync.OnceValue(func() (want []string) {
			synctest.Test(t, func(t *testing.T) { want = afterwards(t, op, newWorld(t)) })
			return want
		})
		for _, cloud := range clouds {
			cells.Go(func() error {
				t.Run(cloud.name+"/"+op.Name, func(t *testing.T) {
					want := want()
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, func(c *openapisim.Config) { c.Settings = &cloud.settings })
						if diff := cmp.Diff(want, afterwards(t, op, w)); diff != "" {
							t.Errorf("the cloud's state (-fast +%s):\n%s", cloud.name, diff)
						}
					})
				})
				return nil
			})
		}
	}
	if err := cells.Wait(); err != nil {
		t.Error(err)
	}
}

// afterwards is what the cloud holds after an operation, when all that it started has ended.
func afterwards(t *testing.T, op writetest.Operation, w *world) []string {
	t.Helper()
	at := w.site(t, op)
	if err := op.Run(t.Context(), w.Client, at); err != nil {
		t.Fatalf("%s: %v", op.Name, err)
	}
	w.sim.Advance(time.Minute)
	return w.picture()
}

// TestFewWritesAreRefused: a gateway that has seen some writes knows when a load balancer is ready for the next one. Without that
// each of these writes would be refused first. How few it gets down to is counted on virtual time, in package settle.
func TestFewWritesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const balancers, learning, rounds = 6, 6, 20
		settings := api.BusySettings()
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
	})
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
