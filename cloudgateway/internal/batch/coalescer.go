// Package batch saves reads. A Coalescer turns many reads of single items into few reads of many; a Cache answers from what
// was read a moment ago and lets identical reads share one.
package batch

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"
	"alicloud-controllers.dev/services/tracing"
)

// ErrClosed is what callers get who come after Close or whose batch has not started by then. Another gateway will answer them.
var ErrClosed error = &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the gateway is shutting down"}

// Config of a Coalescer.
type Config[K comparable, V any] struct {
	// Name is the metrics' label, e.g. "instances".
	Name string
	// Load reads the items of a batch. Items that do not exist are absent from the result.
	Load func(ctx context.Context, keys []K) (map[K]V, error)
	// MaxItems is how many items one Load may read.
	MaxItems int
	// Idle is how long to wait for more after the last arrival while nothing is being read. Default 20 ms.
	Idle time.Duration
	// Max is how long the first of a batch waits at most. Default 200 ms.
	Max time.Duration
	// Parallel is how many batches of a lane may be read at the same time. Default 4.
	Parallel int
	// Timeout bounds one Load, besides the latest deadline of its callers. Default 30 s.
	Timeout time.Duration
	// Blames tells whether an error is about one item of a batch. The halves of the batch are then read by themselves, until
	// only those who asked for that item get the error. Nil: every error is everybody's.
	Blames     func(error) bool
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Coalescer gathers the keys of callers and reads them together. While a batch is being read, later arrivals gather. Lanes have
// batches of their own.
type Coalescer[K comparable, V any] struct {
	cfg  Config[K, V]
	size prometheus.Observer

	mu     sync.Mutex
	lanes  map[laneName]*lane[K, V]
	closed bool
	work   sync.WaitGroup
}

// lane is the batches of the callers who share them.
type lane[K comparable, V any] struct {
	gathering *batch[K, V]   // not full; nil if nobody has come since the last batch
	full      []*batch[K, V] // waiting for one of the running to end
	running   int
	timer     *time.Timer // runs schedule when gathering is due
}

// batch is some keys on their way. Its owner is the Coalescer until done is closed; from then on it does not change.
type batch[K comparable, V any] struct {
	callers   map[K]int       // how many still want the key; counted until the batch starts
	values    context.Context // of the first caller, without its end
	waiting   waiting         // for the trace
	deadline  time.Time       // the latest of its callers
	unlimited bool            // a caller has no deadline
	opened    time.Time
	touched   time.Time
	started   bool

	done   chan struct{}
	found  map[K]V
	failed map[K]error
}

// New makes a coalescer. Close it when its callers are gone.
func New[K comparable, V any](cfg Config[K, V]) (*Coalescer[K, V], error) {
	if cfg.Load == nil || cfg.MaxItems < 1 {
		return nil, fmt.Errorf("batch %s: Load and MaxItems are required", cfg.Name)
	}
	setDefault(&cfg.Idle, 20*time.Millisecond)
	setDefault(&cfg.Max, 200*time.Millisecond)
	setDefault(&cfg.Timeout, 30*time.Second)
	if cfg.Parallel < 1 {
		cfg.Parallel = 4
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	size := promauto.With(cfg.Registerer).NewHistogram(prometheus.HistogramOpts{
		Name:        "cloudgateway_batch_size",
		Help:        "Items that were read together.",
		ConstLabels: prometheus.Labels{"batch": cfg.Name},
		Buckets:     []float64{1, 2, 5, 10, 20, 50, 100},
	})
	return &Coalescer[K, V]{cfg: cfg, size: size, lanes: make(map[laneName]*lane[K, V])}, nil
}

func setDefault(d *time.Duration, def time.Duration) {
	if *d <= 0 {
		*d = def
	}
}

// Get reads one item together with what others want. It tells whether the item exists.
func (c *Coalescer[K, V]) Get(ctx context.Context, key K) (value V, exists bool, err error) {
	return c.Join(ctx, []K{key})(ctx, key)
}

// Join puts keys into batches, all in one step, so that what one caller wants costs the fewest reads however busy the machine is.
// What it returns waits for the outcome of one of the keys, and is to be called once for each.
func (c *Coalescer[K, V]) Join(ctx context.Context, keys []K) func(context.Context, K) (value V, exists bool, err error) {
	batches, joinErr := c.join(ctx, keys)
	return func(ctx context.Context, key K) (value V, exists bool, err error) {
		if joinErr != nil {
			return value, false, joinErr
		}
		b := batches[key]
		select {
		case <-b.done:
			value, exists = b.found[key]
			return value, exists, b.failed[key]
		case <-ctx.Done():
			c.leave(b, key)
			return value, false, ctx.Err()
		}
	}
}

// Close refuses new callers, fails those whose batch has not started and waits for the batches under way.
func (c *Coalescer[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	for _, l := range c.lanes {
		waiting := l.full
		if l.gathering != nil {
			waiting = append(waiting, l.gathering)
		}
		l.full, l.gathering = nil, nil
		l.stopTimer()
		for _, b := range waiting {
			b.started = true
			b.fail(b.keys(), ErrClosed)
			close(b.done)
		}
	}
	c.mu.Unlock()
	c.work.Wait()
}

// join puts the keys into batches and returns the batch of each.
func (c *Coalescer[K, V]) join(ctx context.Context, keys []K) (map[K]*batch[K, V], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	l := c.lanes[laneOf(ctx)]
	if l == nil {
		l = &lane[K, V]{}
		c.lanes[laneOf(ctx)] = l
	}
	now := time.Now()
	joined := make(map[K]*batch[K, V], len(keys))
	for _, key := range keys {
		if joined[key] == nil {
			joined[key] = l.add(ctx, key, now, c.cfg.MaxItems)
		}
	}
	c.schedule(l, now)
	return joined, nil
}

func (l *lane[K, V]) add(ctx context.Context, key K, now time.Time, maxItems int) *batch[K, V] {
	b := l.gathering
	if b == nil {
		b = &batch[K, V]{callers: make(map[K]int), values: context.WithoutCancel(ctx), opened: now, done: make(chan struct{})}
		l.gathering = b
	}
	b.callers[key]++
	b.waiting.add(ctx)
	b.touched = now
	if deadline, has := ctx.Deadline(); !has {
		b.unlimited = true
	} else if deadline.After(b.deadline) {
		b.deadline = deadline
	}
	if len(b.callers) >= maxItems {
		l.full = append(l.full, b)
		l.gathering = nil
	}
	return b
}

// leave takes a caller's key out of a batch that has not started, so that nothing is read for nobody.
func (c *Coalescer[K, V]) leave(b *batch[K, V], key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.started {
		return
	}
	if b.callers[key]--; b.callers[key] <= 0 {
		delete(b.callers, key)
	}
}

// schedule starts what is due in a lane and sets the timer for what is not.
func (c *Coalescer[K, V]) schedule(l *lane[K, V], now time.Time) {
	l.stopTimer()
	for len(l.full) > 0 && l.running < c.cfg.Parallel {
		b := l.full[0]
		l.full = l.full[1:]
		c.start(l, b)
	}
	if l.gathering == nil || l.running >= c.cfg.Parallel {
		return // the end of a running batch calls schedule again
	}
	due := l.gathering.opened.Add(c.cfg.Max)
	if idle := l.gathering.touched.Add(c.cfg.Idle); l.running == 0 && idle.Before(due) {
		due = idle
	}
	if wait := due.Sub(now); wait > 0 {
		l.timer = time.AfterFunc(wait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.schedule(l, time.Now())
		})
		return
	}
	b := l.gathering
	l.gathering = nil
	c.start(l, b)
}

func (l *lane[K, V]) stopTimer() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

func (c *Coalescer[K, V]) start(l *lane[K, V], b *batch[K, V]) {
	b.started = true
	if len(b.callers) == 0 { // all have left
		close(b.done)
		return
	}
	l.running++
	c.work.Go(func() {
		c.run(b)
		c.mu.Lock()
		defer c.mu.Unlock()
		l.running--
		c.schedule(l, time.Now())
	})
}

// run reads a batch. It does not end with any one of its callers, but with the last.
func (c *Coalescer[K, V]) run(b *batch[K, V]) {
	deadline := time.Now().Add(c.cfg.Timeout)
	if !b.unlimited && b.deadline.Before(deadline) {
		deadline = b.deadline
	}
	ctx, cancel := context.WithDeadline(b.values, deadline)
	defer cancel()
	defer close(b.done)
	ctx, span := b.waiting.begin(ctx, c.cfg.Name, len(b.callers))
	defer span.End()
	c.read(ctx, b, b.keys())
	for _, err := range b.failed { // any of them
		tracing.Fail(span, err)
		break
	}
}

// read reads some keys of a batch, in halves if the error is about one of them.
func (c *Coalescer[K, V]) read(ctx context.Context, b *batch[K, V], keys []K) {
	c.size.Observe(float64(len(keys)))
	found, err := recovered(c.cfg.Logger, c.cfg.Name, func() (map[K]V, error) { return c.cfg.Load(ctx, keys) })
	switch {
	case err == nil:
		b.add(found)
	case len(keys) > 1 && c.cfg.Blames != nil && c.cfg.Blames(err):
		c.read(ctx, b, keys[:len(keys)/2])
		c.read(ctx, b, keys[len(keys)/2:])
	default:
		b.fail(keys, err)
	}
}

func (b *batch[K, V]) keys() []K {
	return slices.Collect(maps.Keys(b.callers))
}

func (b *batch[K, V]) add(found map[K]V) {
	if b.found == nil {
		b.found = make(map[K]V, len(found))
	}
	maps.Copy(b.found, found)
}

func (b *batch[K, V]) fail(keys []K, err error) {
	if b.failed == nil {
		b.failed = make(map[K]error, len(keys))
	}
	for _, key := range keys {
		b.failed[key] = err
	}
}
