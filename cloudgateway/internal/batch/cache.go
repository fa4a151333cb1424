package batch

import (
	"context"
	"log/slog"
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
	flights map[string]*flight[V]
}

type entry[V any] struct {
	value V
	asOf  time.Time // when its read began
}

// flight is a read under way. It does not change after done is closed.
type flight[V any] struct {
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
		flights: make(map[string]*flight[V]),
	}
}

// Get returns the value of a key as it was at most maxAge ago, or as load reads it. Errors are not remembered.
func (c *Cache[V]) Get(ctx context.Context, key string, maxAge time.Duration, load func(context.Context) (V, error)) (V, error) {
	var none V
	if err := ctx.Err(); err != nil {
		return none, err
	}
	f, value, hit := c.lookup(ctx, key, maxAge, load)
	if hit {
		return value, nil
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
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

// lookup finds a fresh entry, or else the read to wait for.
func (c *Cache[V]) lookup(ctx context.Context, key string, maxAge time.Duration, load func(context.Context) (V, error)) (*flight[V], V, bool) {
	var none V
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if e, ok := c.entries[key]; ok && now.Sub(e.asOf) <= maxAge && maxAge > 0 {
		c.requests.WithLabelValues("hit").Inc()
		trace.SpanFromContext(ctx).AddEvent("cache hit")
		return nil, e.value, true
	}
	if f := c.flights[key]; f != nil {
		c.requests.WithLabelValues("shared").Inc()
		if f.by.IsSampled() {
			trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: f.by})
		}
		return f, none, false
	}
	c.requests.WithLabelValues("load").Inc()
	f := &flight[V]{by: trace.SpanContextFromContext(ctx), asOf: now, done: make(chan struct{})}
	c.flights[key] = f
	go c.fly(context.WithoutCancel(ctx), key, f, load)
	return f, none, false
}

// fly reads a key. It ends by its own timeout, since those who wait for it come and go.
func (c *Cache[V]) fly(ctx context.Context, key string, f *flight[V], load func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	f.value, f.err = recovered(c.cfg.Logger, c.cfg.Name, func() (V, error) { return load(ctx) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f { // otherwise the key was written meanwhile
		delete(c.flights, key)
		if f.err == nil {
			c.store(key, entry[V]{value: f.value, asOf: f.asOf})
		}
	}
	close(f.done)
}

func (c *Cache[V]) store(key string, e entry[V]) {
	if _, known := c.entries[key]; !known && len(c.entries) >= c.cfg.MaxEntries {
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
