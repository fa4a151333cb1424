package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kubetesting "k8s.io/client-go/testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// TestEveryCallMayFail lets each call of a story fail once, with and without an effect: the end is always the same.
func TestEveryCallMayFail(t *testing.T) {
	unavailable := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "lost"}
	for name, fault := range map[string]gatewaytest.Fault{"without effect": {Before: unavailable}, "with effect": {After: lost}} {
		for bad := 0; ; bad++ {
			happened := false
			t.Run(fmt.Sprintf("call %d fails %s", bad, name), func(t *testing.T) {
				happened = playWithFault(t, bad, fault)
			})
			if !happened {
				break
			}
		}
	}
}

// playWithFault plays a story: nodes with a leftover and a conflict in the table, one joins, one leaves. It reports whether the
// faulty call was ever made.
func playWithFault(t *testing.T, bad int, fault gatewaytest.Fault) bool {
	t.Helper()
	var happened atomic.Bool
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-2", "")                      // In the way of node-0, to a node of ours.
		w.entry(tableA, "10.0.8.0/24", "i-8", "k8s/c-1/node-8")        // Left over.
		w.entry(tableA, "10.0.9.0/24", "i-9", "somebody else's route") // Foreign.
		w.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
			if seq == bad {
				happened.Store(true)
				return fault
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, []*corev1.Node{makeNode(0), makeNode(1), makeNode(2)}, prepare, func(w *world) {
		joining := makeNode(3)
		w.instance(joining)
		w.CreateNode(joining)
		w.DeleteNode("node-1")
		w.Pass(25 * time.Minute) // Of five routes two may go in ten minutes.
		want := []string{"10.0.0.0/24→i-0", "10.0.2.0/24→i-2", "10.0.3.0/24→i-3", "10.0.9.0/24→i-9"}
		if diff := cmp.Diff(want, w.routes(tableA)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
		for _, name := range []string{"node-0", "node-2", "node-3"} {
			if got := w.network(name); got != "False RouteCreated" {
				t.Errorf("%s: NetworkUnavailable %s", name, got)
			}
		}
	})
	return happened.Load()
}

// forgetful lets the API server lose Nodes when the result is called: their watch breaks, and the next lists lack them.
func (w *world) forgetful() (lose func(names ...string)) {
	var watches []watch.Interface
	var lost []string
	expired := false
	w.Client.PrependWatchReactor("nodes", func(action kubetesting.Action) (bool, watch.Interface, error) {
		if expired {
			expired = false
			return true, nil, apierrors.NewResourceExpired("too old resource version")
		}
		made, err := w.Client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		watches = append(watches, made)
		return true, made, err
	})
	w.Client.PrependReactor("list", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
		list, err := w.Client.Tracker().List(action.GetResource(), corev1.SchemeGroupVersion.WithKind("Node"), "")
		nodes, ok := list.(*corev1.NodeList)
		if ok {
			nodes = nodes.DeepCopy()
			nodes.Items = slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return slices.Contains(lost, n.Name) })
		}
		return true, nodes, err
	})
	return func(names ...string) {
		lost, expired = names, true
		for _, made := range watches {
			made.Stop()
		}
	}
}

// TestNodeMadeAnewIsThere deletes a Node and makes it anew, with the instance and the range that it had. As ever, it
// gets its range after it was made. That the old one was seen to go then says nothing about the new one, whose Node the
// API server loses while its instance lives.
func TestNodeMadeAnewIsThere(t *testing.T) {
	t.Parallel()
	var lose func(...string)
	run(t, nil, makeNodes(8), func(w *world) { lose = w.forgetful() }, func(w *world) {
		w.DeleteNode("node-1")
		w.settle()
		again := makeNode(1)
		spec := again.Spec
		again.Spec.PodCIDR, again.Spec.PodCIDRs = "", nil
		again.UID = "again"
		w.CreateNode(again)
		w.settle()
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Spec = spec })
		w.settle()
		if got := w.routes(tableA); !slices.Contains(got, "10.0.1.0/24→i-1") {
			t.Fatalf("routes %v, want that of the new Node", got)
		}
		lose("node-1", "node-2")
		w.Pass(50 * time.Minute)
		if got := w.routes(tableA); len(got) != 8 {
			t.Errorf("routes %v, want all: the instances live, and no Node was seen to go", got)
		}
	})
}

