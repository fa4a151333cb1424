package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/services/tracing"
)

// lane is the reads of the callers that share batches.
type lane[K comparable, V any] struct {
	queues  []*queue[K, V] // one of each caller that waits; the first one's turn is next
	count   int            // the flights in them
	touched time.Time      // the last arrival
	started time.Time      // the last start of a batch
	last    int            // its items
	running int
	timer   *time.Timer // runs schedule when a batch is due
}

// queue is what one caller waits for, as it came.
type queue[K comparable, V any] struct {
	caller  string
	flights []*flight[K, V]
}

func (r *Reader[K, V]) laneOf(name laneName) *lane[K, V] {
	l := r.lanes[name]
	if l == nil {
		l = &lane[K, V]{}
		r.lanes[name] = l
	}
	return l
}

func (l *lane[K, V]) add(f *flight[K, V], now time.Time) {
	l.count++
	l.touched = now
	for _, q := range l.queues {
		if q.caller == f.caller {
			q.flights = append(q.flights, f)
			return
		}
	}
	l.queues = append(l.queues, &queue[K, V]{caller: f.caller, flights: []*flight[K, V]{f}})
}

// take removes up to n flights, one of each caller in turn, so that a caller that wants thousands does not make the others wait.
func (l *lane[K, V]) take(n int) []*flight[K, V] {
	var taken []*flight[K, V]
	for len(taken) < n && len(l.queues) > 0 {
		q := l.queues[0]
		l.queues = l.queues[1:]
		taken = append(taken, q.flights[0])
		l.count--
		if q.flights = q.flights[1:]; len(q.flights) > 0 {
			l.queues = append(l.queues, q)
		}
	}
	return taken
}

// drop removes a flight that no caller wants any more. Callers leave in the order in which they came, so that it is
// among the first as a rule.
func (l *lane[K, V]) drop(f *flight[K, V]) {
	l.count--
	of := slices.IndexFunc(l.queues, func(q *queue[K, V]) bool { return q.caller == f.caller })
	q := l.queues[of]
	at := slices.Index(q.flights, f)
	copy(q.flights[1:at+1], q.flights[:at])
	if q.flights = q.flights[1:]; len(q.flights) == 0 {
		l.queues = slices.Delete(l.queues, of, of+1)
	}
}

// opened is when the oldest of the waiting came.
func (l *lane[K, V]) opened() time.Time {
	oldest := l.touched
	for _, q := range l.queues {
		if at := q.flights[0].asOf; at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

// schedule starts what is due in a lane and sets the timer for what is not.
func (r *Reader[K, V]) schedule(l *lane[K, V], now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	for l.count >= r.cfg.MaxItems && l.running < r.cfg.Parallel {
		r.start(l, l.take(r.cfg.MaxItems), r.cfg.Load)
	}
	if l.count == 0 || l.running >= r.cfg.Parallel {
		return // the end of a running batch calls schedule again
	}
	if wait := r.due(l, now).Sub(now); wait > 0 {
		l.timer = time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.schedule(l, time.Now())
		})
		return
	}
	r.start(l, l.take(r.cfg.MaxItems), r.cfg.Load)
}

// due is when what waits in a lane is to be read, if no more reads arrive.
func (r *Reader[K, V]) due(l *lane[K, V], now time.Time) time.Time {
	const more = 5
	latest := l.opened().Add(r.cfg.Max)
	if l.running > 0 {
		return latest
	}
	idle := r.cfg.Idle
	if l.last > 1 && now.Sub(l.started) < r.cfg.Max {
		idle *= more
	}
	if due := l.touched.Add(idle); due.Before(latest) {
		return due
	}
	return latest
}

// start reads flights together; l is nil if they are not of a lane.
func (r *Reader[K, V]) start(l *lane[K, V], flights []*flight[K, V], load func(context.Context, []K) (map[K]V, error)) {
	now := time.Now()
	b := &batch{wanted: len(flights)}
	end, latest, unlimited := now.Add(r.cfg.Timeout), time.Time{}, false
	for _, f := range flights {
		f.batch = b
		r.noLongerWaits(f)
		unlimited = unlimited || f.unlimited
		if f.deadline.After(latest) {
			latest = f.deadline
		}
	}
	if !unlimited && !latest.IsZero() && latest.Before(end) {
		end, b.deadline = latest, latest
	}
	var ctx context.Context
	ctx, b.cancel = context.WithDeadline(flights[0].values, end)
	if l != nil {
		l.running++
		l.started, l.last = now, len(flights)
	}
	go func() {
		defer b.cancel()
		r.run(ctx, flights, l == nil, load)
		if l == nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		l.running--
		r.schedule(l, time.Now())
	}()
}

// run reads a batch.
func (r *Reader[K, V]) run(
	ctx context.Context, flights []*flight[K, V], alone bool, load func(context.Context, []K) (map[K]V, error),
) {
	if alone {
		_ = r.read(ctx, flights, load, &halving{}) // The caller has it.
		return
	}
	var w waiting
	for _, f := range flights {
		for _, span := range f.spans {
			w.add(span)
		}
	}
	ctx, span := w.begin(ctx, r.cfg.Name, len(flights))
	defer span.End()
	if err := r.read(ctx, flights, load, &halving{left: mostHalves}); err != nil {
		tracing.Fail(span, err)
	}
}

