package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

func TestHundredNodesCostOneReadAndOneBatch(t *testing.T) {
	run(t, nil, makeNodes(100), nil, func(w *world) {
		if n := len(w.routes(tableA)); n != 100 {
			t.Errorf("%d routes, want 100", n)
		}
		if n := w.calls("ListRouteEntries"); n != 1 {
			t.Errorf("%d readings of the table, want 1", n)
		}
		if n := len(w.cloud.Writes()); n != 1 {
			t.Errorf("%d writes, want 1 batch", n)
		}
		for i := range 100 {
			if got, want := w.network(fmt.Sprintf("node-%d", i)), "False RouteCreated"; got != want {
				t.Errorf("node-%d: NetworkUnavailable %s, want %s", i, got, want)
			}
		}
		if n := len(w.Patches()); n != 100 {
			t.Errorf("%d patches, want one per node", n)
		}
	})
}

// Without a region in the configuration, the gateway's own decides which provider IDs are of the VPC.
func TestRegionOfTheGateway(t *testing.T) {
	leaveOut := func(cfg *controller.Config) { cfg.Scope.Region = "" }
	run(t, leaveOut, makeNodes(3), nil, func(w *world) {
		if n := len(w.routes(tableA)); n != 3 {
			t.Errorf("%d routes, want 3", n)
		}
	})
}

// A new leader has all nodes in its cache: the first look at a table waits for no other nodes.
func TestFirstLookIsNotGathered(t *testing.T) {
	slow := func(cfg *controller.Config) { cfg.GatherQuiet, cfg.GatherMax = time.Hour, time.Hour }
	run(t, slow, makeNodes(3), nil, func(w *world) {
		if n := len(w.routes(tableA)); n != 3 {
			t.Errorf("%d routes, want 3", n)
		}
		if n := len(w.cloud.Writes()); n != 1 {
			t.Errorf("%d writes, want 1 batch", n)
		}
	})
}

func TestNodeJoins(t *testing.T) {
	run(t, nil, makeNodes(3), nil, func(w *world) {
		w.cloud.ResetCalls()
		joining := makeNode(7)
		w.instance(joining)
		w.CreateNode(joining)
		w.settle()
		if got := w.network("node-7"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		if n := len(w.cloud.Calls()); n != 1 {
			t.Errorf("%d calls, want only the creation: %v", n, w.cloud.Calls())
		}
	})
}

func TestIrrelevantEventsCostNothing(t *testing.T) {
	run(t, nil, makeNodes(3), nil, func(w *world) {
		w.cloud.ResetCalls()
		w.Client.ClearActions()
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels = map[string]string{"x": "y"} })
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.settle()
		if n := len(w.cloud.Calls()); n != 0 {
			t.Errorf("%d calls, want 0", n)
		}
		if n := len(w.Patches()); n != 0 {
			t.Errorf("%d patches, want 0", n)
		}
	})
}

func TestNodeLeaves(t *testing.T) {
	run(t, nil, makeNodes(3), nil, func(w *world) {
		w.cloud.ResetCalls()
		w.DeleteNode("node-1")
		w.settle()
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		// A route is deleted on a reading of the table that is seconds old.
		if n := w.calls("ListRouteEntries"); n > 1 || len(w.cloud.Writes()) != 1 || len(w.cloud.Calls()) != n+1 {
			t.Errorf("calls %v, want the deletion and one reading at most", w.cloud.Calls())
		}
	})
}

// TestNodesThatVanishFromTheAPI lets the API server lose Nodes, as one does that is restored from an old etcd, while their
// instances live: nothing is deleted within the hour. Instances that are released then lose their routes, and no other.
func TestNodesThatVanishFromTheAPI(t *testing.T) {
	for name, left := range map[string]int{"all": 0, "half": 20} {
		t.Run(name, func(t *testing.T) {
			prepare := func(w *world) {
				for i := range 40 {
					w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), fmt.Sprintf("k8s/c-1/node-%d", i))
					w.instance(makeNode(i), tag("ack.aliyun.com", "c-1"))
				}
			}
			run(t, nil, makeNodes(left), prepare, func(w *world) {
				w.Pass(59 * time.Minute)
				if n := len(w.routes(tableA)); n != 40 || len(w.cloud.Writes()) != 0 {
					t.Errorf("%d routes are left after an hour, want all 40; writes %v", n, w.cloud.Writes())
				}
				reason := "RoutesWithoutNode"
				if left == 0 {
					reason = "RouteDeletionHeld"
				}
				if n := len(w.Events.Matching(reason)); n == 0 || n > 3 {
					t.Errorf("%d events %s, want one and few repetitions: %v", n, reason, w.Events.Matching(""))
				}
			})
		})
	}
}

