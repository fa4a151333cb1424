package controller

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/reconcile"
)

// turns lets Services that share CLBs be worked on one after the other: what one of them has read must not be changed by another
// before it has acted. Nobody waits in a worker.
type turns struct {
	mu sync.Mutex
	// waiting are the keys that came too late, by the id of a CLB that is taken.
	waiting map[string][]string
}

// take tells whether the key may work on the CLBs, and otherwise notes that it waits.
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

// pass gives the CLBs back and returns who waits for them.
func (t *turns) pass(ids []string) (waiting []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		waiting = append(waiting, t.waiting[id]...)
		delete(t.waiting, id)
	}
	return waiting
}

// inTurn works on a Service when it is the turn of its Service on every CLB of users that it has to do with. Otherwise it is queued
// again as soon as that may be.
func (c *Controller) inTurn(svc *corev1.Service, work func() error) error {
	var ids []string
	for _, claim := range claimed(svc) {
		ids = append(ids, claim.LoadBalancer)
	}
	if !c.turns.take(keyOf(svc), ids) {
		return nil
	}
	defer func() {
		for _, key := range c.turns.pass(ids) {
			c.runner.Add(key, reconcile.User)
		}
	}()
	return work()
}
