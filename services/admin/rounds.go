package admin

import (
	"context"
	"sync"
	"time"
)

// betweenRounds is the least time between the beginnings of two rounds of checks, and so how old an answer may be. Checks ask the API
// server, and every client that reaches the address may ask for them.
const betweenRounds = 100 * time.Millisecond

// rounds run the checks of readiness, once for all who ask at about the same time. Who asks waits for the checks only: as long as many
// waited for the next round, they took the places of answers from the kubelet.
type rounds struct {
	checks []Check

	mu   sync.Mutex
	last *round // nil: nobody has asked
}

type round struct {
	began time.Time
	errs  []error
	ended chan struct{}
}

// run gives the error of each check, of the round under way or of one that began a moment ago.
func (r *rounds) run(ctx context.Context) []error {
	now := r.now() //nolint:contextcheck // A round is for all who ask, and ends with its checks.
	select {
	case <-now.ended:
		return now.errs
	case <-ctx.Done():
		errs := make([]error, len(r.checks))
		for i := range errs {
			errs[i] = ctx.Err()
		}
		return errs
	}
}

// now is the last round, or a new one if that has become old.
func (r *rounds) now() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		select {
		case <-r.last.ended:
			if time.Since(r.last.began) < betweenRounds {
				return r.last
			}
		default:
			return r.last
		}
	}
	r.last = &round{began: time.Now(), errs: make([]error, len(r.checks)), ended: make(chan struct{})}
	go r.last.run(r.checks) // It ends with the checks: it is for others, too.
	return r.last
}

func (r *round) run(checks []Check) {
	defer close(r.ended)
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() { r.errs[i] = c.Check(ctx) })
	}
	running.Wait()
}