// Instances that are gone are a second fact: their routes go soon, all of them, and those of living ones stay.
func TestReleasedInstancesLoseTheirRoutes(t *testing.T) {
	prepare := func(w *world) {
		for i := range 20 {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), fmt.Sprintf("k8s/c-1/node-%d", i))
		}
		for i := 5; i < 12; i++ { // Their Nodes are missing, the instances live.
			w.instance(makeNode(i), tag("ack.aliyun.com", "c-1"))
		}
	}
	run(t, nil, makeNodes(5), prepare, func(w *world) {
		w.Pass(3 * time.Minute)
		if n := len(w.routes(tableA)); n != 12 {
			t.Errorf("%d routes after the short grace, want the eight of 20 gone whose instances are", n)
		}
		w.Pass(40 * time.Minute)
		var want []string
		for i := range 12 {
			want = append(want, fmt.Sprintf("10.0.%d.0/24→i-%d", i, i))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// A Node that is there in the API server but not in the cache yet keeps its route.
func TestLiveNodeKeepsItsRoute(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8")
		late := true
		w.Client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
			if late { // The informer's list; what comes later is a live read.
				late = false
				return false, nil, nil
			}
			all := &corev1.NodeList{Items: []corev1.Node{*makeNode(0), *makeNode(8)}}
			return true, all, nil
		})
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		w.Pass(2 * time.Hour)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.8.0/24→i-8"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// The VPC's own table is the one that its vSwitches use; a second, custom one does not make it doubtful.
func TestSystemTableIsChosen(t *testing.T) {
	prepare := func(w *world) {
		w.table(tableB)
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		if n := len(w.routes(tableA)); n != 1 || len(w.routes(tableB)) != 0 {
			t.Errorf("routes %v and %v", w.routes(tableA), w.routes(tableB))
		}
	})
}

// The existing CCM leaks the routes of nodes that go while it is down, and those of excluded nodes stay on purpose.
func TestNodeLeftWhileTheControllerWasDown(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8")
		w.entry(tableA, "10.0.9.0/24", "i-9", "k8s/c-2/node-9")
		w.entry(tableA, "10.0.10.0/24", "i-10", "made by hand")
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		before := []string{"10.0.0.0/24→i-0", "10.0.10.0/24→i-10", "10.0.8.0/24→i-8", "10.0.9.0/24→i-9"}
		if diff := cmp.Diff(before, w.routes(tableA)); diff != "" {
			t.Errorf("routes before the grace is over (-want +got):\n%s", diff)
		}
		w.Pass(2 * time.Minute)
		after := []string{"10.0.0.0/24→i-0", "10.0.10.0/24→i-10", "10.0.9.0/24→i-9"}
		if diff := cmp.Diff(after, w.routes(tableA)); diff != "" {
			t.Errorf("routes after the grace (-want +got):\n%s", diff)
		}
	})
}

func TestTakeoverFromTheExistingCCM(t *testing.T) {
	prepare := func(w *world) {
		for i := range 3 {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), "")
			w.UpdateNode(fmt.Sprintf("node-%d", i), func(n *corev1.Node) {
				n.Spec.ProviderID = "alicloud://" + n.Spec.ProviderID // Never equal to its own route for the existing CCM.
				n.Status.Conditions[1] = corev1.NodeCondition{
					Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated",
				}
			})
		}
	}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		if n := len(w.cloud.Writes()); n != 0 {
			t.Errorf("%d cloud writes, want 0", n)
		}
		if n := len(w.Patches()); n != 0 {
			t.Errorf("%d patches, want 0", n)
		}
		w.DeleteNode("node-1")
		w.settle()
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes after a node has gone (-want +got):\n%s", diff)
		}
	})
}

func TestRouteDeletedByHandComesBack(t *testing.T) {
	run(t, nil, makeNodes(2), nil, func(w *world) {
		w.remove(tableA)
		w.Pass(6 * time.Minute)
		if n := len(w.routes(tableA)); n != 2 {
			t.Errorf("%d routes after the drift check, want 2", n)
		}
	})
}

