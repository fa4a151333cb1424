package nodestate

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/nodes"
)

// TestDuplicates: of several Nodes of one instance the one stays whose kubelet reports, or else the oldest.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	node := func(name, instance string, age time.Duration, ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(begin.Add(-age))}}
		n.Spec.ProviderID = nodes.ID{Region: "cn-hangzhou", InstanceID: instance}.String()
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	const reports, silent = corev1.ConditionTrue, corev1.ConditionUnknown
	for name, tt := range map[string]struct {
		all  []*corev1.Node
		want map[string]string
	}{
		"one each": {all: []*corev1.Node{node("a", "i-1", 1, reports), node("b", "i-2", 2, reports)}},
		"the younger": {all: []*corev1.Node{node("a", "i-1", 1, reports), node("b", "i-1", 2, reports)},
			want: map[string]string{"a": "b"}},
		"the silent, if older": {all: []*corev1.Node{node("a", "i-1", 1, reports), node("b", "i-1", 2, silent)},
			want: map[string]string{"b": "a"}},
		"of the same age": {all: []*corev1.Node{node("b", "i-1", 1, reports), node("a", "i-1", 1, reports)},
			want: map[string]string{"b": "a"}},
		"of three": {all: []*corev1.Node{node("a", "i-1", 1, reports), node("b", "i-1", 3, reports), node("c", "i-1", 2, silent)},
			want: map[string]string{"a": "b", "c": "b"}},
	} {
		if got := Duplicates(tt.all); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
