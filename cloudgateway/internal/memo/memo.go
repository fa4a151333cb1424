// Package memo remembers answers for a while.
package memo

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// loadTimeout bounds a load: it runs for all who wait for it, so none of their deadlines may end it.
const loadTimeout = 10 * time.Second

// mostErrors is how many errors a Memo remembers.
const mostErrors = 1000

// Memo remembers values that expire, and errors apart from them: whoever makes up keys to be refused pushes no value out. It is safe for
// concurrent use.
type Memo[K comparable, V any] struct {
	values, errors *cache.LRUExpireCache
	loads          singleflight.Group
}

// New makes a Memo of at most size values.
func New[K comparable, V any](size int) *Memo[K, V] {
	return &Memo[K, V]{values: cache.NewLRUExpireCache(size), errors: cache.NewLRUExpireCache(mostErrors)}
}

// Get gives the value that is remembered.
func (m *Memo[K, V]) Get(key K) (V, bool) {
	known, _ := m.values.Get(key)
	value, ok := known.(V)
	return value, ok
}

// Put remembers a value for life. A life of zero or less forgets the key.
func (m *Memo[K, V]) Put(key K, value V, life time.Duration) {
	put(m.values, key, value, life)
}

func put(in *cache.LRUExpireCache, key, value any, life time.Duration) {
	if life <= 0 {
		in.Remove(key)
		return
	}
	in.Add(key, value, life-1) // The end of its life is not part of it.
}

// Do gives what is remembered, or loads it, once for all who ask at the same time. Load also says how long its value, or its error, is good
// for.
func (m *Memo[K, V]) Do(
	ctx context.Context, key K, load func(ctx context.Context) (value V, life time.Duration, err error),
) (V, error) {
	var none V
	if v, ok := m.Get(key); ok {
		return v, nil
	}
	if known, ok := m.errors.Get(key); ok {
		return none, known.(error) //nolint:forcetypeassert // It holds nothing else.
	}
	loaded := m.loads.DoChan(fmt.Sprintf("%#v", key), func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		value, life, err := load(detached)
		if err != nil {
			put(m.errors, key, err, life)
		} else {
			m.Put(key, value, life)
		}
		return value, err
	})
	select {
	case result := <-loaded:
		if result.Err != nil {
			return none, result.Err
		}
		return result.Val.(V), nil //nolint:forcetypeassert // Load returns nothing else.
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
