// Package batch saves reads. A Reader gathers what many callers want into few calls, lets those that want the same share one read, and
// remembers answers for those that accept their age.
package batch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
)

const (
	// mostPerCaller and mostWaiting bound the keys that wait to be read, of one caller and in all. One request names 20
	// 000 at most. No caller may have more than is left for others, so that several that have all that they may leave room
	// for the next one.
	mostPerCaller = 20_000
	mostWaiting   = 60_000
	// ownRoom is that of a reader without another one, in bytes.
	ownRoom = 8 << 20
)

// Config of a Reader.
type Config[K comparable, V any] struct {
	// Name is the metrics' label, e.g. "instances".
	Name string
	// Load reads the items of a batch. Items that do not exist are absent from the result. Nil if only Do is used: then nothing is gathered.
	Load func(ctx context.Context, keys []K) (map[K]V, error)
	// MaxItems is how many items one Load may read. It is required with Load.
	MaxItems int
	// Idle is how long to wait for more after the last arrival while nothing is being read; five times that in the time Max after a read
	// of several items has begun, since many reads that come one by one go on coming. Default 20 ms.
	Idle time.Duration
	// Max is how long the first of a batch waits at most. Default 1 s.
	Max time.Duration
	// Parallel is how many batches of a lane may be read at the same time. Default 4.
	Parallel int
	// Timeout bounds one read, besides the latest deadline of its callers. Default 30 s.
	Timeout time.Duration
	// Blames reports whether an error is about one item of a batch. The halves of the batch are then read by themselves, until
	// only the callers that asked for that item get the error. Nil: every error is for all callers.
	Blames func(error) bool
	// Absent is the error about an item that does not exist. Nil: there is none, and the value is zero.
	Absent func(K) error
	// Room bounds the bytes of what is remembered. Nil: 8 MiB of its own.
	Room       *Room
	Registerer prometheus.Registerer
	// Logger gets the stacks of panics. It is required.
	Logger *slog.Logger
}

func (cfg *Config[K, V]) complete() {
	if cfg.Logger == nil || cfg.Load != nil && cfg.MaxItems < 1 {
		panic("batch " + cfg.Name + ": Logger, and with Load MaxItems, are required") // A defect of the program, which every start of it shows.
	}
	cfg.Idle = cmp.Or(cfg.Idle, 20*time.Millisecond)
	cfg.Max = cmp.Or(cfg.Max, time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.Parallel = cmp.Or(cfg.Parallel, 4)
	if cfg.Room == nil {
		cfg.Room = NewRoom(ownRoom)
	}
}

// Reader reads items by key. Its values are shared: callers may not change them. Lanes have batches of their own.
type Reader[K comparable, V any] struct {
	cfg      Config[K, V]
	size     prometheus.Observer
	requests *prometheus.CounterVec

	mu      sync.Mutex
	stored  *memo.Store[K, V]
	flights map[K]map[laneName]*flight[K, V] // those that may be shared
	lanes   map[laneName]*lane[K, V]
	waiting map[string]int // keys that wait to be read, by caller
	total   int            // the sum of waiting
	sweep   *time.Timer    // nil: nothing is remembered
}

// flight is a key on its way. It does not change after done is closed.
type flight[K comparable, V any] struct {
	key    K
	lane   laneName
	caller string            // that began it
	by     trace.SpanContext // of the same
	values context.Context   // of the same, without its end
	spans  waiting
	asOf   time.Time     // when it was asked for first
	keep   time.Duration // the greatest age that a caller accepts; 0: the answer is not remembered

	deadline  time.Time // the latest of its callers
	unlimited bool      // a caller has no deadline
	callers   int       // that still wait
	batch     *batch    // nil: it waits to be read

	done  chan struct{}
	value V
	err   error
}

// batch is what is read together.
type batch struct {
	wanted   int // flights that a caller waits for
	cancel   context.CancelFunc
	deadline time.Time // that of the callers that were there when it began; zero if the Timeout is earlier
}

// New makes a reader. It reads only while a caller waits, so that nothing has to be closed when its callers are gone. It panics if the
// configuration lacks what is required.
func New[K comparable, V any](cfg Config[K, V]) *Reader[K, V] {
	cfg.complete()
	r := &Reader[K, V]{
		cfg: cfg,
		requests: promauto.With(cfg.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name:        "cloudgateway_cache_requests_total",
			Help:        "Reads by where the answer came from: hit (remembered), shared (another caller's read) or load.",
			ConstLabels: prometheus.Labels{"cache": cfg.Name},
		}, []string{"result"}),
		stored:  memo.NewStore[K, V](cfg.Room.bytes),
		flights: make(map[K]map[laneName]*flight[K, V]),
		lanes:   make(map[laneName]*lane[K, V]),
		waiting: make(map[string]int),
	}
	if cfg.Load != nil {
		r.size = promauto.With(cfg.Registerer).NewHistogram(prometheus.HistogramOpts{
			Name:        "cloudgateway_batch_size",
			Help:        "Items that were read together.",
			ConstLabels: prometheus.Labels{"batch": cfg.Name},
			Buckets:     []float64{1, 2, 5, 10, 20, 50, 100},
		})
	}
	cfg.Room.add(r.Clear)
	return r
}

