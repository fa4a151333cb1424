package batch

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"
)

// CacheConfig of a Cache.
type CacheConfig struct {
	// Name is the metrics' label, e.g. "loadbalancers".
	Name string
	// MaxEntries bounds the cache; the oldest entry makes room. Default 5000.
	MaxEntries int
	// Timeout bounds one read, which does not end with the caller who began it. Default 30 s.
	Timeout    time.Duration
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Cache remembers what was read, for callers who accept that age, and lets callers who want the same share one read. The
// values are shared: nobody may change them.
type Cache[V any] struct {
	cfg      CacheConfig
	requests *prometheus.CounterVec

	mu      sync.Mutex
	entries map[string]entry[V]
	flights map[string]map[laneName]*flight[V] // by key and lane
}

type entry[V any] struct {
	value V
	asOf  time.Time // when its read began
}

// flight is a read under way. It does not change after done is closed.
type flight[V any] struct {
	key   string
	lane  laneName
	by    trace.SpanContext // of the caller who began it
	asOf  time.Time
	done  chan struct{}
	value V
	err   error
}

// NewCache makes an empty cache.
func NewCache[V any](cfg CacheConfig) *Cache[V] {
	if cfg.MaxEntries < 1 {
		cfg.MaxEntries = 5000
	}
	setDefault(&cfg.Timeout, 30*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Cache[V]{
		cfg: cfg,
		requests: promauto.With(cfg.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name:        "cloudgateway_cache_requests_total",
			Help:        "Reads by where the answer came from: hit (remembered), shared (another caller's read) or load.",
			ConstLabels: prometheus.Labels{"cache": cfg.Name},
		}, []string{"result"}),
		entries: make(map[string]entry[V]),
		flights: make(map[string]map[laneName]*flight[V]),
	}
}

// Result is what came of one of many keys.
type Result[V any] struct {
	Value V
	Err   error
}

// Get returns the value of a key as it was at most maxAge ago, or as load reads it. Errors are not remembered.
func (c *Cache[V]) Get(ctx context.Context, key string, maxAge time.Duration, load func(context.Context) (V, error)) (V, error) {
	one := func(context.Context, []string) func(context.Context, string) (V, error) {
		return func(ctx context.Context, _ string) (V, error) { return load(ctx) }
	}
	result := c.GetMany(ctx, []string{key}, maxAge, one)[0]
	return result.Value, result.Err
}

// GetMany is Get for many keys; the results are in their order. Load is told at once all that it has to read, and returns what
// reads one of them.
func (c *Cache[V]) GetMany(
	ctx context.Context, keys []string, maxAge time.Duration, load func(context.Context, []string) func(context.Context, string) (V, error),
) []Result[V] {
	results := make([]Result[V], len(keys))
	if err := ctx.Err(); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	flights, missing := c.lookup(ctx, keys, maxAge, results)
	c.launch(context.WithoutCancel(ctx), missing, load)
	for i, f := range flights {
		if f == nil {
			continue // a hit
		}
		select {
		case <-f.done:
			results[i] = Result[V]{Value: f.value, Err: f.err}
		case <-ctx.Done():
			results[i].Err = ctx.Err()
		}
	}
	return results
}

// Invalidate forgets what is known about the keys, because they were written. Reads that are under way may or may not have
// seen the write: their callers get them, but nobody who comes later.
func (c *Cache[V]) Invalidate(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		delete(c.entries, key)
		delete(c.flights, key)
	}
}

// InvalidatePrefix is Invalidate of all keys that begin so.
func (c *Cache[V]) InvalidatePrefix(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.entries, func(key string, _ entry[V]) bool { return strings.HasPrefix(key, prefix) })
	maps.DeleteFunc(c.flights, func(key string, _ map[laneName]*flight[V]) bool { return strings.HasPrefix(key, prefix) })
}

// Clear forgets everything, because something was written that may be in any answer.
func (c *Cache[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	clear(c.flights)
}

// lookup puts fresh entries into the results, and returns the reads to wait for in place of the others: those of them that are
// missing have to be launched.
func (c *Cache[V]) lookup(
	ctx context.Context, keys []string, maxAge time.Duration, results []Result[V],
) (flights []*flight[V], missing []*flight[V]) {
	flights = make([]*flight[V], len(keys))
	c.mu.Lock()
	defer c.mu.Unlock()
	now, lane := time.Now(), laneOf(ctx)
	for i, key := range keys {
		if e, ok := c.entries[key]; ok && now.Sub(e.asOf) <= maxAge && maxAge > 0 {
			c.requests.WithLabelValues("hit").Inc()
			trace.SpanFromContext(ctx).AddEvent("cache hit")
			results[i].Value = e.value
			continue
		}
		if f := c.underWay(key, lane); f != nil {
			c.requests.WithLabelValues("shared").Inc()
			if f.by.IsSampled() {
				trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: f.by})
			}
			flights[i] = f
			continue
		}
		c.requests.WithLabelValues("load").Inc()
		f := &flight[V]{key: key, lane: lane, by: trace.SpanContextFromContext(ctx), asOf: now, done: make(chan struct{})}
		if c.flights[key] == nil {
			c.flights[key] = make(map[laneName]*flight[V])
		}
		c.flights[key][lane], flights[i] = f, f
		missing = append(missing, f)
	}
	return flights, missing
}

// underWay is a read of the key that somebody of the lane may share, nil if there is none.
func (c *Cache[V]) underWay(key string, lane laneName) *flight[V] {
	for by, f := range c.flights[key] {
		if by.serves(lane) {
			return f
		}
	}
	return nil
}

// launch begins reads. They end by their own timeout, since those who wait for them come and go.
func (c *Cache[V]) launch(
	ctx context.Context, flights []*flight[V], load func(context.Context, []string) func(context.Context, string) (V, error),
) {
	if len(flights) == 0 {
		return
	}
	keys := make([]string, len(flights))
	for i, f := range flights {
		keys[i] = f.key
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	read := load(ctx, keys)
	var underWay sync.WaitGroup
	for _, f := range flights {
		underWay.Go(func() { c.fly(ctx, f, read) })
	}
	go func() {
		defer cancel()
		underWay.Wait()
	}()
}

// fly reads a key.
func (c *Cache[V]) fly(ctx context.Context, f *flight[V], read func(context.Context, string) (V, error)) {
	f.value, f.err = recovered(c.cfg.Logger, c.cfg.Name, func() (V, error) { return read(ctx, f.key) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if inFlight := c.flights[f.key]; inFlight[f.lane] == f { // otherwise the key was written meanwhile
		if delete(inFlight, f.lane); len(inFlight) == 0 {
			delete(c.flights, f.key)
		}
		if f.err == nil {
			c.store(f.key, entry[V]{value: f.value, asOf: f.asOf})
		}
	}
	close(f.done)
}

func (c *Cache[V]) store(key string, e entry[V]) {
	before, known := c.entries[key]
	if known && before.asOf.After(e.asOf) {
		return // a read of another lane began later and ended sooner
	}
	if !known && len(c.entries) >= c.cfg.MaxEntries {
		oldest, at := "", time.Time{}
		for k, e := range c.entries {
			if at.IsZero() || e.asOf.Before(at) {
				oldest, at = k, e.asOf
			}
		}
		delete(c.entries, oldest)
	}
	c.entries[key] = e
}