const (
	// mostHalves is how often a batch may be halved: two bad items of a hundred take twelve, and a hundred of them are not worth more.
	mostHalves = 15
	// hopeless is how many reads may fail before the first that does not. The first two of a hundred take nine. If all
	// fail, it is about none of them.
	hopeless = 10
)

// halving is how the reading of a batch in halves goes.
type halving struct {
	left   int // how often it may be halved yet
	failed int // reads
	found  bool
}

// again reports whether the halves of items that could not be read are worth to be read.
func (h *halving) again(items int) bool {
	h.failed++
	if items == 1 || h.left == 0 || !h.found && h.failed >= hopeless {
		return false
	}
	h.left--
	return true
}

// read reads some flights of a batch, in halves if the error is about one of them. Its error is any of theirs.
func (r *Reader[K, V]) read(
	ctx context.Context, flights []*flight[K, V], load func(context.Context, []K) (map[K]V, error), halves *halving,
) error {
	keys := make([]K, len(flights))
	for i, f := range flights {
		keys[i] = f.key
	}
	if r.size != nil {
		r.size.Observe(float64(len(keys)))
	}
	found, err := Recovered(r.cfg.Logger, r.cfg.Name, func() (map[K]V, error) { return load(ctx, keys) })
	halves.found = halves.found || err == nil
	if err != nil && r.cfg.Blames != nil && r.cfg.Blames(err) && halves.again(len(flights)) {
		half := len(flights) / 2
		return errors.Join(r.read(ctx, flights[:half], load, halves), r.read(ctx, flights[half:], load, halves))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range flights {
		value, exists := found[f.key]
		r.finish(f, value, exists, err)
	}
	return err
}

// finish gives a flight its outcome.
func (r *Reader[K, V]) finish(f *flight[K, V], value V, exists bool, err error) {
	if r.stopSharing(f) && err == nil { // otherwise the key was written meanwhile, for example
		r.remember(f, value, exists)
	}
	if err == nil && !exists && r.cfg.Absent != nil {
		err = r.cfg.Absent(f.key)
	}
	f.value, f.err = value, err
	close(f.done)
	if f.callers > 0 {
		f.batch.callerLeft()
	}
}

// remember stores a value if a caller asked for that. Absence is not remembered.
func (r *Reader[K, V]) remember(f *flight[K, V], value V, exists bool) {
	if !exists {
		r.stored.Forget(f.key)
		return
	}
	r.stored.Put(f.key, value, sizeOf(value), f.asOf, f.keep)
	r.sweepLater()
}

// sweepLater keeps what is not asked for again from staying for ever.
func (r *Reader[K, V]) sweepLater() {
	if r.sweep != nil || r.stored.Len() == 0 {
		return
	}
	r.sweep = time.AfterFunc(time.Minute, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sweep = nil
		r.stored.Expire(time.Now())
		r.sweepLater()
	})
}

// Recovered turns a panic into an error. It would end the process, since no caller's own recovery sees our goroutines.
func Recovered[T any](log *slog.Logger, name string, work func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a batch", "batch", name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("batch %s: panic: %v", name, p)
		}
	}()
	return work()
}

// sizeOf is about the memory that a value takes, in bytes. A message in memory is about four times as large as on the wire.
func sizeOf(value any) int {
	const overhead, inMemory = 256, 4
	if m, ok := value.(proto.Message); ok {
		return overhead + inMemory*proto.Size(m)
	}
	size := overhead
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			size += sizeOf(v.Index(i).Interface())
		}
	case reflect.String:
		size += v.Len()
	default:
		size += overhead * inMemory // A certificate's data, for example.
	}
	return size
}

// mostLinks bounds the links of one span; OpenTelemetry keeps no more by default.
const mostLinks = 128

// waiting are the spans of the calls that wait for a batch, those that are recorded.
type waiting []trace.Span

// add notes the span of a call, once.
func (w *waiting) add(span trace.Span) {
	same := func(other trace.Span) bool { return other.SpanContext().Equal(span.SpanContext()) }
	if span.IsRecording() && len(*w) < mostLinks && !slices.ContainsFunc(*w, same) {
		*w = append(*w, span)
	}
}

// begin opens the span of a batch. A span has one parent and a batch many callers, so it is the child of the first one that is
// recorded, and it is linked with the others, both ways: from the read to all callers that it serves, and from each of
// them to the read, where the cloud's request id is.
func (w waiting) begin(ctx context.Context, name string, items int) (context.Context, trace.Span) {
	if len(w) == 0 {
		return ctx, trace.SpanFromContext(context.Background())
	}
	links := make([]trace.Link, 0, len(w)-1)
	for _, other := range w[1:] {
		links = append(links, trace.Link{SpanContext: other.SpanContext()})
	}
	ctx, span := tracing.Child(trace.ContextWithSpan(ctx, w[0]), "batch "+name, trace.WithLinks(links...),
		trace.WithAttributes(attribute.String("batch.name", name), attribute.Int("batch.items", items)))
	for _, other := range w[1:] {
		other.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, span
}
