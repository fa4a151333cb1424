package controller

import (
	"sync"

	"alicloud-controllers.dev/services/reconcile"
)

// turns lets Services that share load balancers be worked on one after the other: what one of them has read must not be changed by another
// before it has acted. No Service waits in a worker.
type turns struct {
	mu sync.Mutex
	// taken are the load balancers that are worked on, by id.
	taken map[string]*turn
}

// turn is a load balancer that is worked on.
type turn struct {
	// by is the key of the Service that has it.
	by string
	// waiting are the keys that came too late, with their priorities.
	waiting map[string]reconcile.Priority
}

// take reports whether the key may work on the load balancers, and otherwise notes that it waits, and for whom.
func (t *turns) take(key string, ids []string, p reconcile.Priority) (by string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if other := t.taken[id]; other != nil {
			other.waiting[key] = max(other.waiting[key], p)
			return other.by, false
		}
	}
	if t.taken == nil {
		t.taken = map[string]*turn{}
	}
	for _, id := range ids {
		t.taken[id] = &turn{by: key, waiting: map[string]reconcile.Priority{}}
	}
	return "", true
}

// pass gives the load balancers back and returns the keys that wait for them.
func (t *turns) pass(ids []string) map[string]reconcile.Priority {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := map[string]reconcile.Priority{}
	for _, id := range ids {
		for key, p := range t.taken[id].waiting {
			waiting[key] = max(waiting[key], p)
		}
		delete(t.taken, id)
	}
	return waiting
}