// Result is what came of one of many keys.
type Result[V any] struct {
	Value V
	Err   error
}

// Values are those of the results. The first error fails the whole.
func Values[V any](results []Result[V]) ([]V, error) {
	values := make([]V, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		values[i] = r.Value
	}
	return values, nil
}

// Get reads one item that may be as old as maxAge.
func (r *Reader[K, V]) Get(ctx context.Context, key K, maxAge time.Duration) (V, error) {
	result := r.GetMany(ctx, []K{key}, maxAge)[0]
	return result.Value, result.Err
}

// GetMany reads many items that may be as old as maxAge; the results are in the order of the keys. Only what a caller reads with an
// age is remembered, for so long.
func (r *Reader[K, V]) GetMany(ctx context.Context, keys []K, maxAge time.Duration) []Result[V] {
	return r.get(ctx, keys, maxAge, nil)
}

// Do is Get with a load of the caller's own, which is not read together with anything else.
func (r *Reader[K, V]) Do(ctx context.Context, key K, maxAge time.Duration, load func(context.Context) (V, error)) (V, error) {
	result := r.get(ctx, []K{key}, maxAge, func(ctx context.Context, _ []K) (map[K]V, error) {
		value, err := load(ctx)
		return map[K]V{key: value}, err
	})[0]
	return result.Value, result.Err
}

func (r *Reader[K, V]) get(
	ctx context.Context, keys []K, maxAge time.Duration, alone func(context.Context, []K) (map[K]V, error),
) []Result[V] {
	results := make([]Result[V], len(keys))
	if err := ctx.Err(); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	var again []int // what the callers that began had too little time for
	for i, f := range r.join(ctx, keys, maxAge, alone, results) {
		if f == nil {
			continue // There is a result already.
		}
		select {
		case <-f.done:
			see(ctx, f.asOf)
			results[i] = Result[V]{Value: f.value, Err: f.err}
			if f.endedEarly(ctx) {
				again = append(again, i)
			}
		case <-ctx.Done():
			r.leave(f)
			results[i].Err = ctx.Err()
		}
	}
	if len(again) == 0 {
		return results
	}
	rest := make([]K, len(again))
	for j, i := range again {
		rest[j] = keys[i]
	}
	for j, result := range r.get(ctx, rest, maxAge, alone) {
		results[again[j]] = result
	}
	return results
}

// endedEarly reports whether a read ended because the callers that began it had less time than one that shares it.
func (f *flight[K, V]) endedEarly(ctx context.Context) bool {
	if f.err == nil || f.batch == nil || f.batch.deadline.IsZero() {
		return false
	}
	if deadline, has := ctx.Deadline(); has && !deadline.After(f.batch.deadline) {
		return false
	}
	e, ok := rpcerr.From(f.err)
	return errors.Is(f.err, context.DeadlineExceeded) || ok && (e.Code == codes.DeadlineExceeded || e.Code == codes.ResourceExhausted)
}

