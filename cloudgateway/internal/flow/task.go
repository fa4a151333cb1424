package flow

import (
	"maps"
	"sync"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// task is what is done under a context that WithCaller has made. While it holds the key of a Keyed, others wait for it, and with it
// for the rate limits; so its calls to the cloud go on behalf of the most important of those, also the ones that wait already. That
// lasts until its end.
type task struct {
	mu      sync.Mutex
	caller  Caller
	waiting map[*waiter]*limiter // calls that wait for the rate limit
}

// onBehalf gives the caller in whose name the task goes on at present.
func (e *task) onBehalf() Caller {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.caller
}

// lend lets the task go on in the name of one who waits for it.
func (e *task) lend(c Caller, budgets map[string]config.CallerBudget) {
	if e == nil {
		return
	}
	e.mu.Lock()
	lent := e.caller.with(c, budgets)
	changed := lent != e.caller
	e.caller = lent
	waiting := maps.Clone(e.waiting)
	e.mu.Unlock()
	if !changed {
		return
	}
	for w, l := range waiting {
		l.promote(w, e)
	}
}

// with is the caller together with one who waits for it: of the higher priority, and not held up by a share of the budget unless both
// have one.
func (c Caller) with(waiting Caller, budgets map[string]config.CallerBudget) Caller {
	c.Priority = max(c.Priority, waiting.Priority)
	if budgets[c.Name].Bounded() && !budgets[waiting.Name].Bounded() {
		c.Name = waiting.Name
	}
	return c
}

// attend notes a call that waits until done. The caller is that of the call; it may have been lent another meanwhile.
func (e *task) attend(l *limiter, w *waiter, caller Caller) (done func()) {
	if e == nil {
		return func() {}
	}
	e.mu.Lock()
	if e.waiting == nil {
		e.waiting = map[*waiter]*limiter{}
	}
	e.waiting[w] = l
	changed := e.caller != caller
	e.mu.Unlock()
	if changed {
		l.promote(w, e)
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.waiting, w)
	}
}
