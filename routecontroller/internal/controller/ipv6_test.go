package controller_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// dualStack gives the cluster a range of IPv6 and lets it have routes for it.
func dualStack(cfg *controller.Config) {
	cfg.Scope.IPv6 = true
	cfg.ClusterCIDRs = append(cfg.ClusterCIDRs, netip.MustParsePrefix("fd00::/56"))
}

// dualStackOff is how a dual-stack cluster is taken over.
func dualStackOff(cfg *controller.Config) {
	dualStack(cfg)
	cfg.Scope.IPv6 = false
}

// makeDualNodes makes nodes whose second range is fd00:0:0:i::/64.
func makeDualNodes(n int) []*corev1.Node {
	nodes := makeNodes(n)
	for i, node := range nodes {
		node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, fmt.Sprintf("fd00:0:0:%d::/64", i))
	}
	return nodes
}

func TestDualStackCostsNoMoreCalls(t *testing.T) {
	run(t, dualStack, makeDualNodes(20), nil, func(w *world) {
		if n := len(w.routes(tableA)); n != 40 {
			t.Errorf("%d routes, want 40", n)
		}
		if reads, writes := w.calls("ListRouteEntries"), len(w.cloud.Writes()); reads != 1 || writes != 1 {
			t.Errorf("%d readings and %d writes, want one of each", reads, writes)
		}
		for i := range 20 {
			if got := w.network(fmt.Sprintf("node-%d", i)); got != "False RouteCreated" {
				t.Errorf("node-%d: NetworkUnavailable %s", i, got)
			}
		}
		if n := len(w.Patches()); n != 20 {
			t.Errorf("%d patches, want one per node", n)
		}
		w.cloud.ResetCalls()
		w.DeleteNode("node-3")
		w.settle()
		if n := len(w.routes(tableA)); n != 38 || len(w.cloud.Calls()) != 1 {
			t.Errorf("%d routes after %d calls, want 38 after one", n, len(w.cloud.Calls()))
		}
	})
}

func TestConditionNeedsBothFamilies(t *testing.T) {
	// A stranger has the place of one route of each of two nodes.
	prepare := func(w *world) {
		w.entry(tableA, "fd00:0:0:1::/64", "i-stranger", "by hand")
		w.entry(tableA, "10.0.2.0/24", "i-stranger", "by hand")
	}
	run(t, dualStack, makeDualNodes(3), prepare, func(w *world) {
		for name, want := range map[string]string{
			"node-0": "False RouteCreated", "node-1": "True NoRouteCreated", "node-2": "True NoRouteCreated",
		} {
			if got := w.network(name); got != want {
				t.Errorf("%s: NetworkUnavailable %s, want %s", name, got, want)
			}
		}
		want := []string{
			"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-stranger",
			"fd00:0:0:1::/64→i-stranger", "fd00:0:0:2::/64→i-2", "fd00::/64→i-0",
		}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if got := w.Events.Matching("node-1 CreateRouteFailed: route table vtb-a: destination fd00:0:0:1::/64 is taken"); len(got) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
		w.remove(tableA, "fd00:0:0:1::/64")
		w.Pass(6 * time.Minute)
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s once the place is free", got)
		}
	})
}

func TestOneCauseIsReportedOnceForBothFamilies(t *testing.T) {
	run(t, dualStack, makeDualNodes(1), func(w *world) {
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-0" })
	}, func(w *world) {
		if got := w.Events.Matching("node-0 CreateRouteFailed"); len(got) != 1 {
			t.Errorf("events %v, want one", got)
		}
	})
}

func TestTakeoverOfADualStackCluster(t *testing.T) {
	prepare := func(w *world) {
		for i := range 2 {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), "")
			w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) {
				n.Status.Conditions[1] = corev1.NodeCondition{
					Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated",
				}
			})
		}
		w.entry(tableA, "fd00:0:0:1::/64", "i-1", "")                  // Somebody's own.
		w.entry(tableA, "fd00:0:0:8::/64", "i-8", "k8s/c-1/node-8")    // Of a node that has gone.
		w.entry(tableA, "fd00:0:0:9::/64", "i-9", "routes by our VPN") // A stranger's.
	}
	t.Run("off", func(t *testing.T) {
		run(t, dualStackOff, makeDualNodes(2), prepare, func(w *world) {
			w.Pass(time.Hour)
			if n := len(w.cloud.Writes()); n != 0 || len(w.Patches()) != 0 {
				t.Errorf("%d cloud writes and %d patches, want none", n, len(w.Patches()))
			}
		})
	})
	t.Run("on", func(t *testing.T) {
		run(t, dualStack, makeDualNodes(2), prepare, func(w *world) {
			w.Pass(3 * time.Minute)
			want := []string{
				"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "fd00:0:0:1::/64→i-1", "fd00:0:0:9::/64→i-9", "fd00::/64→i-0",
			}
			if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
			calls := w.cloud.CallsOf("BatchCreateRouteEntries")
			if len(calls) != 1 {
				t.Fatalf("%d creations, want one", len(calls))
			}
			request := calls[0].Request.(*vpcv1.BatchCreateRouteEntriesRequest) //nolint:forcetypeassert // A failure of the test.
			if n := len(request.GetRouteEntries()); n != 1 {
				t.Errorf("%d entries created, want the missing one only", n)
			}
		})
	})
}

// The routes of a node fail one by one: what can be had is made, and the event names the other.
func TestOneFamilyFails(t *testing.T) {
	prepare := func(w *world) {
		w.quota(1)
	}
	run(t, dualStack, makeDualNodes(1), prepare, func(w *world) {
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if got := w.network("node-0"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s with one route of two", got)
		}
		if got := w.Events.Matching("node-0 CreateRouteFailed: route table vtb-a: create route fd00::/64"); len(got) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-0"))
		}
		w.quota(2)
		w.Pass(2 * time.Minute)
		if got := w.network("node-0"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s with both routes", got)
		}
	})
}