func TestConditionNeedsEveryTable(t *testing.T) {
	both := func(cfg *controller.Config) { cfg.RouteTableIDs, cfg.VPCID = []string{tableA, tableB}, vpcID }
	run(t, both, makeNodes(2), nil, func(w *world) { // tableB does not exist yet.
		if n := len(w.routes(tableA)); n != 2 {
			t.Errorf("%d routes in the one table, want 2", n)
		}
		if got := w.network("node-0"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s with one of two tables done", got)
		}
		if len(w.Events.Matching(tableB+" SyncRouteFailed")) == 0 {
			t.Error("no event about the table that can't be read")
		}
		w.table(tableB)
		w.Pass(2 * time.Minute)
		if got := w.network("node-0"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s with both tables done", got)
		}
	})
}

// TestStandby checks that a replica that stands by reads and writes nothing, and that what happened meanwhile is done once it
// leads, without listing the nodes again.
func TestStandby(t *testing.T) {
	standBy(t, nil, makeNodes(2), nil, func(w *world) {
		w.Pass(time.Hour)
		joining := makeNode(2)
		w.instance(joining)
		w.CreateNode(joining)
		w.DeleteNode("node-1")
		w.Pass(time.Hour)
		if n := len(w.cloud.Calls()); n != 0 || len(w.Patches()) != 0 {
			t.Errorf("a standby made %d calls and %d patches", n, len(w.Patches()))
		}
		w.Client.ClearActions()
		w.lead()
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if got := w.network("node-2"); got != "False RouteCreated" {
			t.Errorf("node-2: NetworkUnavailable %s", got)
		}
		if listed := w.Listed(); len(listed) != 0 {
			t.Errorf("the new leader has to %v", listed)
		}
	})
}

func TestSeveralTablesHaveToBeNamed(t *testing.T) {
	prepare := func(w *world) { // The account may not see that of the system.
		w.cloud.Sim.Update(func(c *state.Cloud) { c.RouteTables[tableA].Type = "Custom" })
		w.table(tableB)
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		if n := len(w.cloud.Writes()); n != 0 {
			t.Errorf("%d writes", n)
		}
		unready := map[string]bool{}
		for _, c := range w.started.Checks() {
			unready[c.Name] = c.Check(t.Context()) != nil
		}
		if diff := cmp.Diff(map[string]bool{"caches": false, "tables": true}, unready); diff != "" {
			t.Errorf("not ready without a route table (-want +got):\n%s", diff)
		}
		want := "route-controller SyncRouteFailed: vpc-test has 2 route tables (vtb-a, vtb-b); name those to use in routeTableIDs"
		if len(w.Events.Matching(want)) == 0 {
			t.Errorf("events %v", w.Events.Matching(""))
		}
	})
}

// TestTablesThatCantBeLookedFor lets the gateway be away, or refuse, while a leader looks for the route table. An event
// and /readyz say so, and another event that it is over.
func TestTablesThatCantBeLookedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  *rpcerr.Error
		said string
	}{
		"gateway away": {&rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"}, "look whether cloudgateway runs"},
		"refused": {
			&rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "not allowed"}, "by cloudgateway doctor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(w *world) { w.refuse("ListRouteTables", tt.err) }
			unready := func(w *world) string {
				for _, c := range w.started.Checks() {
					if err := c.Check(t.Context()); err != nil {
						return err.Error()
					}
				}
				return ""
			}
			run(t, nil, makeNodes(1), prepare, func(w *world) {
				w.Pass(10 * time.Minute)
				got := w.Events.Matching("route-controller SyncRouteFailed: list the route tables of " + vpcID)
				if len(got) != 1 || !strings.Contains(got[0], tt.said) {
					t.Errorf("events %v, want one with %q", w.Events.Matching(""), tt.said)
				}
				if got := unready(w); !strings.Contains(got, "route tables are not found yet: list the route tables of "+vpcID) ||
					!strings.Contains(got, tt.err.Message) {
					t.Errorf("not ready, since %q", got)
				}
				w.cloud.Interpose(nil)
				w.started.Resume()
				w.settle()
				if got := w.Events.Matching("route-controller Resolved"); len(got) != 1 || unready(w) != "" || len(w.routes(tableA)) != 1 {
					t.Errorf("in the end events %v, routes %v, not ready since %q", w.Events.Matching(""), w.routes(tableA), unready(w))
				}
			})
		})
	}
}

