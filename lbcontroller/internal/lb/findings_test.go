package lb_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addStranger adds a node whose instance the cloud doesn't have.
func (w *world) addStranger(name string) {
	w.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "cn-beijing.i-" + name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if _, err := w.kube.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// TestMissingInterfaceIsLookedForMoreAndMoreSeldom: a pod outside of the VPC costs few reads.
func TestMissingInterfaceIsLookedForMoreAndMoreSeldom(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.addENI("eni-1", "10.0.0.1")
		w.pods(pod("10.0.0.1", "node-1"), pod("192.168.0.9", "node-1"))
		w.create(web(eniMode))
		w.calls()
		w.after(time.Hour)
		if n := len(w.calls()); n > 16 { // 7 for the missing address, 6 for the other.
			t.Errorf("%d calls in an hour", n)
		}
	})
}

// TestGoneCLBCostsFewReads: the Service's own CLB that was deleted in the console is looked for from time to time, and not at each event.
func TestGoneCLBCostsFewReads(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.deleteInConsole(w.service().Labels[LabelLoadBalancerID])
		w.after(6 * time.Hour)
		w.hasEvents("what is wrong", "SyncLoadBalancerFailed")
		w.calls()
		for n := range 5 {
			w.addNode(2 + n)
			w.settle()
		}
		if calls := w.calls(); len(calls) > 3 { // The time may have come meanwhile.
			t.Errorf("calls for five nodes, one after the other: %v", calls)
		}
		w.after(6 * time.Hour)
		if n := len(w.cloud.Calls()); n == 0 || n > 60 {
			t.Errorf("%d reads in six hours", n)
		}
	})
}
