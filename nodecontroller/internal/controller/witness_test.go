package controller_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube/kubetest"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// inWorld lets body play in a world without a controller; reign lets one lead for a time and then stop at once.
func inWorld(t *testing.T, edit func(*controller.Config), body func(t *testing.T, w *world, reign func(d time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		reign := func(d time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := w.make(ctx, t, edit)
			w.reigns()
			w.Pass(d)
			cancel()
			done()
		}
		body(t, w, reign)
	})
}

// TestBadWitnesses lets the cloud say something wrong about 20 nodes, five of which are silent, for an hour. No node goes, and an event and
// the metric say why.
func TestBadWitnesses(t *testing.T) {
	t.Parallel()
	failing := func(err *rpcerr.Error) func(*world) {
		return func(w *world) {
			w.cloud.Fail("BatchGetInstances", 1<<30, err)
			w.cloud.Fail("ConfirmAbsent", 1<<30, err)
		}
	}
	// The gateway answers a read of many instances even if it can't read one of them, with an error for each.
	unreadable := func(n int, err *rpcerr.Error) func(*world) {
		return func(w *world) {
			bad := map[string]error{}
			for i := range n {
				bad[fmt.Sprintf("i-%d", i)] = err
			}
			w.unreadable(bad)
		}
	}
	refused := func(code, message string) func(*world) {
		return func(w *world) { w.refused("DescribeInstances", code, message) }
	}
	bare := func(w *world) { w.cloud.Sim.Update(func(c *state.Cloud) { clear(c.Interfaces) }) }
	throttled := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: 10 * time.Second}
	hide := func(from, to int) func(*world) {
		return func(w *world) {
			for i := from; i < to; i++ {
				w.hide(i)
			}
		}
	}
	for name, tt := range map[string]struct {
		spoil        func(*world)
		event, cause string
		unwritable   bool
	}{
		"no instance at all": {hide(0, 20),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: the cloud knows none of 15 instances", "nothing_found", false},
		"half of them": {hide(0, 10),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: the cloud does not know 5 of 15 instances",
			"contradicted", false},
		"all but the silent ones": {
			hide(0, 5),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: the cloud does not list instance i-3, " +
				"but its network interface eni-3", "inconsistent", false,
		},
		"of another region": {func(w *world) {
			hide(0, 5)(w)
			bare(w)
			w.move("cn-beijing", vpcID)
		}, "node-3 DeleteNodeFailed: whether the instance exists can't be found out: the gateway works in region cn-beijing",
			"inconsistent", false},
		"without any network interface": {func(w *world) {
			hide(0, 5)(w)
			bare(w)
		}, "node-3 DeleteNodeFailed: whether the instance exists can't be found out: the cloud lists no network interface " +
			"of instances", "inconsistent", false},
		"without answers about network interfaces": {func(w *world) {
			hide(0, 5)(w)
			w.refused("DescribeNetworkInterfaces", "Forbidden.RAM", "no")
		}, "node-3 DeleteNodeFailed: whether the instance exists can't be found out: list the network interfaces of " +
			"instance i-1", "unanswered", false},
		"throttled": {refused("Throttling", "slow down"),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: slow down", "unanswered", false},
		"expired token": {refused("InvalidSecurityToken.Expired", "token expired"),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: token expired", "unanswered", false},
		"throttled where the silent nodes are read": {
			unreadable(5, throttled), "node-3 DeleteNodeFailed: whether the instance exists can't be found out: slow down", "unanswered", false,
		},
		"gateway that refuses": {failing(throttled),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out: slow down", "unanswered", false},
		"gateway that does not answer": {
			(*world).holdInstances, "node-3 DeleteNodeFailed: whether the instance exists can't be found out", "unanswered", false,
		},
		"gateway away": {
			failing(&rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "connection refused"}),
			"node-3 DeleteNodeFailed: whether the instance exists can't be found out", "unanswered", false,
		},
		"record can't be written": {func(w *world) {
			for i := range 5 {
				w.vanish(i)
			}
		}, "node-3 DeleteNodeFailed: Nodes are not deleted, for the next leader would not know of it", "record", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			edit := func(cfg *controller.Config) { cfg.Registerer = registry }
			prepare := func(w *world) {
				furnished(20)(w)
				if tt.unwritable {
					w.Client.PrependReactor("create", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
						return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "nodecontroller-deletions", nil)
					})
				}
			}
			run(t, edit, prepare, func(w *world) {
				for i := range 5 {
					w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
				}
				tt.spoil(w)
				w.Pass(time.Hour)
				w.release()
				if n := len(w.NodeNames()); n != 20 {
					t.Errorf("%d nodes are left, want all 20", n)
				}
				if n := len(w.Events.Matching(tt.event)); n == 0 || n > 3 {
					t.Errorf("%d events with %q: %q", n, tt.event, w.Events.Matching("DeleteNodeFailed"))
				}
				if got := kubetest.Metric(t, registry, "nodecontroller_held_deletions")[tt.cause]; got != 5 {
					t.Errorf("metric of nodes that are held (%s): %v, want 5", tt.cause, got)
				}
			})
		})
	}
}

