// Package busytime learns how long the cloud works on a change: until then it refuses the next change of the same resource as
// busy, and a refused call is a call of the budget spent for nothing.
package busytime

import (
	"sync"
	"time"
)

// Longest is the longest pause: what takes longer is another matter, e.g. a change from the console.
const Longest = 5 * time.Second

const (
	// shortest is the shortest pause: less is no pause at all.
	shortest = 10 * time.Millisecond
	// rise is the factor for the pause when it was too short; steepRise if the write before was refused, too, which means that
	// the cloud has become slower and not that one resource had more to do.
	rise, steepRise = 1.15, 1.5
	// fall is the part of the pause that one write in probeEvery waits, to see whether that would do; in hasteEvery while it
	// does, since then the cloud has become faster. The refused ones are the price.
	fall                   = 0.9
	probeEvery, hasteEvery = 50, 10
)

// Estimator estimates the pause that is needed between two changes. It starts without one, learns from the first refusal, and
// lets one write in 50 wait a little less. It is safe for concurrent use.
type Estimator struct {
	mu      sync.Mutex
	pause   time.Duration
	left    int // writes until the next one that waits less
	refused int // in a row, in spite of the pause
}

// Pause is the present estimate.
func (e *Estimator) Pause() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pause
}

// Next gives how long a change is to wait that could be made so long after the one before.
func (e *Estimator) Next(after time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if after >= e.pause {
		return 0
	}
	pause := e.pause
	if e.left--; e.left <= 0 {
		e.left = probeEvery
		pause = time.Duration(fall * float64(pause))
	}
	return max(0, pause-after)
}

// Accepted says that a change was taken so long after the one before.
func (e *Estimator) Accepted(after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = 0
	if after < e.pause {
		e.left = min(e.left, hasteEvery)
		e.set(after)
	}
}

// Refused says that a change was refused as busy so long after the one before.
func (e *Estimator) Refused(after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if after < e.pause || after > Longest {
		return // It did not wait, or is not about the change before.
	}
	e.refused++
	factor := rise
	if e.refused > 1 {
		factor = steepRise
	}
	e.set(time.Duration(factor * float64(e.pause)))
}

// Sufficed says that a change that had been refused was taken so long after the one before: no longer pause is needed.
func (e *Estimator) Sufficed(after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.pause == 0:
		e.left = hasteEvery // The first one may be much too long.
		e.set(after)
	case after < e.pause:
		e.set(after)
	}
}

func (e *Estimator) set(pause time.Duration) {
	e.pause = min(pause, Longest)
	if e.pause < shortest {
		e.pause = 0
	}
}
