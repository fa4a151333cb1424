package backend

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, providerID string, labels map[string]string, changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func TestSelect(t *testing.T) {
	t.Parallel()
	set := New([]*corev1.Node{
		node("a", "cn-hangzhou.i-a", map[string]string{"pool": "x", "zone": "1"}),
		node("b", "alicloud://cn-hangzhou.i-b", map[string]string{"pool": "x"}, func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		node("c", "", nil),
		node("v", "", map[string]string{"type": "virtual-kubelet", "service.alibabacloud.com/exclude-node": ""},
			func(n *corev1.Node) { n.Status.Conditions = nil }),
	})
	for name, test := range map[string]struct {
		view View
		want map[string]Node
	}{
		"all": {View{}, map[string]Node{
			"a": {Name: "a", InstanceID: "i-a"}, "b": {Name: "b", InstanceID: "i-b"}, "c": {Name: "c"}, "v": {Name: "v", Virtual: true},
		}},
		"schedulable": {ViewOf(map[string]string{"pool": "x"}, true), map[string]Node{"a": {Name: "a", InstanceID: "i-a"},
			"b": {Name: "b", InstanceID: "i-b", Leaving: true}}},
		"two labels":   {ViewOf(map[string]string{"pool": "x", "zone": "1"}, false), map[string]Node{"a": {Name: "a", InstanceID: "i-a"}}},
		"no such node": {ViewOf(map[string]string{"pool": "y"}, false), map[string]Node{}},
	} {
		if diff := cmp.Diff(test.want, set.Select(test.view)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !set.HasVirtual(View{}) || set.HasVirtual(ViewOf(map[string]string{"pool": "x"}, false)) {
		t.Error("HasVirtual reports virtual nodes wrongly")
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	before := New([]*corev1.Node{
		node("same", "r.i-1", map[string]string{"note": "old"}), node("leaves", "r.i-2", nil), node("gets-id", "", nil),
		node("moves", "r.i-4", map[string]string{"pool": "x"}),
	})
	after := New([]*corev1.Node{
		node("same", "r.i-1", map[string]string{"note": "new"}), node("joins", "r.i-3", nil), node("gets-id", "r.i-5", nil),
		node("moves", "r.i-4", nil),
	})
	for name, test := range map[string]struct {
		view View
		want []string
	}{
		"all":   {View{}, []string{"gets-id", "joins", "leaves"}},
		"label": {ViewOf(map[string]string{"pool": "x"}, false), []string{"moves"}},
	} {
		if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(Changed(before, after, test.view)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := Changed(before, before, View{}); len(got) != 0 {
		t.Errorf("nothing changed: %v", got)
	}
}

// TestOneInstanceTwice: two Nodes of one instance are one backend, as after a rename that left the old Node behind.
func TestOneInstanceTwice(t *testing.T) {
	t.Parallel()
	set := New([]*corev1.Node{node("old", "r.i-2", nil), node("b", "r.i-1", nil), node("new", "r.i-2", nil),
		node("x", "", nil), node("y", "", nil)})
	choice := Source{Nodes: set}.Choose(Policy{}, corev1.ServicePort{NodePort: 30080})
	var got []Backend
	for share := range choice.All() {
		got = append(got, share.Backend)
	}
	if diff := cmp.Diff([]Backend{{Instance: "i-1", Port: 30080}, {Instance: "i-2", Port: 30080}}, got); diff != "" {
		t.Errorf("backends (-want +got):\n%s", diff)
	}
	if len(set.Select(View{})) != 5 {
		t.Errorf("nodes: %v", set.Select(View{}))
	}
}

// TestSubsetOfUsableNodes: only nodes that can be backends are picked.
func TestSubsetOfUsableNodes(t *testing.T) {
	t.Parallel()
	var list []*corev1.Node
	unknown := map[string]bool{}
	for i := range 40 {
		id := ""
		if i%2 == 0 {
			id = fmt.Sprintf("r.i-%d", i)
			unknown[fmt.Sprintf("i-%d", i)] = i%4 == 0
		}
		list = append(list, node(fmt.Sprintf("node-%d", i), id, nil))
	}
	for seed := range 100 {
		p := Policy{Mode: Cluster, MaxNodes: 3, Seed: fmt.Sprint(seed), Unknown: unknown}
		if n := (Source{Nodes: New(list)}).Choose(p, corev1.ServicePort{NodePort: 30080}).Len(); n != p.MaxNodes {
			t.Errorf("seed %d: %d of %d backends", seed, n, p.MaxNodes)
		}
	}
}

// TestForeignNodes leaves out nodes whose instance nodecontroller has found to be none of the cluster's.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	tainted := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}} }
	}
	for key, want := range map[string]int{
		"example.com/any": 1, "node.cloudprovider.kubernetes.io/uninitialized": 1, "node.alibabacloud.com/foreign-instance": 0,
	} {
		set := New([]*corev1.Node{node("a", "cn-hangzhou.i-a", nil, tainted(key))})
		if got := len(set.Select(View{})); got != want {
			t.Errorf("with taint %s there are %d nodes, want %d", key, got, want)
		}
	}
}
