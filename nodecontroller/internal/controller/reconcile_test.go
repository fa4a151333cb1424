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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

func TestNodeIsInitialised(t *testing.T) {
	run(t, nil, furnished(1), func(w *world) {
		node := w.Node("node-0")
		// The taint of a node without network comes in the write in which the other goes: the scheduler sees no moment without one.
		taints := []corev1.Taint{
			{Key: "example.com/other", Effect: corev1.TaintEffectNoExecute},
			{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
		}
		if diff := cmp.Diff(taints, node.Spec.Taints); diff != "" {
			t.Errorf("taints (-want +got):\n%s", diff)
		}
		addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.0"}, {Type: corev1.NodeHostName, Address: "node-0"}}
		if diff := cmp.Diff(addresses, node.Status.Addresses); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		if c := condition(node, corev1.NodeNetworkUnavailable); c.Status != corev1.ConditionTrue || c.Reason != "NoRouteCreated" {
			t.Errorf("condition %+v", c)
		}
		if node.Labels["topology.kubernetes.io/zone"] != region+"-h" {
			t.Errorf("labels %v", node.Labels)
		}
		// The condition goes with the first patch, labels with the second, and the taint with the last, once packets can be forwarded.
		if diff := cmp.Diff([]string{"node-0 status", "node-0", "node-0"}, w.Patches()); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
		w.cloud.Lock()
		defer w.cloud.Unlock()
		if w.cloud.Interfaces["eni-0"].SourceDestCheck {
			t.Error("the source/destination check is still on")
		}
	})
}

func TestHundredNodesAreReadTogether(t *testing.T) {
	run(t, nil, furnished(100), func(w *world) {
		for i := range 100 {
			if nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) {
				t.Fatalf("node-%d has its taint still", i)
			}
		}
		for method, want := range map[string]int{
			"BatchGetInstances": 1, "BatchGetNetworkInterfaces": 1, "UpdateNetworkInterface": 100,
			"GetInstance": 0, "GetNetworkInterface": 0, "ListInstances": 0,
		} {
			if n := w.calls(method); n != want {
				t.Errorf("%d calls of %s, want %d", n, method, want)
			}
		}
		if n := len(w.Patches()); n != 300 {
			t.Errorf("%d patches, want 3 per node", n)
		}
	})
}

// Changes of network interfaces are what the cloud limits most. All nodes have their labels and addresses before, and the
// oldest nodes come first.
func TestLabelsDoNotWaitForTheNetworkInterface(t *testing.T) {
	var gate chan struct{}
	prepare := func(w *world) {
		gate = make(chan struct{}) // Of the bubble, so that waiting on it lets time pass.
		for i := range 50 {
			w.instance(i)
			n := fresh(i)
			n.CreationTimestamp = metav1.Time{Time: time.Now().Add(-time.Duration(i) * time.Second)} // node-49 is the oldest.
			w.CreateNode(n)
		}
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "UpdateNetworkInterface" {
				<-gate
			}
			return gatewaytest.Fault{}
		})
	}
	// Several workers could overtake one another on their way to the network interfaces.
	oneWorker := func(cfg *controller.Config) { cfg.Workers = 1 }
	run(t, oneWorker, prepare, func(w *world) {
		w.Pass(2 * time.Second)
		for i := range 50 {
			node := w.Node(fmt.Sprintf("node-%d", i))
			if node.Labels["topology.kubernetes.io/zone"] == "" || len(node.Status.Addresses) != 2 || !nodes.IsUninitialized(node) {
				t.Fatalf("%s: labels %v, addresses %v, tainted %t", node.Name, node.Labels, node.Status.Addresses, nodes.IsUninitialized(node))
			}
		}
		w.Pass(95 * time.Second)
		if n := len(w.Events.Matching("WaitingForCloud")); n != 50 {
			t.Errorf("%d nodes were reported as waiting, want 50", n)
		}
		for range 10 { // As many as are changed at once.
			gate <- struct{}{}
		}
		w.Pass(time.Second)
		for i := range 50 {
			if first := i >= 40; nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) == first {
				t.Errorf("node-%d tainted: %t, want the ten oldest to come first", i, !first)
			}
		}
		close(gate)
		w.Pass(time.Second)
	})
}

