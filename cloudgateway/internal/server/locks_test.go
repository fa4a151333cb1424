package server

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// heldLocks are the locks of a gateway, and how long each key was held at most.
type heldLocks struct {
	flow.Keyed[string]

	mu      sync.Mutex
	longest map[string]time.Duration
}

// Lock implements cloud.Locker.
func (h *heldLocks) Lock(ctx context.Context, key string) (func(), error) {
	unlock, err := h.Keyed.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	since := time.Now()
	return func() {
		h.mu.Lock()
		h.longest[key] = max(h.longest[key], time.Since(since))
		h.mu.Unlock()
		unlock()
	}, nil
}

// clear forgets how long.
func (h *heldLocks) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.longest)
}

// mostHeld is how long a write may hold the key of a resource of each kind, by the beginning of its id.
var mostHeld = map[string]time.Duration{
	"lb":  500 * time.Millisecond, // The calls of one request. While a load balancer or one of its listeners is busy, others go first.
	"acl": 500 * time.Millisecond,
	"i":   500 * time.Millisecond, // Instances start and stop without the lock.
	"eni": 2 * time.Second,        // An interface that is being attached or detached can't be changed otherwise.
	"sg":  500 * time.Millisecond,
	"vpc": 4 * time.Second, // The cloud takes one change of a VPC at a time: until it has come into force, others would be refused.
	// A change of an NLB, of a listener or of a server group of NLB is a job. The cloud refuses others meanwhile.
	"nlb": 12 * time.Second,
	"sgp": 12 * time.Second,
	"eip": 4 * time.Second, // Nothing else can be done with an EIP that is being bound.
	// Creations of things that are found again by their names.
	"access control list \"web\"": 500 * time.Millisecond,
	"certificate \"web":           500 * time.Millisecond,
	"user certificate \"web":      500 * time.Millisecond,
}

// TestLocksOfWrites is the table of what each write holds, and for how long, in a cloud that takes its time.
func TestLocksOfWrites(t *testing.T) {
	settings := api.DefaultSettings()
	for _, op := range writetest.Operations() {
		t.Run(op.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(c *openapisim.Config) { c.Settings = &settings })
				at := w.site(t, op)
				w.locks.clear()
				start := time.Now()
				if err := op.Run(t.Context(), w.Client, at); err != nil {
					t.Fatal(err)
				}
				took := time.Since(start)
				w.locks.mu.Lock()
				defer w.locks.mu.Unlock()
				for key, held := range w.locks.longest {
					kind, _, _ := strings.Cut(key, "-")
					t.Logf("%s takes %s and holds %s for %s", op.Name, took.Round(time.Millisecond), kind, held.Round(time.Millisecond))
					if most, known := mostHeld[kind]; !known || held > most {
						t.Errorf("%s holds %q for %s, at most %s are right", op.Name, key, held, most)
					}
				}
			})
		})
	}
}

// TestDeletionOfAUsedGroup: while the deletion of a server group waits for a listener to let go of it, other changes of
// the load balancer go on.
func TestDeletionOfAUsedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		lb := w.createBalancer(t, "lb-1")
		old := w.createGroup(t, lb)
		made, err := w.ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{RequestId: "r-9",
			LoadBalancerId: lb, Name: "live"})
		if err != nil {
			t.Fatal(err)
		}
		live := made.GetServerGroupId()
		if _, err := w.Listeners.CreateListener(t.Context(), listenerRequest(lb, old)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Listeners.UpdateListener(t.Context(), &slbv1.UpdateListenerRequest{
			Key: listenerRequest(lb, old).GetKey(), Config: &slbv1.ListenerConfig{ServerGroupId: &live},
		}); err != nil {
			t.Fatal(err)
		}
		w.strike(t, fault.Rule{Action: "DeleteVServerGroup", Times: 4, Error: &fault.Error{Status: 400,
			Code: "RspoolVipExist", Message: "in use"}})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := w.ServerGroups.DeleteServerGroup(t.Context(), &slbv1.DeleteServerGroupRequest{LoadBalancerId: lb,
				ServerGroupId: old}); err != nil {
				t.Errorf("the deletion: %v", err)
			}
		})
		<-time.After(10 * time.Millisecond)
		begin := time.Now()
		if _, err := w.ServerGroups.ApplyServerChanges(t.Context(), &slbv1.ApplyServerChangesRequest{
			LoadBalancerId: lb, ServerGroupId: live, Add: ecsServers(0, 1),
		}); err != nil || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("the change of another group took %s: %v", time.Since(begin), err)
		}
		all.Wait()
		var after []string
		for _, action := range w.actions(false) {
			if strings.HasPrefix(action, "AddVServerGroup") || strings.HasPrefix(action, "DeleteVServerGroup") {
				after = append(after, action)
			}
		}
		want := []string{"DeleteVServerGroup", "AddVServerGroupBackendServers", "DeleteVServerGroup", "DeleteVServerGroup",
			"DeleteVServerGroup", "DeleteVServerGroup"}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}
