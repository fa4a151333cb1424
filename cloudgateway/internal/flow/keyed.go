package flow

import (
	"context"
	"sync"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// Bounds of the requests that wait for a Keyed.
const (
	mostWaitingForKey = 1000  // of one caller, for one key
	mostWaitingKeyed  = 20000 // in all
)

// Keyed is a mutex per key. It puts the writes of one resource in order, since the cloud answers writes that overlap with "busy":
// the important ones first, callers in turn, and those of one caller as they come. A request that holds a key while it waits for a
// Budget goes on in the name of those that wait for the key, so that none waits behind the low priority or the small share of another.
// The zero value is ready for use. A request that would be one too many to wait is refused.
type Keyed[K comparable] struct {
	// Callers are the budgets of those that get more or less of the budget than the others, by name.
	Callers map[string]config.CallerBudget

	mu    sync.Mutex
	locks map[K]*lock // those that are held
	queue int         // how many wait for them
}

// lock is a key that is held.
type lock struct {
	holder  *task // nil if nothing is known of it
	waiting queue
}

// Lock waits for the key, and gives up with the error of ctx. It refuses with THROTTLED if too many wait already.
// Calling unlock again does no harm.
func (k *Keyed[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	w := &waiter{caller: CallerFrom(ctx), task: taskFrom(ctx), result: make(chan error, 1)}
	holder, err := k.enter(key, w)
	if err != nil {
		return nil, err
	}
	holder.inherit(w.caller, k.Callers)
	select {
	case <-w.result:
		return sync.OnceFunc(func() { k.pass(key) }), nil
	case <-ctx.Done():
		k.leave(key, w)
		return nil, ctx.Err()
	}
}

// enter takes the key if it is free, else it waits for its turn and returns the holder.
func (k *Keyed[K]) enter(key K, w *waiter) (holder *task, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if held, ok := k.locks[key]; ok {
		if k.queue >= mostWaitingKeyed || held.waiting.waiting(w.caller.Name, Background, Backend) >= mostWaitingForKey {
			return nil, rpcerr.Errorf(rpcerr.Throttled, "too many writes are waiting for others to %v", key).WithRetry(time.Second)
		}
		held.waiting.push(w)
		k.queue++
		return held.holder, nil
	}
	if k.locks == nil {
		k.locks = make(map[K]*lock)
	}
	k.locks[key] = &lock{holder: w.task}
	w.result <- nil
	return nil, nil
}

// leave gives up the wait, or the key if that came in this very moment.
func (k *Keyed[K]) leave(key K, w *waiter) {
	k.mu.Lock()
	waiting := k.locks[key].waiting.remove(w)
	if waiting {
		k.queue--
	}
	k.mu.Unlock()
	if !waiting {
		k.pass(key)
	}
}

// pass gives the key to the next request that waits.
func (k *Keyed[K]) pass(key K) {
	next, others := k.hand(key)
	for _, c := range others {
		next.inherit(c, k.Callers)
	}
}

// hand gives the key to the next request that waits, and returns that one, and the callers that wait on.
func (k *Keyed[K]) hand(key K) (holder *task, others []Caller) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.locks[key]
	next := held.waiting.next(anyCaller)
	if next == nil {
		delete(k.locks, key)
		return nil, nil
	}
	held.waiting.pop(next)
	k.queue--
	held.holder = next.task
	next.result <- nil
	return next.task, held.waiting.callers()
}
