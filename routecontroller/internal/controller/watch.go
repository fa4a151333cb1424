package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

func (c *Controller) nodeAdded(object any) {
	if node, ok := object.(*corev1.Node); ok {
		c.deleted.remove(c.cfg.Scope.KeysOf(node))
	}
	c.gather.Trigger()
}

// nodeDeleted takes only a deletion that the watch delivered for a fact. A Node that a new list lacks (cache.DeletedFinalStateUnknown)
// may be missing because the API server lost it.
func (c *Controller) nodeDeleted(object any) {
	if node, ok := object.(*corev1.Node); ok {
		c.deleted.add(c.unclaimed(c.cfg.Scope.KeysOf(node)))
		c.events.Forget(kube.NodeReference(node.Name))
	}
	c.gather.Trigger()
}

// unclaimed leaves out the routes of Nodes that there are: a Node may have registered under another name and kept instance and range.
func (c *Controller) unclaimed(keys []table.Key) []table.Key {
	present, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil // The cache of an informer gives no error; without it nothing is evidence.
	}
	for _, node := range present {
		claims := c.cfg.Scope.KeysOf(node)
		keys = slices.DeleteFunc(keys, func(key table.Key) bool { return slices.Contains(claims, key) })
	}
	return keys
}

func (c *Controller) nodeUpdated(before, after any) {
	old, isOld := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if !isOld || !isNode {
		return
	}
	news := !table.SameClaim(old, node)
	if news { // A Node has neither instance nor range when it is added; it may get those of one that was deleted.
		c.deleted.remove(c.cfg.Scope.KeysOf(node))
	}
	if !c.leading.Load() {
		return
	}
	if news {
		c.gather.Trigger()
	}
	if networkUnavailable(old) != networkUnavailable(node) || nodes.Excluded(old) != nodes.Excluded(node) {
		c.conditions.Add(node.Name, reconcile.Node)
	}
}
