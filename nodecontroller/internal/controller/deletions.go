package controller

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// recordDeletions is the ConfigMap with the instances that are gone and the deletions of late.
	recordDeletions = "nodecontroller-deletions"
	recordFormat    = 1
)

// candidates are nodes whose instances may be gone and that nobody has asked about yet.
type candidates struct {
	mu    sync.Mutex
	names map[string]bool
}

// add reports whether there are any.
func (s *candidates) add(names ...string) bool {
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

func (s *candidates) take() map[string]bool {
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

// heldNodes are the silent nodes that stay for now though their instances seem gone, and why.
type heldNodes map[string]heldCause

// only drops those that are gone or not silent any more.
func (h heldNodes) only(all map[string]*corev1.Node) {
	maps.DeleteFunc(h, func(name string, _ heldCause) bool { return all[name] == nil || !nodes.Silent(all[name]) })
}

func (h heldNodes) count() map[heldCause]int {
	count := map[heldCause]int{}
	for _, why := range h {
		count[why]++
	}
	return count
}

// heldCause is why nodes are held for now whose instances seem gone.
type heldCause string

const (
	heldNothingFound heldCause = "nothing_found" // not one instance was found
	heldContradicted heldCause = "contradicted"  // the cloud does not know nodes that are ready
	heldBudget       heldCause = "budget"
	heldInconsistent heldCause = "inconsistent" // something else in the cloud says that the instance is there
	heldRecord       heldCause = "record"       // the next leader would not know of the deletion
	heldUnanswered   heldCause = "unanswered"
)

// allHeld are the values of heldCause.
func allHeld() []heldCause {
	return []heldCause{heldNothingFound, heldContradicted, heldBudget, heldInconsistent, heldRecord, heldUnanswered}
}

// heldBy gives why a node is held of whose instance nothing is proven.
func heldBy(err error) heldCause {
	switch rpcerr.ReasonOf(err) {
	case rpcerr.NothingFound:
		return heldNothingFound
	case rpcerr.PartialAnswer:
		return heldContradicted
	case rpcerr.RegionMismatch, rpcerr.AbsenceContradicted:
		return heldInconsistent
	default:
		return heldUnanswered
	}
}
