package backend

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"
)

const (
	// burst is how close together nodes turn NotReady for the brake to take that for one fault.
	burst = time.Minute
	// joining is how long after its creation a node may be not ready yet, which is no fault.
	joining = 2 * time.Minute
)

// Brake keeps the last good servers when so many nodes turn NotReady together that the fault is more likely in what reports it than in the
// nodes: empty server groups are no help, and the health checks of the load balancer keep traffic from nodes that are dead.
type Brake struct {
	// Percent of the eligible nodes must turn NotReady within a minute, and more; 100 is never reached.
	Percent int
	// After is how long the servers stay at most.
	After time.Duration
}

// Hold is what the brake holds. The zero value holds nothing.
type Hold struct {
	// Nodes are the names of the nodes whose servers stay.
	Nodes map[string]bool
	// Eligible is how many nodes could be servers if they were ready.
	Eligible int
	// Until is when the servers go at the latest.
	Until time.Time
}

// Holds decides which nodes are held now. It looks at nothing but the nodes, so that a restart changes nothing.
func (b Brake) Holds(list []*corev1.Node, now time.Time) Hold {
	type fall struct {
		node string
		at   time.Time
	}
	var falls []fall
	hold := Hold{}
	for _, n := range list {
		if nodes.IsVirtual(n) || !eligible(n) {
			continue
		}
		hold.Eligible++
		ready, ok := nodes.Condition(n, corev1.NodeReady)
		at := ready.LastTransitionTime.Time
		if !ok || ready.Status == corev1.ConditionTrue || at.IsZero() || at.Sub(n.CreationTimestamp.Time) < joining {
			continue
		}
		falls = append(falls, fall{node: n.Name, at: at})
	}
	slices.SortFunc(falls, func(a, b fall) int { return a.at.Compare(b.at) })
	for first, end := 0, 0; first < len(falls); first++ {
		start := falls[first].at
		for end < len(falls) && !falls[end].at.After(start.Add(burst)) {
			end++
		}
		if (end-first)*100 <= b.Percent*hold.Eligible {
			continue
		}
		until := start.Add(b.After)
		if !now.Before(until) {
			first = end - 1 // That fault has lasted for too long.
			continue
		}
		hold.Nodes, hold.Until = make(map[string]bool, len(falls)-first), until
		for _, f := range falls[first:] {
			hold.Nodes[f.node] = true
		}
		return hold
	}
	return hold
}

// eligible reports whether a node that is ready may carry traffic.
func eligible(n *corev1.Node) bool {
	return !nodes.HasTaint(n, nodes.TaintToBeDeleted) && !nodes.ExcludedFromLoadBalancer(n)
}
