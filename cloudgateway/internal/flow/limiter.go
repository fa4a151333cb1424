package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"
)

// limiter is the budget of one action: an estimate of the cloud's limit, a pacer that keeps to our share of it, a queue in front
// of the pacer, and a pacer for each caller that may not use all of the share.
type limiter struct {
	name    string
	cfg     *Config
	metrics actionMetrics

	mu       sync.Mutex
	estimate estimate
	pacer    *pacer
	bounded  map[string]*pacer // by caller
	queue    queue
	timer    *time.Timer // runs dispatch when the next call may go; nil if nobody waits
}

func newLimiter(name string, cfg *Config, documented Limit, metrics actionMetrics) *limiter {
	l := &limiter{
		name: name, cfg: cfg, metrics: metrics,
		estimate: newEstimate(documented, cfg.LearnUpTo),
		pacer:    newPacer(Limit{Calls: part(float64(documented.Calls), cfg.Share), Window: documented.Window}, time.Now()),
		bounded:  make(map[string]*pacer),
		queue:    queue{terms: cfg.Callers},
	}
	l.adjust(time.Now())
	return l
}

// takeOver forgets what is known of the window if another process may have called in it, up to a time.
func (l *limiter) takeOver(until, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(until) >= l.pacer.limit.Window {
		return
	}
	l.pacer.takeOver(until)
	l.dispatch(now)
}

func (l *limiter) acquire(ctx context.Context, caller Caller) error {
	w, err := l.enqueue(ctx, caller)
	if err != nil {
		return err
	}
	defer errandFrom(ctx).attend(l, w, caller)()
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	waiting := l.queue.remove(w)
	wait := l.expected(time.Now(), caller)
	l.mu.Unlock()
	if !waiting {
		return <-w.result // it was granted in this very moment
	}
	l.metrics.waited(caller, "gave_up", time.Since(w.since))
	return l.refusal(codeOf(ctx), "waited for the rate limit until the caller gave up", wait)
}

// promote lets a call that waits go on in the name in which its errand does at present.
func (l *limiter) promote(w *waiter, e *errand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.remove(w) {
		w.caller = e.onBehalf()
		l.queue.push(w)
		l.dispatch(time.Now())
	}
}

// enqueue lets a call go at once, makes it wait, or refuses it.
func (l *limiter) enqueue(ctx context.Context, caller Caller) (*waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if ctx.Err() != nil {
		return nil, l.refusal(codeOf(ctx), "the caller gave up", 0)
	}
	deadline, _ := ctx.Deadline()
	w := &waiter{caller: caller, deadline: deadline, since: now, result: make(chan error, 1)}
	wait := l.expected(now, caller)
	switch waiting := l.queue.waiting(caller.Name, Background, Backend); {
	case waiting >= l.cfg.MaxWaiting:
		l.metrics.waited(caller, "refused", 0)
		return nil, l.refusal(codes.ResourceExhausted, fmt.Sprintf("%d calls of %s are waiting for the rate limit", waiting, caller.Name), wait)
	case wait > 0 && !deadline.IsZero() && now.Add(wait+l.cfg.Headroom).After(deadline):
		l.metrics.waited(caller, "refused", 0)
		return nil, l.refusal(codes.ResourceExhausted, "the rate limit has no room before the call's deadline", wait)
	}
	l.queue.push(w)
	l.dispatch(now)
	return w, nil
}

// expected is how long a new call of the caller would wait.
func (l *limiter) expected(now time.Time, caller Caller) time.Duration {
	wait := l.pacer.wait(now, l.queue.ahead(caller)+1, caller.Priority == Backend)
	if own := l.ownPacer(caller.Name, now); own != nil {
		wait = max(wait, own.wait(now, l.queue.waiting(caller.Name, caller.Priority, Backend)+1, true))
	}
	return wait
}

// ownPacer is the pacer of a caller that may not use all of the budget, else nil.
func (l *limiter) ownPacer(caller string, now time.Time) *pacer {
	terms := l.cfg.Callers[caller]
	if !terms.Bounded() {
		return nil
	}
	p := l.bounded[caller]
	if p == nil {
		p = newPacer(Limit{Calls: part(float64(l.pacer.limit.Calls), terms.Share), Window: l.pacer.limit.Window}, now)
		l.bounded[caller] = p
	}
	return p
}

// dispatch lets all calls go that may, and sets the timer for the next.
func (l *limiter) dispatch(now time.Time) {
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
	may := func(caller string) bool {
		own := l.ownPacer(caller, now)
		if own == nil {
			return true
		}
		wait := own.wait(now, 1, true)
		if wait > 0 {
			soonest(wait)
		}
		return wait <= 0
	}
	for w, overdue := l.queue.next(may); w != nil; {
		privileged := overdue || w.caller.Priority == Backend
		if !l.pacer.take(now, privileged) {
			soonest(l.pacer.wait(now, 1, privileged))
			break
		}
		if own := l.ownPacer(w.caller.Name, now); own != nil {
			own.take(now, true)
		}
		l.queue.pop(w)
		l.metrics.waited(w.caller, "sent", now.Sub(w.since))
		w.result <- nil
		if w, overdue = l.queue.next(may); w != nil {
			l.estimate.grow(now, l.pacer.limit.Calls)
			l.adjust(now)
		}
	}
	if next >= 0 {
		l.timer = time.AfterFunc(max(next, time.Microsecond), l.tick)
	}
	l.metrics.waiting.Set(float64(l.queue.size))
	l.metrics.rate.Set(l.pacer.rate())
}

func (l *limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatch(time.Now())
}

// adjust brings the pacers to the estimate.
func (l *limiter) adjust(now time.Time) {
	calls := part(l.estimate.calls, l.cfg.Share)
	l.pacer.resize(now, calls)
	for caller, own := range l.bounded {
		own.resize(now, part(float64(calls), l.cfg.Callers[caller].Share))
	}
	l.metrics.limit.Set(float64(calls) / l.pacer.limit.Window.Seconds())
}

func (l *limiter) throttled(retryAfter time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	until, granted, again := l.pacer.throttled(now, retryAfter)
	pause := until.Sub(now)
	l.metrics.throttled.Inc()
	if again {
		l.estimate.refusedToo()
	} else {
		l.estimate.refused(now, until, granted)
	}
	l.adjust(now)
	if !again {
		l.cfg.Logger.Warn("the cloud throttles", "api", l.name, "pause", pause, "granted", granted,
			"callsPerWindowAfterwards", l.pacer.limit.Calls, "window", l.pacer.limit.Window)
	}
	for _, w := range l.queue.expired(until) {
		l.metrics.waited(w.caller, "refused", now.Sub(w.since))
		w.result <- l.refusal(codes.ResourceExhausted, "the cloud throttles, and the pause ends after the call's deadline", pause)
	}
	l.dispatch(now)
	return pause
}

// refusal is the error of a call that was not sent.
func (l *limiter) refusal(code codes.Code, message string, wait time.Duration) error {
	return &rpcerr.Error{Code: code, Reason: rpcerr.Throttled, Message: message, RetryAfter: wait, API: l.name}
}

// codeOf tells a caller that went away from one whose deadline came while there was no room.
func codeOf(ctx context.Context) codes.Code {
	if errors.Is(ctx.Err(), context.Canceled) {
		return codes.Canceled
	}
	return codes.ResourceExhausted
}
