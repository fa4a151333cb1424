package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// sweepable reports whether a node is an instance of this region that is to be looked at. A node that waits for its initialisation is
// looked at there; the sweep has to find out only whether a silent one is gone for good.
func (c *Controller) sweepable(node *corev1.Node) bool {
	_, ok := c.ours(node)
	return ok && (!nodes.IsUninitialized(node) || nodes.Silent(node))
}

// ours reports whether a node is an instance of this region that is kept in step, and which.
func (c *Controller) ours(node *corev1.Node) (nodes.ID, bool) {
	id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	return id, ok && id.Region == c.cfg.Region && !nodes.Excluded(node) && !nodes.IsVirtual(node)
}

// isInstance reports whether a node has the id of an ECS instance of this region.
func (c *Controller) isInstance(node *corev1.Node) bool {
	id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	return ok && id.Region == c.cfg.Region
}

// isNameless reports whether a node that nobody initialises says of no instance that it is that: nothing is known of it then.
// Virtual and excluded nodes have none, and the ids of Lingjun nodes have another form.
func (c *Controller) isNameless(node *corev1.Node) bool {
	return !nodes.IsUninitialized(node) && !nodes.IsVirtual(node) && !nodes.Excluded(node) && !c.isInstance(node) &&
		(node.Spec.ProviderID == "" || !nodes.IsLingjun(node)) && node.DeletionTimestamp == nil
}

// current reports whether a Node is there still, and was not made anew.
func (c *Controller) current(node *corev1.Node) bool {
	now, err := c.nodes.Get(node.Name)
	return err == nil && now.UID == node.UID
}

// forwards reports whether network interfaces have to let packets of pods through: they do where pods are reached by routes of the
// VPC, whose packets carry addresses that are not the instance's.
func (c *Controller) forwards() bool {
	return c.cfg.DisableSourceDestCheck && c.cfg.Options.CloudRoutes
}

// runner makes the runner of one queue; a timeout of 0 is the runner's own.
func (c *Controller) runner(name string, work reconcile.Func, workers int, timeout time.Duration) (*reconcile.Runner, error) {
	return reconcile.New(reconcile.Config{
		Name: name, Reconciler: work, Workers: workers, Timeout: timeout,
		Drain: c.cfg.Drain, Registerer: c.cfg.Registerer, Tracers: c.cfg.Tracers, Logger: c.cfg.Logger,
	})
}

// state is that of one node.
func (c *Controller) state(node *corev1.Node, duplicate bool) string {
	_, ours := c.ours(node)
	switch {
	case duplicate:
		return stateDuplicate
	case nodes.Excluded(node):
		return stateOther
	case ours && nodes.Foreign(node):
		return stateForeign
	case nodes.IsUninitialized(node) && c.forwarding.has(node.Name):
		return stateForwarding
	case nodes.IsUninitialized(node) && !nodes.IsVirtual(node):
		return stateUninitialized
	case !ours:
		return stateOther
	case nodes.HasTaint(node, nodes.TaintShutdown):
		return stateStopped
	case nodes.Silent(node):
		return stateSilent
	case nodes.InstanceAbsent(node):
		return stateStale
	default:
		return stateInitialized
	}
}

// states counts the nodes by state. A standby counts none.
func (c *Controller) states() map[string]int {
	count := map[string]int{
		stateOther: 0, stateUninitialized: 0, stateForwarding: 0, stateStopped: 0, stateSilent: 0, stateStale: 0,
		stateForeign: 0, stateDuplicate: 0, stateInitialized: 0,
	}
	if !c.leading.Load() {
		return count
	}
	all, err := c.nodes.List(labels.Everything())
	if err != nil { // A cache gives none.
		return count
	}
	duplicates := nodestate.Duplicates(all)
	for _, node := range all {
		_, duplicate := duplicates[node.Name]
		count[c.state(node, duplicate)]++
	}
	return count
}
