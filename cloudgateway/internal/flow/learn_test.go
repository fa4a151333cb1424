package flow

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

const learned = "CreateVServerGroup"

// cloud grants calls as the simulated cloud does, and knows what it granted.
type cloud struct {
	budget  *Budget
	limiter *limit.Limiter
	latency time.Duration // there and back
	tells   bool          // for how long it throttles

	mu        sync.Mutex
	granted   []time.Time
	throttled int
}

var errThrottled = errors.New("throttled")

func newCloud(b *Budget, calls int, window time.Duration) *cloud {
	return &cloud{
		budget: b, latency: 160 * time.Millisecond,
		limiter: limit.New(limit.Table{"slb/" + learned: {Calls: calls, Window: api.Duration(window)}}, true),
	}
}

// call makes one call that the budget has let go.
func (c *cloud) call() error {
	pass(c.latency / 2)
	wait, ok := c.limiter.Allow("slb", learned, time.Now())
	c.mu.Lock()
	if ok {
		c.granted = append(c.granted, time.Now())
	} else {
		c.throttled++
	}
	c.mu.Unlock()
	pass(c.latency / 2)
	if ok {
		return nil
	}
	if !c.tells {
		wait = 0
	}
	c.budget.Throttled("slb", learned, wait)
	return errThrottled
}

// TestKeepsToTheShareInTheLongRun: who knows the limit never uses more than the share of it. Learning takes from what is left for
// others, but seldom, and has found the share after twenty minutes.
func TestKeepsToTheShareInTheLongRun(t *testing.T) {
	tests := []struct {
		name       string
		truth      int
		window     time.Duration // those of a second are token buckets of the cloud
		documented int
		upTo       float64
		silent     bool // the cloud does not tell for how long it throttles
		run        time.Duration
		most       float64 // part of the share that is used
	}{
		{name: "right, 90 a minute", truth: 90, window: time.Minute, documented: 90, upTo: 1, run: 6 * time.Hour, most: 1},
		{name: "twice 90 a minute", truth: 90, window: time.Minute, documented: 180, upTo: 1, run: 6 * time.Hour, most: 1.02},
		{name: "half of 90 a minute", truth: 90, window: time.Minute, documented: 45, upTo: 4, run: 6 * time.Hour, most: 1.02},
		{name: "right, 10 a second", truth: 10, window: time.Second, documented: 10, upTo: 1, run: time.Hour, most: 1},
		{name: "twice 10 a second", truth: 10, window: time.Second, documented: 20, upTo: 1, run: 3 * time.Hour, most: 1.02},
		{name: "twice 10 a second, silent", truth: 10, window: time.Second, documented: 20, upTo: 1, silent: true, run: 3 * time.Hour, most: 1.02},
		{name: "half of 10 a second", truth: 10, window: time.Second, documented: 5, upTo: 4, run: 3 * time.Hour, most: 1.02},
		{name: "twice 50 a second", truth: 50, window: time.Second, documented: 100, upTo: 1, run: time.Hour, most: 1.02},
		{name: "half of 50 a second", truth: 50, window: time.Second, documented: 25, upTo: 4, run: 2 * time.Hour, most: 1.02},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(t, func(cfg *Config) {
					cfg.LearnUpTo = tt.upTo
					cfg.Overrides = map[string]Limit{"slb/" + learned: {Calls: tt.documented, Window: tt.window}}
				})
				c := newCloud(b, tt.truth, tt.window)
				c.tells = !tt.silent
				const least = 0.95
				begun := time.Now()
				work(t, c, tt.run)
				used := c.used(begun, tt.run, tt.truth, tt.window)
				soon := c.used(begun.Add(20*time.Minute), 20*time.Minute, tt.truth, tt.window)
				throttled := float64(c.throttled) / float64(len(c.granted)+c.throttled)
				t.Logf("%.1f %% of the share used in %s, %.1f %% after twenty minutes, %d calls throttled (%.3f %%)",
					100*used, tt.run, 100*soon, c.throttled, 100*throttled)
				if used < least || used > tt.most {
					t.Errorf("%.1f %% of the share used, want %.0f to %.0f", 100*used, 100*least, 100*tt.most)
				}
				if soon < least {
					t.Errorf("%.1f %% of the share used after twenty minutes, want %.0f", 100*soon, 100*least)
				}
				if tt.most == 1 && c.throttled > 0 || throttled > 0.001 {
					t.Errorf("%.2f %% of calls throttled, want at most 0.1", 100*throttled)
				}
			})
		})
	}
}

