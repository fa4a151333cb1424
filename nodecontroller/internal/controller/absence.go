package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// silenceQuiet is how long nodes that go silent are gathered for one question.
	silenceQuiet = 2 * time.Second
	// oneCall is how many instances one question is about, and one call of the cloud returns. Questions are filled up to it with other nodes
	// as witnesses, minWitnesses at least.
	oneCall, minWitnesses = 100, 3
)

// addCandidate has a node looked at within moments, together with others that go silent in that time.
func (c *Controller) addCandidate(name string) {
	c.candidates.add(name)
	c.sweeps.AddAfter(confirmKey, reconcile.Node, silenceQuiet)
}

// answer is what is certain about a node's instance. If nothing is, err is why.
type answer struct {
	lifecycle.Answer
	at  time.Time
	err error
}

// confirm finds out which of the nodes that are due have lost their instances, and deletes those that may go.
func (c *Controller) confirm(ctx context.Context) error {
	candidates := c.candidates.take()
	if len(candidates) == 0 && c.deletions.loaded && len(c.deletions.state.Absent) == 0 && len(c.held) == 0 {
		return nil
	}
	all, err := c.sweepables()
	if err != nil {
		return err
	}
	err = c.expire(ctx, all, candidates)
	if err != nil { // They are asked about again.
		for name := range candidates {
			c.candidates.add(name)
		}
	}
	c.held.only(all)
	c.metrics.expiry(c.held.count())
	return err
}

// expire is confirm for the nodes that there are.
func (c *Controller) expire(ctx context.Context, all map[string]*corev1.Node, candidates map[string]bool) error {
	if err := c.deletions.load(ctx); err != nil {
		c.holdUnrecorded(all, candidates, err)
		return fmt.Errorf("read what earlier leaders did: %w", err)
	}
	policy := c.policy()
	observations := observationsOf(all)
	for _, name := range c.deletions.state.Due(time.Now(), observations, policy) {
		candidates[name] = true
	}
	answers := c.ask(ctx, all, candidates)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := time.Now()
	for i, s := range observations {
		said := answers[s.Node]
		observations[i].Answer, observations[i].At = said.Answer, said.at
	}
	c.reportUnclear(all, answers)
	verdict, state := lifecycle.Decide(now, observations, c.deletions.state, policy)
	state, pending := c.uncount(ctx, now, observations, state)
	confirmed := verdict.Confirmed
	if c.cfg.Deletion == nil {
		confirmed = nil
	}
	remove, deferred, state := lifecycle.Allow(now, c.inTurn(confirmed, pending), len(observations), state, policy)
	if err := c.deletions.save(ctx, state); err != nil {
		c.holdUnrecorded(all, candidates, err)
		return fmt.Errorf("record what the next leader has to know: %w", err)
	}
	c.holdForLater(deferred)
	for _, s := range verdict.Stale {
		c.markAbsent(ctx, all[s.Node])
	}
	next := verdict.Next
	again := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(deferred) > 0 {
		again(now.Add(policy.Refill(now, state.Deleted)))
	}
	if len(pending) > 0 {
		again(now.Add(policy.ConfirmAfter))
	}
	for _, s := range remove {
		if err := c.deleteNode(ctx, s.Node); err != nil {
			c.log.Warn("node is not deleted", "node", s.Node, "error", err)
			c.fail(s.Node, eventDeleteFailed, err)
			if c.failed[s.Node].IsZero() { // Else the next sweep is soon enough.
				again(now.Add(policy.ConfirmAfter))
			}
			c.failed[s.Node] = now
		}
	}
	if !next.IsZero() {
		c.sweeps.AddAfter(confirmKey, reconcile.Periodic, time.Until(next))
	}
	return nil
}

// policy bounds deletions; where none happen, it says when a node's instance is certain to be gone.
func (c *Controller) policy() lifecycle.Policy {
	if c.cfg.Deletion == nil {
		return lifecycle.Policy{ConfirmAfter: time.Minute}
	}
	return *c.cfg.Deletion
}