// TestTwoNodesWithOneRange has a route of the newer of two nodes with the same range. It stays, since its Node is
// there; an event on both nodes says which other has the range and what to do.
func TestTwoNodesWithOneRange(t *testing.T) {
	t.Parallel()
	older, newer := makeNode(0), makeNode(1)
	newer.Spec.PodCIDR, newer.Spec.PodCIDRs = older.Spec.PodCIDR, older.Spec.PodCIDRs
	prepare := func(w *world) { w.entry(tableA, "10.0.0.0/24", "i-1", marked(1)) }
	all := append(makeNodes(8)[2:], older, newer)
	for i, node := range all {
		node.CreationTimestamp = metav1.Unix(int64(i), 0)
	}
	run(t, nil, all, prepare, func(w *world) {
		w.Pass(3 * time.Hour)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-1") {
			t.Errorf("routes %v, want that of the newer node, which is there", got)
		}
		for _, name := range []string{"node-0", "node-1"} {
			got := w.Events.Matching(name + " CreateRouteFailed: ")
			if len(got) == 0 || !strings.Contains(got[0], "nodes") || !strings.Contains(got[0], "node-0") || !strings.Contains(got[0], "node-1") ||
				!strings.Contains(got[0], "delete one of the two Nodes") {
				t.Errorf("events on %s: %v", name, got)
			}
		}
		w.DeleteNode("node-1")
		w.Pass(time.Minute)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-0") {
			t.Errorf("routes %v, want that of the node that is left", got)
		}
	})
}

func TestOneBadNodeHoldsUpNoOther(t *testing.T) {
	run(t, nil, makeNodes(3), func(w *world) {
		w.release("i-1")
	}, func(w *world) {
		for name, want := range map[string]string{
			"node-0": "False RouteCreated", "node-1": "True NoRouteCreated", "node-2": "False RouteCreated",
		} {
			if got := w.network(name); got != want {
				t.Errorf("%s: NetworkUnavailable %s, want %s", name, got, want)
			}
		}
		if len(w.Events.Matching("node-1 CreateRouteFailed")) != 1 {
			t.Errorf("events %v, want one about the failed route", w.Events.Matching("node-1"))
		}
		w.instance(makeNode(1))
		w.Pass(time.Minute)
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s once the instance is there", got)
		}
	})
}

func TestNodeWithoutRangeGetsAnEvent(t *testing.T) {
	bare := makeNode(1)
	bare.Spec.PodCIDR, bare.Spec.PodCIDRs, bare.Status.Conditions = "", nil, bare.Status.Conditions[:1]
	run(t, nil, []*corev1.Node{bare}, nil, func(w *world) {
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		if len(w.Events.Matching("node-1 CreateRouteFailed: spec.podCIDR is not set")) != 1 {
			t.Errorf("events %v", w.Events.Matching(""))
		}
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.PodCIDR = "10.0.1.0/24" })
		w.settle()
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s with a range", got)
		}
	})
}

// TestNewNodeWithoutRange: kube-controller-manager gives a Node its range of pods after it has registered. That is no
// reason to warn, unless it takes long.
func TestNewNodeWithoutRange(t *testing.T) {
	for _, comes := range []bool{true, false} {
		run(t, nil, []*corev1.Node{makeNode(2)}, nil, func(w *world) {
			bare := makeNode(1)
			bare.CreationTimestamp = metav1.Now()
			bare.Spec.PodCIDR, bare.Spec.PodCIDRs, bare.Status.Conditions = "", nil, bare.Status.Conditions[:1]
			w.CreateNode(bare)
			w.Pass(20 * time.Second)
			if got := w.Events.Matching("node-1 CreateRouteFailed"); len(got) > 0 {
				t.Errorf("events %v of a Node that is 20 s old", got)
			}
			want := 1
			if comes {
				w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.PodCIDR = "10.0.1.0/24" })
				want = 0
			}
			w.Pass(20 * time.Second)
			if got := w.Events.Matching("node-1 CreateRouteFailed: spec.podCIDR is not set"); len(got) != want {
				t.Errorf("range comes: %t; events %v, want %d", comes, got, want)
			}
		})
	}
}

