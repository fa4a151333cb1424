package backend

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// fallen returns a node that turned NotReady at a time, or one that is ready.
func fallen(name string, at time.Time, changes ...func(*corev1.Node)) *corev1.Node {
	n := node(name, "r.i-"+name, nil)
	if !at.IsZero() {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(at)}}
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

// TestBrake: which nodes stay servers though they are not ready.
func TestBrake(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	young := func(created time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(ago(created)) }
	}
	ready := time.Time{}
	rule := Brake{Percent: 50, After: 15 * time.Minute}
	tests := []struct {
		name  string
		rule  Brake
		nodes []*corev1.Node
		want  []string
		until time.Time
	}{
		{name: "none"},
		{name: "all are ready", rule: rule, nodes: []*corev1.Node{fallen("a", ready), fallen("b", ready)}},
		{name: "one of two", rule: rule, nodes: []*corev1.Node{fallen("a", ago(time.Minute)), fallen("b", ready)}},
		{
			name: "two of three", rule: rule, nodes: []*corev1.Node{fallen("a", ago(2*time.Minute)), fallen("b", ago(3*time.Minute)), fallen("c", ready)},
			want: []string{"a", "b"}, until: now.Add(12 * time.Minute),
		},
		{name: "two of three, but not together", rule: rule, nodes: []*corev1.Node{fallen("a", ago(2*time.Minute)), fallen("b", ago(4*time.Minute)), fallen("c", ready)}},
		{
			name: "one was down before", rule: rule, want: []string{"b", "c"}, until: now.Add(14 * time.Minute),
			nodes: []*corev1.Node{fallen("a", ago(time.Hour)), fallen("b", ago(time.Minute)), fallen("c", ago(time.Minute))},
		},
		{
			name: "another follows later", rule: rule, want: []string{"a", "b", "c"}, until: now.Add(10 * time.Minute),
			nodes: []*corev1.Node{fallen("a", ago(5*time.Minute)), fallen("b", ago(5*time.Minute)), fallen("c", ago(time.Minute))},
		},
		{name: "for too long", rule: rule, nodes: []*corev1.Node{fallen("a", ago(15*time.Minute)), fallen("b", ago(14*time.Minute-time.Second))}},
		{
			name: "new nodes join", rule: rule,
			nodes: []*corev1.Node{fallen("a", ready), fallen("b", ago(time.Minute), young(2*time.Minute)), fallen("c", ago(time.Minute), young(2*time.Minute))},
		},
		{name: "never", rule: Brake{Percent: 100, After: time.Hour}, nodes: []*corev1.Node{fallen("a", now), fallen("b", now)}},
		{
			name: "those that can't be servers don't count", rule: rule, nodes: []*corev1.Node{
				fallen("a", ready), fallen("b", ready),
				fallen("c", now, func(n *corev1.Node) {
					n.Labels = map[string]string{"node.kubernetes.io/exclude-from-external-load-balancers": ""}
				}),
				fallen("d", now, func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} }),
				fallen("e", now, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }),
			},
		},
		{name: "time is not known", rule: rule, nodes: []*corev1.Node{node("a", "r.i-a", nil, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hold := tt.rule.Holds(tt.nodes, now)
			if got := slices.Sorted(maps.Keys(hold.Nodes)); !slices.Equal(got, tt.want) || !hold.Until.Equal(tt.until) {
				t.Errorf("held %v until %s, want %v until %s", got, hold.Until, tt.want, tt.until)
			}
		})
	}
}

// TestBrakeProperties: whatever the nodes do, only nodes that are not ready are held, never without more than the share of them, and never
// beyond the time.
func TestBrakeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		rule := Brake{Percent: rapid.IntRange(1, 100).Draw(t, "percent"), After: time.Duration(rapid.IntRange(1, 60).Draw(t, "after")) * time.Minute}
		var list []*corev1.Node
		fell := map[string]time.Time{}
		for i := range rapid.IntRange(0, 30).Draw(t, "nodes") {
			name := fmt.Sprint("n", i)
			at := time.Time{}
			if rapid.Bool().Draw(t, "down") {
				at = now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(t, "seconds")) * time.Second)
				fell[name] = at
			}
			list = append(list, fallen(name, at))
		}
		hold := rule.Holds(list, now)
		if hold.Eligible != len(list) {
			t.Fatalf("%d of %d nodes are eligible", hold.Eligible, len(list))
		}
		if len(hold.Nodes) == 0 {
			// Then no minute has brought down too many that is not over.
			for _, start := range fell {
				together := 0
				for _, at := range fell {
					if !at.Before(start) && !at.After(start.Add(time.Minute)) {
						together++
					}
				}
				if together*100 > rule.Percent*len(list) && start.Add(rule.After-time.Minute).After(now) {
					t.Fatalf("%d of %d nodes fell within a minute of %s and none is held", together, len(list), start)
				}
			}
			return
		}
		if len(hold.Nodes)*100 <= rule.Percent*len(list) || !hold.Until.After(now) || hold.Until.After(now.Add(rule.After)) {
			t.Fatalf("%d of %d nodes are held until %s", len(hold.Nodes), len(list), hold.Until)
		}
		for name := range hold.Nodes {
			if at, down := fell[name]; !down || at.Before(hold.Until.Add(-rule.After)) {
				t.Fatalf("node %s is held, which is ready or fell before", name)
			}
		}
		// Who was seen ready counts as ready, and who was not is never added.
		set := NewHolding(list, hold, map[string]bool{"n0": true})
		for name, n := range set.Select(View{}) {
			if n.Held != (hold.Nodes[name] && name != "n0") {
				t.Fatalf("node %s: %+v", name, n)
			}
		}
	})
}
