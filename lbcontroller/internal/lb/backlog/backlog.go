// Package backlog holds back Services that need a call for which the gateway has no room, or the account no quota. Each
// of them that asks the gateway all the same only learns what the others have learned, at the price of a whole pass. So
// one refusal holds for all of them, and each one that is served calls the next.
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
	// called may ask whoever waits.
	called map[string]bool
	// asking were let through, and held were held back, and their pass has not ended.
	asking, held map[string]bool
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
	if b.asking == nil {
		b.called, b.asking, b.held, b.turn = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int{}
	}
	if len(b.waiting) == 0 || b.called[key] || !now.Before(b.until) {
		b.drop(key)
		delete(b.held, key)
		b.asking[key] = true
		return 0
	}
	delete(b.asking, key) // A pass that panicked has not ended.
	b.held[key] = true
	return b.until.Sub(now) + time.Duration(b.join(key))*apart
}

// join lets a Service wait behind the others, unless it waits already, and returns how many are before it.
func (b *Backlog) join(key string) int {
	if i := slices.Index(b.waiting, key); i >= 0 {
		return i
	}
	if _, ok := b.turn[namespace(key)]; !ok {
		b.turn[namespace(key)] = b.turns // It isn't called before all others.
	}
	b.waiting = append(b.waiting, key)
	return len(b.waiting) - 1
}

// Refused notes at the end of a pass that there was no room for the call of a Service, which comes back by itself; the
// refusal holds for all others so long, 5 minutes at most. 0 is for one that says no time.
func (b *Backlog) Refused(key string, now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking[key] {
		b.drop(key)
		b.join(key)
		if after <= 0 {
			after = longest
		}
		b.until = now.Add(min(after, longest))
	}
}

// Done notes the end of any other pass, whatever came of it. It returns the Services that are called for that. One that
// doesn't need the call, or fails before it, gives up its place.
func (b *Backlog) Done(key string, now time.Time) (next []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[key] {
		delete(b.held, key)
		return nil // It waits, or has been called meanwhile.
	}
	makesRoom := b.asking[key] || b.called[key]
	b.drop(key)
	if !makesRoom {
		return nil
	}
	room := 1
	if !now.Before(b.until) { // There may be room for more than there was at the last refusal.
		room = 2
	}
	return b.call(room)
}

// Freed notes that something was given up that calls like these have made, and returns the Service that is called for
// that.
func (b *Backlog) Freed() (next []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.call(1)
}

// call lets so many of those that wait ask.
func (b *Backlog) call(room int) (next []string) {
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
	delete(b.held, key)
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
