package flow

import (
	"maps"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// patience is how often a priority is passed over before one of its calls goes first, so that none starves.
const patience = 8

// remembered is how many calls of a priority ago a caller may have gone for the queue to know of it; one that went earlier, or never, goes
// before all others. It bounds what the queue remembers of callers that come and go.
const remembered = 1000

// waiter is a call that waits for its turn.
type waiter struct {
	caller   Caller
	deadline time.Time // zero: none
	since    time.Time
	result   chan error // gets one value: nil to go, or why not
	task     *task      // of those that wait for a key; nil if nothing is known of it
}

// queue orders waiters: by priority, inside a priority callers take turns, and the calls of one caller go in order.
type queue struct {
	classes [Backend + 1]class             // by priority
	budgets map[string]config.CallerBudget // by caller
	size    int
}

// class is the waiters of one priority.
type class struct {
	lanes  []*lane        // never empty ones; the first that may call has its turn
	ready  bool           // one of the lanes may call, as next has found
	passed int            // how many calls of other priorities went since the last of this one while it was ready
	went   map[string]int // by caller, the number of its last call in the class; empty without lanes, at most remembered
	count  int            // the calls of the class
}

// lane is the waiters of one caller.
type lane struct {
	caller  string
	credit  int // the calls that it may still make before it goes behind the other lanes
	waiters []*waiter
}

func (q *queue) push(w *waiter) {
	c := &q.classes[w.caller.Priority]
	q.size++
	for _, l := range c.lanes {
		if l.caller == w.caller.Name {
			l.waiters = append(l.waiters, w)
			return
		}
	}
	// It comes before all whose calls went later than its own last one: a caller that waits seldom does not stand behind
	// one that always waits.
	at := slices.IndexFunc(c.lanes, func(l *lane) bool { return c.went[l.caller] > c.went[w.caller.Name] })
	if at < 0 {
		at = len(c.lanes)
	}
	c.lanes = slices.Insert(c.lanes, at, &lane{caller: w.caller.Name, credit: q.weight(w.caller.Name), waiters: []*waiter{w}})
}

// next returns the waiter that goes next of those whose caller may call: of the highest priority, unless a lower one has been passed over
// too often; nil if there is none.
func (q *queue) next(may func(Caller) bool) (w *waiter) {
	overdue := false
	for i := range q.classes {
		c := &q.classes[i]
		first := c.first(Priority(i), may)
		c.ready = first != nil
		if c.ready && !overdue {
			w = first.waiters[0] // the last found has the highest priority
			overdue = c.passed >= patience
		}
	}
	return w
}

// callers are those that wait, the most important first.
func (q *queue) callers() []Caller {
	var all []Caller
	for priority := Backend; priority >= Background; priority-- {
		for _, l := range q.classes[priority].lanes {
			all = append(all, Caller{Name: l.caller, Priority: priority})
		}
	}
	return all
}

// anyCaller is for queues in which every caller may go.
func anyCaller(Caller) bool { return true }

// first is the lane that has the turn, nil if none may call.
func (c *class) first(p Priority, may func(Caller) bool) *lane {
	for _, l := range c.lanes {
		if may(Caller{Name: l.caller, Priority: p}) {
			return l
		}
	}
	return nil
}

// pop takes out the waiter that next has returned and gives the next lane its turn.
func (q *queue) pop(w *waiter) {
	for i := range q.classes {
		if c := &q.classes[i]; c.ready && Priority(i) != w.caller.Priority {
			c.passed++
		}
	}
	c := &q.classes[w.caller.Priority]
	c.passed = 0
	if c.went == nil {
		c.went = make(map[string]int)
	}
	c.count++
	c.went[w.caller.Name] = c.count
	if len(c.went) > remembered {
		maps.DeleteFunc(c.went, func(_ string, at int) bool { return at <= c.count-remembered })
	}
	at := slices.IndexFunc(c.lanes, func(l *lane) bool { return l.caller == w.caller.Name })
	l := c.lanes[at]
	l.credit--
	if l.credit <= 0 {
		l.credit = q.weight(l.caller)
		c.lanes = append(slices.Delete(c.lanes, at, at+1), l)
	}
	q.remove(w)
}

// remove takes out a waiter wherever it is, and reports whether it was there.
func (q *queue) remove(w *waiter) bool {
	c := &q.classes[w.caller.Priority]
	for i, l := range c.lanes {
		at := slices.Index(l.waiters, w)
		if at < 0 {
			continue
		}
		l.waiters = slices.Delete(l.waiters, at, at+1)
		q.size--
		if len(l.waiters) == 0 {
			c.lanes = slices.Delete(c.lanes, i, i+1)
		}
		if len(c.lanes) == 0 {
			c.passed, c.went, c.count = 0, nil, 0
		}
		return true
	}
	return false
}

// waiting counts the calls of a caller with one of the priorities.
func (q *queue) waiting(caller string, from, to Priority) int {
	n := 0
	for i := from; i <= to; i++ {
		for _, l := range q.classes[i].lanes {
			if l.caller == caller {
				n += len(l.waiters)
			}
		}
	}
	return n
}

// ahead estimates how many calls go before a new one of the caller, of those that count.
func (q *queue) ahead(c Caller, counts func(Caller) bool) int {
	own := q.waiting(c.Name, c.Priority, c.Priority)
	rounds := own/q.weight(c.Name) + 1
	same, higher := own, 0
	var bounded []*lane
	for i := c.Priority; i <= Backend; i++ {
		for _, l := range q.classes[i].lanes {
			switch {
			case i == c.Priority && l.caller == c.Name, !counts(Caller{Name: l.caller, Priority: i}):
			case q.budgets[l.caller].Bounded():
				bounded = append(bounded, l)
			case i == c.Priority:
				same += min(len(l.waiters), rounds*q.weight(l.caller)) // callers take turns
			default:
				higher += len(l.waiters)
			}
		}
	}
	n := same + min(higher, (same+1)*patience) // is not passed over for ever, and neither are those before it
	for _, l := range bounded {                // goes beside the others, at its own pace
		share := q.budgets[l.caller].Share
		n += min(len(l.waiters), int(float64(n+1)*share/(1-share)))
	}
	for i := Background; i < c.Priority; i++ { // are not passed over for ever either
		n += min(n/patience, q.classes[i].size())
	}
	return n
}

func (c *class) size() int {
	n := 0
	for _, l := range c.lanes {
		n += len(l.waiters)
	}
	return n
}

// expired takes out the waiters whose deadline is before t.
func (q *queue) expired(t time.Time) []*waiter {
	var out []*waiter
	for i := range q.classes {
		for _, l := range q.classes[i].lanes {
			for _, w := range l.waiters {
				if !w.deadline.IsZero() && w.deadline.Before(t) {
					out = append(out, w)
				}
			}
		}
	}
	for _, w := range out {
		q.remove(w)
	}
	return out
}

func (q *queue) weight(caller string) int { return max(1, q.budgets[caller].Weight) }
