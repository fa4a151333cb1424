package flow

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRestartUnderLoad: a gateway is killed while it is at its limit, or just after a burst, and another one goes on at once. Who
// knows of the one before throttles nobody; who doesn't has a few calls refused and learns from them.
func TestRestartUnderLoad(t *testing.T) {
	const truth = 90
	tests := []struct {
		name  string
		ran   time.Duration // before the kill
		knows bool          // of the one before
		most  float64       // part of the calls of the hour that may be throttled
	}{
		{name: "at its limit, known", ran: 10 * time.Minute, knows: true, most: 0},
		{name: "at its limit, not known", ran: 10 * time.Minute, most: 0.01},
		{name: "after a burst, known", ran: time.Second, knows: true, most: 0.01},
		{name: "after a burst, not known", ran: time.Second, most: 0.01},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := func(cfg *Config) {
					cfg.Overrides = map[string]Limit{"slb/" + learned: {Calls: truth, Window: time.Minute}}
				}
				c := newCloud(newBudget(t, limits), truth, time.Minute)
				work(t, c, tt.ran)
				before := len(c.granted)
				c.budget = newBudget(t, limits)
				if tt.knows {
					c.budget.TakeOver(time.Now())
				}
				work(t, c, time.Hour)
				sent := len(c.granted) - before + c.throttled
				part := float64(c.throttled) / float64(sent)
				t.Logf("%d of %d calls throttled (%.2f %%)", c.throttled, sent, 100*part)
				if part > tt.most {
					t.Errorf("%.2f %% of calls throttled, want at most %.0f", 100*part, 100*tt.most)
				}
				if share := DefaultShare * truth * 60; float64(sent) < 0.95*share {
					t.Errorf("%d calls in an hour, want about %.0f", sent, share)
				}
			})
		})
	}
}

// work makes calls for a while, as many as the budget lets go.
func work(t *testing.T, c *cloud, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(as(t.Context(), "bulk", Change), d)
	defer stop()
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for c.budget.Acquire(ctx, "slb", learned) == nil {
				_ = c.call() // what was throttled comes again with the next
			}
		})
	}
	workers.Wait()
}
