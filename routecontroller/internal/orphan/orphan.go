package orphan

import (
	"slices"
	"time"

	"alicloud-controllers.dev/services/budget"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

const (
	// retriesTogether are how many entries go together whose deletion failed before: one of them may be what all failed for.
	retriesTogether = 3
	// retryWait is when the next of them have their turn.
	retryWait = 10 * time.Second
)

// Answer is what the cloud said about the instance that a route leads to.
type Answer int

const (
	// Unclear means that the cloud was not asked or did not say. It is no evidence of anything.
	Unclear Answer = iota
	// Living means that the instance exists.
	Living
	// Gone means that the instance is proven to be gone.
	Gone
)

// Orphan is an entry of ours that no node claims.
type Orphan struct {
	Entry table.Entry
	// InTheWay is set if a node can't have its route, or not all of its traffic, before the entry goes.
	InTheWay bool
	// Moved is set if the entry leads to the instance of a Node that claims another range by now. The Node itself is the second fact.
	Moved bool
	// Since is when the entry was first found without a node.
	Since time.Time
	// Failed is when its deletion failed last, zero if it did not.
	Failed time.Time
	// Watched is set if this process saw the API server delete the Node. That a Node is missing in a list is no such evidence: the list
	// may be one of a restored etcd.
	Watched  bool
	Instance Answer
}

// Policy bounds deletion.
type Policy struct {
	// GoneGrace is how long an orphan stays whose instance is gone.
	GoneGrace time.Duration
	// Grace is how long an orphan stays without a second fact.
	Grace time.Duration
	// Policy bounds how many orphans without a second fact are deleted, of all routes of the cluster.
	budget.Policy
}

// Facts is what the decision depends on beside the orphans.
type Facts struct {
	// Claimed counts the routes that nodes claim.
	Claimed int
	// Deleted are the times of earlier deletions without a second fact, oldest first.
	Deleted []time.Time
}

// Verdict is the outcome.
type Verdict struct {
	// Delete are the entries to delete now.
	Delete []table.Entry
	// Counted are those of them that count for the budget.
	Counted []table.Entry
	// Held counts the entries that would be deleted if the budget were not used up.
	Held int
	// Fault is set if there are orphans and no node claims a route at all. That is taken for a broken view of the nodes.
	Fault bool
	// Wait is the time until the next look is worth it, 0 for no need.
	Wait time.Duration
}

// Decide chooses the orphans to delete now. Those whose deletion failed come last, and of them those whose failure is the longest ago come
// first, so that entries which can't be deleted keep no others. Of the rest those come first that a node waits for, and
// then those that have been orphans for longest.
func Decide(now time.Time, orphans []Orphan, facts Facts, policy Policy) Verdict {
	var v Verdict
	if len(orphans) == 0 {
		return v
	}
	if facts.Claimed == 0 {
		return Verdict{Fault: true}
	}
	ordered := slices.SortedStableFunc(slices.Values(orphans), func(a, b Orphan) int {
		if order := a.Failed.Compare(b.Failed); order != 0 {
			return order
		}
		if a.InTheWay != b.InTheWay {
			if a.InTheWay {
				return -1
			}
			return 1
		}
		return a.Since.Compare(b.Since)
	})
	left, retries := policy.Left(now, len(orphans)+facts.Claimed, facts.Deleted), 0
	for _, o := range ordered {
		early := o.Due(policy).Sub(now)
		if early <= 0 && !o.Failed.IsZero() {
			retries++
		}
		switch {
		case early > 0:
			v.wait(min(early, o.untilAsking(now, policy)))
		case retries > retriesTogether:
			v.wait(retryWait)
		case o.Proven():
			v.Delete = append(v.Delete, o.Entry)
		case len(v.Counted) >= left:
			v.Held++
		default:
			v.Delete, v.Counted = append(v.Delete, o.Entry), append(v.Counted, o.Entry)
		}
	}
	if v.Held > 0 {
		v.wait(policy.Refill(now, facts.Deleted))
	}
	return v
}

// Proven reports whether there is a second fact beside the missing Node: its deletion was watched, its instance is
// gone, or that is the one of a Node with another range.
func (o Orphan) Proven() bool { return o.Watched || o.Moved || o.Instance == Gone }

// Due is when an orphan may go, if the budget lets it. Where a node waits for the place of one whose instance is gone, it waits no longer.
func (o Orphan) Due(policy Policy) time.Time {
	switch {
	case o.Watched || o.Moved || o.Instance == Gone && o.InTheWay:
		return o.Since
	case o.Instance == Gone:
		return o.Since.Add(policy.GoneGrace)
	default:
		return o.Since.Add(policy.Grace)
	}
}

// Asking reports whether the instance of an orphan is worth a question: its answer would let the orphan go now.
func (o Orphan) Asking(now time.Time, policy Policy) bool {
	return !o.Watched && !o.Moved && o.Entry.InstanceID != "" && !now.Before(o.asked(policy)) && now.Before(o.Since.Add(policy.Grace))
}

// asked is from when on the instance of an orphan is worth a question.
func (o Orphan) asked(policy Policy) time.Time {
	if o.InTheWay {
		return o.Since
	}
	return o.Since.Add(policy.GoneGrace)
}

// untilAsking is the time until the instance of an orphan is worth a question, and the whole grace if it is not or was asked about.
func (o Orphan) untilAsking(now time.Time, policy Policy) time.Duration {
	if left := o.asked(policy).Sub(now); left > 0 && o.Instance == Unclear {
		return left
	}
	return policy.Grace
}

func (v *Verdict) wait(d time.Duration) {
	if v.Wait == 0 || d < v.Wait {
		v.Wait = d
	}
}

// Postpone lets nothing go before d has passed.
func (v *Verdict) Postpone(d time.Duration) {
	v.Delete, v.Counted = nil, nil
	v.wait(d)
}

// Hold keeps what counts for the budget.
func (v *Verdict) Hold() {
	v.Held += len(v.Counted)
	v.Delete = slices.DeleteFunc(slices.Clone(v.Delete), func(e table.Entry) bool { return slices.Contains(v.Counted, e) })
	v.Counted = nil
}
