// Package lifecycle decides which nodes are deleted because their instances are gone. Deleting a node evicts all its pods, so
// that the decision needs more than one missing answer: a silent kubelet, two complete answers without the instance some time
// apart, an answer that is plausible as a whole, and a budget that is not used up. It has no clock and does no I/O.
package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// Policy bounds deletion.
type Policy struct {
	// ConfirmAfter is the least time between the first and the last answer without the instance.
	ConfirmAfter time.Duration
	// Window is the time in which at most max(Minimum, Percent of all nodes) are deleted.
	Window  time.Duration
	Minimum int
	Percent int
}

// Answer is what the cloud said about an instance.
type Answer int

const (
	// Unclear means that the cloud did not say, e.g. an error. It is no evidence of anything.
	Unclear Answer = iota
	// Present means that the instance exists, in whatever state.
	Present
	// Absent means that a complete answer lacks the instance.
	Absent
)

// Sighting is one node in one pass.
type Sighting struct {
	// Node and UID name the node; one that was created anew is another.
	Node, UID string
	Answer    Answer
	// Silent tells that the kubelet has stopped reporting: condition Ready is Unknown.
	Silent bool
}

// Verdict is the outcome of one pass.
type Verdict struct {
	// Delete are the nodes to delete now.
	Delete []string
	// Deferred are the nodes that would be deleted if the budget were not used up.
	Deferred []string
	// Waiting counts the nodes of which another answer is needed.
	Waiting int
	// Fault tells that not one instance was found. That is taken for wrong credentials or a wrong region, and for no evidence.
	Fault bool
}

// Tracker remembers absences and deletions between passes. It is not safe for concurrent use.
type Tracker struct {
	policy  Policy
	absent  map[identity]time.Time // since when
	deleted []time.Time            // within the window, oldest first
}

type identity struct{ node, uid string }

// New makes a Tracker.
func New(policy Policy) *Tracker { return &Tracker{policy: policy, absent: map[identity]time.Time{}} }

// Observe takes in the answers about all nodes at a time and decides. A node that it tells to delete counts for the budget,
// whether or not the deletion succeeds.
func (t *Tracker) Observe(now time.Time, sightings []Sighting) Verdict {
	if fault(sightings) {
		clear(t.absent)
		return Verdict{Fault: true}
	}
	var verdict Verdict
	var confirmed []identity
	still := make(map[identity]time.Time, len(t.absent))
	for _, s := range sightings {
		id := identity{s.Node, s.UID}
		since, suspected := t.absent[id]
		switch {
		case s.Answer == Present || s.Answer == Unclear && !suspected:
			continue
		case !suspected:
			since = now
		}
		still[id] = since
		switch {
		case !s.Silent || s.Answer == Unclear:
		case now.Sub(since) >= t.policy.ConfirmAfter && suspected:
			confirmed = append(confirmed, id)
		default:
			verdict.Waiting++
		}
	}
	t.absent = still
	slices.SortFunc(confirmed, func(a, b identity) int {
		if order := still[a].Compare(still[b]); order != 0 {
			return order
		}
		return strings.Compare(a.node, b.node)
	})
	budget := t.budget(now, len(sightings))
	for i, id := range confirmed {
		if i >= budget {
			verdict.Deferred = append(verdict.Deferred, id.node)
			continue
		}
		verdict.Delete = append(verdict.Delete, id.node)
		t.deleted = append(t.deleted, now)
	}
	return verdict
}

// budget is how many nodes may go now.
func (t *Tracker) budget(now time.Time, total int) int {
	t.deleted = slices.DeleteFunc(t.deleted, func(at time.Time) bool { return now.Sub(at) >= t.policy.Window })
	return max(t.policy.Minimum, total*t.policy.Percent/100) - len(t.deleted)
}

// fault tells that something was looked for and nothing at all was found.
func fault(sightings []Sighting) bool {
	absent := false
	for _, s := range sightings {
		switch s.Answer {
		case Present:
			return false
		case Absent:
			absent = true
		case Unclear:
		}
	}
	return absent
}
