package controller_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

func shutdownTaint(cfg *controller.Config) { cfg.Options.ShutdownTaint = true }

func ready(n *corev1.Node) { condition(n, corev1.NodeReady).Status = corev1.ConditionTrue }

// status lets the cloud say that an instance is in a state.
func (w *world) status(instance, status string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.Instances[instance].Status = status
}

func (w *world) shutDown(node string) bool { return nodes.HasTaint(w.Node(node), nodes.TaintShutdown) }

func TestStoppedInstance(t *testing.T) {
	run(t, shutdownTaint, furnished(2), func(w *world) {
		w.cloud.ResetCalls()
		w.Client.ClearActions()
		w.status("i-1", "Stopping")
		w.UpdateNode("node-1", silent)
		w.Pass(3 * time.Second)
		if w.shutDown("node-1") {
			t.Error("tainted before the instance is stopped")
		}
		w.status("i-1", "Stopped")
		w.Pass(40 * time.Second)
		if !w.shutDown("node-1") || w.shutDown("node-0") {
			t.Errorf("tainted: node-0 %t, node-1 %t", w.shutDown("node-0"), w.shutDown("node-1"))
		}
		if n := len(w.cloud.Calls()); n != 2 || w.calls("ConfirmAbsent", "GetInstance") != 2 {
			t.Errorf("calls %v, want one look at the instance and one more while it was stopping", w.cloud.Calls())
		}
		if got := w.Patches(); len(got) != 1 {
			t.Errorf("patches %v, want one", got)
		}
		if len(w.Events.Matching("node-1 InstanceStopped")) != 1 {
			t.Errorf("events %v", w.Events.Matching("node-1"))
		}
		w.Pass(time.Hour)
		if n := len(w.NodeNames()); n != 2 {
			t.Errorf("%d nodes, want the one of the stopped instance to stay", n)
		}
		w.cloud.ResetCalls()
		w.status("i-1", "Running")
		w.UpdateNode("node-1", ready)
		w.Pass(time.Second)
		if w.shutDown("node-1") {
			t.Error("tainted though the node is ready again")
		}
		if n := w.calls("GetInstance"); n != 0 || len(w.cloud.Writes()) != 0 {
			t.Errorf("%d looks, %d writes, want none: the kubelet says enough", n, len(w.cloud.Writes()))
		}
	})
}

func TestStoppedInstanceIsFoundByTheSweep(t *testing.T) {
	prepare := func(w *world) {
		furnished(2)(w)
		w.status("i-1", "Stopped")
		w.UpdateNode("node-1", func(n *corev1.Node) { silent(n); n.Spec.Taints = nil })
	}
	run(t, shutdownTaint, prepare, func(w *world) {
		if !w.shutDown("node-1") {
			t.Error("not tainted by the first sweep")
		}
		w.status("i-1", "Running")
		w.Pass(6 * time.Minute)
		if w.shutDown("node-1") {
			t.Error("tainted though the instance runs")
		}
	})
}

func TestStoppedInstanceIsNobodysBusinessByDefault(t *testing.T) {
	run(t, nil, furnished(1), func(w *world) {
		w.cloud.ResetCalls()
		w.status("i-0", "Stopped")
		w.UpdateNode("node-0", silent)
		w.Pass(time.Minute)
		if w.shutDown("node-0") || len(w.cloud.Calls()) != w.calls("ConfirmAbsent") || w.calls("ConfirmAbsent") != 1 {
			t.Errorf("tainted %t, calls %v", w.shutDown("node-0"), w.cloud.Calls())
		}
	})
}

// Whether an instance that is not found is gone for good takes the sweep's proof; the quick look leaves it at that.
func TestInstanceThatIsGoneIsNotStopped(t *testing.T) {
	off := func(cfg *controller.Config) { shutdownTaint(cfg); cfg.Deletion = nil }
	run(t, off, furnished(2), func(w *world) {
		w.cloud.ResetCalls()
		w.vanish(1)
		w.UpdateNode("node-1", silent)
		w.Pass(4 * time.Minute)
		if n := w.calls("GetInstance"); n != 0 || w.shutDown("node-1") || len(w.Events.Matching("node-1 SyncNodeFailed")) != 0 {
			t.Errorf("%d looks, tainted %t, events %v", n, w.shutDown("node-1"), w.Events.Matching("node-1"))
		}
	})
}

