// Package clock is the time the simulated cloud lives in: the real one, shifted, or standing still.
package clock

import (
	"sync"
	"time"
)

// Clock is the clock of the cloud. It runs with the real one until it is set.
type Clock struct {
	realNow func() time.Time

	mu     sync.Mutex
	shift  time.Duration // added to the real time while the clock runs
	stands bool
	frozen time.Time // the time while the clock stands
}

// New returns a clock that runs with the real time.
func New(realNow func() time.Time) *Clock { return &Clock{realNow: realNow} }

// Now returns the time in UTC, without a monotonic part, so that it survives JSON unchanged.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	if c.stands {
		return c.frozen
	}
	return c.realNow().Add(c.shift).UTC().Round(0)
}

// Set stops the clock at a time.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stands, c.frozen = true, t.UTC().Round(0)
}

// Advance moves the clock, whether it runs or stands.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stands {
		c.frozen = c.frozen.Add(d)
	} else {
		c.shift += d
	}
}

// Real lets the clock run with the real time again.
func (c *Clock) Real() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift, c.stands = 0, false
}

// Frozen reports whether the clock stands.
func (c *Clock) Frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stands
}
