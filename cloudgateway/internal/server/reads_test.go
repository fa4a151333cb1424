package server

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// TestReadsOfManyShareCalls: a call names ten load balancers, and what is young enough is not read again.
func TestReadsOfManyShareCalls(t *testing.T) {
	const balancers = 35
	// Some reads may go before the others have come.
	const most = 2 * balancers / 10
	w := newWorld(t)
	ids := make([]string, balancers)
	for i := range ids {
		ids[i] = w.createBalancer(t, fmt.Sprintf("lb-%d", i))
	}
	group := w.createGroup(t, ids[7])
	if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(ids[7], group)); err != nil {
		t.Fatal(err)
	}
	age := durationpb.New(time.Hour)
	reads := []struct {
		name string
		read func() (int, error)
		want int
	}{
		{"ListLoadBalancers", func() (int, error) {
			r, err := w.LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{
				LoadBalancerIds: append([]string{"lb-gone"}, ids...), MaxAge: age,
			})
			return len(r.GetLoadBalancers()), err
		}, balancers},
		{"ListListeners", func() (int, error) {
			r, err := w.Listeners.ListListeners(t.Context(), &slbv1.ListListenersRequest{LoadBalancerIds: ids, MaxAge: age})
			return len(r.GetListeners()), err
		}, 1},
		{"BatchGetInstances", func() (int, error) {
			r, err := w.Instances.BatchGetInstances(t.Context(), &ecsv1.BatchGetInstancesRequest{
				InstanceIds: []string{instanceID(0), instanceID(1), instanceID(2)}, MaxAge: age,
			})
			return len(r.GetResults()), err
		}, 3},
		{"BatchGetNetworkInterfaces by address", func() (int, error) {
			r, err := w.NetworkInterfaces.BatchGetNetworkInterfaces(t.Context(), &ecsv1.BatchGetNetworkInterfacesRequest{
				VpcId: testVPC, IpAddresses: []string{"192.168.1.1", "192.168.1.2"}, MaxAge: age,
			})
			return len(r.GetResults()), err
		}, 2},
	}
	for _, tt := range reads {
		again := 0
		if tt.name == "ListLoadBalancers" {
			again = 1 // for the one that is not there: absence is not remembered
		}
		for round, most := range []int{most, again} {
			w.forget()
			got, err := tt.read()
			if err != nil || got != tt.want {
				t.Errorf("%s, round %d: got %d items and %v, want %d", tt.name, round, got, err, tt.want)
			}
			if calls := len(w.actions(true)); calls > most {
				t.Errorf("%s, round %d: %d calls, at most %d are right", tt.name, round, calls, most)
			}
		}
	}
	w.forget()
	if _, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), &slbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: ids[0], Name: new("other"),
	}); err != nil {
		t.Fatal(err)
	}
	r, err := w.LoadBalancers.ListLoadBalancers(t.Context(), &slbv1.ListLoadBalancersRequest{LoadBalancerIds: ids, MaxAge: age})
	if err != nil {
		t.Fatal(err)
	}
	renamed := 0
	for _, lb := range r.GetLoadBalancers() {
		if lb.GetName() == "other" {
			renamed++
		}
	}
	if calls := len(w.actions(true)); renamed != 1 || calls != 2 {
		t.Errorf("after a change: %d of the new name and %d calls, want 1 and 2", renamed, calls)
	}
}

// TestReadsOfOneShareCalls: those who ask for single load balancers at the same time are answered together.
func TestReadsOfOneShareCalls(t *testing.T) {
	const balancers = 50
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ids := make([]string, balancers)
		for i := range ids {
			ids[i] = w.createBalancer(t, fmt.Sprintf("lb-%d", i))
		}
		w.forget()
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				r, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: id})
				if err != nil || r.GetLoadBalancer().GetLoadBalancerId() != id {
					t.Errorf("%s: got %v and %v", id, r, err)
				}
			})
		}
		all.Wait()
		calls := len(w.actions(true))
		t.Logf("%d calls for %d reads", calls, balancers)
		if calls > balancers/2 {
			t.Errorf("%d calls for %d reads", calls, balancers)
		}
	})
}
