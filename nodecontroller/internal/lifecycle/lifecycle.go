package lifecycle

import (
	"cmp"
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
	// ConfirmAfter is the least time between the first and the last proof that the instance is gone.
	ConfirmAfter time.Duration
	// Silence is how long the kubelet has to have been silent.
	Silence time.Duration
	// Policy bounds how many nodes are deleted unannounced, of all.
	budget.Policy
}

// Answer is what the cloud said about an instance.
type Answer int

const (
	// Unasked means that nobody has asked this time.
	Unasked Answer = iota
	// Unclear means that the cloud was asked and nothing is proven. It is no evidence of anything.
	Unclear
	// Present means that the instance exists, in whatever state.
	Present
	// Absent means that the instance is proven to be gone.
	Absent
)

// Observation is what is known of one node.
type Observation struct {
	// Node and UID name the node; one that was created anew is another.
	Node, UID string
	Answer    Answer
	// At is when the answer was given.
	At time.Time
	// Silent is set if the kubelet has stopped reporting (condition Ready is Unknown), and SilentSince says since when.
	Silent      bool
	SilentSince time.Time
	// Announced is set if whoever takes instances away has said so on the node: it has the cluster autoscaler's taint.
	Announced bool
}

// Key identifies the node; one made anew is another.
func (s Observation) Key() string { return s.Node + " " + s.UID }

// due is when to ask about a node again that has been without an instance since then.
func (s Observation) due(since time.Time, policy Policy) time.Time {
	due := since.Add(policy.ConfirmAfter)
	if !s.Silent {
		return due
	}
	if s.Announced {
		return since
	}
	if silent := s.SilentSince.Add(policy.Silence); silent.After(due) {
		return silent
	}
	return due
}

// State is what has to be remembered from one decision to the next.
type State struct {
	// Absent says since when the instances of nodes have been proven to be gone, by "name UID" of the node.
	Absent map[string]time.Time `json:"absent,omitempty"`
	// Deleted are the times of unannounced deletions, which count for the budget.
	Deleted []time.Time `json:"deleted,omitempty"`
	// Counted names the nodes that these were counted for, by "name UID".
	Counted map[string]time.Time `json:"charged,omitempty"`
}

// Equal reports whether two states are the same.
func (s State) Equal(other State) bool {
	return maps.EqualFunc(s.Absent, other.Absent, time.Time.Equal) && slices.EqualFunc(s.Deleted, other.Deleted, time.Time.Equal) &&
		maps.EqualFunc(s.Counted, other.Counted, time.Time.Equal)
}

// Due gives the nodes that are to be asked about by now.
func (s State) Due(now time.Time, observations []Observation, policy Policy) []string {
	var names []string
	for _, node := range observations {
		if since, wasAbsent := s.Absent[node.Key()]; wasAbsent && !now.Before(node.due(since, policy)) {
			names = append(names, node.Node)
		}
	}
	return names
}

// Verdict is the outcome of one pass.
type Verdict struct {
	// Confirmed are the nodes that this decision allows to delete, those first that have been without an instance for longest.
	Confirmed []Observation
	// Stale are the nodes whose provider ID names an instance that is gone and whose kubelets report: another machine goes under the name.
	Stale []Observation
	// Next is when to ask again; zero for no need.
	Next time.Time
}

// look notes that it is worth to ask again at a time.
func (v *Verdict) look(at time.Time) {
	if v.Next.IsZero() || at.Before(v.Next) {
		v.Next = at
	}
}

// Decide weighs what is known of all nodes, and gives the state to remember.
func Decide(now time.Time, observations []Observation, state State, policy Policy) (Verdict, State) {
	var verdict Verdict
	next := State{Absent: make(map[string]time.Time, len(state.Absent)), Deleted: policy.Within(now, state.Deleted),
		Counted: maps.Clone(state.Counted)}
	maps.DeleteFunc(next.Counted, func(_ string, at time.Time) bool { return !slices.ContainsFunc(next.Deleted, at.Equal) })
	for _, s := range observations {
		since, wasAbsent := state.Absent[s.Key()]
		switch {
		case s.Answer == Present || s.Answer != Absent && !wasAbsent:
			if s.Answer == Unclear && s.Silent {
				verdict.look(now.Add(policy.ConfirmAfter))
			}
			continue
		case !wasAbsent && len(next.Absent) >= maxAbsences:
			continue
		case !wasAbsent:
			since = s.At
		}
		next.Absent[s.Key()] = since
		due := s.due(since, policy)
		switch {
		case s.Answer != Absent || s.At.Before(due):
			if s.Answer != Absent && !due.After(now) { // What is asked about in vain has its turn again.
				due = now.Add(policy.ConfirmAfter)
			}
			verdict.look(due)
		case s.Silent:
			verdict.Confirmed = append(verdict.Confirmed, s)
		default:
			verdict.Stale = append(verdict.Stale, s)
		}
	}
	slices.SortFunc(verdict.Confirmed, func(a, b Observation) int {
		return cmp.Or(next.Absent[a.Key()].Compare(next.Absent[b.Key()]), strings.Compare(a.Node, b.Node))
	})
	return verdict, next
}

// Uncount takes back what was counted for the deletion of a node that is there still.
func (s State) Uncount(key string) State {
	uncounted := State{Absent: s.Absent, Deleted: slices.Clone(s.Deleted), Counted: maps.Clone(s.Counted)}
	if i := slices.IndexFunc(s.Deleted, s.Counted[key].Equal); i >= 0 {
		uncounted.Deleted = slices.Delete(uncounted.Deleted, i, i+1)
	}
	delete(uncounted.Counted, key)
	return uncounted
}

// Allow takes those of the confirmed nodes that may go now: the announced ones, and as many others of so many in all as the budget lets go.
// It counts the latter, whether or not their deletion succeeds.
func Allow(now time.Time, confirmed []Observation, total int, state State, policy Policy) (remove, deferred []Observation, next State) {
	left := policy.Left(now, total, state.Deleted)
	next = State{Absent: state.Absent, Deleted: slices.Clone(state.Deleted), Counted: maps.Clone(state.Counted)}
	if next.Counted == nil {
		next.Counted = map[string]time.Time{}
	}
	for _, s := range confirmed {
		switch {
		case s.Announced:
			remove = append(remove, s)
		case left == 0:
			deferred = append(deferred, s)
		default:
			left--
			remove = append(remove, s)
			next.Deleted, next.Counted[s.Key()] = append(next.Deleted, now), now
		}
	}
	return remove, deferred, next
}
