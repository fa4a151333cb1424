package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

func (c *Controller) nodeAdded(object any) {
	node, ok := object.(*corev1.Node)
	switch {
	case !ok || !c.leading.Load():
	case nodes.IsUninitialized(node):
		c.arrivals.add(node.Name)
	case c.sweepable(node): // A kubelet may leave out the taint that lets a Node wait until it was looked at.
		c.addCandidate(node.Name)
	case c.isNameless(node):
		c.init.Add(node.Name, reconcile.Node)
	}
}

// nodeUpdated ignores what can't turn a failed initialisation into a success, such as heartbeats, so that the delay between
// attempts holds, and what is no sign that the instance was stopped or started.
func (c *Controller) nodeUpdated(before, after any) {
	old, isOld := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if !isOld || !isNode {
		return
	}
	late := nodestate.Claims(node) && !nodestate.Claims(old)
	if late { // A standby notes that, too: it may lead next.
		c.home.note(node)
	}
	if !c.leading.Load() {
		return
	}
	if late && c.sweepable(node) { // Like one that has registered now.
		c.addCandidate(node.Name)
	}
	if isNameless := c.isNameless(node); isNameless != c.isNameless(old) {
		if c.init.Add(node.Name, reconcile.Node); !isNameless {
			c.events.Resolve(kube.NodeReference(node.Name), eventSyncFailed)
		}
		return
	}
	if nodestate.MayBeAnother(old, node) && c.sweepable(node) {
		c.addCandidate(node.Name) // What is found out about the instance is written then, too.
		return
	}
	if !nodestate.Matters(old, node, c.cfg.Options) {
		return
	}
	if nodes.IsUninitialized(node) {
		c.arrivals.add(node.Name)
		return
	}
	c.init.Add(node.Name, reconcile.Node)
}

func (c *Controller) nodeDeleted(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	if node, ok := object.(*corev1.Node); ok {
		c.forgetNode(node)
	}
}

// forgetNode drops what is remembered about a node that is gone.
func (c *Controller) forgetNode(node *corev1.Node) {
	c.events.Forget(kube.NodeReference(node.Name))
	c.arrivals.forget(node.Name)
	c.forwarding.forget(node.Name, node.UID)
	c.losses.forget(node.Name)
	c.home.forget(node.Name)
}