// sweepables are the nodes that may lose their instances, but for those that are being deleted and wait for a finalizer.
func (c *Controller) sweepables() (map[string]*corev1.Node, error) {
	list, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	all := make(map[string]*corev1.Node, len(list))
	for _, node := range list {
		if c.sweepable(node) && node.DeletionTimestamp == nil {
			all[node.Name] = node
		}
	}
	return all, nil
}

// observationsOf is what the nodes themselves say, by name.
func observationsOf(all map[string]*corev1.Node) []lifecycle.Observation {
	observations := make([]lifecycle.Observation, 0, len(all))
	for _, node := range all {
		ready, _ := nodes.Condition(node, corev1.NodeReady)
		observations = append(observations, lifecycle.Observation{
			Node: node.Name, UID: string(node.UID), Silent: nodes.Silent(node), SilentSince: ready.LastTransitionTime.Time,
			Announced: nodes.HasTaint(node, nodes.TaintToBeDeleted),
		})
	}
	slices.SortFunc(observations, func(a, b lifecycle.Observation) int { return strings.Compare(a.Node, b.Node) })
	return observations
}

// ask finds out about the instances of nodes, and brings those in step that are there.
func (c *Controller) ask(ctx context.Context, all map[string]*corev1.Node, names map[string]bool) map[string]answer {
	var asked []*corev1.Node
	for name := range names {
		if node := all[name]; node != nil {
			asked = append(asked, node)
		}
	}
	slices.SortFunc(asked, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	answers := make(map[string]answer, len(asked))
	for part := range slices.Chunk(asked, oneCall-minWitnesses) {
		request := &ecsv1.ConfirmAbsentRequest{RegionId: c.cfg.Region, WitnessIds: c.witnesses(all, names, oneCall-len(part))}
		for _, node := range part {
			id, _ := c.ours(node)
			request.InstanceIds = append(request.InstanceIds, id.InstanceID)
		}
		at := time.Now()
		results, err := c.askAbout(ctx, request)
		instances := make([]*ecsv1.InstanceResult, len(part))
		for i, node := range part {
			said := answer{lifecycle.Unclear, at, err}
			if err == nil {
				said = answer{at: at}
				said.Answer, said.err = answerOf(results[i])
				instances[i] = &ecsv1.InstanceResult{Instance: results[i].GetInstance()}
			}
			answers[node.Name] = said
		}
		c.sync(ctx, part, instances)
	}
	return answers
}

// askAbout asks one question.
func (c *Controller) askAbout(ctx context.Context, request *ecsv1.ConfirmAbsentRequest) ([]*ecsv1.ConfirmAbsentResult, error) {
	ctx, cancel := context.WithTimeout(gateway.WithPriority(ctx, gateway.Deletion), answerTimeout)
	defer cancel()
	response, err := c.cfg.Gateway.Instances.ConfirmAbsent(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(response.GetResults()) != len(request.GetInstanceIds()) {
		return nil, errors.New("the gateway answered with another number of results than instances")
	}
	return response.GetResults(), nil
}

// answerOf gives what a result says about an instance. If it says nothing, the error is why.
func answerOf(result *ecsv1.ConfirmAbsentResult) (lifecycle.Answer, error) {
	switch result.GetPresence() {
	case ecsv1.Presence_PRESENCE_PRESENT:
		return lifecycle.Present, nil
	case ecsv1.Presence_PRESENCE_ABSENT:
		return lifecycle.Absent, nil
	case ecsv1.Presence_PRESENCE_UNCLEAR, ecsv1.Presence_PRESENCE_UNSPECIFIED:
	}
	return lifecycle.Unclear, cmp.Or(rpcerr.FromItem(result.GetError()), errors.New("gateway gave no reason"))
}

// witnesses are the instances of at most so many nodes that have to be there: their kubelets report, and nobody has
// announced their end. Without any that report, others take their part that are not asked about.
func (c *Controller) witnesses(all map[string]*corev1.Node, asked map[string]bool, most int) []string {
	var reporting, others []string
	for name, node := range all {
		id, _ := c.ours(node)
		switch {
		case nodes.HasTaint(node, nodes.TaintToBeDeleted) || nodes.InstanceAbsent(node):
		case nodes.Ready(node) == corev1.ConditionTrue:
			reporting = append(reporting, id.InstanceID)
		case !asked[name]:
			others = append(others, id.InstanceID)
		}
	}
	if len(reporting) == 0 {
		reporting = others
	}
	slices.Sort(reporting)
	return reporting[:min(len(reporting), most)]
}

// uncount takes back what was counted for deletions that failed, or whose leader died before: a live read finds their
// nodes there still. It gives the names of the other nodes that were counted, of which that is not certain yet: a
// request without an answer may be under way for a while.
func (c *Controller) uncount(ctx context.Context, now time.Time, observations []lifecycle.Observation,
	state lifecycle.State) (lifecycle.State, map[string]bool) {
	pending := map[string]bool{}
	for _, s := range observations {
		switch at, counted := state.Counted[s.Key()]; {
		case !counted:
		case now.Sub(at) >= c.policy().ConfirmAfter && c.isThere(ctx, s):
			state = state.Uncount(s.Key())
		default:
			pending[s.Node] = true
		}
	}
	return state, pending
}

// inTurn orders the nodes that may be deleted, without those whose deletion is pending. Those whose deletion failed
// come last, and of them those whose failure is the longest ago come first, so that nodes which can't be deleted keep
// no others.
func (c *Controller) inTurn(confirmed []lifecycle.Observation, pending map[string]bool) []lifecycle.Observation {
	failed := map[string]time.Time{}
	for _, s := range confirmed {
		if at, known := c.failed[s.Node]; known {
			failed[s.Node] = at
		}
	}
	c.failed = failed
	confirmed = slices.DeleteFunc(confirmed, func(s lifecycle.Observation) bool { return pending[s.Node] })
	slices.SortStableFunc(confirmed, func(a, b lifecycle.Observation) int { return failed[a.Node].Compare(failed[b.Node]) })
	return confirmed
}

// reportUnclear says of nodes why it can't be found out whether their instances exist. Those that are silent stay for that reason.
func (c *Controller) reportUnclear(all map[string]*corev1.Node, answers map[string]answer) {
	reported := 0
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		delete(c.held, name)
		said := answers[name]
		if said.Answer != lifecycle.Unclear {
			continue
		}
		reason := eventSyncFailed
		if nodes.Silent(all[name]) && c.cfg.Deletion != nil {
			c.held[name], reason = heldBy(said.err), eventDeleteFailed
		}
		if reported++; reported <= maxEvents {
			c.fail(name, reason, unclear(said.err))
		}
	}
	if reported > 0 {
		c.log.Warn("whether instances of nodes exist can't be found out", "nodes", reported)
	}
}

// unclear says why it can't be found out whether an instance exists. That of the last node can't be, for no other is
// there to prove the answer.
func unclear(err error) error {
	if heldBy(err) == heldNothingFound {
		return fmt.Errorf("whether the instance exists can't be found out: %w. If it was the last one of the cluster and is released, "+
			"delete the Node by hand", err)
	}
	return fmt.Errorf("whether the instance exists can't be found out: %w", err)
}

// holdUnrecorded says of silent candidates that they stay because the next leader would not know of their deletion.
func (c *Controller) holdUnrecorded(all map[string]*corev1.Node, candidates map[string]bool, err error) {
	reported := 0
	for _, name := range slices.Sorted(maps.Keys(candidates)) {
		if all[name] == nil || !nodes.Silent(all[name]) {
			continue
		}
		c.held[name] = heldRecord
		if reported++; reported <= maxEvents {
			c.warn(name, eventDeleteFailed, "Nodes are not deleted, for the next leader would not know of it: "+err.Error())
		}
	}
}

// holdForLater says of nodes that too many went lately.
func (c *Controller) holdForLater(deferred []lifecycle.Observation) {
	if len(deferred) == 0 {
		return
	}
	c.log.Warn("deletion of nodes put off, too many were deleted lately", "nodes", len(deferred), "first", deferred[0].Node)
	for i, s := range deferred {
		c.held[s.Node] = heldBudget
		if i < maxEvents {
			c.warn(s.Node, eventDeleteFailed, "The instance is gone, but too many nodes were deleted lately; the node is deleted later")
		}
	}
}
