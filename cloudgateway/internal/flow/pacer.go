package flow

import (
	"math"
	"time"
)

const (
	leastFactor    = 1.0 / 16 // throttling never slows a pacer further
	recoverWindows = 4        // windows in which a pacer recovers from nothing to its full rate
	clockMargin    = 250 * time.Millisecond
	epsilon        = 1e-9 // tokens are computed in floating point
)

// pacer decides when calls of one action may go. It knows nothing of who calls, and of time only what it is told.
//
// The cloud counts calls in windows of the clock, whose phase is not known. So the pacer lets no more than limit.Calls go in any
// window, wherever that begins: it remembers when calls went. Below that cap it is a token bucket: after a quiet time half a
// window's calls may go at once; while calls are waiting they go evenly. A burst is paid back by a slower pace until it is out
// of the window, so that the cap is not hit and calls do not come in waves.
type pacer struct {
	limit   Limit
	burst   int // capacity of the bucket
	reserve int // tokens that only privileged calls may take

	sent    []stamp // in the last window, oldest first
	bursts  int     // how many of them were ahead of the even pace
	tokens  float64
	updated time.Time

	factor    float64   // of the even pace, 1 unless the cloud has throttled
	factorAt  time.Time // since when it recovers
	coolUntil time.Time // nothing goes before
}

// stamp is a call that went.
type stamp struct {
	at    time.Time
	burst bool
}

func newPacer(limit Limit, now time.Time) *pacer {
	burst := max(limit.Calls/2, min(limit.Calls, 2))
	return &pacer{limit: limit, burst: burst, reserve: burst / 8, tokens: float64(burst), updated: now, factor: 1, factorAt: now}
}

// take lets a call go if it may. The call is privileged if it may take from the reserve.
func (p *pacer) take(now time.Time, privileged bool) bool {
	p.advance(now)
	if p.wait(now, 1, privileged) > 0 {
		return false
	}
	ahead := p.tokens >= float64(2+p.reserve)
	if ahead {
		p.bursts++
	}
	p.sent = append(p.sent, stamp{at: now, burst: ahead})
	p.tokens = max(0, p.tokens-1)
	return true
}

// wait returns how long it is until the n-th call from now may go, n at least 1.
func (p *pacer) wait(now time.Time, n int, privileged bool) time.Duration {
	p.advance(now)
	wait := max(0, p.coolUntil.Sub(now))
	missing := float64(n) - p.tokens
	if !privileged {
		missing += float64(p.reserve)
	}
	if missing > epsilon {
		wait += time.Duration(math.Ceil(missing / p.rate(now) * float64(time.Second)))
	}
	if over := len(p.sent) + n - p.limit.Calls; over > 0 {
		// The over-th oldest call has to leave the window first; beyond the calls sent so far, another window each time round.
		rounds, index := (over-1)/p.limit.Calls, (over-1)%p.limit.Calls
		leaves := now.Add(p.limit.Window)
		if index < len(p.sent) {
			leaves = p.sent[index].at.Add(p.limit.Window)
		}
		wait = max(wait, leaves.Add(time.Duration(rounds)*p.limit.Window).Sub(now))
	}
	return wait
}

// throttled slows down because the cloud refused a call, and returns how long nothing goes. Without the cloud's word this is
// until the next window of the clock begins. Refusals of calls that were already under way count once.
func (p *pacer) throttled(now time.Time, retryAfter time.Duration) time.Duration {
	p.advance(now)
	if retryAfter <= 0 {
		next := now.Truncate(p.limit.Window).Add(p.limit.Window)
		retryAfter = next.Sub(now) + clockMargin
	}
	until := now.Add(retryAfter)
	if now.After(p.coolUntil) || p.coolUntil.IsZero() {
		p.factor = max(leastFactor, p.currentFactor(now)/2)
	}
	if until.After(p.coolUntil) {
		p.coolUntil, p.factorAt = until, until
	}
	p.tokens = 0
	return p.coolUntil.Sub(now)
}

// advance brings the state to now.
func (p *pacer) advance(now time.Time) {
	if from := maxTime(p.updated, p.coolUntil); now.After(from) {
		p.tokens = min(float64(p.burst), p.tokens+now.Sub(from).Seconds()*p.rate(now))
	}
	p.updated = maxTime(p.updated, now)
	gone := 0
	for gone < len(p.sent) && now.Sub(p.sent[gone].at) >= p.limit.Window {
		if p.sent[gone].burst {
			p.bursts--
		}
		gone++
	}
	p.sent = p.sent[gone:]
}

// rate is the number of tokens that come per second.
func (p *pacer) rate(now time.Time) float64 {
	ahead := p.bursts
	if ahead > 0 {
		ahead = min(ahead+p.reserve+1, p.limit.Calls-1) // the end of a burst is not ahead by the rule of take, yet came with it
	}
	return p.currentFactor(now) * float64(p.limit.Calls-ahead) / p.limit.Window.Seconds()
}

// currentFactor recovers by the same amount in every window since the last throttling.
func (p *pacer) currentFactor(now time.Time) float64 {
	recovered := now.Sub(p.factorAt).Seconds() / (recoverWindows * p.limit.Window.Seconds())
	return min(1, p.factor+max(0, recovered))
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
