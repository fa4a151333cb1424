package admin

import (
	"context"
	"sync"
	"time"
)

// betweenRounds is the least time between the beginnings of two rounds of checks. Checks ask the API server, and every client
// that reaches the address may ask for them.
const betweenRounds = 100 * time.Millisecond

// rounds run the checks of readiness: for all who ask before a round begins, one.
type rounds struct {
	checks []Check

	mu   sync.Mutex
	last time.Time // when the last round began
	next *round    // that is to begin; nil: nobody asks
}

type round struct {
	errs  []error
	ended chan struct{}
}

// run gives the error of each check in a round that begins after the call.
func (r *rounds) run(ctx context.Context) []error {
	r.mu.Lock()
	own := r.next
	if own == nil {
		own = &round{errs: make([]error, len(r.checks)), ended: make(chan struct{})}
		r.next = own
		time.AfterFunc(betweenRounds-time.Since(r.last), func() { r.begin(own) }) //nolint:contextcheck // It is for others, too.
	}
	r.mu.Unlock()
	select {
	case <-own.ended:
		return own.errs
	case <-ctx.Done():
		errs := make([]error, len(r.checks))
		for i := range errs {
			errs[i] = ctx.Err()
		}
		return errs
	}
}

func (r *rounds) begin(now *round) {
	r.mu.Lock()
	r.next, r.last = nil, time.Now()
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	var running sync.WaitGroup
	for i, c := range r.checks {
		running.Go(func() { now.errs[i] = c.Check(ctx) })
	}
	running.Wait()
	close(now.ended)
}
