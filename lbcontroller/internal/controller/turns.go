package controller

import (
	"slices"
	"sync"

	"alicloud-controllers.dev/services/reconcile"
)

// turns lets Services that share load balancers be worked on one after the other: what one of them has read must not be changed by another
// before it has acted. No Service waits in a worker.
type turns struct {
	mu sync.Mutex
	// waiting are the keys that came too late, by the id of a load balancer that is taken.
	waiting map[string][]string
}

// take reports whether the key may work on the load balancers, and otherwise notes that it waits.
func (t *turns) take(key string, ids []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[string][]string{}
	}
	for _, id := range ids {
		if keys, taken := t.waiting[id]; taken {
			if !slices.Contains(keys, key) {
				t.waiting[id] = append(keys, key)
			}
			return false
		}
	}
	for _, id := range ids {
		t.waiting[id] = nil
	}
	return true
}

// pass gives the load balancers back and returns the keys that wait for them.
func (t *turns) pass(ids []string) (waiting []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		waiting = append(waiting, t.waiting[id]...)
		delete(t.waiting, id)
	}
	return waiting
}

// inTurn works on a Service when it is its turn on every load balancer that it shares. Otherwise it is queued again as soon as that may
// be.
func (c *Controller) inTurn(key string, shared []string, work func() error) error {
	if !c.turns.take(key, shared) {
		return reconcile.ErrNotBegun
	}
	defer func() {
		for _, waiting := range c.turns.pass(shared) {
			c.runner.Add(waiting, reconcile.User)
		}
	}()
	return work()
}
