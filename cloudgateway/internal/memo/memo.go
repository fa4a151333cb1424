// Package memo remembers answers for a while.
package memo

import (
	"container/list"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// loadTimeout bounds a load: it runs for all calls that wait for it, so none of their deadlines may end it.
const loadTimeout = 10 * time.Second

// mostErrors is how many errors a Memo remembers.
const mostErrors = 1000

// Memo remembers values that expire, and errors apart from them: a client that makes up keys to be refused pushes no value out. It is
// safe for concurrent use.
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

// Clear forgets all values.
func (m *Memo[K, V]) Clear() { m.values.RemoveAll(func(any) bool { return true }) }

// ClearFunc forgets the values of all keys for which which is true.
func (m *Memo[K, V]) ClearFunc(which func(K) bool) {
	m.values.RemoveAll(func(key any) bool {
		k, ok := key.(K)
		return ok && which(k)
	})
}

func put(in *cache.LRUExpireCache, key, value any, life time.Duration) {
	if life <= 0 {
		in.Remove(key)
		return
	}
	in.Add(key, value, life-1) // The end of its life is not part of it.
}

// Do gives what is remembered, or loads it, once for all calls at the same time. Load also says how long its value, or its error, is good
// for.
func (m *Memo[K, V]) Do(
	ctx context.Context, key K, load func(ctx context.Context) (value V, life time.Duration, err error),
) (V, error) {
	var none V
	if value, known, err := m.remembered(key); known {
		return value, err
	}
	loaded := m.loads.DoChan(fmt.Sprintf("%#v", key), func() (any, error) {
		if value, known, err := m.remembered(key); known {
			return value, err // Another load ended since the look above.
		}
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

// remembered gives the value or the error that is known of a key.
func (m *Memo[K, V]) remembered(key K) (value V, known bool, err error) {
	if value, known = m.Get(key); known {
		return value, true, nil
	}
	kept, known := m.errors.Get(key)
	err, _ = kept.(error)
	return value, known, err
}

// longest bounds the time for which a Store remembers anything.
const longest = time.Hour

// Store remembers values in a bounded number of bytes. Its user has a lock.
type Store[K comparable, V any] struct {
	room    *semaphore.Weighted // of one byte each; other stores may share it
	entries map[K]*list.Element
	order   *list.List // of *entry, the oldest first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	asOf  time.Time
	ends  time.Time
	size  int64
}

// NewStore makes a Store that takes its memory out of the room.
func NewStore[K comparable, V any](room *semaphore.Weighted) *Store[K, V] {
	return &Store[K, V]{room: room, entries: make(map[K]*list.Element), order: list.New()}
}

// Len is how many values are remembered.
func (s *Store[K, V]) Len() int { return len(s.entries) }

// Get gives what is remembered, if it is not older than maxAge.
func (s *Store[K, V]) Get(key K, now time.Time, maxAge time.Duration) (value V, asOf time.Time, ok bool) {
	element, known := s.entries[key]
	if !known || maxAge <= 0 {
		return value, asOf, false
	}
	e := entryOf[K, V](element)
	return e.value, e.asOf, now.Sub(e.asOf) <= maxAge
}

// Put remembers a value of so many bytes for a time, if there is room or what is older can make some. With no time to
// keep it, it only takes the place of an older value.
func (s *Store[K, V]) Put(key K, value V, size int, asOf time.Time, keep time.Duration) {
	ends := asOf.Add(min(keep, longest))
	if element, known := s.entries[key]; known {
		before := entryOf[K, V](element)
		if before.asOf.After(asOf) {
			return // A later read was answered sooner.
		}
		if keep <= 0 {
			ends = before.ends
		}
		s.remove(element)
	} else if keep <= 0 {
		return
	}
	for oldest := s.order.Front(); oldest != nil && entryOf[K, V](oldest).ends.Before(asOf); oldest = s.order.Front() {
		s.remove(oldest)
	}
	e := &entry[K, V]{key: key, value: value, asOf: asOf, ends: ends, size: int64(size)}
	for !s.room.TryAcquire(e.size) {
		oldest := s.order.Front()
		if oldest == nil {
			return
		}
		s.remove(oldest)
	}
	s.entries[key] = s.order.PushBack(e)
}

// Forget drops a value.
func (s *Store[K, V]) Forget(key K) {
	if element, known := s.entries[key]; known {
		s.remove(element)
	}
}

// ForgetFunc drops the values of all keys for which which is true.
func (s *Store[K, V]) ForgetFunc(which func(K) bool) {
	for key, element := range s.entries {
		if which(key) {
			s.remove(element)
		}
	}
}

// Expire drops what has come to its end.
func (s *Store[K, V]) Expire(now time.Time) {
	s.ForgetFunc(func(key K) bool { return entryOf[K, V](s.entries[key]).ends.Before(now) })
}

func (s *Store[K, V]) remove(element *list.Element) {
	e := entryOf[K, V](element)
	s.order.Remove(element)
	delete(s.entries, e.key)
	s.room.Release(e.size)
}

func entryOf[K comparable, V any](element *list.Element) *entry[K, V] {
	return element.Value.(*entry[K, V]) //nolint:forcetypeassert // The list holds nothing else.
}
