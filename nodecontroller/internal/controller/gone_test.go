package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// silence is what kube-controller-manager writes of a node whose kubelet has not reported for a while.
func silence(n *corev1.Node) {
	silent(n)
	condition(n, corev1.NodeReady).LastTransitionTime = metav1.Now()
}

// leaving is the taint that the cluster autoscaler sets before it releases an instance.
func leaving(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: nodes.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
}

func (w *world) gone(name string) bool { return !slices.Contains(w.NodeNames(), name) }

// TestScaleIn has the cluster autoscaler take 20 of 40 nodes away. Their kubelets fall silent 40 to 50 seconds later, as with the default
// node-monitor-grace-period. All Nodes are gone two minutes after the release, and no others.
func TestScaleIn(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(40), func(w *world) {
		w.Pass(10 * time.Minute)
		w.cloud.ResetCalls()
		for i := range 20 {
			w.UpdateNode(fmt.Sprintf("node-%d", i), leaving)
			w.vanish(i)
		}
		w.Pass(40 * time.Second)
		for i := range 20 {
			w.UpdateNode(fmt.Sprintf("node-%d", i), silence)
			w.Pass(500 * time.Millisecond)
		}
		w.Pass(70 * time.Second)
		if got := w.NodeNames(); len(got) != 20 || slices.Contains(got, "node-0") {
			t.Errorf("nodes two minutes after the release: %v", got)
		}
		if got := w.Events.Matching("DeleteNodeFailed"); len(got) > 0 {
			t.Errorf("events %q", got)
		}
		if n := w.calls("ConfirmAbsent"); n > 6 {
			t.Errorf("%d questions, want those of 2 seconds together", n)
		}
	})
}

// TestReleasedSpotInstance: nobody announces that an instance is released. Its Node is gone 90 seconds after it was NotReady.
func TestReleasedSpotInstance(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(20), func(w *world) {
		w.Pass(10*time.Minute + 10*time.Second)
		w.vanish(3)
		w.UpdateNode("node-3", silence)
		w.Pass(59 * time.Second)
		if w.gone("node-3") {
			t.Error("gone within a minute")
		}
		w.Pass(31 * time.Second)
		if !w.gone("node-3") || len(w.NodeNames()) != 19 {
			t.Errorf("nodes after 90 s: %v", w.NodeNames())
		}
	})
}

// TestMachineThatComesBackUnderTheName releases an instance, whose successor has its name and address and reports to
// the old Node within half a minute. The Node stays, is told apart and says what to do; when its instance is there
// after all, that is over.
func TestMachineThatComesBackUnderTheName(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { cfg.Registerer = registry }
	run(t, edit, furnished(20), func(w *world) {
		w.Pass(10 * time.Minute)
		w.vanish(3)
		w.UpdateNode("node-3", silence)
		w.Pass(20 * time.Second)
		w.instance(99)
		w.cloud.Lock()
		w.cloud.Instances["i-99"].PrivateIPs = []string{"192.168.0.3"}
		w.cloud.Unlock()
		w.UpdateNode("node-3", ready)
		w.Pass(2 * time.Minute)
		if w.gone("node-3") {
			t.Fatal("the Node is gone, and the kubelet does not register again")
		}
		text := "node-3 SyncNodeFailed: the cloud does not know instance i-3 of spec.providerID, but the kubelet reports: " +
			"the machine is another one " +
			"(i-99 has its address 192.168.0.3)"
		if got := w.Events.Matching("node-3 SyncNodeFailed"); len(got) != 1 || !strings.HasPrefix(got[0], text) {
			t.Errorf("events %q, want %q", got, text)
		}
		if !nodes.InstanceAbsent(w.Node("node-3")) {
			t.Errorf("annotations %v", w.Node("node-3").Annotations)
		}
		if got := kubetest.Metric(t, registry, "nodecontroller_nodes"); got["stale_provider_id"] != 1 || got["initialized"] != 19 {
			t.Errorf("nodes by state: %v", got)
		}
		w.Pass(time.Hour)
		if got := w.Events.Matching("node-3 SyncNodeFailed"); w.gone("node-3") || len(got) > 3 {
			t.Errorf("after an hour: gone %t, events %q", w.gone("node-3"), got)
		}
		w.instance(3)
		w.Pass(6 * time.Minute)
		if nodes.InstanceAbsent(w.Node("node-3")) {
			t.Error("marked though the instance is there")
		}
	})
}

// TestReadyNodeWithAStaleID has a node whose machine was replaced without a moment of silence: the sweep finds it. A new machine
// shows in its system UUID, and is looked at at once.
func TestReadyNodeWithAStaleID(t *testing.T) {
	t.Parallel()
	machine := func(uuid string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = uuid }
	}
	for name, tt := range map[string]struct {
		shows bool
		after time.Duration
	}{"found by the sweep": {false, 7 * time.Minute}, "shows": {true, 70 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, nil, furnished(10), func(w *world) {
				w.UpdateNode("node-3", machine("a"))
				w.Pass(10*time.Minute + 10*time.Second)
				w.vanish(3)
				if tt.shows {
					w.UpdateNode("node-3", machine("b"))
				}
				w.Pass(tt.after)
				if got := w.Events.Matching("node-3 SyncNodeFailed: the cloud does not know instance i-3"); len(got) != 1 {
					t.Errorf("events %q", w.Events.Matching("node-3"))
				}
			})
		})
	}
}

