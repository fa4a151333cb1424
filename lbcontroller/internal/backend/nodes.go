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
	// Zone is where the node is; empty if it doesn't say.
	Zone string
	// Held says that the node isn't ready, and that the brake keeps it where it is a server.
	Held bool
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
	entries []entry // in the order of instances
	hold    Hold

	mu    sync.Mutex
	views map[View]*selection
}

// selection is what a view shows of a snapshot. It is made once for all Services that select alike: each looks at it in every pass.
type selection struct {
	byName map[string]Node
	// carrying are the nodes that carry traffic themselves, each instance once in order, and held those that the brake holds.
	carrying, held []Node
	// shares are those of carrying whose instance is known, as backends without a port and a weight.
	shares []Share
	// unnamed are the names of the nodes whose instance isn't known, sorted.
	unnamed []string
	virtual bool
}

// New takes a snapshot of those nodes that may carry traffic: ready, not about to be deleted and not excluded. A virtual node needs neither to be ready nor to be included: it only says where its pods are.
func New(list []*corev1.Node) *Set { return NewHolding(list, Hold{}, nil) }

// NewHolding is New with nodes that the brake holds. Those that were seen ready before count as ready; the others stay where they are servers.
func NewHolding(list []*corev1.Node, hold Hold, seen map[string]bool) *Set {
	s := &Set{views: map[View]*selection{}, hold: hold}
	for _, n := range list {
		virtual := nodes.IsVirtual(n)
		ready := nodes.Ready(n) == corev1.ConditionTrue
		held := !virtual && !ready && hold.Nodes[n.Name]
		if nodes.HasTaint(n, nodes.TaintToBeDeleted) ||
			!virtual && (nodes.ExcludedFromLoadBalancer(n) || !ready && !held) {
			continue
		}
		e := entry{Node: Node{Name: n.Name, Virtual: virtual, Zone: n.Labels[corev1.LabelTopologyZone], Held: held && !seen[n.Name]}, labels: n.Labels, cordoned: n.Spec.Unschedulable}
		if id, ok := nodes.ParseProviderID(n.Spec.ProviderID); ok && !virtual {
			e.InstanceID = id.InstanceID
		}
		s.entries = append(s.entries, e)
	}
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// WithoutControlPlane leaves out the nodes of the control plane, for clusters that want no traffic there.
func WithoutControlPlane(list []*corev1.Node) []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(list), nodes.IsControlPlane)
}

// Hold is what the brake held when the snapshot was taken.
func (s *Set) Hold() Hold { return s.hold }

// Subset returns the nodes of a view that carry traffic, at most n of them if n isn't 0: always the same ones for a seed, spread over the
// zones. All of them are in the order of their instances. The result is shared and must not be changed.
func (s *Set) Subset(v View, seed string, n int) []Node {
	return subset(s.selection(v).carrying, func(n Node) (string, string, string) { return n.InstanceID, n.Name, n.Zone }, seed, n)
}

// Select returns the nodes of a view by name. The result is shared and must not be changed.
func (s *Set) Select(v View) map[string]Node { return s.selection(v).byName }

func (s *Set) selection(v View) *selection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.views[v]; ok {
		return known
	}
	made := &selection{byName: make(map[string]Node, len(s.entries))}
	for _, e := range s.entries {
		if !v.matches(e) {
			continue
		}
		made.byName[e.Name] = e.Node
		last := len(made.carrying) - 1
		switch {
		case e.Virtual:
			made.virtual = true
			continue
		case e.Held:
			made.held = append(made.held, e.Node)
		case e.InstanceID == "" || last < 0 || made.carrying[last].InstanceID != e.InstanceID:
			made.carrying = append(made.carrying, e.Node)
		}
		if e.InstanceID == "" {
			made.unnamed = append(made.unnamed, e.Name)
		}
	}
	made.shares = sharesOf(made.carrying)
	s.views[v] = made
	return made
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

// HasVirtual reports whether any node of the view is virtual, which makes pods matter even where nodes carry the traffic.
func (s *Set) HasVirtual(v View) bool { return s.selection(v).virtual }

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

// ChangedSubset reports whether the nodes that carry traffic for a seed differ between two snapshots, of at most n nodes each.
func ChangedSubset(before, after *Set, v View, seed string, n int) bool {
	a, b := before.Subset(v, seed, n), after.Subset(v, seed, n)
	if len(a) != len(b) {
		return true
	}
	had := make(map[Node]bool, len(a))
	for _, node := range a {
		had[node] = true
	}
	return slices.ContainsFunc(b, func(node Node) bool { return !had[node] })
}

// ChangedHold returns the names of the nodes that the brake holds in one of two snapshots only.
func ChangedHold(before, after *Set) map[string]bool {
	changed := map[string]bool{}
	for name := range before.hold.Nodes {
		changed[name] = !after.hold.Nodes[name]
	}
	for name := range after.hold.Nodes {
		changed[name] = !before.hold.Nodes[name]
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return changed
}