// used is the part of the share that was granted in a time.
func (c *cloud) used(from time.Time, d time.Duration, truth int, window time.Duration) float64 {
	granted := 0
	for _, at := range c.granted {
		if since := at.Sub(from); since >= 0 && since < d {
			granted++
		}
	}
	return float64(granted) / (float64(d/window) * DefaultShare * float64(truth))
}

// TestLearnsFromAWrongEstimate: 1 000 writes are queued at once, and the cloud's limit is not the documented one.
func TestLearnsFromAWrongEstimate(t *testing.T) {
	const (
		queued = 1000
		truth  = 90
		share  = DefaultShare
		window = time.Minute
	)
	tests := []struct {
		name       string
		documented int
		upTo       float64       // LearnUpTo
		tells      bool          // the cloud tells when to come back
		phase      time.Duration // of the cloud's minute, when the writes come
		unharmed   bool          // nothing is throttled
	}{
		{name: "right", documented: truth, upTo: 1, unharmed: true},
		{name: "right, and allowed to learn more", documented: truth, upTo: 4},
		{name: "twice the truth", documented: 2 * truth, upTo: 1},
		{name: "twice, in the middle of a minute", documented: 2 * truth, upTo: 1, phase: 25 * time.Second},
		{name: "twice, at the end of a minute", documented: 2 * truth, upTo: 1, phase: 50 * time.Second},
		{name: "twice, and told when to come back", documented: 2 * truth, upTo: 1, tells: true, phase: 40 * time.Second},
		{name: "half the truth", documented: truth / 2, upTo: 4},
		{name: "half, in the middle of a minute", documented: truth / 2, upTo: 4, phase: 35 * time.Second},
		{name: "half, and told when to come back", documented: truth / 2, upTo: 4, tells: true, phase: 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(t, func(cfg *Config) {
					cfg.Share, cfg.LearnUpTo = share, tt.upTo
					cfg.Overrides = map[string]Limit{"slb/" + learned: {Calls: tt.documented, Window: window}}
				})
				c := newCloud(b, truth, window)
				c.tells = tt.tells
				pass(tt.phase)
				begin := time.Now()
				var work sync.WaitGroup
				for range queued {
					work.Go(func() {
						for {
							if err := b.Acquire(as(t.Context(), "bulk", Change), "slb", learned); err != nil {
								t.Error(err)
								return
							}
							if c.call() == nil {
								return
							}
						}
					})
				}
				work.Wait()
				late := 0 // writes after the first two windows
				for _, at := range c.granted {
					if at.Sub(begin) >= 2*window {
						late++
					}
				}
				windows := float64(time.Since(begin)-2*window) / float64(window)
				used := float64(late) / (windows * (share * truth))
				throttled := float64(c.throttled) / float64(queued+c.throttled)
				t.Logf("%.1f %% of the share used after two windows, %d of %d calls throttled (%.2f %%), %s in all",
					100*used, c.throttled, queued+c.throttled, 100*throttled, time.Since(begin).Round(time.Second))
				if used < 0.95 {
					t.Errorf("%.1f %% of the share used after two windows, want 95", 100*used)
				}
				if tt.unharmed && c.throttled > 0 {
					t.Errorf("%d calls throttled", c.throttled)
				}
				if throttled >= 0.01 {
					t.Errorf("%.2f %% of calls throttled, want less than 1", 100*throttled)
				}
			})
		})
	}
}
