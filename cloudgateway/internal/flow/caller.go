package flow

import (
	"cmp"
	"context"
	"maps"
	"sync"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// Priority orders calls that wait for the same budget.
type Priority = commonv1.Priority

// The priorities, lowest first.
const (
	Background = commonv1.Priority_PRIORITY_BACKGROUND // drift checks and periodic reads
	Deletion   = commonv1.Priority_PRIORITY_DELETION   // what goes away may go a little later
	Change     = commonv1.Priority_PRIORITY_USER       // creation, and changes that a user asked for
	Backend    = commonv1.Priority_PRIORITY_BACKEND    // which servers get the traffic
)

// Caller is on whose behalf a call is made.
type Caller struct {
	// Name is the fair share's key, e.g. the caller's ServiceAccount. Names have to be few, since metrics carry them.
	Name     string
	Priority Priority
}

type callerKey struct{}

// WithCaller marks everything done under the context as done for the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &task{caller: c.normal()})
}

// OwnName is the caller of what the gateway does by itself.
const OwnName = "cloudgateway"

// normal fills in what is missing.
func (c Caller) normal() Caller {
	c.Name = cmp.Or(c.Name, OwnName)
	c.Priority = min(max(c.Priority, Background), Backend)
	return c
}

// CallerFrom returns the caller of a context.
func CallerFrom(ctx context.Context) Caller {
	if e := taskFrom(ctx); e != nil {
		return e.effectiveCaller()
	}
	return Caller{}.normal()
}

// taskFrom is what is done under the context, nil if WithCaller was not called.
func taskFrom(ctx context.Context) *task {
	e, _ := ctx.Value(callerKey{}).(*task)
	return e
}

// task is what is done under a context that WithCaller has made. While it holds the key of a Keyed, others wait for it, and with it
// for the rate limits; so its calls to the cloud go on behalf of the most important of those, also the ones that wait already. That
// lasts until its end.
type task struct {
	mu      sync.Mutex
	caller  Caller
	waiting map[*waiter]*limiter // calls that wait for the rate limit
}

// effectiveCaller gives the caller in whose name the task goes on at present.
func (e *task) effectiveCaller() Caller {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.caller
}

// inherit lets the task go on in the name of a caller that waits for it.
func (e *task) inherit(c Caller, budgets map[string]config.CallerBudget) {
	if e == nil {
		return
	}
	e.mu.Lock()
	inherited := e.caller.with(c, budgets)
	changed := inherited != e.caller
	e.caller = inherited
	waiting := maps.Clone(e.waiting)
	e.mu.Unlock()
	if !changed {
		return
	}
	for w, l := range waiting {
		l.promote(w, e)
	}
}

// with is the caller together with one that waits for it: of the higher priority, and not held up by a share of the budget unless both
// have one.
func (c Caller) with(waiting Caller, budgets map[string]config.CallerBudget) Caller {
	c.Priority = max(c.Priority, waiting.Priority)
	if budgets[c.Name].Bounded() && !budgets[waiting.Name].Bounded() {
		c.Name = waiting.Name
	}
	return c
}

// track notes a call that waits until done. The caller is that of the call; it may have inherited another meanwhile.
func (e *task) track(l *limiter, w *waiter, caller Caller) (done func()) {
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