// TestNodeMadeAnewIsNotBlamed makes a Node anew, with an instance that exists, while the route of the old one is
// refused because its instance does not exist. The answer comes late, and is no reason for a warning about the new
// Node.
func TestNodeMadeAnewIsNotBlamed(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.hide("i-0")
		w.instance(makeNode(1))
		var late atomic.Bool
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "BatchCreateRouteEntries" && late.CompareAndSwap(false, true) {
				w.DeleteNode("node-0")
				again := makeNode(0)
				again.UID, again.Spec.ProviderID = "again", makeNode(1).Spec.ProviderID
				w.CreateNode(again)
				<-time.After(time.Second) // The answer takes so long; the controller sees the new Node meanwhile.
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		w.Pass(time.Minute)
		if got := w.routes(tableA); !slices.Equal(got, []string{"10.0.0.0/24→i-1"}) {
			t.Errorf("routes %v, want that of the new Node", got)
		}
		if got := w.Events.Matching("node-0 CreateRouteFailed"); len(got) != 0 {
			t.Errorf("%v, want no warning", got)
		}
	})
}

// TestNodeMadeAnewIsNotWarnedOfAStranger makes a Node anew, with another range, while the route of the old one is made,
// a part of whose traffic an entry of somebody else takes. That is no reason for a warning about the new Node.
func TestNodeMadeAnewIsNotWarnedOfAStranger(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.128/25", "i-stranger", "by hand")
		var late atomic.Bool
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "BatchCreateRouteEntries" && late.CompareAndSwap(false, true) {
				w.DeleteNode("node-0")
				again := makeNode(0)
				again.UID, again.Spec.PodCIDR, again.Spec.PodCIDRs = "again", "10.0.7.0/24", []string{"10.0.7.0/24"}
				w.CreateNode(again)
				<-time.After(time.Second) // The answer takes so long; the controller sees the new Node meanwhile.
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, makeNodes(2), prepare, func(w *world) {
		w.Pass(time.Minute)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.7.0/24→i-0") {
			t.Errorf("routes %v, want that of the new Node", got)
		}
		if got := w.Events.Matching("node-0 ForeignRoute"); len(got) != 0 {
			t.Errorf("%v, want no warning", got)
		}
	})
}

// TestRenamedNodeIsThere has a node register under another name with what it had, and removes the old Node. The API
// server then loses the new one, without a watched deletion: the route stays.
func TestRenamedNodeIsThere(t *testing.T) {
	t.Parallel()
	var lose func(...string)
	run(t, nil, makeNodes(8), func(w *world) { lose = w.forgetful() }, func(w *world) {
		renamed := makeNode(1)
		renamed.Name, renamed.UID = "renamed", "renamed"
		w.CreateNode(renamed)
		w.settle()
		w.DeleteNode("node-1")
		w.settle()
		lose("renamed", "node-2")
		w.Pass(50 * time.Minute)
		if got := w.routes(tableA); len(got) != 8 {
			t.Errorf("routes %v, want all: the instances live, and only a former name was seen to go", got)
		}
	})
}

// TestUndeletableRoutesKeepNoOthers lets the cloud refuse the deletion of as many routes as may go within the budget's window. Others go.
func TestUndeletableRoutesKeepNoOthers(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		for i := 10; i < 19; i++ {
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), fmt.Sprintf("i-%d", i), marked(i))
		}
		w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
			unwanted, _ := request.(*vpcv1.BatchDeleteRouteEntriesRequest)
			for _, entry := range unwanted.GetRouteEntries() {
				if slices.Contains([]string{"i-10", "i-11", "i-12"}, entry.GetNextHopId()) {
					return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.InvalidState, Message: "in use"}}
				}
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, makeNodes(10), prepare, func(w *world) {
		w.Pass(time.Hour)
		if got := w.routes(tableA); len(got) != 13 {
			t.Errorf("routes %v, want those of the 10 Nodes and the 3 that can't be deleted", got)
		}
	})
}

