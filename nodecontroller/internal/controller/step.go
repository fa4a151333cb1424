package controller

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// sweepWrites bounds the patches under way at once.
const sweepWrites = 20

// sync writes what differs. A failure is an event on the node, which is tried again in the next sweep; it holds up no other.
func (c *Controller) sync(ctx context.Context, all []*corev1.Node, results []*ecsv1.InstanceResult) {
	for _, result := range results { // One at home is enough to take another for foreign, whichever comes first.
		if where, err := c.findHome(ctx); err == nil && where.Contains(result.GetInstance()) {
			c.home.inhabited.Store(true)
		}
	}
	var group errgroup.Group
	group.SetLimit(sweepWrites)
	for i, node := range all {
		instance := results[i].GetInstance()
		// Initialising needs more than writing; it is the queue's business.
		if instance == nil || nodes.IsUninitialized(node) {
			continue
		}
		if err := c.mayKeep(ctx, node, instance); err != nil {
			group.Go(func() error {
				c.syncFailed(node, c.refuse(ctx, node, err))
				return nil
			})
			continue
		}
		if nodestate.Stopping(instance) && nodestate.MayBeShutDown(node, c.cfg.Options) {
			c.init.AddAfter(node.Name, reconcile.Node, stoppingDelay)
		}
		decide := c.inStep(instance)
		change, err := decide(node)
		if err == nil {
			c.reportTags(node, change)
		}
		if err == nil && change.Empty() {
			continue
		}
		group.Go(func() error {
			if _, err := c.write(ctx, node, decide); err != nil && ctx.Err() == nil {
				c.log.Warn("node is not in step with its instance", "node", node.Name, "error", err)
				c.syncFailed(node, err)
			} else if err == nil {
				c.events.Resolve(kube.NodeReference(node.Name), eventSyncFailed)
			}
			return nil
		})
	}
	_ = group.Wait() // The functions give no errors.
}