// TestMachineBehindAStaleIDIsFoundLater: which machine goes under the name of the node is found out though the first question fails,
// and anew when it is another one.
func TestMachineBehindAStaleIDIsFoundLater(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(10), func(w *world) {
		w.Pass(10*time.Minute + 10*time.Second)
		w.vanish(3)
		successor := func(i int) {
			w.instance(i)
			w.cloud.Lock()
			defer w.cloud.Unlock()
			w.cloud.Instances[fmt.Sprintf("i-%d", i)].PrivateIPs = []string{"192.168.0.3"}
		}
		successor(98)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ListInstances" {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable}}
			}
			return gatewaytest.Fault{}
		})
		w.Pass(7 * time.Minute)
		if got := w.Events.Matching("node-3 SyncNodeFailed: the cloud does not know instance i-3"); len(got) != 1 ||
			strings.Contains(got[0], "i-98") {
			t.Fatalf("events %q", w.Events.Matching("node-3"))
		}
		w.cloud.Interpose(nil)
		for _, i := range []int{98, 99} {
			w.Pass(6 * time.Minute)
			if got := w.Events.Matching("node-3 SyncNodeFailed"); !strings.Contains(got[len(got)-1], fmt.Sprintf("(i-%d has its address", i)) {
				t.Errorf("events %q, want one with i-%d", got, i)
			}
			w.vanish(98)
			successor(99)
		}
	})
}

// TestUnannouncedMassAbsenceIsBraked: many instances that go without a word are deleted a few at a time, as long as that is the case.
func TestUnannouncedMassAbsenceIsBraked(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(40), func(w *world) {
		for i := range 20 {
			w.vanish(i)
			w.UpdateNode(fmt.Sprintf("node-%d", i), silence)
		}
		w.Pass(10 * time.Minute)
		if n := len(w.NodeNames()); n != 37 {
			t.Errorf("%d nodes, want 37", n)
		}
		for i := range 20 {
			if !w.gone(fmt.Sprintf("node-%d", i)) {
				w.UpdateNode(fmt.Sprintf("node-%d", i), leaving) // Somebody looks, and says that it is meant.
			}
		}
		w.Pass(11 * time.Minute)
		if n := len(w.NodeNames()); n != 20 {
			t.Errorf("%d nodes after the taint, want 20", n)
		}
	})
}

// TestNodeWithoutAnIPv4Address: what proves that an instance is there does not depend on the addresses of its node.
func TestNodeWithoutAnIPv4Address(t *testing.T) {
	t.Parallel()
	prepare := func(w *world) {
		furnished(10)(w)
		w.cloud.Lock()
		w.cloud.Interfaces["eni-5"].Ipv6Addresses = []string{"2408::5"}
		w.cloud.Unlock()
		w.UpdateNode("node-5", func(n *corev1.Node) { n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "2408::5"} })
	}
	run(t, nil, prepare, func(w *world) {
		w.hide(5)
		w.UpdateNode("node-5", silence)
		w.Pass(time.Hour)
		if w.gone("node-5") {
			t.Error("deleted though its network interface exists")
		}
	})
}

// TestManyStaleIDsAreReported: if the cloud lacks the instances of many nodes that report, that proves nothing about any
// of them, and they say so.
func TestManyStaleIDsAreReported(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(20), func(w *world) {
		for i := range 10 {
			w.vanish(i)
		}
		w.Pass(10 * time.Minute)
		if got := w.Events.Matching(
			"SyncNodeFailed: whether the instance exists can't be found out: the cloud does not know 10 of 20 instances"); len(got) != 10 {
			t.Errorf("events %q", got)
		}
		if n := len(w.NodeNames()); n != 20 {
			t.Errorf("%d nodes", n)
		}
	})
}

// TestNoInstanceOfNodesThatReport: an answer that has the instance of no node says something about the answer. Nodes that report are not
// asked about one by one for it, and bear no event.
func TestNoInstanceOfNodesThatReport(t *testing.T) {
	t.Parallel()
	run(t, nil, furnished(5), func(w *world) {
		for i := range 5 {
			w.vanish(i)
		}
		w.cloud.ResetCalls()
		w.Pass(time.Hour)
		if n := w.calls("ConfirmAbsent"); n != 0 {
			t.Errorf("%d questions", n)
		}
		if n := w.calls("BatchGetInstances"); n < 2 {
			t.Errorf("%d reads in an hour: nothing was looked at", n)
		}
		if got := w.Events.Matching("can't be found out"); len(got) != 0 {
			t.Errorf("events %q", got)
		}
	})
}
