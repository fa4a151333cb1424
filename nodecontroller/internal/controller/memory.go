package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// sweepKey and confirmKey are the keys of the sweep's queue: the one looks at the next part of the nodes, the other finds out about those
	// whose instances seem gone.
	sweepKey   = "all"
	confirmKey = "confirm"
	// sweepPart is how many nodes are read at once, which is what the cloud answers in one call (source: ECS API, DescribeInstances).
	// The first round after a start reads more at once.
	sweepPart, firstPart = 100, 1000
	// answerTimeout bounds the waiting for one answer of the gateway, so that an operator who waits for silent nodes to go learns why they
	// stay. It is longer than the gateway itself waits for the cloud, whose error says more than that the time is over.
	answerTimeout = time.Minute
	// recordDeletions is the ConfigMap with the instances that are gone and the deletions of late.
	recordDeletions = "nodecontroller-deletions"
	recordFormat    = 1
)

// round is one look at all nodes, part by part. Its first parts are read one after the other, those of later rounds at times spread over
// the interval, so that many nodes make no burst of cloud calls.
type round struct {
	parts [][]string // names of nodes
	pause time.Duration
	// rounds counts those that are complete.
	rounds int
	// found is set if this round found an instance, and lacking if it has missed one.
	found, lacking bool
}

// begin divides nodes into parts.
func (r *round) begin(names []string, interval time.Duration) {
	size := sweepPart
	if r.rounds == 0 {
		size = firstPart
	}
	slices.Sort(names)
	r.found, r.lacking = false, false
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

// suspects are nodes whose instances may be gone and that nobody has asked about yet.
type suspects struct {
	mu    sync.Mutex
	names map[string]bool
}

// add reports whether there are any.
func (s *suspects) add(names ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]bool{}
	}
	for _, name := range names {
		s.names[name] = true
	}
	return len(s.names) > 0
}

func (s *suspects) take() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.names
	s.names = nil
	if taken == nil {
		taken = map[string]bool{}
	}
	return taken
}

// deletions is what is remembered about nodes without instances, by this leader and those before it.
type deletions struct {
	record *kube.Record[lifecycle.State] // nil if nothing is deleted
	state  lifecycle.State
	loaded bool
}

// load reads the record unless it is known.
func (d *deletions) load(ctx context.Context) error {
	if d.loaded || d.record == nil {
		return nil
	}
	state, err := d.record.Load(ctx)
	if err != nil {
		return err
	}
	d.state, d.loaded = state, true
	return nil
}

// save writes the record if the state is new. What is there after an error is read again.
func (d *deletions) save(ctx context.Context, state lifecycle.State) error {
	if d.record != nil && !state.Equal(d.state) {
		if err := d.record.Save(ctx, state); err != nil {
			d.loaded = false
			return err
		}
	}
	d.state = state
	return nil
}

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
