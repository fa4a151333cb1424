package nodestate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// ready sets the condition Ready.
func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

func shutDown(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: nodes.TaintShutdown, Effect: corev1.TaintEffectNoSchedule})
}

func TestShutdownTaint(t *testing.T) {
	t.Parallel()
	other := corev1.Taint{Key: "example.com/other", Effect: corev1.TaintEffectNoExecute}
	taint := corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name, instance string
		ready          corev1.ConditionStatus
		off, tainted   bool
		want           bool
	}{
		{name: "stopped and silent", instance: "Stopped", ready: corev1.ConditionUnknown, want: true},
		{name: "stopped and not ready", instance: "Stopped", ready: corev1.ConditionFalse, want: true},
		{name: "stopped, and the kubelet says otherwise", instance: "Stopped", ready: corev1.ConditionTrue},
		{name: "stopping", instance: "Stopping", ready: corev1.ConditionUnknown},
		{name: "running and silent", instance: "Running", ready: corev1.ConditionUnknown},
		{name: "no status", ready: corev1.ConditionUnknown},
		{name: "off", instance: "Stopped", ready: corev1.ConditionUnknown, off: true},
		{name: "tainted and stopped", instance: "Stopped", ready: corev1.ConditionUnknown, tainted: true, want: true},
		{name: "tainted and no status", ready: corev1.ConditionUnknown, tainted: true, want: true},
		{name: "tainted and stopped, off", instance: "Stopped", ready: corev1.ConditionUnknown, off: true, tainted: true, want: true},
		{name: "tainted and starting", instance: "Starting", ready: corev1.ConditionUnknown, tainted: true},
		{name: "tainted and running", instance: "Running", ready: corev1.ConditionUnknown, tainted: true},
		{name: "tainted and ready", instance: "Running", ready: corev1.ConditionTrue, tainted: true},
		{name: "tainted and ready before the cloud says so", instance: "Stopped", ready: corev1.ConditionTrue, tainted: true},
		{name: "tainted and ready, off", instance: "Running", ready: corev1.ConditionTrue, off: true, tainted: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := done(ready(tt.ready), func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{other} })
			if tt.tainted {
				shutDown(node)
			}
			cloud, opts := instance(), nodestate.Options{ShutdownTaint: !tt.off}
			cloud.Status = tt.instance
			change, err := nodestate.Decide(node, cloud, opts)
			if err != nil {
				t.Fatal(err)
			}
			if change.Empty() != (tt.tainted == tt.want) {
				t.Errorf("change %+v of a node with the taint %t, want %t", change, tt.tainted, tt.want)
			}
			want := []corev1.Taint{other}
			if tt.want {
				want = append(want, taint)
			}
			after := patched(t, node, change.ObjectPatch(node))
			if diff := cmp.Diff(want, after.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if again, err := nodestate.Decide(after, cloud, opts); err != nil || !again.Empty() {
				t.Errorf("after that comes %+v, %v", again, err)
			}
		})
	}
}

func TestStopping(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{"Stopping": true, "Stopped": false, "Running": false, "": false} {
		cloud := instance()
		cloud.Status = status
		if got := nodestate.Stopping(cloud); got != want {
			t.Errorf("%q: %t", status, got)
		}
	}
}