// TestNewNodeOfAFastClock: the API server's clock may be ahead of ours, and the warning comes all the same.
func TestNewNodeOfAFastClock(t *testing.T) {
	for _, ahead := range []time.Duration{20 * time.Second, 24 * time.Hour} {
		run(t, nil, []*corev1.Node{makeNode(2)}, nil, func(w *world) {
			bare := makeNode(1)
			bare.CreationTimestamp = metav1.NewTime(time.Now().Add(ahead))
			bare.Spec.PodCIDR, bare.Spec.PodCIDRs, bare.Status.Conditions = "", nil, bare.Status.Conditions[:1]
			w.CreateNode(bare)
			w.Pass(time.Minute)
			if got := w.Events.Matching("node-1 CreateRouteFailed: spec.podCIDR is not set"); len(got) != 1 {
				t.Errorf("clock %s ahead: events %v a minute after the Node has registered", ahead, got)
			}
		})
	}
}

func TestProviderIDComesLate(t *testing.T) {
	late := makeNode(1)
	late.Spec.ProviderID = ""
	run(t, nil, []*corev1.Node{late}, nil, func(w *world) {
		if n := len(w.routes(tableA)); n != 0 {
			t.Errorf("%d routes", n)
		}
		w.instance(makeNode(1))
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec.ProviderID = region + ".i-1" })
		w.settle()
		if got := w.network("node-1"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
	})
}

func TestExcludedAndSilentNodesKeepTheirRoutes(t *testing.T) {
	run(t, nil, makeNodes(4), nil, func(w *world) {
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} })
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })
		w.UpdateNode("node-3", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.Pass(10 * time.Minute)
		if n := len(w.routes(tableA)); n != 4 {
			t.Errorf("%d routes, want all 4 to stay", n)
		}
	})
}

func TestStrangersInTheWay(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-member", "")
		w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + ".i-member"}}, tag("example.com/cluster", cluster))
		w.entry(tableA, "10.0.1.0/24", "i-stranger", "")
		w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + ".i-stranger"}}, tag("example.com/cluster", "c-2"),
			tag("ack.aliyun.com", cluster))
	}
	edit := func(cfg *controller.Config) { cfg.ClusterTag = "example.com/cluster" }
	run(t, edit, makeNodes(2), prepare, func(w *world) {
		w.Pass(59 * time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-member", "10.0.1.0/24→i-stranger"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes before the long grace is over (-want +got):\n%s", diff)
		}
		w.Pass(2 * time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-stranger"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if got := w.network("node-1"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s of the node whose place is taken", got)
		}
		if n := len(w.Events.Matching("node-1 CreateRouteFailed: route table vtb-a: destination 10.0.1.0/24 is taken")); n == 0 || n > 3 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
	})
}

// The existing CCM loses sight of the routes of nodes that go while it is down; their ranges are given to new nodes sooner or later.
func TestWhatTheExistingCCMLeftBehindMakesRoom(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-gone", "")
		w.entry(tableA, "10.0.1.0/24", "i-gone-too", "")
		w.entry(tableA, "10.0.2.0/24", "i-gone", "made by hand")
		w.entry(tableA, "10.0.9.0/24", "i-gone", "")
	}
	want := []string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-gone", "10.0.9.0/24→i-gone"}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if got := w.network("node-2"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s of the node whose place somebody has described", got)
		}
		if n := w.calls("ConfirmAbsent"); n != 1 {
			t.Errorf("the cloud was asked about instances %d times, want once", n)
		}
	})
}