// Where the network plugin connects pods without routes, packets carry addresses that the instance has, and the check may stay.
func TestNoRoutesNoChangeOfNetworkInterfaces(t *testing.T) {
	terway := func(cfg *controller.Config) { cfg.Options.CloudRoutes = false }
	run(t, terway, furnished(20), func(w *world) {
		if n := w.calls("GetNetworkInterface", "BatchGetNetworkInterfaces", "UpdateNetworkInterface"); n != 0 {
			t.Errorf("%d calls about network interfaces", n)
		}
		for i := range 20 {
			if node := w.Node(fmt.Sprintf("node-%d", i)); nodes.IsUninitialized(node) || nodes.HasTaint(node, corev1.TaintNodeNetworkUnavailable) {
				t.Errorf("taints %v", node.Spec.Taints)
			}
		}
	})
}

func TestWrongProviderIDIsReportedOnce(t *testing.T) {
	wrong := []string{"i-0", "alicloud://cn-hangzhou/i-0", "cn-hangzhou/i-0", "alibabacloud://cn-hangzhou.i-0"}
	prepare := func(w *world) {
		for i, id := range wrong {
			n := fresh(i)
			n.Spec.ProviderID = id
			w.CreateNode(n)
		}
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		for i := range wrong {
			got := w.Events.Matching(fmt.Sprintf("node-%d SyncNodeFailed", i))
			if len(got) != 1 || !strings.Contains(got[0], "--provider-id=cn-hangzhou.i-0 ") {
				t.Errorf("%s: events %v, want one that names the right form", wrong[i], got)
			}
		}
		if n := len(w.cloud.Calls()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// Each attempt fails with another request id; that is one event, not one per attempt.
func TestOneEventPerCause(t *testing.T) {
	var attempts atomic.Int32
	prepare := func(w *world) {
		furnished(1)(w)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method != "GetInstance" {
				return gatewaytest.Fault{}
			}
			return gatewaytest.Fault{Before: &rpcerr.Error{
				Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, CloudRequestID: fmt.Sprint("request-", attempts.Add(1)), Message: "no",
			}}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(20 * time.Minute)
		if got := w.Events.Matching("node-0 SyncNodeFailed"); len(got) != 1 || attempts.Load() < 5 {
			t.Errorf("%d attempts, events %v, want one", attempts.Load(), got)
		}
	})
}

// Without a region in the configuration, nothing happens before the gateway has returned its own, however often it
// refuses. One event on each node that waits says so; a virtual one does not wait for it.
func TestRegionOfTheGateway(t *testing.T) {
	var refused atomic.Int32
	prepare := func(w *world) {
		furnished(3)(w)
		virtual := fresh(3)
		virtual.Spec.ProviderID, virtual.Labels = "", map[string]string{nodes.LabelType: nodes.ValueVirtual}
		w.CreateNode(virtual)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "GetCapabilities" && refused.Add(1) <= 2 {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.PermissionDenied, Message: "not yet"}}
			}
			return gatewaytest.Fault{}
		})
	}
	leaveOut := func(cfg *controller.Config) { cfg.Region = "" }
	run(t, leaveOut, prepare, func(w *world) {
		if calls := w.calls("BatchGetInstances", "GetInstance"); calls != 0 || !nodes.IsUninitialized(w.Node("node-0")) {
			t.Errorf("%d instances were read before the region was known", calls)
		}
		w.Pass(15 * time.Second)
		for i := range 3 {
			text := fmt.Sprintf("node-%d SyncNodeFailed: nodes are not initialised before the region is known; look whether cloudgateway runs", i)
			if got := w.Events.Matching(text); len(got) != 1 {
				t.Errorf("events %v, want one %q", w.Events.Matching(""), text)
			}
		}
		if got := w.Events.Matching("node-3"); len(got) != 0 {
			t.Errorf("events of the virtual node: %v", got)
		}
		for i := range 3 {
			if nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) {
				t.Errorf("node-%d still waits", i)
			}
		}
	})
}

