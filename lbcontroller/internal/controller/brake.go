package controller

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// brake is what the controller knows of nodes besides their present state.
type brake struct {
	mu sync.Mutex
	// seen are the nodes that were ready when a snapshot was taken.
	seen map[string]bool
	// release looks at the nodes again when they are held for long enough.
	release *time.Timer
	// stale reports that nodes have changed since the last snapshot that was kept.
	stale atomic.Bool
}

// snapshot looks at the nodes.
func (b *brake) snapshot(rule backend.Brake, list []*corev1.Node) *backend.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := make(map[string]bool, len(list))
	for _, n := range list {
		if b.seen[n.Name] || nodes.Ready(n) == corev1.ConditionTrue {
			seen[n.Name] = true
		}
	}
	b.seen = seen
	return backend.NewHolding(list, rule.Holds(list, time.Now()), seen)
}

// wake calls look at a time, instead of one that was set before; never for the zero time.
func (b *brake) wake(at time.Time, look func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.release != nil {
		b.release.Stop()
		b.release = nil
	}
	if !at.IsZero() {
		b.release = time.AfterFunc(time.Until(at), look)
	}
}

func (b *brake) stop() { b.wake(time.Time{}, nil) }

// reportBrake reports when the brake comes on or off, and looks at the nodes again when its time is over.
func (c *Controller) reportBrake(before, after *backend.Set) {
	c.brake.stale.Store(false)
	was, is := before.Hold(), after.Hold()
	c.metrics.held.Set(float64(len(is.Nodes)))
	if !is.Until.Equal(was.Until) {
		c.brake.wake(is.Until, c.gather.Trigger)
	}
	cluster := ClusterObject()
	switch {
	case len(was.Nodes) == 0 && len(is.Nodes) > 0:
		c.Logger.Error("most nodes turned NotReady together; their servers stay", "nodes", len(is.Nodes), "of", is.Eligible, "until", is.Until)
		c.events.Warning(cluster, ReasonBrakeOn, fmt.Sprintf(
			"%d of %d nodes turned NotReady within a minute; they stay servers of load balancers until they recover, or until %s at the latest; "+
				"look at the API server, the network and the kubelets", len(is.Nodes), is.Eligible, is.Until.UTC().Format(time.RFC3339)))
	case len(was.Nodes) > 0 && len(is.Nodes) == 0:
		c.Logger.Info("the servers of load balancers follow the nodes again")
		c.events.Forget(cluster, ReasonBrakeOn)
		c.events.Normal(cluster, ReasonBrakeOff, "the servers of load balancers follow the nodes again")
	}
}

// nodesNow is the snapshot for a pass. Where pods are the servers, or say which nodes are, they come and go with their nodes, and a burst of
// nodes isn't waited for.
func (c *Controller) nodesNow(a assignment) (*backend.Set, error) {
	if a.wanted == nil || a.interest.Mode == backend.Cluster || !c.brake.stale.Load() {
		return c.nodes.Load(), nil
	}
	return c.snapshot()
}
