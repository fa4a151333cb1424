package batch

import (
	"container/list"
	"reflect"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	// ownRoom is that of a reader without another one, in bytes.
	ownRoom = 8 << 20
	// longest bounds the time for which an answer is remembered.
	longest = time.Hour
)

// Room is what several readers share: memory for what they remember, and their end.
type Room struct {
	mu      sync.Mutex
	left    int
	closers []func() // of the readers
}

// NewRoom makes room for that many bytes.
func NewRoom(bytes int) *Room { return &Room{left: bytes} }

// Close closes all readers with the room.
func (r *Room) Close() {
	r.mu.Lock()
	closers := r.closers
	r.mu.Unlock()
	for _, closeReader := range closers {
		closeReader()
	}
}

func (r *Room) onClose(closeReader func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closers = append(r.closers, closeReader)
}

// take reports whether there was room, which it then takes. Less than nothing gives back.
func (r *Room) take(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > r.left {
		return false
	}
	r.left -= bytes
	return true
}

// store remembers values. Its user has a lock.
type store[K comparable, V any] struct {
	room    *Room
	entries map[K]*list.Element
	order   *list.List // of *entry, the oldest first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	asOf  time.Time
	ends  time.Time
	size  int
}

func newStore[K comparable, V any](room *Room) store[K, V] {
	return store[K, V]{room: room, entries: make(map[K]*list.Element), order: list.New()}
}

// get gives what is remembered, if it is not older than maxAge.
func (s *store[K, V]) get(key K, now time.Time, maxAge time.Duration) (value V, asOf time.Time, ok bool) {
	element, known := s.entries[key]
	if !known || maxAge <= 0 {
		return value, asOf, false
	}
	e := entryOf[K, V](element)
	return e.value, e.asOf, now.Sub(e.asOf) <= maxAge
}

// put remembers a value for a time, if there is room or what is older can make some. With no time to keep it, it only takes the place of
// an older value.
func (s *store[K, V]) put(key K, value V, asOf time.Time, keep time.Duration) {
	ends := asOf.Add(min(keep, longest))
	if element, known := s.entries[key]; known {
		before := entryOf[K, V](element)
		if before.asOf.After(asOf) {
			return // A read of another lane began later and ended sooner.
		}
		if keep <= 0 {
			ends = before.ends
		}
		s.remove(element)
	} else if keep <= 0 {
		return
	}
	e := &entry[K, V]{key: key, value: value, asOf: asOf, ends: ends, size: sizeOf(value)}
	for !s.room.take(e.size) {
		oldest := s.order.Front()
		if oldest == nil {
			return
		}
		s.remove(oldest)
	}
	s.entries[key] = s.order.PushBack(e)
}

func (s *store[K, V]) forget(key K) {
	if element, known := s.entries[key]; known {
		s.remove(element)
	}
}

func (s *store[K, V]) remove(element *list.Element) {
	e := entryOf[K, V](element)
	s.order.Remove(element)
	delete(s.entries, e.key)
	s.room.take(-e.size)
}

// expire forgets what has come to its end.
func (s *store[K, V]) expire(now time.Time) {
	for _, element := range s.entries {
		if entryOf[K, V](element).ends.Before(now) {
			s.remove(element)
		}
	}
}

func entryOf[K comparable, V any](element *list.Element) *entry[K, V] {
	return element.Value.(*entry[K, V]) //nolint:forcetypeassert // The list holds nothing else.
}

// sizeOf is about the memory that a value takes, in bytes. A message in memory is about four times as large as on the wire.
func sizeOf(value any) int {
	const overhead, inMemory = 256, 4
	if m, ok := value.(proto.Message); ok {
		return overhead + inMemory*proto.Size(m)
	}
	size := overhead
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			size += sizeOf(v.Index(i).Interface())
		}
	case reflect.String:
		size += v.Len()
	default:
		size += overhead * inMemory // A certificate's data, for example.
	}
	return size
}
