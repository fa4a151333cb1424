package dataplane

import (
	"context"
	"sync"
	"time"
)

// checks runs the health checks, each in a goroutine of its own.
type checks struct {
	attempt func(context.Context, probe) bool
	changed func() // called when a standing changed

	mu      sync.Mutex
	running map[probe]*check
	all     sync.WaitGroup
}

type check struct {
	stop context.CancelFunc
	verdict
}

func newChecks(attempt func(context.Context, probe) bool, changed func()) *checks {
	return &checks{attempt: attempt, changed: changed, running: map[probe]*check{}}
}

// set starts and stops checks until those that are wanted run. They end with ctx.
func (c *checks) set(ctx context.Context, wanted map[probe]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, running := range c.running {
		if !wanted[p] {
			running.stop()
			delete(c.running, p)
		}
	}
	for p := range wanted {
		if c.running[p] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		started := &check{stop: stop}
		c.running[p] = started
		c.all.Go(func() {
			defer stop()
			c.run(own, p, started)
		})
	}
}

func (c *checks) run(ctx context.Context, p probe, of *check) {
	ticker := time.NewTicker(p.how.Value().interval)
	defer ticker.Stop()
	for {
		ok := c.attempt(ctx, p)
		if ctx.Err() != nil {
			return // the attempt may have failed because ctx ended
		}
		c.record(p, of, ok)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *checks) record(p probe, of *check, ok bool) {
	c.mu.Lock()
	before, how := of.standing, p.how.Value()
	of.verdict = of.next(ok, how.rise, how.fall)
	changed := of.standing != before
	c.mu.Unlock()
	if changed {
		c.changed()
	}
}

func (c *checks) standing(p probe) standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running := c.running[p]; running != nil {
		return running.standing
	}
	return unknown
}

// wait returns when all checks have ended.
func (c *checks) wait() { c.all.Wait() }
