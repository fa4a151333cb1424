// Package reconcile runs a Reconciler over a queue of keys: the urgent ones first, never the same key twice at once, with
// retries chosen by the error. Objects are never queued, only their keys.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/tracing"
)

// Reconciler brings what key names to its desired state. The error it returns chooses the next attempt: nil, none; Terminal,
// none until the key is added; ErrNotBegun, none either, as if there had been no attempt; After, at that time; an error with a
// RetryInfo of the gateway, at that time; any other, after a growing delay.
type Reconciler interface {
	Reconcile(ctx context.Context, key string) error
}

// Func makes a Reconciler of a function.
type Func func(ctx context.Context, key string) error

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, key string) error { return f(ctx, key) }

// Defaults of Config.
const (
	defaultWorkers   = 1
	defaultTimeout   = 2 * time.Minute
	defaultBaseDelay = time.Second
	defaultMaxDelay  = 5 * time.Minute
	defaultDrain     = 4 * time.Second
)

// Config describes a Runner.
type Config struct {
	// Name is the controller's name in logs and metrics.
	Name       string
	Reconciler Reconciler
	// Workers is the number of keys worked on at once, 1 by default.
	Workers int
	// Waiting is how many attempts beyond them may wait for the cloud (see Waiting), 0 by default: then an attempt that waits holds its
	// worker.
	Waiting int
	// Periodic is how many attempts of that priority may be under way, waiting or not; 0, the default, is as many as of any other. What
	// only has to be verified must not fill the queues behind the controller.
	Periodic int
	// Timeout bounds one attempt, 2 minutes by default.
	Timeout time.Duration
	// BaseDelay and MaxDelay bound the delay after a failure, 1 second and 5 minutes by default. It doubles each time.
	BaseDelay, MaxDelay time.Duration
	// Drain is how long attempts under way may go on after the end of Run's context, 4 seconds by default. After a lost lease
	// another replica starts soon: an elected one sets it to kube.ElectionConfig.Drain.
	Drain time.Duration
	// Registerer gets the metrics; nil for none.
	Registerer prometheus.Registerer
	// Tracers begin a trace with every attempt; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// Runner works off a queue of keys.
type Runner struct {
	cfg     Config
	log     *slog.Logger
	tracer  trace.Tracer
	queue   *queue
	metrics *metrics

	mu       sync.Mutex
	failures map[string]failure // by key
}

// failure is what is known of a key whose last attempt failed.
type failure struct {
	count    int // consecutive ones
	priority Priority
}

// New makes a Runner. Keys may be added before Run.
func New(cfg Config) (*Runner, error) {
	if cfg.Name == "" || cfg.Reconciler == nil || cfg.Logger == nil {
		return nil, errors.New("reconcile: Name, Reconciler and Logger are required")
	}
	setDefault(&cfg.Workers, defaultWorkers)
	setDefault(&cfg.Timeout, defaultTimeout)
	setDefault(&cfg.BaseDelay, defaultBaseDelay)
	setDefault(&cfg.MaxDelay, defaultMaxDelay)
	setDefault(&cfg.Drain, defaultDrain)
	r := &Runner{
		cfg:      cfg,
		log:      cfg.Logger.With("controller", cfg.Name),
		tracer:   tracing.Tracer(cfg.Tracers),
		queue:    newQueue(),
		failures: map[string]failure{},
	}
	m, err := newMetrics(cfg.Registerer, cfg.Name, r.queue)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of %s: %w", cfg.Name, err)
	}
	r.metrics = m
	return r, nil
}

