package flow

import (
	"context"
	"sync"
)

// Keyed is a mutex per key. It puts the writes of one resource in the order of their arrival: the cloud answers writes that
// overlap with "busy". The zero value is ready for use.
type Keyed[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*keyLock
}

// keyLock lives as long as somebody holds it or waits for it.
type keyLock struct {
	slot  chan struct{} // holds one value while the key is locked; receivers of a channel are served in order
	users int
}

// Lock waits for the key, and gives up with the error of ctx. Calling unlock again does no harm.
func (k *Keyed[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	l := k.enter(key)
	select {
	case l.slot <- struct{}{}:
		return sync.OnceFunc(func() {
			<-l.slot
			k.leave(key, l)
		}), nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

func (k *Keyed[K]) enter(key K) *keyLock {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.locks[key]
	if l == nil {
		l = &keyLock{slot: make(chan struct{}, 1)}
		if k.locks == nil {
			k.locks = make(map[K]*keyLock)
		}
		k.locks[key] = l
	}
	l.users++
	return l
}

func (k *Keyed[K]) leave(key K, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.users--
	if l.users == 0 {
		delete(k.locks, key)
	}
}