// TestWithoutRegionNamesTheGatewayOnce lets the gateway be away when a controller without a region begins. The event names it once.
func TestWithoutRegionNamesTheGatewayOnce(t *testing.T) {
	leaveOut := func(cfg *controller.Config) { cfg.Region = "" }
	for name, err := range map[string]*rpcerr.Error{
		"no connection": {Code: codes.Unavailable, Message: "connection refused"},
		"no answer":     {Code: codes.DeadlineExceeded, Message: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			prepare := func(w *world) {
				furnished(1)(w)
				w.cloud.Fail("GetCapabilities", 1<<30, err)
			}
			run(t, leaveOut, prepare, func(w *world) {
				w.Pass(time.Minute)
				got := w.Events.Matching("node-0 SyncNodeFailed")
				if len(got) != 1 || strings.Count(got[0], "look whether cloudgateway runs") != 1 ||
					!strings.Contains(got[0], "set region in the configuration") {
					t.Errorf("events %q, want one with each step once", got)
				}
			})
		})
	}
}

func TestCheckThatIsOffStaysUntouched(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		w.cloud.Interfaces["eni-0"].SourceDestCheck = false
	}
	run(t, nil, prepare, func(w *world) {
		if n := len(w.cloud.Writes()); n != 0 {
			t.Errorf("%d cloud writes, want 0", n)
		}
	})
	off := func(cfg *controller.Config) { cfg.DisableSourceDestCheck = false }
	run(t, off, furnished(1), func(w *world) {
		if n := w.calls("GetNetworkInterface", "UpdateNetworkInterface"); n != 0 {
			t.Errorf("%d calls about network interfaces with disableSourceDestCheck off", n)
		}
	})
}

// TestStandby checks that a replica that stands by writes nothing, and that what happened meanwhile is done once it leads,
// without listing the nodes again.
func TestStandby(t *testing.T) {
	standBy(t, nil, furnished(2), func(w *world) {
		w.Pass(time.Hour)
		w.instance(2)
		w.CreateNode(fresh(2))
		w.UpdateNode("node-1", func(n *corev1.Node) { n.Labels = map[string]string{"changed": "yes"} })
		w.Pass(time.Hour)
		if n := len(w.cloud.Calls()); n != 0 || len(w.Patches()) != 0 {
			t.Errorf("a standby made %d calls and patched %v", n, w.Patches())
		}
		w.Client.ClearActions()
		w.lead()
		for i := range 3 {
			if nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) {
				t.Errorf("node-%d is not initialised", i)
			}
		}
		if listed := w.Listed(); len(listed) != 0 {
			t.Errorf("the new leader has to %v", listed)
		}
	})
}

// The existing CCM drops a whole batch for one bad node, and does not come back to it for minutes.
func TestOneBadNodeHoldsUpNoOther(t *testing.T) {
	prepare := func(w *world) {
		furnished(3)(w)
		w.vanish(1)
	}
	run(t, nil, prepare, func(w *world) {
		for i, want := range []bool{false, true, false} {
			if got := nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))); got != want {
				t.Errorf("node-%d tainted: %v, want %v", i, got, want)
			}
		}
		if len(w.Events.Matching(`node-1 SyncNodeFailed: the cloud does not know the instance of spec.providerID "cn-hangzhou.i-1"`)) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
		w.instance(1)
		w.Pass(10 * time.Second)
		if nodes.IsUninitialized(w.Node("node-1")) {
			t.Error("node-1 has its taint after its instance has come")
		}
	})
}

func TestHeartbeatsDoNotShortenTheDelay(t *testing.T) {
	prepare := func(w *world) { w.CreateNode(fresh(0)) }
	run(t, nil, prepare, func(w *world) {
		for range 60 {
			w.UpdateNode("node-0", func(n *corev1.Node) { n.Status.NodeInfo.KernelVersion += "x" })
			w.Pass(time.Second)
		}
		if n := w.calls("GetInstance"); n > 8 {
			t.Errorf("%d attempts within a minute, want the growing delay to hold", n)
		}
	})
}

func TestNoCheckNoTaint(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.cloud.Fail("UpdateNetworkInterface", 1, &rpcerr.Error{Code: codes.FailedPrecondition, Reason: rpcerr.CloudForbidden, Message: "no"})
	}
	run(t, nil, prepare, func(w *world) {
		if !nodes.IsUninitialized(w.Node("node-0")) {
			t.Error("the node is in service though it drops the packets of its pods")
		}
		w.Pass(3 * time.Second)
		if nodes.IsUninitialized(w.Node("node-0")) {
			t.Error("the node has its taint after the second attempt")
		}
	})
}

