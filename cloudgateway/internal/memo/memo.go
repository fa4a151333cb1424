// Package memo remembers answers for a while.
package memo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// loadTimeout bounds a load: it runs for all who wait for it, so none of their deadlines may end it.
const loadTimeout = 10 * time.Second

// Memo is a bounded map whose entries expire. It is safe for concurrent use.
type Memo[K comparable, V any] struct {
	size    int
	loads   singleflight.Group
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value   V
	expires time.Time
}

// New makes a Memo of at most size entries.
func New[K comparable, V any](size int) *Memo[K, V] {
	return &Memo[K, V]{size: size, entries: map[K]entry[V]{}}
}

// Get gives what is remembered.
func (m *Memo[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok || !time.Now().Before(e.expires) {
		var none V
		return none, false
	}
	return e.value, true
}

// Put remembers a value for life. A life of zero or less forgets the key.
func (m *Memo[K, V]) Put(key K, value V, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
	if life <= 0 {
		return
	}
	now := time.Now()
	if len(m.entries) >= m.size {
		for k, e := range m.entries {
			if !now.Before(e.expires) {
				delete(m.entries, k)
			}
		}
	}
	for k := range m.entries {
		if len(m.entries) < m.size {
			break
		}
		delete(m.entries, k) // Any one: to forget costs a question, not correctness.
	}
	m.entries[key] = entry[V]{value: value, expires: now.Add(life)}
}

// Do gives what is remembered, or loads it, once for all who ask at the same time. Load also says how long its value is good
// for; errors are not remembered.
func (m *Memo[K, V]) Do(
	ctx context.Context, key K, load func(ctx context.Context) (value V, life time.Duration, err error),
) (V, error) {
	if v, ok := m.Get(key); ok {
		return v, nil
	}
	loaded := m.loads.DoChan(fmt.Sprintf("%#v", key), func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		value, life, err := load(detached)
		if err == nil {
			m.Put(key, value, life)
		}
		return value, err
	})
	var none V
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
