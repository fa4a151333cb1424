package flow

import (
	"math"
	"time"
)

const (
	clockMargin = 250 * time.Millisecond // by which the cloud's clock may differ from ours
	lateMargin  = time.Second            // a call that is sent so shortly before the end of a window may be counted in the next
	epsilon     = 1e-9                   // tokens are computed in floating point

	shortestPeriod = 10 * time.Second // in which calls are counted for learning

	evenStart = 0.25       // of a window's calls go at once where others use the limit too
	longStart = 1 - 1.0/8  // of a window's calls go at once while more wait than this window has left
	rampTime  = 1.0 / 32   // of a window, in which its calls go at the earliest
	rampBurst = 1.0 / 16   // of a window's calls, that may go in one moment
	probeRate = 5          // calls a second at least after a takeover: the refusal of one comes back before the next has left
	bucketCap = 1 - 1.0/16 // of the depth of the cloud's bucket: calls may arrive closer together than they left
)

// pacer decides when calls of one action may go. It does not know the callers, and reads no clock: the time is a parameter.
//
// The cloud counts most calls in windows that begin with those of the clock, minutes as a rule. So a counter is all that has to be
// remembered. In each window the calls go as early as they may, so fast that the refusal of one comes back before the last has left. If
// other clients use the limit too, a quarter of the calls goes at once and the rest evenly, so that all clients are
// refused as often. While more calls wait than a window holds, an eighth goes evenly too: it costs no time, those that
// come later do not have to wait for the next window, and other clients that use the limit are noticed.
//
// Limits of a second are buckets of the cloud, which the pacer imitates.
type pacer struct {
	window time.Duration
	calls  int  // that may go in a window
	even   bool // others use the limit too

	start, end  time.Time // of the present window
	opens       time.Time // when its first call may go
	sent        int       // in it
	inherited   bool      // it is not known what another process has sent in it
	late        int       // of them after its lateMargin: the cloud may count them in the next window
	second      int       // of them in its second half
	secondBegan time.Time // when the first of those went
	refused     int       // of them
	blocked     bool      // a call had to wait for more than the ramp
	before      int       // sent in the second half of the window before
	beforeBegan time.Time
	anchored    bool // the cloud's windows do not begin with the clock's: ours begin with their first call

	tokens  float64
	updated time.Time

	pausedUntil time.Time
}

func newPacer(limit Limit, now time.Time) *pacer {
	p := &pacer{window: limit.Window, calls: limit.Calls, updated: now}
	p.begin(now)
	p.tokens = p.depth()
	return p
}

func (p *pacer) isBucket() bool { return Limit{Window: p.window}.isBucket() }

// period is the time in which calls are counted: the window, or longer where windows are short.
func (p *pacer) period() time.Duration { return max(p.window, shortestPeriod) }

// begin starts the window that now is in. All later times derive from now, so that they go by the monotonic clock.
func (p *pacer) begin(now time.Time) {
	p.start = now
	if !p.anchored {
		p.start = now.Add(-now.Sub(now.Truncate(p.period())))
	}
	p.end, p.opens = p.start.Add(p.period()), p.start
}

// advance brings the state to now. It reports whether a window has ended, and whether calls had to wait in it.
func (p *pacer) advance(now time.Time) (ended, blocked bool) {
	if elapsed := now.Sub(p.updated); elapsed > 0 {
		p.tokens = min(p.depth(), p.tokens+elapsed.Seconds()*p.rate())
		p.updated = now
	}
	if now.Before(p.end) {
		return false, false
	}
	blocked = p.blocked
	sent, late, second, secondBegan := p.sent, p.late, p.second, p.secondBegan
	if now.Sub(p.end) >= p.period() {
		sent, late, second = 0, 0, 0
	}
	p.begin(now)
	if sent > p.calls/2 || p.inherited {
		p.opens = p.opened(p.start) // the cloud may still be counting in a window that is full
	}
	p.sent, p.late, p.second, p.refused, p.blocked, p.inherited = late, 0, 0, 0, false, false
	p.before, p.beforeBegan = second, secondBegan
	return true, blocked
}

// resize changes how many calls may go in a window.
func (p *pacer) resize(calls int, even bool) {
	p.calls, p.even = calls, even
	p.tokens = min(p.tokens, p.depth())
}

// depth is the number of calls that may go in one moment.
func (p *pacer) depth() float64 {
	switch calls := float64(p.calls); {
	case p.inherited:
		return 1
	case !p.isBucket():
		return max(2, calls*rampBurst)
	case p.even:
		return max(1, calls/2)
	default:
		return max(1, calls*bucketCap)
	}
}

