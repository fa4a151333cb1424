package controller

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// kept are the silent nodes that stay for now though their instances seem gone, and why.
type kept map[string]held

// only drops those that are gone or not silent any more.
func (k kept) only(all map[string]*corev1.Node) {
	maps.DeleteFunc(k, func(name string, _ held) bool { return all[name] == nil || !nodes.Silent(all[name]) })
}

func (k kept) count() map[held]int {
	count := map[held]int{}
	for _, why := range k {
		count[why]++
	}
	return count
}

// reportUnclear says of nodes why it can't be found out whether their instances exist. Those that are silent stay for that reason.
func (c *Controller) reportUnclear(all map[string]*corev1.Node, answers map[string]answer) {
	reported := 0
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		delete(c.kept, name)
		said := answers[name]
		if said.Answer != lifecycle.Unclear {
			continue
		}
		reason := eventSyncFailed
		if nodes.Silent(all[name]) && c.cfg.Deletion != nil {
			c.kept[name], reason = heldBy(said.err), eventDeleteFailed
		}
		if reported++; reported <= maxEvents {
			c.fail(name, reason, fmt.Errorf("whether the instance exists can't be found out: %w", said.err))
		}
	}
	if reported > 0 {
		c.log.Warn("whether instances of nodes exist can't be found out", "nodes", reported)
	}
}

// keepUnrecorded says of silent suspects that they stay because the next leader would not know of their deletion.
func (c *Controller) keepUnrecorded(all map[string]*corev1.Node, suspects map[string]bool, err error) {
	reported := 0
	for _, name := range slices.Sorted(maps.Keys(suspects)) {
		if all[name] == nil || !nodes.Silent(all[name]) {
			continue
		}
		c.kept[name] = heldRecord
		if reported++; reported <= maxEvents {
			c.warn(name, eventDeleteFailed, "Nodes are not deleted, for the next leader would not know of it: "+err.Error())
		}
	}
}

// keepForLater says of nodes that too many went lately.
func (c *Controller) keepForLater(deferred []lifecycle.Sighting) {
	if len(deferred) == 0 {
		return
	}
	c.log.Warn("deletion of nodes put off, too many were deleted lately", "nodes", len(deferred), "first", deferred[0].Node)
	for i, s := range deferred {
		c.kept[s.Node] = heldBudget
		if i < maxEvents {
			c.warn(s.Node, eventDeleteFailed, "The instance is gone, but too many nodes were deleted lately; the node is deleted later")
		}
	}
}

// held is why nodes are kept for now whose instances seem gone.
type held string

const (
	heldNothingFound held = "nothing_found" // not one instance was found
	heldContradicted held = "contradicted"  // the cloud does not know nodes that are ready
	heldBudget       held = "budget"
	heldWitness      held = "witness" // something else in the cloud says that the instance is there
	heldRecord       held = "record"  // the next leader would not know of the deletion
	heldUnanswered   held = "unanswered"
)

// allHeld are the values of held.
func allHeld() []held {
	return []held{heldNothingFound, heldContradicted, heldBudget, heldWitness, heldRecord, heldUnanswered}
}

// heldBy gives why a node is kept of whose instance nothing is proven.
func heldBy(err error) held {
	switch rpcerr.ReasonOf(err) {
	case rpcerr.NothingFound:
		return heldNothingFound
	case rpcerr.PartialAnswer:
		return heldContradicted
	case rpcerr.RegionMismatch, rpcerr.AbsenceContradicted:
		return heldWitness
	default:
		return heldUnanswered
	}
}
