package front

import (
	"context"
	"sync"
	"time"
)

const (
	// mostLookups is how many questions about one caller the API server is asked at once. Further calls of the caller
	// wait.
	mostLookups = 16
	// lookupWait is how long they do.
	lookupWait = reading
)

// lookups bounds the questions to the API server by caller: the client that asks has one rate for all of them.
type lookups struct {
	mu sync.Mutex
	of map[string]*places
}

// places are those of one caller, as long as somebody has or wants one.
type places struct {
	free  chan struct{}
	users int
}

// enter waits for a place, which leave gives back.
func (l *lookups) enter(ctx context.Context, caller string) (leave func(), err error) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*places{}
	}
	p := l.of[caller]
	if p == nil {
		p = &places{free: make(chan struct{}, mostLookups)}
		l.of[caller] = p
	}
	p.users++
	l.mu.Unlock()
	gone := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.of, caller)
		}
	}
	timer := time.NewTimer(lookupWait)
	defer timer.Stop()
	select {
	case p.free <- struct{}{}:
		return func() { <-p.free; gone() }, nil
	case <-timer.C:
		gone()
		return nil, because(reasonLookups, throttled(time.Second, "too many permissions of the caller are being looked up"))
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
