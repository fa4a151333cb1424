package flow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// mostWaitingInAll bounds the calls of all callers that wait for one action.
const mostWaitingInAll = 4 * mostWaiting

// limiter is the budget of one action: an allowance, a pacer that keeps to it, a queue in front of the pacer, and a pacer each for
// what keeps to the share together and for every caller that may not use all of that.
type limiter struct {
	name    string
	cfg     *config.Budget
	metrics actionMetrics
	log     *slog.Logger

	mu        sync.Mutex
	allowance allowance
	pacer     *pacer
	share     *pacer            // of the calls that keep to it
	bounded   map[string]*pacer // by caller
	sentBy    map[string]int32  // by caller as in the metrics, in the pacer's window
	refusals  int64             // by the cloud, since the start
	queue     queue
	timer     *time.Timer // runs dispatch when the next call may go; nil if no call waits
}

func newLimiter(name string, cfg *config.Budget, documented Limit, metrics actionMetrics, log *slog.Logger) *limiter {
	now := time.Now()
	l := &limiter{
		name: name, cfg: cfg, metrics: metrics, log: log,
		allowance: newAllowance(documented, cfg.Share, cfg.LearnUpTo),
		pacer:     newPacer(documented, now),
		bounded:   make(map[string]*pacer),
		sentBy:    make(map[string]int32),
		queue:     queue{budgets: cfg.Callers},
	}
	l.share = newPacer(Limit{Calls: l.shared(1), Window: documented.Window}, now)
	l.adjust()
	return l
}

// shared is a part of what the gateway may send in a window beside others.
func (l *limiter) shared(of float64) int {
	return part(min(l.allowance.share, l.allowance.calls), of)
}

// takeOver forgets what is known of the window if another process may have called in it, up to a time.
func (l *limiter) takeOver(until, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	if until.Before(l.pacer.start) {
		return
	}
	l.pacer.takeOver(now)
	l.dispatch(now)
}

// advance brings the pacer to now. The allowance learns from windows that have ended.
func (l *limiter) advance(now time.Time) {
	refused := l.pacer.refused > 0
	ended, blocked := l.pacer.advance(now)
	if ended {
		clear(l.sentBy)
	}
	if ended && blocked && !refused {
		l.allowance.waited()
		l.adjust()
	}
}

func (l *limiter) acquire(ctx context.Context, caller Caller) error {
	w, err := l.enqueue(ctx, caller)
	if err != nil {
		return err
	}
	defer taskFrom(ctx).track(l, w, caller)()
	// Its turn may come later than was expected. It waits as long as there is time for the call itself after that: a call that is sent
	// later has no answer before its deadline, and looks like a cloud that does not answer.
	inTime := ctx
	if !w.deadline.IsZero() {
		var cancel context.CancelFunc
		inTime, cancel = context.WithDeadline(ctx, w.deadline.Add(-headroom))
		defer cancel()
	}
	select {
	case err := <-w.result:
		return err
	case <-inTime.Done():
	}
	l.mu.Lock()
	waiting := l.queue.remove(w)
	wait := l.expected(time.Now(), caller)
	l.mu.Unlock()
	if !waiting {
		return <-w.result // it was granted in this very moment
	}
	l.metrics.waited(caller, resultGaveUp, time.Since(w.since))
	return l.refusal(codeOf(ctx), "waited for the rate limit until the caller gave up, or its deadline left no time for the call", wait)
}

// promote lets a call that waits go on in the name in which its task does at present.
func (l *limiter) promote(w *waiter, e *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.remove(w) {
		w.caller = e.effectiveCaller()
		l.queue.push(w)
		l.dispatch(time.Now())
	}
}

// enqueue lets a call go at once, makes it wait, or refuses it.
func (l *limiter) enqueue(ctx context.Context, caller Caller) (*waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.advance(now)
	if ctx.Err() != nil {
		return nil, l.refusal(codeOf(ctx), "the caller gave up", 0)
	}
	deadline, _ := ctx.Deadline()
	w := &waiter{caller: caller, deadline: deadline, since: now, result: make(chan error, 1)}
	wait := l.expected(now, caller)
	switch waiting := l.queue.waiting(caller.Name, Background, Backend); {
	case l.queue.size >= mostWaitingInAll:
		l.metrics.waited(caller, resultRefused, 0)
		return nil, l.refusal(codes.ResourceExhausted, fmt.Sprintf("%d calls are waiting for the rate limit", l.queue.size), wait)
	case waiting >= mostWaiting:
		l.metrics.waited(caller, resultRefused, 0)
		return nil, l.refusal(codes.ResourceExhausted, fmt.Sprintf("%d calls of %s are waiting for the rate limit", waiting, caller.Name), wait)
	case wait > 0 && !deadline.IsZero() && now.Add(wait+headroom).After(deadline):
		l.metrics.waited(caller, resultRefused, 0)
		return nil, l.refusal(codes.ResourceExhausted, "the rate limit has no room before the call's deadline", wait)
	}
	l.queue.push(w)
	l.dispatch(now)
	return w, nil
}