func TestThrottlingIsNoEvent(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.cloud.Fail("GetInstance", 1, &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: 10 * time.Second,
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(9 * time.Second)
		if n := w.calls("GetInstance"); n != 1 {
			t.Errorf("%d attempts before the time to wait is over", n)
		}
		w.Pass(5 * time.Second)
		if nodes.IsUninitialized(w.Node("node-0")) {
			t.Error("the node has its taint after the time to wait")
		}
		if got := w.Events.Matching("SyncNodeFailed"); len(got) != 0 {
			t.Errorf("events %v", got)
		}
	})
}

func TestNodeWithoutProviderID(t *testing.T) {
	bare := func(n *corev1.Node) *corev1.Node {
		n.Spec.ProviderID = ""
		n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.1"}
		return n
	}
	prepare := func(w *world) {
		w.instance(1)
		w.instance(2)
		w.CreateNode(bare(fresh(1)))
	}
	run(t, nil, prepare, func(w *world) {
		node := w.Node("node-1")
		if node.Spec.ProviderID != region+".i-1" || nodes.IsUninitialized(node) {
			t.Errorf("providerID %q, tainted %v", node.Spec.ProviderID, nodes.IsUninitialized(node))
		}
	})
	ambiguous := func(w *world) {
		prepare(w)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		w.cloud.Instances["i-2"].PrivateIPs = []string{"192.168.0.1"}
	}
	run(t, nil, ambiguous, func(w *world) {
		if node := w.Node("node-1"); node.Spec.ProviderID != "" || !nodes.IsUninitialized(node) {
			t.Errorf("providerID %q was guessed", node.Spec.ProviderID)
		}
		if len(w.Events.Matching("SyncNodeFailed: 2 instances in vpc-test have address 192.168.0.1")) == 0 {
			t.Errorf("events %v", w.Events.Matching(""))
		}
	})
}

func TestNodesOfOthers(t *testing.T) {
	with := func(i int, edit func(*corev1.Node)) *corev1.Node {
		n := fresh(i)
		edit(n)
		return n
	}
	prepare := func(w *world) {
		w.CreateNode(with(1, func(n *corev1.Node) { n.Spec.ProviderID = "ack-hybrid://x" }))
		w.CreateNode(with(2, func(n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-2" }))
		w.CreateNode(with(3, func(n *corev1.Node) { n.Spec.ProviderID = ""; n.Labels = map[string]string{"type": "virtual-kubelet"} }))
		w.CreateNode(with(4, func(n *corev1.Node) {
			n.Spec.ProviderID, n.Labels = "e01-cn-x", map[string]string{"alibabacloud.com/lingjun-worker": "true"}
		}))
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		if n := len(w.cloud.Calls()); n != 0 {
			t.Errorf("%d calls", n)
		}
		for i, want := range map[int]bool{1: true, 2: true, 3: true, 4: false} {
			if got := nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))); got != want {
				t.Errorf("node-%d tainted: %v, want %v", i, got, want)
			}
		}
		if got := w.Events.Matching("node-2 SyncNodeFailed"); len(got) != 1 {
			t.Errorf("events %v, want one about the other region", got)
		}
		// Its owner does as the event says.
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} })
		w.Pass(time.Hour)
		if got := w.Events.Matching("node-2"); len(got) != 3 || !strings.HasPrefix(got[1], "node-2 Resolved: ") ||
			!strings.HasPrefix(got[2], "node-2 ExcludedNode: ") {
			t.Errorf("events %v, want that about the other region, then that it is over, and whose business the node is", got)
		}
	})
}

// TestExcludedNodesAreNoneOfOurs has nodes whose provider ids name no instance of this region and that are excluded
// from the start. They cause no calls, and one event that says whose business they are.
func TestExcludedNodesAreNoneOfOurs(t *testing.T) {
	prepare := func(w *world) {
		for i, id := range []string{"cn-beijing.i-0", "aws:///us-east-1a/i-1", "alicloud://cn-beijing/cn-beijing.i-2"} {
			node := fresh(i)
			node.Spec.ProviderID, node.Labels = id, map[string]string{nodes.LabelExclude: ""}
			w.CreateNode(node)
		}
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(10 * time.Minute)
		if calls, events := w.cloud.Calls(), w.Events.Matching(""); len(calls) != 0 || len(events) != 3 ||
			len(w.Events.Matching("ExcludedNode")) != 3 || len(w.Patches()) != 0 {
			t.Errorf("calls %v, events %v, patches %v", calls, events, w.Patches())
		}
	})
}