// TestNodeDeletionsOutliveTheLeader kills the leader every 30 seconds while six of 40 instances are gone. Exactly their nodes go, and no
// ten minutes see more than three of them go.
func TestNodeDeletionsOutliveTheLeader(t *testing.T) {
	t.Parallel()
	inWorld(t, nil, func(t *testing.T, w *world, reign func(time.Duration)) {
		furnished(40)(w)
		reign(time.Minute)
		for i := range 6 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		left := []int{40}
		for range 60 { // Half an hour.
			reign(30 * time.Second)
			left = append(left, len(w.NodeNames()))
		}
		const window = 20 // reigns in ten minutes
		for i := window; i < len(left); i++ {
			if went := left[i-window] - left[i]; went > 3 {
				t.Fatalf("%d nodes went within ten minutes, at most 3 may: %v", went, left)
			}
		}
		names := w.NodeNames()
		for i := range 40 {
			if name := fmt.Sprintf("node-%d", i); slices.Contains(names, name) == (i < 6) {
				t.Errorf("%s: there %v", name, i >= 6)
			}
		}
	})
}

// TestSweepIsSpread looks at the calls of an hour with 110 nodes: each round reads them in two parts at different times.
func TestSweepIsSpread(t *testing.T) {
	t.Parallel()
	edit := func(cfg *controller.Config) { cfg.DisableSourceDestCheck = false }
	run(t, edit, furnished(110), func(w *world) {
		w.Pass(5 * time.Minute)
		w.cloud.ResetCalls()
		busiest := 0
		for range 60 {
			before := w.calls("BatchGetInstances")
			w.Pass(time.Minute)
			busiest = max(busiest, w.calls("BatchGetInstances")-before)
		}
		if n := w.calls("BatchGetInstances"); n < 23 || n > 25 || busiest > 1 {
			t.Errorf("%d reads in an hour, %d in the busiest minute; want two in five minutes, and one in a minute at most", n, busiest)
		}
		if n := len(w.cloud.Calls()) - w.calls("BatchGetInstances", "BatchGetNetworkInterfaces"); n != 0 {
			t.Errorf("%d other calls", n)
		}
	})
}

// TestReleasedNodesAreNotHeld: nodes that are held since nothing is known of their instances, and whose kubelets report
// again, are held no more. Nobody asks about them then, and the alert would fire for ever.
func TestReleasedNodesAreNotHeld(t *testing.T) {
	registry := prometheus.NewRegistry()
	run(t, func(cfg *controller.Config) { cfg.Registerer = registry }, furnished(20), func(w *world) {
		held := func() float64 { return kubetest.Metric(t, registry, "nodecontroller_held_deletions")["unanswered"] }
		for i := range 5 {
			w.UpdateNode(fmt.Sprintf("node-%d", i), silent)
		}
		w.refused("DescribeInstances", "Throttling", "slow down")
		w.Pass(10 * time.Minute)
		if got := held(); got != 5 {
			t.Fatalf("%v nodes are held without answers, want 5", got)
		}
		if err := w.cloud.Sim.SetFaults(); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			w.UpdateNode(fmt.Sprintf("node-%d", i), ready)
		}
		w.Pass(10 * time.Minute)
		if got := held(); got != 0 {
			t.Errorf("%v nodes are held that report, want none", got)
		}
	})
}