// expected is how long a new call of the caller would wait.
func (l *limiter) expected(now time.Time, caller Caller) time.Duration {
	l.advance(now)
	wait := l.pacer.wait(now, l.queue.ahead(caller, anyCaller)+1, l.long())
	if l.keeps(caller) {
		wait = max(wait, l.share.wait(now, l.queue.ahead(caller, l.keeps)+1, false))
	}
	if own := l.ownPacer(caller.Name, now); own != nil {
		wait = max(wait, own.wait(now, l.queue.waiting(caller.Name, caller.Priority, Backend)+1, false))
	}
	return wait
}

// keeps reports whether a call keeps to the share, together with all others that do.
func (l *limiter) keeps(c Caller) bool {
	return c.Priority == Background || l.cfg.KeepsToShare(c.Name)
}

// long reports whether more calls wait than may go in the present window.
func (l *limiter) long() bool {
	return l.queue.size-l.queue.classes[Background].size() > l.pacer.calls-l.pacer.sent
}

// ownPacer is the pacer of a caller that may not use all of the budget, else nil.
func (l *limiter) ownPacer(caller string, now time.Time) *pacer {
	own := l.cfg.Callers[caller]
	if !own.Bounded() {
		return nil
	}
	p := l.bounded[caller]
	if p == nil {
		p = newPacer(Limit{Calls: l.shared(own.Share), Window: l.pacer.window}, now)
		p.even = true
		l.bounded[caller] = p
	}
	return p
}

// apart are the pacers that a call has to pass besides that of all.
func (l *limiter) apart(c Caller, now time.Time) iter.Seq[*pacer] {
	return func(yield func(*pacer) bool) {
		if l.keeps(c) && !yield(l.share) {
			return
		}
		if own := l.ownPacer(c.Name, now); own != nil {
			yield(own)
		}
	}
}

// dispatch lets all calls go that may, and sets the timer for the next.
func (l *limiter) dispatch(now time.Time) {
	l.advance(now)
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	next := time.Duration(-1)
	soonest := func(wait time.Duration) {
		if next < 0 || wait < next {
			next = wait
		}
	}
	may := func(c Caller) bool {
		for p := range l.apart(c, now) {
			if wait := p.wait(now, 1, false); wait > 0 {
				soonest(wait)
				if p == l.share && l.allowance.calls < l.allowance.share {
					l.pacer.blocked = true // it is the allowance that holds it up
				}
				return false
			}
		}
		return true
	}
	for w := l.queue.next(may); w != nil; w = l.queue.next(may) {
		if !l.pacer.take(now, l.long()) {
			soonest(l.pacer.wait(now, 1, l.long()))
			break
		}
		for p := range l.apart(w.caller, now) {
			p.take(now, false)
		}
		l.queue.pop(w)
		l.sentBy[l.metrics.callers.label(w.caller.Name)]++
		l.metrics.waited(w.caller, resultSent, now.Sub(w.since))
		w.result <- nil
	}
	if next >= 0 {
		l.timer = time.AfterFunc(max(next, time.Microsecond), l.tick)
	}
	l.metrics.waiting.Set(float64(l.queue.size))
}

// idle reports whether nothing of the present window would be forgotten with the limiter.
func (l *limiter) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	return l.queue.size == 0 && l.pacer.sent == 0 && !l.pacer.pausedUntil.After(now)
}

func (l *limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatch(time.Now())
}

// adjust brings the pacers to the allowance.
func (l *limiter) adjust() {
	l.pacer.resize(part(l.allowance.calls, 1), l.allowance.even())
	l.share.resize(l.shared(1), true)
	for caller, own := range l.bounded {
		own.resize(l.shared(l.cfg.Callers[caller].Share), true)
	}
	l.metrics.limit.Set(float64(l.pacer.calls) / l.pacer.window.Seconds())
}

func (l *limiter) throttled(retryAfter time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.advance(now)
	r := l.pacer.throttled(now, retryAfter)
	until := l.pacer.pausedUntil
	pause := until.Sub(now)
	l.metrics.throttled.Inc()
	l.refusals++
	if !r.again {
		if !r.inherited {
			l.allowance.refused(r.granted)
			l.adjust()
		}
		l.log.Warn("the cloud throttles", "api", l.name, "pause", pause, "granted", r.granted,
			"callsPerWindowAfterwards", l.pacer.calls, "window", l.pacer.window)
	}
	for _, w := range l.queue.expired(until) {
		l.metrics.waited(w.caller, resultRefused, now.Sub(w.since))
		w.result <- l.refusal(codes.ResourceExhausted, "the cloud throttles, and the pause ends after the call's deadline", pause)
	}
	l.dispatch(now)
	return pause
}

// refusal is the error of a call that was not sent.
func (l *limiter) refusal(code codes.Code, message string, wait time.Duration) error {
	return &rpcerr.Error{Code: code, Reason: rpcerr.Throttled, Message: message, RetryAfter: wait, API: l.name}
}

// codeOf distinguishes a caller that went away from one whose deadline came while there was no room.
func codeOf(ctx context.Context) codes.Code {
	if errors.Is(ctx.Err(), context.Canceled) {
		return codes.Canceled
	}
	return codes.ResourceExhausted
}