// TestBlockedNodesAreQuiet counts what 100 nodes cost within an hour whose places are taken by living instances: nothing but the reading of
// the table, a question about the instances with each, and a warning that is repeated once.
func TestBlockedNodesAreQuiet(t *testing.T) {
	t.Parallel()
	const blocked = 100
	prepare := func(w *world) {
		for i := range blocked {
			other := fmt.Sprintf("i-other-%d", i)
			w.entry(tableA, fmt.Sprintf("10.0.%d.0/24", i), other, marked(i))
			w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + "." + other}}, tag("ack.aliyun.com", cluster))
		}
	}
	run(t, nil, makeNodes(120), prepare, func(w *world) {
		w.Pass(58 * time.Minute)
		if n := len(w.routes(tableA)); n != 120 || w.calls("BatchDeleteRouteEntries") != 0 {
			t.Errorf("%d routes, want all 120 and none replaced", n)
		}
		if lists, asks := w.calls("ListRouteEntries"), w.calls("ConfirmAbsent"); lists > 13 || asks > 13 {
			t.Errorf("the table was read %d times, and instances %d times", lists, asks)
		}
		if n := len(w.Events.Matching("CreateRouteFailed")); n != 2*blocked {
			t.Errorf("%d warnings, want two for each node", n)
		}
		// A pass may come before the watch has shown the patch of the one before, and patches the same once more.
		if n := len(w.Patches()); n < 120 || n > 2*120 {
			t.Errorf("%d patches, want one for each node, or two", n)
		}
	})
}

// TestStuckRouteIsPolledLessAndLess lets the cloud work on a route for an hour. It is not asked every few seconds all
// the time; a route that joins meanwhile is looked at as soon as ever, and the stuck one is there within a minute once
// it is done.
func TestStuckRouteIsPolledLessAndLess(t *testing.T) {
	t.Parallel()
	// An orphan is there all the time. The cloud refuses its deletion, too, while it works on another route.
	patient := func(cfg *controller.Config) { cfg.Orphans.Grace = 3 * time.Hour }
	run(t, patient, makeNodes(3), nil, func(w *world) {
		w.entry(tableA, "10.0.30.0/24", "i-30", marked(30))
		w.instance(makeNode(30), tag("ack.aliyun.com", cluster))
		w.status(tableA, "10.0.2.0/24", "Modifying")
		w.Pass(10 * time.Minute)
		w.cloud.ResetCalls()
		w.Pass(time.Hour)
		if n := w.calls("ListRouteEntries"); n > 70 {
			t.Errorf("the table was read %d times in an hour", n)
		}
		w.entry(tableA, "10.0.3.0/24", "i-3", marked(3))
		w.status(tableA, "10.0.3.0/24", "Pending")
		w.Pass(time.Minute) // The reading that shows the entry.
		w.instance(makeNode(3))
		w.CreateNode(makeNode(3))
		w.Pass(time.Minute) // The wait is short again.
		w.status(tableA, "10.0.3.0/24", "Available")
		w.Pass(20 * time.Second)
		if got := w.network("node-3"); got != "False RouteCreated" {
			t.Errorf("node-3: NetworkUnavailable %s", got)
		}
		w.status(tableA, "10.0.2.0/24", "Available")
		w.Pass(time.Minute)
		if got := w.network("node-2"); got != "False RouteCreated" {
			t.Errorf("node-2: NetworkUnavailable %s", got)
		}
	})
}

// noAnswer is the failure of a call that says nothing.
var noAnswer = &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no answer"}

// refuse lets all calls of a method fail, until w.cloud.Interpose is called again.
func (w *world) refuse(method string, err error) {
	w.cloud.Interpose(func(_ int, called string, _ proto.Message) gatewaytest.Fault {
		if called == method {
			return gatewaytest.Fault{Before: err}
		}
		return gatewaytest.Fault{}
	})
}

