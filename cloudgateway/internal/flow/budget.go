// Package flow spends the cloud's rate limits: an account has so many calls of each action per minute, shared by everything
// that uses the account. A Budget lets calls go at the rate that the gateway may use, the important ones first, callers in
// turn, and refuses at once what would not go before its deadline. Keyed puts the writes of one resource in order.
package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"
)

// Defaults of Config.
const (
	DefaultShare      = 0.7
	defaultHeadroom   = 500 * time.Millisecond
	defaultMaxWaiting = 5000
)

// Config of a Budget.
type Config struct {
	// Share is the part of the account's limits that the gateway uses, above 0 to 1. Default 0.7.
	Share float64
	// Overrides replace limits of the built-in table, for accounts with raised ones, by "product/Action". The share applies.
	Overrides map[string]Limit
	// Weights are the calls a caller may make in its turn, by its name. Default 1.
	Weights map[string]int
	// Headroom is what the deadline of a call has to leave for the call itself when it had to wait. Default 500 ms.
	Headroom time.Duration
	// MaxWaiting bounds the calls that wait for one action. Default 5000.
	MaxWaiting int
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Budget is the limiter of all actions of one account and region. It is safe for concurrent use and needs no closing.
type Budget struct {
	cfg     Config
	limits  map[string]Limit
	metrics metrics

	mu       sync.Mutex
	limiters map[string]*limiter
}

// New makes a budget.
func New(cfg Config) (*Budget, error) {
	if cfg.Share == 0 {
		cfg.Share = DefaultShare
	}
	if cfg.Share < 0 || cfg.Share > 1 {
		return nil, fmt.Errorf("budget share %g: want more than 0 and at most 1", cfg.Share)
	}
	if cfg.Headroom <= 0 {
		cfg.Headroom = defaultHeadroom
	}
	if cfg.MaxWaiting <= 0 {
		cfg.MaxWaiting = defaultMaxWaiting
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	limits, err := Limits()
	if err != nil {
		return nil, err
	}
	for name, limit := range cfg.Overrides {
		if err := limit.check(); err != nil {
			return nil, fmt.Errorf("budget override %q: %w", name, err)
		}
		if _, known := limits[name]; !known {
			return nil, fmt.Errorf("budget override %q: no such action; want PRODUCT/ACTION such as slb/CreateLoadBalancer", name)
		}
		limits[name] = limit
	}
	return &Budget{cfg: cfg, limits: limits, metrics: newMetrics(cfg.Registerer), limiters: make(map[string]*limiter)}, nil
}

// Acquire waits for the turn of one call. It refuses with THROTTLED and the true wait what can't go before the deadline of ctx.
func (b *Budget) Acquire(ctx context.Context, product, action string) error {
	return b.limiter(product, action).acquire(ctx, CallerFrom(ctx))
}

// Throttled tells that the cloud refused a call for its rate, and what it told about the next; zero: nothing. It returns how
// long no call of the action will go.
func (b *Budget) Throttled(product, action string, retryAfter time.Duration) time.Duration {
	return b.limiter(product, action).throttled(retryAfter)
}

// limiter finds or makes the limiter of an action.
func (b *Budget) limiter(product, action string) *limiter {
	name := product + "/" + action
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.limiters[name]; l != nil {
		return l
	}
	limit, known := b.limits[name]
	if !known {
		limit = unlisted(action)
	}
	limit = limit.share(b.cfg.Share)
	l := &limiter{
		name: name, cfg: &b.cfg, metrics: b.metrics.of(product, action),
		pacer: newPacer(limit, time.Now()), queue: queue{weights: b.cfg.Weights},
	}
	l.metrics.limit.Set(float64(limit.Calls) / limit.Window.Seconds())
	b.limiters[name] = l
	return l
}

// limiter is the budget of one action: a pacer, and a queue in front of it.
type limiter struct {
	name    string
	cfg     *Config
	metrics actionMetrics

	mu    sync.Mutex
	pacer *pacer
	queue queue
	timer *time.Timer // runs dispatch when the next call may go; nil if nobody waits
}

func (l *limiter) acquire(ctx context.Context, caller Caller) error {
	w, err := l.enqueue(ctx, caller)
	if err != nil {
		return err
	}
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	waiting := l.queue.remove(w)
	wait := l.pacer.wait(time.Now(), l.queue.ahead(caller)+1, caller.Priority == Backend)
	l.mu.Unlock()
	if !waiting {
		return <-w.result // it was granted in this very moment
	}
	l.metrics.waited(caller, "gave_up", time.Since(w.since))
	return l.refusal(codeOf(ctx), "waited for the rate limit until the caller gave up", wait)
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
	wait := l.pacer.wait(now, l.queue.ahead(caller)+1, caller.Priority == Backend)
	switch {
	case l.queue.size >= l.cfg.MaxWaiting:
		l.metrics.waited(caller, "refused", 0)
		return nil, l.refusal(codes.ResourceExhausted, fmt.Sprintf("%d calls are waiting for the rate limit", l.queue.size), wait)
	case wait > 0 && !deadline.IsZero() && now.Add(wait+l.cfg.Headroom).After(deadline):
		l.metrics.waited(caller, "refused", 0)
		return nil, l.refusal(codes.ResourceExhausted, "the rate limit has no room before the call's deadline", wait)
	}
	l.queue.push(w)
	l.dispatch(now)
	return w, nil
}

// dispatch lets all calls go that may, and sets the timer for the next.
func (l *limiter) dispatch(now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	for {
		w, overdue := l.queue.next()
		if w == nil {
			break
		}
		privileged := overdue || w.caller.Priority == Backend
		if !l.pacer.take(now, privileged) {
			l.timer = time.AfterFunc(max(l.pacer.wait(now, 1, privileged), time.Microsecond), l.tick)
			break
		}
		l.queue.pop(w)
		l.metrics.waited(w.caller, "sent", now.Sub(w.since))
		w.result <- nil
	}
	l.metrics.waiting.Set(float64(l.queue.size))
	l.metrics.rate.Set(l.pacer.rate(now))
}

func (l *limiter) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatch(time.Now())
}

func (l *limiter) throttled(retryAfter time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	pause := l.pacer.throttled(now, retryAfter)
	l.metrics.throttled.Inc()
	l.cfg.Logger.Warn("the cloud throttles", "api", l.name, "pause", pause, "callsPerSecondAfterwards", l.pacer.rate(now))
	for _, w := range l.queue.expired(now.Add(pause)) {
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