func TestNodeThatIsReadyAgainIsNotLookedAt(t *testing.T) {
	run(t, shutdownTaint, furnished(1), func(w *world) {
		w.cloud.ResetCalls()
		w.cloud.Fail("GetInstance", 1, &rpcerr.Error{
			Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "slow down", RetryAfter: 10 * time.Second,
		})
		w.UpdateNode("node-0", func(n *corev1.Node) { condition(n, corev1.NodeReady).Status = corev1.ConditionFalse })
		w.Pass(time.Second)
		w.UpdateNode("node-0", ready)
		w.Pass(20 * time.Second)
		if n := w.calls("GetInstance"); n != 1 {
			t.Errorf("%d looks, want none once the kubelet reports again", n)
		}
	})
}

// Nobody but this controller ever takes the taint off, so it does though the option was switched off meanwhile.
func TestTaintLeftBehindGoes(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.status("i-0", "Stopped")
		w.UpdateNode("node-0", func(n *corev1.Node) {
			silent(n)
			n.Spec.Taints = []corev1.Taint{{Key: nodes.TaintShutdown, Effect: corev1.TaintEffectNoSchedule}}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(6 * time.Minute)
		if !w.shutDown("node-0") {
			t.Error("not tainted any more though the instance is stopped")
		}
		w.status("i-0", "Running")
		w.UpdateNode("node-0", ready)
		w.Pass(time.Second)
		if w.shutDown("node-0") {
			t.Error("still tainted")
		}
	})
}

// TestNodeThatIsReadyMeanwhileIsNotTainted lets the kubelet come back between the decision and the write.
func TestNodeThatIsReadyMeanwhileIsNotTainted(t *testing.T) {
	prepare := func(w *world) {
		furnished(1)(w)
		w.status("i-0", "Stopped")
		w.UpdateNode("node-0", func(n *corev1.Node) { silent(n); n.Spec.Taints = nil })
		w.conflictOnce(ready)
	}
	run(t, shutdownTaint, prepare, func(w *world) {
		w.Pass(time.Second)
		if node := w.Node("node-0"); len(node.Spec.Taints) > 0 || len(node.Labels) == 0 {
			t.Errorf("taints %v, labels %v, want the labels only", node.Spec.Taints, node.Labels)
		}
		if got := w.Events.Matching("InstanceStopped"); len(got) != 0 {
			t.Errorf("events %v", got)
		}
	})
}

func TestNodesOfOthersAreNotTainted(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Node){
		"excluded":      func(n *corev1.Node) { n.Labels = map[string]string{nodes.LabelExclude: ""} },
		"virtual":       func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} },
		"other region":  func(n *corev1.Node) { n.Spec.ProviderID = "cn-beijing.i-0" },
		"hybrid":        func(n *corev1.Node) { n.Spec.ProviderID = "ack-hybrid://cn-hangzhou.i-0" },
		"other's cloud": func(n *corev1.Node) { n.Spec.ProviderID = "aws:///us-east-1a/i-0" },
	} {
		t.Run(name, func(t *testing.T) {
			prepare := func(w *world) {
				furnished(1)(w)
				w.status("i-0", "Stopped")
				w.UpdateNode("node-0", func(n *corev1.Node) { n.Spec.Taints = nil; edit(n) })
			}
			run(t, shutdownTaint, prepare, func(w *world) {
				w.UpdateNode("node-0", silent)
				w.Pass(6 * time.Minute)
				if w.shutDown("node-0") || len(w.cloud.Calls()) != 0 {
					t.Errorf("tainted %t, calls %v", w.shutDown("node-0"), w.cloud.Calls())
				}
			})
		})
	}
}
