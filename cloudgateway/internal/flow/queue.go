package flow

import (
	"slices"
	"time"
)

// patience is how often a priority is passed over before one of its calls goes first, so that none starves.
const patience = 8

// waiter is a call that waits for its turn.
type waiter struct {
	caller   Caller
	deadline time.Time // zero: none
	since    time.Time
	result   chan error // gets one value: nil to go, or why not
}

// queue orders waiters: by priority, inside a priority callers take turns, and the calls of one caller go in order.
type queue struct {
	classes [priorities]class
	weights map[string]int
	size    int
}

// class is the waiters of one priority.
type class struct {
	lanes  []*lane // never empty ones; the first has its turn
	passed int     // how many calls of other priorities went before since the last of this one
}

// lane is the waiters of one caller.
type lane struct {
	caller  string
	turns   int // that it has left before the next lane's
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
	c.lanes = append(c.lanes, &lane{caller: w.caller.Name, turns: q.weight(w.caller.Name), waiters: []*waiter{w}})
}

// next returns the waiter that goes next, and whether it goes before its priority's turn because it was passed over; nil if
// nobody waits.
func (q *queue) next() (w *waiter, overdue bool) {
	for i := range q.classes {
		if c := &q.classes[i]; len(c.lanes) > 0 && c.passed >= patience {
			return c.lanes[0].waiters[0], true
		}
	}
	for i := priorities - 1; i >= 0; i-- {
		if c := &q.classes[i]; len(c.lanes) > 0 {
			return c.lanes[0].waiters[0], false
		}
	}
	return nil, false
}

// pop takes out the waiter that next has returned and gives the next lane its turn.
func (q *queue) pop(w *waiter) {
	for i := range q.classes {
		if c := &q.classes[i]; len(c.lanes) > 0 && Priority(i) != w.caller.Priority {
			c.passed++
		}
	}
	c := &q.classes[w.caller.Priority]
	c.passed = 0
	first := c.lanes[0]
	first.turns--
	if first.turns <= 0 {
		first.turns = q.weight(first.caller)
		c.lanes = append(c.lanes[1:], first)
	}
	q.remove(w)
}

// remove takes out a waiter wherever it is, and tells whether it was there.
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
			c.passed = 0
		}
		return true
	}
	return false
}

// ahead estimates how many calls go before a new one of the caller.
func (q *queue) ahead(c Caller) int {
	n := 0
	for i := int(c.Priority) + 1; i < priorities; i++ {
		for _, l := range q.classes[i].lanes {
			n += len(l.waiters)
		}
	}
	own := 0
	lanes := q.classes[c.Priority].lanes
	for _, l := range lanes {
		if l.caller == c.Name {
			own = len(l.waiters)
		}
	}
	n += own
	for _, l := range lanes {
		if l.caller != c.Name {
			n += min(len(l.waiters), own+1) // callers take turns
		}
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

func (q *queue) weight(caller string) int { return max(1, q.weights[caller]) }
