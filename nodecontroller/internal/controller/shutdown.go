package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// stoppingDelay is when to look again at an instance that is about to stop.
const stoppingDelay = 30 * time.Second

// lookAtShutdown taints a node that has gone silent if its instance is stopped, and takes the taint off if it is not any more.
// The sweep does the same; this is the quick way, for nodes of which something says that the answer may have changed.
func (c *Controller) lookAtShutdown(ctx context.Context, node *corev1.Node) error {
	if nodes.Excluded(node) && c.isInstance(node) {
		_, err := c.write(ctx, node, func(node *corev1.Node) (nodestate.Change, error) { return nodestate.Release(node, c.cfg.Options), nil })
		return err
	}
	if !nodestate.ReadyAgain(node).Empty() {
		_, err := c.write(ctx, node, func(node *corev1.Node) (nodestate.Change, error) { return nodestate.ReadyAgain(node), nil })
		return err
	}
	id, ours := c.ours(node)
	if !ours || !nodestate.MayBeShutDown(node, c.cfg.Options) {
		return nil
	}
	resp, err := c.cfg.Gateway.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: id.InstanceID})
	if rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound {
		return nil // Whether it is gone for good is for the sweep to find out.
	}
	if err != nil {
		return fmt.Errorf("get instance %s: %w", id.InstanceID, err)
	}
	if err := c.mayKeep(ctx, node, resp.GetInstance()); err != nil {
		return c.refuse(ctx, node, err)
	}
	if nodestate.Stopping(resp.GetInstance()) {
		c.init.AddAfter(node.Name, reconcile.Node, stoppingDelay)
	}
	_, err = c.write(ctx, node, c.inStep(resp.GetInstance()))
	return err
}