// TestFailedQuestionIsNotRepeated has a route in the way whose instance can't be asked about. Nodes that join wait for
// one such question with each reading of the table, not for one each.
func TestFailedQuestionIsNotRepeated(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-other", "")
		w.refuse("ConfirmAbsent", noAnswer)
	}
	run(t, nil, makeNodes(1), prepare, func(w *world) {
		for i := range 10 {
			joining := makeNode(i + 1)
			w.instance(joining)
			w.CreateNode(joining)
			w.settle()
		}
		if lists, asks := w.calls("ListRouteEntries"), w.calls("ConfirmAbsent"); asks != lists {
			t.Errorf("instances were asked about %d times with %d readings of the table", asks, lists)
		}
		if n := len(w.routes(tableA)); n != 11 {
			t.Errorf("%d routes, want that in the way and those of the 10 nodes that joined", n)
		}
	})
}

// TestFailedQuestionKeepsTheGrace lets the questions about an instance of the cluster fail for some minutes, whose
// route without a mark is in the way of a node. It goes after the grace all the same, and nobody calls it a stranger's
// meanwhile.
func TestFailedQuestionKeepsTheGrace(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*world){
		"no answer":                       func(w *world) { w.refuse("ConfirmAbsent", noAnswer) },
		"an answer without this instance": func(w *world) { w.spoil("DescribeInstances", "Forbidden.RAM", "no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := func(w *world) {
				w.entry(tableA, "10.0.0.0/24", "i-former", "")
				w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + ".i-former"}}, tag("ack.aliyun.com", cluster))
			}
			run(t, nil, makeNodes(8), prepare, func(w *world) {
				w.Pass(28 * time.Minute)
				fail(w)
				w.Pass(14 * time.Minute) // Longer than a reading is believed.
				w.cloud.Interpose(nil)
				w.spoil("DescribeInstances", "", "")
				w.Pass(16 * time.Minute)
				if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-former") {
					t.Fatalf("routes before the grace is over: %v", got)
				}
				w.Pass(10 * time.Minute)
				if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-0") {
					t.Errorf("routes after the grace: %v", got)
				}
				if got := w.Events.Matching("not of this cluster"); len(got) != 0 {
					t.Errorf("events %v", got)
				}
			})
		})
	}
}

// TestFailedQuestionIsNoEvidence lets the cloud say once that the instance of a route in the way is gone, and refuse
// the deletion. Then it says nothing about the instance. The route stays until an answer says so again.
func TestFailedQuestionIsNoEvidence(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-gone", "")
		w.refuse("BatchDeleteRouteEntries", noAnswer)
	}
	run(t, nil, makeNodes(8), prepare, func(w *world) {
		if w.calls("BatchDeleteRouteEntries") == 0 {
			t.Error("nothing was to be deleted")
		}
		w.refuse("ConfirmAbsent", noAnswer)
		w.Pass(20 * time.Minute)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-gone") {
			t.Errorf("routes while nothing is known of the instance: %v", got)
		}
		w.cloud.Interpose(nil)
		w.Pass(6 * time.Minute)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-0") {
			t.Errorf("routes once the instance is known to be gone: %v", got)
		}
	})
}

// TestStuckRouteIsReported lets the cloud work on two routes of a node for an hour, in two tables. One event for each
// says so on the node within a few minutes, and one that it is over when both are there.
func TestStuckRouteIsReported(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.table(tableB)
	}
	both := func(cfg *controller.Config) { cfg.RouteTableIDs = []string{tableA, tableB} }
	run(t, both, makeNodes(3), prepare, func(w *world) {
		w.status(tableA, "10.0.2.0/24", "Modifying")
		w.status(tableB, "10.0.2.0/24", "Pending")
		w.Pass(9 * time.Minute) // The state is seen with the next reading of the tables.
		if got := w.Events.Matching("RoutePending"); len(got) != 0 {
			t.Errorf("events before the patience is over: %v", got)
		}
		w.Pass(5 * time.Minute)
		for _, table := range []string{tableA, tableB} {
			text := "node-2 RoutePending: route table " + table + ": the cloud has worked on the entry to 10.0.2.0/24 for more than 5m0s"
			if got := w.Events.Matching(text); len(got) != 1 {
				t.Errorf("%d events %q among %v", len(got), text, w.Events.Matching(""))
			}
		}
		w.status(tableA, "10.0.2.0/24", "Available")
		w.Pass(3 * time.Minute)
		if got := w.Events.Matching("Resolved"); len(got) != 0 {
			t.Errorf("events while one table has the node wait: %v", got)
		}
		w.status(tableB, "10.0.2.0/24", "Available")
		w.Pass(3 * time.Minute)
		if got := w.Events.Matching("node-2 Resolved: the trouble that RoutePending reported is over"); len(got) != 1 {
			t.Errorf("events once both routes are there: %v", w.Events.Matching(""))
		}
		if got := w.Events.Matching("RoutePending:"); len(got) != 2 {
			t.Errorf("events in all: %v", got)
		}
	})
}

