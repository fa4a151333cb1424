package flow

import "time"

const (
	growth       = 0.5              // of the documented limit, by which an estimate grows in a minute in which calls had to wait
	leastPart    = 1.0 / 16         // of the documented limit: no throttling makes an estimate lower
	shortestHold = 4 * time.Minute  // for which an estimate does not grow after throttling
	longestHold  = 64 * time.Minute // after throttling that came again each time the estimate grew
)

// estimate is what the gateway believes the cloud's limit of an action to be, in calls per window. It starts from the
// documented limit and learns in the manner of AIMD.
//
// Down: when the cloud throttles, it has granted a certain number of calls in its window, and that is the estimate from then on;
// at most half is taken away at once, since others may have spent the rest of the window for once. Up: while calls wait and
// none is throttled, the estimate grows by the same amount in each minute, to the documented limit, or beyond it if that is
// allowed. Growth pauses after throttling, twice as long each time it has led to throttling again: the cloud's limit can only be
// found by hitting it, and that takes away the calls left for others.
type estimate struct {
	documented float64
	most       float64 // that it may grow to
	step       float64 // by which it grows in a window
	bucket     bool    // the cloud has no windows to count in
	calls      float64 // believed at present

	before    float64 // what was believed before the last throttling
	granted   int     // calls that the cloud granted in the window of the last throttling
	throttled time.Time
	hold      time.Duration
	holdUntil time.Time
}

// newEstimate starts from a documented limit. UpTo is how many times of that it may grow to, at least 1.
func newEstimate(documented Limit, upTo float64) estimate {
	calls := float64(documented.Calls)
	step := growth * calls * min(1, documented.Window.Minutes())
	return estimate{documented: calls, most: calls * max(1, upTo), step: step, bucket: documented.isBucket(), calls: calls}
}

// grow tells that one of so many calls per window went while others were waiting.
func (e *estimate) grow(now time.Time, perWindow int) {
	if now.Before(e.holdUntil) {
		return
	}
	e.calls = min(e.most, e.calls+e.step/float64(perWindow))
}

// refused tells that the cloud throttles until a time, and how many calls it has granted in its window.
func (e *estimate) refused(now, until time.Time, granted int) {
	if !e.throttled.IsZero() && now.Sub(e.throttled) <= 3*e.hold { // The pause, and time to grow.
		e.hold = min(2*e.hold, longestHold)
	} else {
		e.hold = shortestHold
	}
	e.throttled, e.holdUntil = now, until.Add(e.hold)
	e.before, e.granted = e.calls, granted
	e.fall()
}

// refusedToo tells that another call was refused that had been sent before the refusal was known, and counted as granted. One
// among the many that a bucket has granted makes no difference.
func (e *estimate) refusedToo() {
	if !e.bucket {
		e.granted--
		e.fall()
	}
}

// fall lowers the estimate to what was granted, within bounds.
func (e *estimate) fall() {
	const atLeastLower = 7.0 / 8
	e.calls = min(max(float64(e.granted), e.before/2, e.documented*leastPart), e.before*atLeastLower)
	e.calls = max(1, e.calls)
}
