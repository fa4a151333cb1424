// Package lifecycle decides which nodes are deleted because their instances are gone. Deleting a node evicts all its pods, so that
// the decision needs more than one missing answer: a kubelet that has been silent for a while, two complete answers without the
// instance some time apart, answers that are plausible as a whole, and a budget that is not used up. It has no clock and does no I/O,
// and what it has to remember is a value, so that the next leader goes on with it.
package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/services/budget"
)

// maxAbsences bounds what is remembered: more nodes than that are not lost at once, and their number is a fault of its own.
const maxAbsences = 5000

// Policy bounds deletion.
type Policy struct {
	// ConfirmAfter is the least time between the first and the last answer without the instance.
	ConfirmAfter time.Duration
	// Silence is how long the kubelet has to have been silent.
	Silence time.Duration
	// Policy bounds how many nodes are deleted, of all.
	budget.Policy
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

// Sighting is what is known of one node.
type Sighting struct {
	// Node and UID name the node; one that was created anew is another.
	Node, UID string
	Answer    Answer
	// At is when the answer was given.
	At time.Time
	// Silent is set if the kubelet has stopped reporting (condition Ready is Unknown), and SilentSince says since when.
	Silent      bool
	SilentSince time.Time
	// Ready is set if the kubelet reports that the node is ready: its machine is there, whatever the cloud says.
	Ready bool
}

// Key identifies the node; one made anew is another.
func (s Sighting) Key() string { return s.Node + " " + s.UID }

// State is what has to be remembered from one decision to the next.
type State struct {
	// Absent says since when the cloud has not known the instances of nodes, by "name UID" of the node.
	Absent map[string]time.Time `json:"absent,omitempty"`
	// Deleted are the times of deletions that count for the budget.
	Deleted []time.Time `json:"deleted,omitempty"`
	// Charged names the nodes that these were counted for, by "name UID".
	Charged map[string]time.Time `json:"charged,omitempty"`
}

// Equal reports whether two states are the same.
func (s State) Equal(other State) bool {
	return maps.EqualFunc(s.Absent, other.Absent, time.Time.Equal) && slices.EqualFunc(s.Deleted, other.Deleted, time.Time.Equal) &&
		maps.EqualFunc(s.Charged, other.Charged, time.Time.Equal)
}

// Empty reports whether there is nothing to remember.
func (s State) Empty() bool { return len(s.Absent) == 0 && len(s.Deleted) == 0 }

// Verdict is the outcome of one pass.
type Verdict struct {
	// Confirmed are the nodes that this decision allows to delete, those first that have been without an instance for longest.
	Confirmed []string
	// Waiting are the silent nodes of which another answer or more silence is needed.
	Waiting []string
	// Contradicted counts the nodes that the cloud does not know and that report to be ready. If they are more than the budget would let go,
	// the cloud's answers are no evidence, and nothing is confirmed.
	Contradicted int
	// Fault is set in that case.
	Fault bool
}

// Credible reports whether the answers of one read are evidence: something was found, or nothing was missing. An answer without any
// instance is taken for one with wrong credentials or of a wrong region.
func Credible(answers []Answer) bool {
	return !slices.Contains(answers, Absent) || slices.Contains(answers, Present)
}

// Decide weighs what is known of all nodes, and gives the state to remember.
func Decide(now time.Time, sightings []Sighting, state State, policy Policy) (Verdict, State) {
	var verdict Verdict
	next := State{Absent: make(map[string]time.Time, len(state.Absent)), Deleted: policy.Within(now, state.Deleted), Charged: maps.Clone(state.Charged)}
	maps.DeleteFunc(next.Charged, func(_ string, at time.Time) bool { return !slices.ContainsFunc(next.Deleted, at.Equal) })
	var confirmed []Sighting
	for _, s := range sightings {
		since, suspected := state.Absent[s.Key()]
		switch {
		case s.Answer == Present || s.Answer == Unclear && !suspected:
			continue
		case !suspected && len(next.Absent) >= maxAbsences:
			continue
		case !suspected:
			since = s.At
		}
		next.Absent[s.Key()] = since
		twice := s.Answer == Absent && suspected && s.At.Sub(since) >= policy.ConfirmAfter
		switch {
		case !s.Silent:
			if s.Ready && twice {
				verdict.Contradicted++
			}
		case s.Answer == Unclear:
		case twice && now.Sub(s.SilentSince) >= policy.Silence:
			confirmed = append(confirmed, s)
		default:
			verdict.Waiting = append(verdict.Waiting, s.Node)
		}
	}
	if verdict.Contradicted > policy.Limit(len(sightings)) {
		verdict.Fault = true
		return verdict, next
	}
	slices.SortFunc(confirmed, func(a, b Sighting) int {
		if order := next.Absent[a.Key()].Compare(next.Absent[b.Key()]); order != 0 {
			return order
		}
		return strings.Compare(a.Node, b.Node)
	})
	for _, s := range confirmed {
		verdict.Confirmed = append(verdict.Confirmed, s.Node)
	}
	return verdict, next
}

// Refund takes back what was counted for the deletion of a node that is there still.
func (s State) Refund(key string) State {
	refunded := State{Absent: s.Absent, Deleted: slices.Clone(s.Deleted), Charged: maps.Clone(s.Charged)}
	if i := slices.IndexFunc(s.Deleted, s.Charged[key].Equal); i >= 0 {
		refunded.Deleted = slices.Delete(refunded.Deleted, i, i+1)
	}
	delete(refunded.Charged, key)
	return refunded
}

// Spend takes as many of the confirmed nodes as the budget lets go now, and counts them, whether or not their deletion succeeds.
func Spend(now time.Time, confirmed []string, sightings []Sighting, state State, policy Policy) (remove, deferred []string, next State) {
	n := min(len(confirmed), policy.Left(now, len(sightings), state.Deleted))
	next = State{Absent: state.Absent, Deleted: slices.Clone(state.Deleted), Charged: maps.Clone(state.Charged)}
	if next.Charged == nil {
		next.Charged = map[string]time.Time{}
	}
	for _, s := range sightings {
		if slices.Contains(confirmed[:n], s.Node) {
			next.Deleted, next.Charged[s.Key()] = append(next.Deleted, now), now
		}
	}
	return confirmed[:n], confirmed[n:], next
}