func TestExcludedNodeIsInitialisedWithoutTheCondition(t *testing.T) {
	prepare := func(w *world) {
		w.instance(0)
		n := fresh(0)
		n.Labels = map[string]string{nodes.LabelExclude: ""}
		w.CreateNode(n)
	}
	run(t, nil, prepare, func(w *world) {
		n := w.Node("node-0")
		if nodes.IsUninitialized(n) || len(n.Status.Conditions) != 1 {
			t.Errorf("tainted %v, conditions %+v", nodes.IsUninitialized(n), n.Status.Conditions)
		}
	})
}

// TestManyConflictsAreNoEvent checks that a node which others keep changing is initialised in the end, without an event about a failure.
func TestManyConflictsAreNoEvent(t *testing.T) {
	conflicts := 0
	prepare := func(w *world) {
		furnished(1)(w)
		w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() != "" || conflicts == 6 {
				return false, nil, nil
			}
			conflicts++
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "node-0", nil)
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(5 * time.Second)
		if nodes.IsUninitialized(w.Node("node-0")) || conflicts != 6 {
			t.Errorf("tainted after %d conflicts", conflicts)
		}
		if events := w.Events.Matching("SyncNodeFailed"); len(events) != 0 {
			t.Errorf("events %v", events)
		}
	})
}

// The existing CCM loses a taint that somebody adds between its read and its write.
func TestTaintAddedMeanwhileIsKept(t *testing.T) {
	added := corev1.Taint{Key: "example.com/added", Effect: corev1.TaintEffectNoSchedule}
	prepare := func(w *world) {
		furnished(1)(w)
		w.conflictOnce(func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, added) })
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(time.Second)
		taints := w.Node("node-0").Spec.Taints
		if nodes.IsUninitialized(w.Node("node-0")) || !slices.Contains(taints, added) {
			t.Errorf("taints %+v, want the added one and not the cloud's", taints)
		}
		if n := w.calls("GetInstance"); n != 1 {
			t.Errorf("%d reads of the instance, want 1", n)
		}
	})
}

// TestNodeThatNamesNoInstance: a Node without the taint of an uninitialized one that says of no instance that it is that, has
// one event of its own within a minute, whether it comes while the controller leads or was there before. Virtual and excluded
// ones have none.
func TestNodeThatNamesNoInstance(t *testing.T) {
	with := func(i int, id string, labels map[string]string) *corev1.Node {
		n := fresh(i)
		n.Spec.ProviderID, n.Spec.Taints, n.Labels = id, nil, labels
		return n
	}
	before := []*corev1.Node{
		with(1, "", nil), with(2, "", map[string]string{"type": "virtual-kubelet"}), with(3, "", map[string]string{nodes.LabelExclude: ""}),
		with(4, "e01-cn-x", map[string]string{"alibabacloud.com/lingjun-worker": "true"}),
	}
	prepare := func(w *world) {
		w.instance(9)
		for _, n := range before {
			w.CreateNode(n)
		}
	}
	run(t, nil, prepare, func(w *world) {
		w.CreateNode(with(5, "", nil))
		w.CreateNode(with(6, "cn-beijing.i-6", nil))
		w.Pass(time.Minute)
		for i, want := range map[int]int{1: 1, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1} {
			got := w.Events.Matching(fmt.Sprintf("node-%d ", i))
			if len(got) != want || want > 0 && !strings.Contains(got[0], "SyncNodeFailed: spec.providerID") {
				t.Errorf("node-%d: events %v, want %d", i, got, want)
			}
		}
		w.Pass(20 * time.Minute)
		w.UpdateNode("node-5", func(n *corev1.Node) { n.Spec.ProviderID = region + ".i-9" })
		w.UpdateNode("node-6", func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} })
		w.Pass(time.Minute)
		for _, name := range []string{"node-5", "node-6"} {
			if got := w.Events.Matching(name + " "); len(got) != 2 || !strings.HasPrefix(got[1], name+" Resolved: ") {
				t.Errorf("%s: events %v, want that it is over", name, got)
			}
		}
		if got := w.Events.Matching("node-1 "); len(got) != 1 {
			t.Errorf("node-1: events %v, want one", got)
		}
	})
}
