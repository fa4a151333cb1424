package flow

import (
	"math"
	"sort"
	"time"
)

const (
	clockMargin = 250 * time.Millisecond
	epsilon     = 1e-9 // tokens are computed in floating point
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

	sent      []stamp   // in the last window, oldest first
	bursts    int       // how many of them were ahead of the even pace
	burstPaid time.Time // when the last of those is out of the window
	seconds   seconds
	tokens    float64
	updated   time.Time

	coolUntil time.Time // nothing goes before
}

// stamp is a call that went.
type stamp struct {
	at    time.Time
	burst bool
}

func newPacer(limit Limit, now time.Time) *pacer {
	p := &pacer{limit: Limit{Window: limit.Window}, updated: now}
	p.resize(now, limit.Calls)
	p.tokens = float64(p.burst)
	return p
}

// resize changes how many calls may go in a window.
func (p *pacer) resize(now time.Time, calls int) {
	if calls == p.limit.Calls {
		return
	}
	p.advance(now)
	p.limit.Calls = calls
	p.burst = max(calls/2, min(calls, 2))
	p.reserve = p.burst / 8
	p.tokens = min(p.tokens, float64(p.burst))
}

// takeOver makes the pacer one whose window was full at a time: another process called until then, nobody knows how often. It goes
// on at the even pace at which that one may have left off, without a burst.
func (p *pacer) takeOver(until time.Time) {
	p.sent, p.bursts, p.updated = p.sent[:0], 0, until
	p.tokens = float64(p.reserve)
	calls := p.limit.Calls
	for i := range calls {
		p.sent = append(p.sent, stamp{at: until.Add(-p.limit.Window * time.Duration(calls-1-i) / time.Duration(calls))})
	}
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
		p.burstPaid = now.Add(p.limit.Window)
	}
	p.sent = append(p.sent, stamp{at: now, burst: ahead})
	p.seconds.add(now)
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
		wait += p.earn(now.Add(wait), missing)
	}
	if over := len(p.sent) + n - p.limit.Calls; over > 0 {
		// The over-th oldest call has to leave the window first; beyond the calls sent so far, another window each time round.
		rounds, index := (over-1)/p.limit.Calls, (over-1)%p.limit.Calls
		if over <= len(p.sent) {
			rounds, index = 0, over-1 // more went than may now, because the limit was higher
		}
		leaves := now.Add(p.limit.Window)
		if index < len(p.sent) {
			leaves = p.sent[index].at.Add(p.limit.Window)
		}
		wait = max(wait, leaves.Add(time.Duration(rounds)*p.limit.Window).Sub(now))
	}
	return wait
}

// throttled stops all calls because the cloud refused one. Without the cloud's word this is until the next window of the clock
// begins. It returns until when, how many calls the cloud granted in its window, and whether calls were already stopped: then
// the refused call had been under way.
func (p *pacer) throttled(now time.Time, retryAfter time.Duration) (until time.Time, granted int, again bool) {
	p.advance(now)
	resume := now.Add(retryAfter)
	switch {
	case p.limit.isBucket():
		resume = now.Add(max(retryAfter, p.limit.Window)) // also if told less: calls under way must not count as refused again
		granted = int(math.Round(p.seconds.granted(now)))
	case retryAfter > p.limit.Window:
		granted = p.sentSince(now.Add(-p.limit.Window)) - 1
	case retryAfter > 0:
		granted = p.sentSince(resume.Add(-p.limit.Window)) - 1
	default:
		begun := now.Truncate(p.limit.Window)
		resume = begun.Add(p.limit.Window + clockMargin)
		granted = p.sentSince(begun) - 1
	}
	again = now.Before(p.coolUntil)
	p.coolUntil = maxTime(p.coolUntil, resume)
	p.tokens, p.bursts, p.burstPaid = 0, 0, now
	for i := range p.sent {
		p.sent[i].burst = false // the pause pays for it
	}
	return p.coolUntil, granted, again
}

// sentSince counts the calls that went since a time in the last window.
func (p *pacer) sentSince(t time.Time) int {
	return len(p.sent) - sort.Search(len(p.sent), func(i int) bool { return !p.sent[i].at.Before(t) })
}

// advance brings the state to now.
func (p *pacer) advance(now time.Time) {
	if from := maxTime(p.updated, p.coolUntil); now.After(from) {
		slow := min(now.Sub(from), max(0, p.burstPaid.Sub(from)))
		p.tokens = min(float64(p.burst), p.tokens+slow.Seconds()*p.rate()+(now.Sub(from)-slow).Seconds()*p.evenRate())
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

// earn is how long it takes from then on until so many tokens have come, if those that are there go first.
func (p *pacer) earn(from time.Time, tokens float64) time.Duration {
	slow, paid := p.rate(), p.burstPaid
	if more := int(p.tokens) - p.reserve - 1; more > 0 {
		slow, paid = p.rateAfter(p.bursts+more), from.Add(p.limit.Window)
	}
	seconds := tokens / slow
	if left := max(0, paid.Sub(from).Seconds()); seconds > left {
		seconds = left + (tokens-left*slow)/p.evenRate()
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

// evenRate is the number of tokens that come per second when no burst has to be paid back.
func (p *pacer) evenRate() float64 { return float64(p.limit.Calls) / p.limit.Window.Seconds() }

// rate is the number of tokens that come per second now.
func (p *pacer) rate() float64 { return p.rateAfter(p.bursts) }

// rateAfter is the rate that pays back so many calls that went ahead of the even pace.
func (p *pacer) rateAfter(bursts int) float64 {
	if bursts > 0 {
		bursts = min(bursts+p.reserve+1, p.limit.Calls-1) // the end of a burst is not ahead by the rule of take, yet came with it
	}
	return float64(p.limit.Calls-bursts) / p.limit.Window.Seconds()
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
