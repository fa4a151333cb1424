package flow

import (
	"context"
	"sync"
)

// Keyed is a mutex per key. It puts the writes of one resource in order, since the cloud answers writes that overlap with "busy":
// the important ones first, callers in turn, and those of one caller as they come. The zero value is ready for use.
type Keyed[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*queue // of those who wait for the key; as long as somebody holds it
}

// Lock waits for the key, and gives up with the error of ctx. Calling unlock again does no harm.
func (k *Keyed[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	w := k.enter(key, CallerFrom(ctx))
	select {
	case <-w.result:
		return sync.OnceFunc(func() { k.pass(key) }), nil
	case <-ctx.Done():
		k.leave(key, w)
		return nil, ctx.Err()
	}
}

// enter takes the key if nobody has it, else it waits for its turn.
func (k *Keyed[K]) enter(key K, caller Caller) *waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := &waiter{caller: caller, result: make(chan error, 1)}
	if waiting, held := k.locks[key]; held {
		waiting.push(w)
		return w
	}
	if k.locks == nil {
		k.locks = make(map[K]*queue)
	}
	k.locks[key] = &queue{}
	w.result <- nil
	return w
}

// leave gives up the wait, or the key if that came in this very moment.
func (k *Keyed[K]) leave(key K, w *waiter) {
	k.mu.Lock()
	waiting := k.locks[key].remove(w)
	k.mu.Unlock()
	if !waiting {
		k.pass(key)
	}
}

// pass gives the key to the next who waits.
func (k *Keyed[K]) pass(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting := k.locks[key]
	next, _ := waiting.next(anybody)
	if next == nil {
		delete(k.locks, key)
		return
	}
	waiting.pop(next)
	next.result <- nil
}