// An error about an instance is no evidence that it is gone.
func TestUnreadableInstanceMakesNoRoom(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-hidden", "")
		w.spoil("DescribeInstances", "Forbidden.RAM", "no")
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		w.Pass(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-hidden"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// An answer without any instance proves nothing, e.g. with credentials that may not see instances.
func TestAnswerWithoutTheNodesMakesNoRoom(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-hidden", "")
		w.cloud.Sim.Update(func(c *state.Cloud) { clear(c.Instances) })
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		w.Pass(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.0/24→i-hidden"}, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		if n := w.calls("BatchDeleteRouteEntries", "BatchCreateRouteEntries"); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
}

// Somebody else may have made the routes of excluded nodes. They stay, whatever becomes of the nodes, marked or not.
func TestRoutesOfExcludedNodesStay(t *testing.T) {
	excluded := makeNodes(4)
	for _, n := range excluded[1:3] {
		n.Labels[nodes.LabelExclude] = ""
	}
	prepare := func(w *world) {
		w.entry(tableA, "10.0.1.0/24", "i-1", "")
		w.entry(tableA, "10.0.2.0/24", "i-2", "k8s/c-1/node-2")
	}
	run(t, nil, excluded, prepare, func(w *world) {
		w.UpdateNode("node-3", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} })
		w.settle()
		for i := 1; i < 4; i++ {
			w.DeleteNode(fmt.Sprintf("node-%d", i))
		}
		w.Pass(3 * time.Hour)
		want := []string{"10.0.0.0/24→i-0", "10.0.1.0/24→i-1", "10.0.2.0/24→i-2", "10.0.3.0/24→i-3"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

func TestThrottlingIsWaitedFor(t *testing.T) {
	prepare := func(w *world) {
		w.cloud.Fail("BatchCreateRouteEntries", 1, &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: 40 * time.Second,
		})
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		joining := makeNode(1) // An event meanwhile doesn't make the wait shorter.
		w.instance(joining)
		w.CreateNode(joining)
		w.Pass(20 * time.Second)
		if n := w.calls("BatchCreateRouteEntries"); n != 1 {
			t.Errorf("%d creations before the time to wait is over, want 1", n)
		}
		w.Pass(25 * time.Second)
		if got := w.network("node-0"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s after the time to wait", got)
		}
		if got := w.Events.Matching("Failed"); len(got) != 0 {
			t.Errorf("events %v about a mere wait", got)
		}
	})
}

func TestLostAnswerIsReadBack(t *testing.T) {
	prepare := func(w *world) {
		w.cloud.FailAfter("BatchCreateRouteEntries", 1, &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown})
	}
	run(t, nil, makeNodes(5), prepare, func(w *world) {
		w.Pass(5 * time.Second)
		if n := w.calls("BatchCreateRouteEntries"); n != 1 {
			t.Errorf("%d creations, want the lost one only", n)
		}
		if got := w.network("node-4"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
	})
}

func TestConditionSetAfterTheRouteIsCleared(t *testing.T) {
	run(t, nil, makeNodes(1), nil, func(w *world) {
		w.cloud.ResetCalls()
		w.UpdateNode("node-0", func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionTrue })
		w.settle()
		if got := w.network("node-0"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s", got)
		}
		if n := len(w.cloud.Calls()); n != 0 {
			t.Errorf("%d calls, want 0", n)
		}
	})
}

func TestQuotaWarning(t *testing.T) {
	run(t, func(cfg *controller.Config) { cfg.RouteQuota = 5 }, makeNodes(3), nil, func(w *world) {
		if n := len(w.Events.Matching("RouteTableNearlyFull")); n != 0 {
			t.Errorf("%d warnings at 3 of 5", n)
		}
		for i := 3; i < 5; i++ {
			w.instance(makeNode(i))
			w.CreateNode(makeNode(i))
			w.settle()
		}
		if n := len(w.Events.Matching("RouteTableNearlyFull")); n != 1 {
			t.Errorf("%d warnings at 5 of 5, want 1", n)
		}
	})
}

func TestForeignEntryIsReportedOnce(t *testing.T) {
	prepare := func(w *world) { w.entry(tableA, "10.0.0.128/25", "i-stranger", "by hand") }
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		w.Pass(20 * time.Minute)
		if got := w.Events.Matching("node-0 ForeignRoute"); len(got) != 1 {
			t.Errorf("events %v, want one", got)
		}
		if n := len(w.routes(tableA)); n != 2 {
			t.Errorf("%d routes, want the foreign one to stay", n)
		}
	})
}

func TestDriftCheckCostsOneRead(t *testing.T) {
	run(t, nil, makeNodes(3), nil, func(w *world) {
		w.cloud.ResetCalls()
		w.Pass(time.Hour)
		if n := w.calls("ListRouteEntries"); n < 10 || n > 12 || len(w.cloud.Calls()) != n+w.calls("ListRouteTables") {
			t.Errorf("%d readings of %d calls within an hour, want one every five minutes", n, len(w.cloud.Calls()))
		}
	})
}

func TestEntryTheCloudIsWorkingOn(t *testing.T) {
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-0", "k8s/c-1/node-0")
		w.status(tableA, "10.0.0.0/24", "Pending")
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		if got := w.network("node-0"); got != "True NoRouteCreated" {
			t.Errorf("NetworkUnavailable %s while the entry is pending", got)
		}
		w.status(tableA, "10.0.0.0/24", "Available")
		w.Pass(10 * time.Second)
		if got := w.network("node-0"); got != "False RouteCreated" {
			t.Errorf("NetworkUnavailable %s once the entry is available", got)
		}
		if n := len(w.cloud.Writes()); n != 0 {
			t.Errorf("%d writes, want 0", n)
		}
	})
}