// rate is the number of calls per second that may go after those.
func (p *pacer) rate() float64 {
	perSecond := float64(p.calls) / p.window.Seconds()
	switch {
	case p.isBucket():
		return perSecond
	case p.inherited:
		return max(probeRate, perSecond)
	default:
		return max(1, perSecond/rampTime)
	}
}

// take lets a call go if it may. Long says that more calls wait than the window has left.
func (p *pacer) take(now time.Time, long bool) bool {
	if wait := p.wait(now, 1, long); wait > 0 {
		if p.isBucket() || p.tokens >= 1 {
			p.blocked = true
		}
		return false
	}
	p.sent++
	p.tokens = max(0, p.tokens-1)
	if p.end.Sub(now) <= lateMargin {
		p.late++
	}
	if p.end.Sub(now) <= p.window/2 {
		if p.second == 0 {
			p.secondBegan = now
		}
		p.second++
	}
	return true
}

// wait returns how long it is until the n-th call from now may go, n at least 1.
func (p *pacer) wait(now time.Time, n int, long bool) time.Duration {
	p.advance(now)
	opens := maxTime(p.opens, p.pausedUntil)
	wait := seconds((float64(n) - p.tokens - epsilon) / p.rate())
	if pause := opens.Sub(now); pause > 0 {
		wait = max(wait, pause+seconds((float64(n)-p.depth()-epsilon)/p.rate()))
	}
	if p.isBucket() {
		return wait
	}
	if over := p.sent + n - p.calls; over > 0 {
		windows, nth := (over-1)/p.calls, (over-1)%p.calls+1
		begins := p.end.Add(time.Duration(windows) * p.window)
		return max(wait, p.opened(begins).Sub(now), begins.Add(p.due(nth, n > p.calls)).Sub(now))
	}
	return max(wait, p.start.Add(p.due(p.sent+n, long)).Sub(now))
}

// opened is when the first call of a window may go that follows a full one.
func (p *pacer) opened(start time.Time) time.Time {
	if p.isBucket() || p.anchored {
		return start
	}
	return start.Add(clockMargin)
}

// due is when the n-th call of a window may go, since its beginning.
func (p *pacer) due(n int, long bool) time.Duration {
	start := 1.0
	switch {
	case p.even:
		start = evenStart
	case long:
		start = longStart
	}
	part := float64(n-1) / float64(p.calls)
	if part <= start {
		return 0
	}
	return time.Duration((part - start) / (1 - start) * float64(p.window-lateMargin))
}

// throttled stops all calls because the cloud refused one. Without the cloud's word this is until the next window begins.
func (p *pacer) throttled(now time.Time, retryAfter time.Duration) refusal {
	p.advance(now)
	again := now.Before(p.pausedUntil)
	p.refused++
	r := refusal{granted: max(0, p.sent-p.refused), again: again, inherited: p.inherited}
	resume := p.end.Add(clockMargin)
	switch {
	case p.isBucket():
		resume = now.Add(max(retryAfter, p.window)) // also if retryAfter is less: calls under way must not count as refused again
	case retryAfter > 0:
		resume = now.Add(retryAfter)
	case !again && !p.anchored && !p.even && r.granted < p.calls/2 && r.granted+p.before >= p.calls:
		// This window and the end of the one before it hold a window's calls: the cloud's windows are others than the clock's.
		r.inherited, p.anchored = true, true
		p.end = p.beforeBegan.Add(p.window)
		resume = p.end.Add(clockMargin)
	}
	p.pausedUntil = maxTime(p.pausedUntil, resume)
	p.tokens = 0
	return r
}

// refusal is what is learned from a call that the cloud refused for its rate.
type refusal struct {
	granted   int  // calls that went in the window before
	again     bool // calls were stopped already: this one had been under way
	inherited bool // what was granted in the window does not explain it
}

// takeOver says that another process may have called up to now, it is not known how often. The rest of the window is used all the same, one
// call after the other: a user's single change must not wait for the next window because many might have gone before
// it. If the window is full, one call is refused, and the others wait; this says nothing about other clients that use
// the limit.
func (p *pacer) takeOver(now time.Time) {
	p.advance(now)
	p.tokens, p.inherited = 0, true
}

// seconds is a time that is not negative.
func seconds(s float64) time.Duration {
	return time.Duration(math.Ceil(max(0, s) * float64(time.Second)))
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
