package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// sweepKey and confirmKey are the keys of the sweep's queue: the one looks at the next part of the nodes, the other once more at those
	// whose instances seem gone.
	sweepKey   = "all"
	confirmKey = "confirm"
	// sweepWrites bounds the patches under way at once.
	sweepWrites = 20
	// sweepPart is how many nodes are read at once, which is what the cloud answers in one call (source: ECS API, DescribeInstances).
	// The first round after a start reads more at once.
	sweepPart, firstPart = 100, 1000
	// sweepWitnesses are the nodes of other parts that are read again with each part: an answer without them is no evidence.
	sweepWitnesses = 3
	// answerTimeout bounds the waiting for one answer of the gateway, so that an operator who waits for silent nodes to go learns why they
	// stay. It is longer than the gateway itself waits for the cloud, whose error says more than that the time is over.
	answerTimeout = time.Minute
)

// round is one look at all nodes, part by part. Its first parts are read one after the other, those of later rounds at times spread over
// the interval, so that many nodes make no burst of cloud calls.
type round struct {
	parts [][]string // names of nodes
	pause time.Duration
	// rounds counts those that are complete.
	rounds int
	// answers are what was said last about nodes.
	answers map[identity]answer
	// present are nodes that the last credible answers had, the latest last.
	present []string
	// confirm are the nodes to ask about once more.
	confirm []string
	// failed says when the deletion of a node failed last.
	failed map[string]time.Time
	// fault is set while the last answer had none of the instances that were asked about.
	fault bool
}

// identity is that of a node; one made anew under the same name is another.
type identity struct {
	name string
	uid  types.UID
}

func identify(node *corev1.Node) identity { return identity{node.Name, node.UID} }

// answer is what the cloud said about a node's instance, and when. If it said nothing, err is why.
type answer struct {
	lifecycle.Answer
	at  time.Time
	err error
}

// begin divides nodes into parts.
func (r *round) begin(names []string, interval time.Duration) {
	size := sweepPart - sweepWitnesses
	if r.rounds == 0 {
		size = firstPart
	} else if len(names) <= sweepPart {
		size = sweepPart
	}
	slices.Sort(names)
	r.parts = slices.Collect(slices.Chunk(names, size))
	r.pause = 0
	if n := len(r.parts); n > 0 && r.rounds > 0 {
		r.pause = interval / time.Duration(n)
	}
}

// witnesses are nodes that are not in a part and whose instances were found lately.
func (r *round) witnesses(part []string) []string {
	var names []string
	for _, name := range slices.Backward(r.present) {
		if len(names) == sweepWitnesses {
			break
		}
		if !slices.Contains(part, name) {
			names = append(names, name)
		}
	}
	return names
}

// sweep compares the next part of the nodes with their instances, or asks once more about those whose instances seem gone.
func (c *Controller) sweep(ctx context.Context, key string) error {
	start := time.Now()
	defer func() { c.metrics.observe(verbReconcile, start) }()
	if key == confirmKey {
		names := c.round.confirm
		if err := c.look(ctx, slices.Concat(names, c.round.witnesses(names))); err != nil || len(names) == 0 {
			return err
		}
		return c.expire(ctx)
	}
	if len(c.round.parts) == 0 {
		all, err := c.nodes.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		var names []string
		for _, node := range all {
			if c.sweepable(node) {
				names = append(names, node.Name)
			}
		}
		c.round.begin(names, c.cfg.SyncInterval)
	}
	next := c.cfg.SyncInterval
	if len(c.round.parts) > 0 {
		part := c.round.parts[0]
		if err := c.look(ctx, slices.Concat(part, c.round.witnesses(part))); err != nil {
			return err
		}
		c.round.parts, next = c.round.parts[1:], c.round.pause
	}
	if len(c.round.parts) == 0 {
		if c.round.rounds == 0 || next == 0 {
			next = c.cfg.SyncInterval
		}
		c.round.rounds++
		if err := c.expire(ctx); err != nil {
			return err
		}
	}
	c.sweeps.AddAfter(sweepKey, reconcile.Periodic, next)
	return nil
}

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

// look reads the instances of nodes in one call, writes what differs, and keeps the answers that are evidence.
func (c *Controller) look(ctx context.Context, names []string) error {
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
	at := time.Now()
	results, err := c.readInstances(ctx, ids)
	if err != nil {
		if ctx.Err() == nil {
			c.unanswered(err)
		}
		return fmt.Errorf("get %d instances: %w", len(ids), err)
	}
	c.sync(ctx, asked, results)
	c.keepAnswers(asked, results, at)
	return ctx.Err()
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
		answer, unclear := answerOf(result)
		if answer != lifecycle.Unclear {
			return results, nil
		}
		err = cmp.Or(err, unclear)
	}
	return nil, err
}

// keepAnswers remembers what was said about nodes. If not one instance was found, nothing was said.
func (c *Controller) keepAnswers(asked []*corev1.Node, results []*ecsv1.InstanceResult, at time.Time) {
	answers, unclear := make([]lifecycle.Answer, len(asked)), make([]error, len(asked))
	for i := range asked {
		answers[i], unclear[i] = answerOf(results[i])
	}
	c.round.fault = !lifecycle.Credible(answers)
	if c.round.fault {
		return
	}
	for i, node := range asked {
		c.round.answers[identify(node)] = answer{answers[i], at, unclear[i]}
		if answers[i] == lifecycle.Present {
			c.round.present = append(c.round.present, node.Name)
		}
	}
	c.round.present = slices.Clone(c.round.present[max(0, len(c.round.present)-2*sweepPart):])
}

// sync writes what differs. A failure is an event on the node, which is tried again in the next sweep; it holds up no other.
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

// answerOf gives what a result says about an instance. If it says nothing, the error is why.
func answerOf(result *ecsv1.InstanceResult) (lifecycle.Answer, error) {
	err := rpcerr.FromItem(result.GetError())
	switch {
	case err == nil && result.GetInstance() != nil:
		return lifecycle.Present, nil
	case rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound:
		return lifecycle.Absent, nil
	case err == nil:
		return lifecycle.Unclear, errors.New("gateway answered neither an instance nor an error")
	default:
		return lifecycle.Unclear, err
	}
}

// sightings is what is known of all nodes, by name, but for those that are being deleted and wait for a finalizer.
func (c *Controller) sightings() ([]lifecycle.Sighting, error) {
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	known := make(map[identity]answer, len(c.round.answers))
	sightings := make([]lifecycle.Sighting, 0, len(all))
	for _, node := range all {
		said, ok := c.round.answers[identify(node)]
		if !ok || !c.sweepable(node) || node.DeletionTimestamp != nil {
			continue
		}
		known[identify(node)] = said
		ready, _ := nodes.Condition(node, corev1.NodeReady)
		sightings = append(sightings, lifecycle.Sighting{
			Node: node.Name, UID: string(node.UID), Answer: said.Answer, At: said.at,
			Silent: nodes.Silent(node), SilentSince: ready.LastTransitionTime.Time, Ready: ready.Status == corev1.ConditionTrue,
		})
	}
	c.round.answers = known
	slices.SortFunc(sightings, func(a, b lifecycle.Sighting) int { return strings.Compare(a.Node, b.Node) })
	return sightings, nil
}
