package controller

import (
	"context"
	"sync/atomic"

	"alicloud-controllers.dev/services/reconcile"
)

// queue are the Services that are to be looked at.
type queue struct {
	*reconcile.Runner
	turns turns
	// leading reports that Run has begun: a standby watches, but queues nothing and has nothing to say.
	leading atomic.Bool
}

// add asks for a look at a Service. A standby queues nothing: what it would gather goes on growing until it leads.
func (q *queue) add(key string, priority reconcile.Priority) {
	if q.leading.Load() {
		q.Add(key, priority)
	}
}

// inTurn works on a Service when it is its turn on every load balancer that it shares. Otherwise it is queued again as
// soon as that may be. A Service that is only verified gives its turn to others.
func (q *queue) inTurn(ctx context.Context, key string, shared []string, work func() error) error {
	p := reconcile.PriorityOf(ctx)
	if by, ok := q.turns.take(key, shared, p); !ok {
		if p > reconcile.Periodic {
			q.Yield(by)
		}
		return reconcile.ErrNotBegun
	}
	defer func() {
		for waiting, p := range q.turns.pass(shared) {
			q.Add(waiting, p)
		}
	}()
	return work()
}
