// Package backlog holds back Services that need a call for which the gateway has no room. Each of them that asks the gateway all the same only learns
// what the others have learned, at the price of a whole pass. So one refusal holds for all of them, and each one that is served calls the next.
package backlog

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// longest is how long a refusal holds at most.
	longest = 5 * time.Minute
	// apart is how much later than the one before it a Service comes back that nothing calls: all at once would only be refused again.
	apart = time.Second
)

// Backlog is that of one kind of call. The zero value is empty.
type Backlog struct {
	mu sync.Mutex
	// waiting are the keys of the Services that have been held back or refused, in this order.
	waiting []string
	// called may ask whoever waits; asking were let through, and their pass has not ended.
	called, asking map[string]bool
	// until is when the last refusal ends.
	until time.Time
	// turns counts the calls since the backlog was empty, and turn has that number of the last one of a namespace.
	turns int
	turn  map[string]int
}

// Enter lets a Service ask the gateway, or returns after which time it shall come back if it is not called before.
func (b *Backlog) Enter(key string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 || b.called[key] || !now.Before(b.until) {
		if b.asking == nil {
			b.called, b.asking, b.turn = map[string]bool{}, map[string]bool{}, map[string]int{}
		}
		b.drop(key)
		b.asking[key] = true
		return 0
	}
	delete(b.asking, key) // A pass that panicked has not ended.
	i := slices.Index(b.waiting, key)
	if i < 0 {
		i, b.waiting = len(b.waiting), append(b.waiting, key)
	}
	return b.until.Sub(now) + time.Duration(i)*apart
}

// Refused notes at the end of a pass that the gateway had no room for the call of a Service, which comes back by itself after a time.
func (b *Backlog) Refused(key string, now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking[key] {
		b.drop(key)
		b.waiting = append(b.waiting, key)
		b.until = now.Add(min(after, longest))
	}
}

// Failed notes the end of a pass that went wrong for another reason. It returns the Services that are called for that.
func (b *Backlog) Failed(key string, now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asking[key] {
		return nil // It was held back, or didn't come so far, and is called or waits as before.
	}
	return b.done(key, now)
}

// Done notes the end of a pass after which the Service doesn't need the call. It returns the Services that are called for that.
func (b *Backlog) Done(key string, now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done(key, now)
}

func (b *Backlog) done(key string, now time.Time) (next []string) {
	makesRoom := b.asking[key] || b.called[key]
	b.drop(key)
	if !makesRoom {
		return nil
	}
	room := 1
	if !now.Before(b.until) { // There may be room for more than there was at the last refusal.
		room = 2
	}
	for len(b.waiting) > 0 && len(next) < room {
		// No namespace waits behind the many of another.
		key := slices.MinFunc(b.waiting, func(x, y string) int { return b.turn[namespace(x)] - b.turn[namespace(y)] })
		b.drop(key)
		b.turns++
		b.called[key], b.turn[namespace(key)] = true, b.turns
		next = append(next, key)
	}
	if len(b.waiting) == 0 {
		b.turns = 0
		clear(b.turn)
	}
	return next
}

// Forget drops a Service that is gone.
func (b *Backlog) Forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(key)
}

func (b *Backlog) drop(key string) {
	delete(b.called, key)
	delete(b.asking, key)
	if i := slices.Index(b.waiting, key); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

func namespace(key string) string {
	ns, _, _ := strings.Cut(key, "/")
	return ns
}