// TestStuckRouteOfASilentNode lets the cloud finish a route while its node is silent, and claims none. Once the node
// reports again, an event says that the trouble is over.
func TestStuckRouteOfASilentNode(t *testing.T) {
	t.Parallel()
	run(t, nil, makeNodes(3), nil, func(w *world) {
		ready := func(status corev1.ConditionStatus) {
			w.UpdateNode("node-2", func(n *corev1.Node) { n.Status.Conditions[0].Status = status })
			w.Pass(10 * time.Minute)
		}
		w.status(tableA, "10.0.2.0/24", "Modifying")
		w.Pass(15 * time.Minute)
		ready(corev1.ConditionUnknown)
		w.status(tableA, "10.0.2.0/24", "Available")
		w.Pass(10 * time.Minute)
		if got := w.Events.Matching("RoutePending"); len(got) != 1 {
			t.Errorf("events before the node speaks: %v", got)
		}
		ready(corev1.ConditionTrue)
		if got := w.Events.Matching("node-2 Resolved: the trouble that RoutePending reported is over"); len(got) != 1 {
			t.Errorf("events once the node speaks: %v", w.Events.Matching("node-2"))
		}
	})
}

// TestSmallerStuckRouteIsReportedOnce lets the cloud work for an hour on an entry inside of the range of a node, whose
// own route is there. One event on the node says so, and only after that time another that it is over.
func TestSmallerStuckRouteIsReportedOnce(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.1.0/26", "i-former", marked(9))
		w.status(tableA, "10.0.1.0/26", "Deleting")
	}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		w.Pass(29 * time.Minute)
		if got := w.Events.Matching("RoutePending"); len(got) != 1 || !strings.Contains(got[0], "node-1 RoutePending: route table "+tableA) {
			t.Errorf("events while the entry is there: %v", w.Events.Matching(""))
		}
		if got := w.Events.Matching("Resolved"); len(got) != 0 {
			t.Errorf("events while the entry is there: %v", got)
		}
		w.remove(tableA, "10.0.1.0/26")
		w.Pass(3 * time.Minute)
		if got := w.Events.Matching("node-1 Resolved: the trouble that RoutePending reported is over"); len(got) != 1 {
			t.Errorf("events once the entry is gone: %v", w.Events.Matching(""))
		}
	})
}

// TestStuckRouteIsReportedBesideFailures lets the cloud work on a route for an hour while it refuses to make another.
// The event is there all the same.
func TestStuckRouteIsReportedBesideFailures(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.2.0/24", "i-2", marked(2))
		w.status(tableA, "10.0.2.0/24", "Modifying")
		w.refuse("BatchCreateRouteEntries", &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded,
			Message: "the table is full"})
	}
	run(t, nil, makeNodes(3), prepare, func(w *world) {
		w.Pass(20 * time.Minute)
		if got := w.Events.Matching("node-2 RoutePending"); len(got) != 1 {
			t.Errorf("events %v", w.Events.Matching(""))
		}
	})
}

// TestOldAnswerIsNoEvidenceForEver lets the cloud leave a living instance of another cluster out of one answer, and say
// nothing about instances for hours after it. The route to that instance stays: nothing but that answer speaks for its
// deletion.
func TestOldAnswerIsNoEvidenceForEver(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		w.entry(tableA, "10.0.0.0/24", "i-other", "")
		w.instance(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: region + ".i-other"}})
		w.hide("i-other")
	}
	run(t, nil, makeNodes(8), prepare, func(w *world) {
		w.settle()
		w.refuse("ConfirmAbsent", noAnswer)
		w.Pass(3 * time.Hour)
		if got := w.routes(tableA); !slices.Contains(got, "10.0.0.0/24→i-other") {
			t.Errorf("routes %v, want that of the other cluster", got)
		}
	})
}
