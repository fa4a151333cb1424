package reconcile

import (
	"context"
	"time"
)

// Gather turns a burst of triggers into one call: it fires when no trigger has come for a quiet time, but not later than a
// maximum after the first.
type Gather struct {
	quiet, longest, apart time.Duration
	fire                  func(context.Context)
	triggers              chan struct{}
}

// NewGather makes a Gather that calls fire from Run's goroutine, with Run's context.
func NewGather(quiet, longest time.Duration, fire func(context.Context)) *Gather {
	return &Gather{quiet: quiet, longest: longest, fire: fire, triggers: make(chan struct{}, 1)}
}

// Apart lets calls begin at least so much time after one another, however many bursts there are. It is for before Run.
func (g *Gather) Apart(d time.Duration) *Gather {
	g.apart = d
	return g
}

// Trigger asks for a call of fire. It never blocks.
func (g *Gather) Trigger() {
	select {
	case g.triggers <- struct{}{}:
	default: // One that is not taken yet says the same.
	}
}

// Run gathers until ctx ends; what is gathered then is dropped.
func (g *Gather) Run(ctx context.Context) error {
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.triggers:
		}
		if !g.settle(ctx) || !g.wait(ctx, next) {
			return nil
		}
		next = time.Now().Add(g.apart)
		g.fire(ctx)
	}
}

// wait gathers until a time; false if ctx ended first.
func (g *Gather) wait(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-g.triggers:
		}
	}
}

// settle waits for the end of a burst; false if ctx ended first.
func (g *Gather) settle(ctx context.Context) bool {
	limit := time.NewTimer(g.longest)
	defer limit.Stop()
	quiet := time.NewTimer(g.quiet)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-limit.C:
			return true
		case <-quiet.C:
			return true
		case <-g.triggers:
			quiet.Reset(g.quiet)
		}
	}
}