func setDefault[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// Add queues key. If it waits already, the higher priority counts; if it is being worked on, it is worked on once more.
func (r *Runner) Add(key string, p Priority) { r.queue.add(key, p) }

// AddAfter queues key after d. A key waits for one moment only: of two, the earlier counts, with the higher priority.
func (r *Runner) AddAfter(key string, p Priority, d time.Duration) { r.queue.addAfter(key, p, d) }

// Resume tries all keys at once whose last attempt failed, and begins to count their failures anew. It is called when the cause that
// many of them share may be gone: delays that grew during an outage must not outlast it.
func (r *Runner) Resume() {
	r.mu.Lock()
	failing := r.failures
	r.failures = map[string]failure{}
	r.mu.Unlock()
	for key, f := range failing {
		r.queue.promote(key, f.priority)
	}
}

// waitingKey is the key of a context for the waits of the attempt that it belongs to.
type waitingKey struct{}

// waits counts what an attempt waits for at the same time. It holds one worker, or none.
type waits struct {
	queue *queue
	count atomic.Int32
}

// Waiting calls wait, which waits for something outside of the process and needs no processor. The worker of the
// attempt that ctx belongs to is free for other keys meanwhile, if the Runner is made so. An attempt may wait for
// several things at once.
func Waiting(ctx context.Context, wait func()) {
	if w, ok := ctx.Value(waitingKey{}).(*waits); ok {
		if w.count.Add(1) == 1 {
			w.queue.pause()
		}
		defer func() {
			if w.count.Add(-1) == 0 {
				w.queue.resume()
			}
		}()
	}
	wait()
}

// attemptKey is the key of a context for the attempt that it belongs to.
type attemptKey struct{}

// attemptOf is an attempt.
type attemptOf struct {
	queue    *queue
	key      string
	priority Priority
}

// PriorityOf is the priority of the attempt that ctx belongs to; User outside of one.
func PriorityOf(ctx context.Context) Priority {
	if a, ok := ctx.Value(attemptKey{}).(attemptOf); ok {
		return a.priority
	}
	return User
}

// ErrYielded is the cause of the end of a context of Yielding: more urgent work waits for what the attempt does.
var ErrYielded = errors.New("given way to more urgent work")

// Yielding returns a context for a part of an attempt that gives way, such as a long read in the background. It ends
// with the cause ErrYielded when the key of the attempt is added with a higher priority than Periodic, or when Yield is
// called for it. The function ends the part.
func Yielding(ctx context.Context) (context.Context, func()) {
	a, ok := ctx.Value(attemptKey{}).(attemptOf)
	if !ok {
		return ctx, func() {}
	}
	part, cancel := context.WithCancelCause(ctx)
	a.queue.onYield(a.key, func() { cancel(ErrYielded) })
	return part, func() {
		a.queue.onYield(a.key, nil)
		cancel(nil)
	}
}

// Yield ends the part of the attempt on key that gives way, if it is in one: another key waits for it.
func (r *Runner) Yield(key string) { r.queue.yield(key) }

// Run works until ctx ends, then lets attempts under way finish within Config.Drain, cancels those that have not, and returns
// when none is left. A Runner runs once.
func (r *Runner) Run(ctx context.Context) error {
	// Attempts outlive ctx, so that a write under way is not torn off by an orderly stop.
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers sync.WaitGroup
	r.queue.bound(r.cfg.Workers, r.cfg.Periodic)
	for range r.cfg.Workers + r.cfg.Waiting {
		workers.Go(func() { r.work(attempts) })
	}
	<-ctx.Done()
	r.queue.close()
	drain := time.AfterFunc(r.cfg.Drain, cancel)
	defer drain.Stop()
	workers.Wait()
	return nil
}

func (r *Runner) work(ctx context.Context) {
	for {
		key, priority, ok := r.queue.get()
		if !ok {
			return
		}
		r.attempt(ctx, key, priority)
		r.queue.done(key)
	}
}

// attempt reconciles key once and settles what follows.
func (r *Runner) attempt(ctx context.Context, key string, p Priority) {
	ctx, span := r.tracer.Start(ctx, "reconcile "+r.cfg.Name,
		trace.WithAttributes(attribute.String("key", key), attribute.String("priority", p.String())))
	defer span.End()
	bounded, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	bounded = context.WithValue(bounded, attemptKey{}, attemptOf{queue: r.queue, key: key, priority: p})
	if r.cfg.Waiting > 0 {
		bounded = context.WithValue(bounded, waitingKey{}, &waits{queue: r.queue})
	}
	start := time.Now()
	err := r.guarded(bounded, key)
	outcome := r.settle(ctx, key, p, err)
	r.metrics.observe(outcome, time.Since(start))
	span.SetAttributes(attribute.String("outcome", outcome))
	if err != nil && outcome != outcomeAfter {
		tracing.Fail(span, err)
	}
}

// panicError is a panic of the Reconciler with the stack it came from.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (r *Runner) guarded(ctx context.Context, key string) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return r.cfg.Reconciler.Reconcile(ctx, key)
}

// settle plans the next attempt and names the outcome.
func (r *Runner) settle(ctx context.Context, key string, p Priority, err error) string {
	if err == nil {
		r.forget(key)
		return outcomeSuccess
	}
	log := tracing.Log(ctx, r.log)
	if ctx.Err() != nil {
		log.Info("attempt was cut off by the stop", "key", key, "error", err)
		return outcomeStopped
	}
	if errors.Is(err, ErrNotBegun) {
		return outcomeAfter
	}
	if _, ok := errors.AsType[*terminalError](err); ok {
		r.forget(key)
		log.Info("not tried again until it changes", "key", key, "error", err)
		return outcomeTerminal
	}
	if after, ok := errors.AsType[*afterError](err); ok {
		r.forget(key)
		log.Debug("to be continued", "key", key, "error", err, "retryIn", after.delay)
		r.queue.addAfter(key, p, after.delay)
		return outcomeAfter
	}
	if asked, ok := retryAfter(err); ok {
		delay := jitter(min(asked, r.cfg.MaxDelay))
		log.Info("deferred by the gateway", "key", key, "error", err, "retryIn", delay)
		r.queue.addAfter(key, p, delay)
		return outcomeDeferred
	}
	failures, delay := r.fail(key, p)
	if crash, ok := errors.AsType[*panicError](err); ok {
		log.Error("attempt panicked", "key", key, "error", err, "stack", string(crash.stack), "failures", failures, "retryIn", delay)
		r.queue.addAfter(key, p, delay)
		return outcomePanic
	}
	log.Warn("attempt failed", "key", key, "error", err, "failures", failures, "retryIn", delay)
	r.queue.addAfter(key, p, delay)
	return outcomeError
}

func (r *Runner) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failures, key)
}

// fail counts a failure of key and gives the delay: BaseDelay doubled with every failure in a row, up to MaxDelay.
func (r *Runner) fail(key string, p Priority) (int, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.failures[key].count + 1
	r.failures[key] = failure{count: count, priority: p}
	delay := r.cfg.BaseDelay
	for range count - 1 {
		if delay >= r.cfg.MaxDelay/2 {
			delay = r.cfg.MaxDelay
			break
		}
		delay *= 2
	}
	return count, jitter(min(delay, r.cfg.MaxDelay))
}

// jitter lengthens d by up to a fifth, so that keys deferred together do not come back together.
func jitter(d time.Duration) time.Duration {
	return d + rand.N(d/5+1) //nolint:gosec // Spreading load needs no secrecy.
}
