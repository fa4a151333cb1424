package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// sweepPart is how many nodes are read at once, which is what the cloud answers in one call (source: ECS API, DescribeInstances).
// The first round after a start reads more at once.
const sweepPart, firstPart = 100, 1000

// round is one look at all nodes, part by part. Its first parts are read one after the other, those of later rounds at times spread over
// the interval, so that many nodes make no burst of cloud calls.
type round struct {
	parts [][]string // names of nodes
	pause time.Duration
	// rounds counts those that are complete.
	rounds int
	// asked is set if this round has an answer about an instance, and found if that was there.
	asked, found bool
}

// begin divides nodes into parts.
func (r *round) begin(names []string, interval time.Duration) {
	size := sweepPart
	if r.rounds == 0 {
		size = firstPart
	}
	slices.Sort(names)
	r.asked, r.found = false, false
	// Parts of one size, so that no node is alone in the last: the others of a part are evidence for its answer.
	if parts := (len(names) + size - 1) / size; parts > 0 {
		size = (len(names) + parts - 1) / parts
	}
	r.parts = slices.Collect(slices.Chunk(names, size))
	r.pause = 0
	if n := len(r.parts); n > 0 && r.rounds > 0 {
		r.pause = interval / time.Duration(n)
	}
}

// sweep compares the next part of the nodes with their instances, or finds out about those whose instances seem gone.
func (c *Controller) sweep(ctx context.Context, key string) error {
	start := time.Now()
	defer func() { c.metrics.observe(verbReconcile, start) }()
	if key == confirmKey {
		return c.confirm(ctx)
	}
	if len(c.round.parts) == 0 {
		all, err := c.nodes.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		var names []string
		for _, node := range all {
			switch {
			case c.sweepable(node):
				names = append(names, node.Name)
				if !nodestate.ReadyAgain(node).Empty() { // It takes no answer of the cloud, which may be away.
					c.init.Add(node.Name, reconcile.Periodic)
				}
			case nodes.Excluded(node) && c.isInstance(node) && !nodestate.Release(node, c.cfg.Options).Empty(), c.isNameless(node):
				c.init.Add(node.Name, reconcile.Periodic)
			}
		}
		c.reportDuplicates(all)
		c.round.begin(names, c.cfg.SyncInterval)
	}
	next := c.cfg.SyncInterval
	if len(c.round.parts) > 0 {
		if err := c.compare(ctx, c.round.parts[0]); err != nil {
			return err
		}
		c.round.parts, next = c.round.parts[1:], c.round.pause
	}
	if len(c.round.parts) == 0 {
		c.metrics.setFault(c.round.asked && !c.round.found)
		if c.round.rounds == 0 || next == 0 {
			next = c.cfg.SyncInterval
		}
		c.round.rounds++
	}
	c.sweeps.AddAfter(sweepKey, reconcile.Periodic, next)
	return nil
}

// compare reads the instances of nodes in one call, writes what differs, and has those asked about that the answer lacks.
func (c *Controller) compare(ctx context.Context, names []string) error {
	asked := make([]*corev1.Node, 0, len(names))
	ids := make([]string, 0, len(names))
	for _, name := range names {
		if node, err := c.nodes.Get(name); err == nil && c.sweepable(node) {
			id, _ := c.ours(node)
			asked, ids = append(asked, node), append(ids, id.InstanceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	results, err := c.readInstances(ctx, ids)
	c.reportUnread(err)
	if err != nil {
		if ctx.Err() == nil {
			c.addCandidates(asked, nil) // Who waits for silent nodes to go learns why they stay.
		}
		return fmt.Errorf("get %d instances: %w", len(ids), err)
	}
	c.round.asked = true
	c.sync(ctx, asked, results)
	c.addCandidates(asked, results)
	if err := c.recheck(ctx, asked, results); err != nil {
		return err
	}
	return ctx.Err()
}

// addCandidates has those of some nodes looked at that the cloud seems to have no instance for, and the silent ones of
// which it said nothing. If it has none for any of them, that says more about the answer than about the nodes, and only
// the silent ones are looked at.
func (c *Controller) addCandidates(asked []*corev1.Node, results []*ecsv1.InstanceResult) {
	var candidates, silent []string
	found := false
	for i, node := range asked {
		absent := results != nil && rpcerr.ReasonOf(rpcerr.FromItem(results[i].GetError())) == rpcerr.InstanceNotFound
		present := results != nil && results[i].GetInstance() != nil
		found = found || present
		if nodes.Silent(node) && !present {
			silent = append(silent, node.Name)
		} else if absent {
			candidates = append(candidates, node.Name)
		}
	}
	c.round.found = c.round.found || found
	if found {
		silent = append(silent, candidates...)
	}
	if c.candidates.add(silent...) || len(c.held) > 0 { // Those that are held may report again.
		c.sweeps.Add(confirmKey, reconcile.Periodic)
	}
}

// readInstances reads instances in one call. An answer that says nothing about any of them is an error: the first one that it has.
func (c *Controller) readInstances(ctx context.Context, ids []string) ([]*ecsv1.InstanceResult, error) {
	ctx, cancel := context.WithTimeout(gateway.WithPriority(ctx, gateway.Background), answerTimeout)
	defer cancel()
	resp, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
	if err != nil {
		return nil, err
	}
	results := resp.GetResults()
	if len(results) != len(ids) {
		return nil, fmt.Errorf("gateway answered %d results for %d instances", len(results), len(ids))
	}
	for _, result := range results {
		unclear := rpcerr.FromItem(result.GetError())
		if result.GetInstance() != nil || rpcerr.ReasonOf(unclear) == rpcerr.InstanceNotFound {
			return results, nil
		}
		err = cmp.Or(err, unclear, errors.New("gateway answered neither an instance nor an error"))
	}
	return nil, err
}