// join finds what is remembered and puts it into the results, and returns the flights of the other keys.
func (r *Reader[K, V]) join(
	ctx context.Context, keys []K, maxAge time.Duration, alone func(context.Context, []K) (map[K]V, error), results []Result[V],
) []*flight[K, V] {
	flights := make([]*flight[K, V], len(keys))
	by := callerOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for i, key := range keys {
		if value, asOf, ok := r.stored.Get(key, now, maxAge); ok {
			see(ctx, asOf)
			r.requests.WithLabelValues("hit").Inc()
			trace.SpanFromContext(ctx).AddEvent("cache hit")
			results[i].Value = value
			continue
		}
		f := r.underWay(key, by.lane)
		if f == nil {
			var err error
			if f, err = r.begin(ctx, key, by, now); err != nil {
				results[i].Err = err
				continue
			}
			r.requests.WithLabelValues("load").Inc()
			if alone != nil {
				r.start(nil, []*flight[K, V]{f}, alone) //nolint:contextcheck // A read outlives the caller that began it.
			} else {
				r.laneOf(by.lane).add(f, now)
			}
		} else {
			r.requests.WithLabelValues("shared").Inc()
			if f.by.IsSampled() && !f.by.Equal(trace.SpanContextFromContext(ctx)) && f.batch != nil {
				trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: f.by})
			}
		}
		f.join(ctx, maxAge)
		flights[i] = f
	}
	if l := r.lanes[by.lane]; l != nil {
		r.schedule(l, now)
	}
	return flights
}

// underWay is a read of the key that callers of the lane may share, nil if there is none.
func (r *Reader[K, V]) underWay(key K, lane laneName) *flight[K, V] {
	for by, f := range r.flights[key] {
		if by.serves(lane) {
			return f
		}
	}
	return nil
}

// begin makes a flight, unless there are too many.
func (r *Reader[K, V]) begin(ctx context.Context, key K, by caller, now time.Time) (*flight[K, V], error) {
	if r.waiting[by.name] >= min(mostPerCaller, mostWaiting-r.total) {
		return nil, &rpcerr.Error{
			Code: codes.ResourceExhausted, RetryAfter: time.Second, Message: "too many reads of " + r.cfg.Name + " wait already",
		}
	}
	f := &flight[K, V]{
		key: key, lane: by.lane, caller: by.name, by: trace.SpanContextFromContext(ctx), values: context.WithoutCancel(ctx),
		asOf: now, done: make(chan struct{}),
	}
	if r.flights[key] == nil {
		r.flights[key] = make(map[laneName]*flight[K, V])
	}
	r.flights[key][by.lane] = f
	r.waiting[by.name]++
	r.total++
	return f, nil
}

// join adds a caller.
func (f *flight[K, V]) join(ctx context.Context, maxAge time.Duration) {
	f.callers++
	f.keep = max(f.keep, retention(ctx, maxAge))
	if f.batch == nil {
		f.spans.add(trace.SpanFromContext(ctx))
	}
	if deadline, has := ctx.Deadline(); !has {
		f.unlimited = true
	} else if deadline.After(f.deadline) {
		f.deadline = deadline
	}
}

// leave takes a caller off a flight. What no caller waits for any more is not read, and not read to its end.
func (r *Reader[K, V]) leave(f *flight[K, V]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.callers--; f.callers > 0 {
		return
	}
	select {
	case <-f.done:
		return
	default:
	}
	r.stopSharing(f)
	if f.batch == nil {
		r.lanes[f.lane].drop(f)
		r.noLongerWaits(f)
		return
	}
	f.batch.callerLeft()
}

// callerLeft notes that one flight less is waited for. A batch ends with the last: it may be reading halves of those whose
// callers have left.
func (b *batch) callerLeft() {
	if b.wanted--; b.wanted == 0 {
		b.cancel()
	}
}

// stopSharing keeps others from sharing a flight. It reports whether they could until now.
func (r *Reader[K, V]) stopSharing(f *flight[K, V]) bool {
	of := r.flights[f.key]
	if of[f.lane] != f {
		return false
	}
	if delete(of, f.lane); len(of) == 0 {
		delete(r.flights, f.key)
	}
	return true
}

func (r *Reader[K, V]) noLongerWaits(f *flight[K, V]) {
	r.total--
	if r.waiting[f.caller]--; r.waiting[f.caller] == 0 {
		delete(r.waiting, f.caller)
	}
}

// Invalidate forgets what is known about the keys, because they were written. Reads that are under way may or may not have
// seen the write: their callers get them, but no caller that comes later.
func (r *Reader[K, V]) Invalidate(keys ...K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		r.stored.Forget(key)
		delete(r.flights, key)
	}
}

// InvalidateFunc is Invalidate of all keys for which which is true.
func (r *Reader[K, V]) InvalidateFunc(which func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored.ForgetFunc(which)
	for key := range r.flights {
		if which(key) {
			delete(r.flights, key)
		}
	}
}

// Clear forgets everything, because something was written that may be in any answer.
func (r *Reader[K, V]) Clear() { r.InvalidateFunc(func(K) bool { return true }) }
