package controller

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// sweepKey is the only key of the sweep's queue.
	sweepKey = "all"
	// sweepWrites bounds the patches under way at once.
	sweepWrites = 20
	// maxEvents bounds the events that one cause makes in one sweep.
	maxEvents = 20
)

// sweep compares all nodes with their instances once.
func (c *Controller) sweep(ctx context.Context, _ string) error {
	start := time.Now()
	defer func() { c.metrics.observe(verbReconcile, start) }()
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	ours, ids := c.sweepable(all)
	next := c.cfg.SyncInterval
	if len(ours) > 0 {
		background := gateway.WithPriority(ctx, gateway.Background)
		resp, err := c.cfg.Gateway.Instances.BatchGetInstances(background, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
		if err != nil {
			return fmt.Errorf("get %d instances: %w", len(ids), err)
		}
		if len(resp.GetResults()) != len(ids) {
			return fmt.Errorf("gateway answered %d results for %d instances", len(resp.GetResults()), len(ids))
		}
		c.sync(ctx, ours, resp.GetResults())
		if c.expire(ctx, ours, resp.GetResults()) {
			next = min(next, c.cfg.Deletion.ConfirmAfter)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.sweeps.AddAfter(sweepKey, reconcile.Periodic, next)
	return nil
}

// sweepable gives the nodes that are instances of this region, with the ids of the instances. A node that waits for its
// initialisation is looked at there; the sweep has to find out only whether a silent one is gone for good.
func (c *Controller) sweepable(all []*corev1.Node) ([]*corev1.Node, []string) {
	ours := make([]*corev1.Node, 0, len(all))
	ids := make([]string, 0, len(all))
	for _, node := range all {
		id, ok := c.ours(node)
		if !ok || nodes.IsUninitialized(node) && !nodes.Silent(node) {
			continue
		}
		ours, ids = append(ours, node), append(ids, id.InstanceID)
	}
	return ours, ids
}

// ours tells whether a node is an instance of this region that is kept in step, and which.
func (c *Controller) ours(node *corev1.Node) (nodes.ID, bool) {
	id, ok := nodes.ParseProviderID(node.Spec.ProviderID)
	return id, ok && id.Region == c.cfg.Region && !nodes.Excluded(node) && !nodes.IsVirtual(node)
}

// sync writes what differs. A node that fails is told so and has its next chance in the next sweep; it holds up no other.
func (c *Controller) sync(ctx context.Context, all []*corev1.Node, results []*ecsv1.InstanceResult) {
	var group errgroup.Group
	group.SetLimit(sweepWrites)
	for i, node := range all {
		instance := results[i].GetInstance()
		// Initialising needs more than writing; it is the queue's business.
		if instance == nil || nodes.IsUninitialized(node) {
			continue
		}
		decide := c.agree(instance)
		if change, err := decide(node); err == nil && change.Empty() {
			continue
		}
		group.Go(func() error {
			if err := c.write(ctx, node, decide); err != nil && ctx.Err() == nil {
				c.log.Warn("node is not in step with its instance", "node", node.Name, "error", err)
				c.fail(node.Name, eventSyncFailed, err)
			}
			return nil
		})
	}
	_ = group.Wait() // The functions give no errors.
}

// expire deletes nodes whose instances are gone. It tells whether an early look is needed to confirm that one is.
func (c *Controller) expire(ctx context.Context, all []*corev1.Node, results []*ecsv1.InstanceResult) bool {
	if c.tracker == nil {
		return false
	}
	sightings := make([]lifecycle.Sighting, len(all))
	for i, node := range all {
		sightings[i] = lifecycle.Sighting{
			Node: node.Name, UID: string(node.UID), Answer: answerOf(results[i]), Silent: nodes.Silent(node),
		}
	}
	verdict := c.tracker.Observe(time.Now(), sightings)
	c.metrics.expiry(verdict)
	if verdict.Fault {
		c.log.Error("not one instance of the nodes was found, none is deleted; check the gateway's credentials and region", "nodes", len(all))
		c.keepEvents(all, "Not one instance of the nodes was found; check the credentials and the region of the gateway")
		return false
	}
	if n := len(verdict.Deferred); n > 0 {
		c.log.Warn("deletion of nodes put off, too many were deleted lately", "nodes", n, "first", verdict.Deferred[0])
		for _, name := range verdict.Deferred[:min(n, maxEvents)] {
			c.warn(name, eventDeleteFailed,
				"The instance is gone, but too many nodes were deleted lately; the node is deleted later")
		}
	}
	for _, name := range verdict.Delete {
		if err := c.deleteNode(ctx, name); err != nil {
			c.log.Warn("node is not deleted", "node", name, "error", err)
			c.fail(name, eventDeleteFailed, err)
		}
	}
	return verdict.Waiting > 0
}

// keepEvents tells the silent nodes why they are not deleted.
func (c *Controller) keepEvents(all []*corev1.Node, message string) {
	left := maxEvents
	for _, node := range all {
		if left == 0 {
			return
		}
		if nodes.Silent(node) {
			c.warn(node.Name, eventDeleteFailed, message)
			left--
		}
	}
}

func answerOf(result *ecsv1.InstanceResult) lifecycle.Answer {
	err := rpcerr.FromItem(result.GetError())
	switch {
	case err == nil && result.GetInstance() != nil:
		return lifecycle.Present
	case rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound:
		return lifecycle.Absent
	default:
		return lifecycle.Unclear
	}
}
