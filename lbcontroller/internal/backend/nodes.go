// Package backend reduces the cluster's nodes to what decides about backends: an immutable snapshot, and the difference of two.
package backend

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

// Node is a node that may carry traffic.
type Node struct {
	Name string
	// InstanceID is the ECS instance; empty for a virtual node, or if the providerID can't be read.
	InstanceID string
	// Virtual nodes run pods that are reached directly, never through the node.
	Virtual bool
}

// View selects nodes for a Service. It is comparable, so that Services that select alike share the work.
type View struct {
	// Labels are the labels a node must carry: key=value, sorted, joined by commas.
	Labels string
	// Schedulable leaves cordoned nodes out.
	Schedulable bool
}

// ViewOf makes a view.
func ViewOf(labels map[string]string, schedulable bool) View {
	items := make([]string, 0, len(labels))
	for k, v := range labels {
		items = append(items, k+"="+v)
	}
	slices.Sort(items)
	return View{Labels: strings.Join(items, ","), Schedulable: schedulable}
}

// entry is what a snapshot keeps of a node.
type entry struct {
	Node
	labels   map[string]string
	cordoned bool
}

// Set is a snapshot. It may be used by several goroutines.
type Set struct {
	entries []entry

	mu    sync.Mutex
	views map[View]map[string]Node
}

// New takes a snapshot of those nodes that may carry traffic: ready, not a control plane, not about to be deleted and not
// excluded. A virtual node needs neither to be ready nor to be included: it only tells where its pods are.
func New(list []*corev1.Node) *Set {
	s := &Set{views: map[View]map[string]Node{}}
	for _, n := range list {
		virtual := nodes.IsVirtual(n)
		if nodes.IsControlPlane(n) || nodes.HasTaint(n, nodes.TaintToBeDeleted) ||
			!virtual && (nodes.ExcludedFromLoadBalancer(n) || nodes.Ready(n) != corev1.ConditionTrue) {
			continue
		}
		e := entry{Node: Node{Name: n.Name, Virtual: virtual}, labels: n.Labels, cordoned: n.Spec.Unschedulable}
		if id, ok := nodes.ParseProviderID(n.Spec.ProviderID); ok && !virtual {
			e.InstanceID = id.InstanceID
		}
		s.entries = append(s.entries, e)
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// Select returns the nodes of a view by name. The result is shared and must not be changed.
func (s *Set) Select(v View) map[string]Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if selected, ok := s.views[v]; ok {
		return selected
	}
	selected := make(map[string]Node, len(s.entries))
	for _, e := range s.entries {
		if v.matches(e) {
			selected[e.Name] = e.Node
		}
	}
	s.views[v] = selected
	return selected
}

func (v View) matches(e entry) bool {
	if v.Schedulable && e.cordoned {
		return false
	}
	if v.Labels == "" {
		return true
	}
	for item := range strings.SplitSeq(v.Labels, ",") {
		key, want, _ := strings.Cut(item, "=")
		if got, ok := e.labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// HasVirtual tells whether any node of the view is virtual, which makes pods matter even where nodes carry the traffic.
func (s *Set) HasVirtual(v View) bool {
	for _, n := range s.Select(v) {
		if n.Virtual {
			return true
		}
	}
	return false
}

// Changed returns the names of the nodes whose part in the view differs between two snapshots.
func Changed(before, after *Set, v View) map[string]bool {
	a, b := before.Select(v), after.Select(v)
	changed := map[string]bool{}
	for name, n := range a {
		if b[name] != n {
			changed[name] = true
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			changed[name] = true
		}
	}
	return changed
}
