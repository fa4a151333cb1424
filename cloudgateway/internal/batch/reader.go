package batch

import (
	"context"
	"time"
)

// Reader reads items by key: from a cache if they are fresh there, else together with what others want.
type Reader[K comparable, V any] struct {
	Cache     *Cache[V]
	Coalescer *Coalescer[K, V]
	// Name is the key of an item in the cache.
	Name func(K) string
	// Absent is the error about an item that does not exist. Nil: there is none, and the value is zero.
	Absent func(K) error
}

// Get reads one item that may be as old as maxAge.
func (r Reader[K, V]) Get(ctx context.Context, key K, maxAge time.Duration) (V, error) {
	result := r.GetMany(ctx, []K{key}, maxAge)[0]
	return result.Value, result.Err
}

// GetMany reads many items that may be as old as maxAge; the results are in the order of the keys.
func (r Reader[K, V]) GetMany(ctx context.Context, keys []K, maxAge time.Duration) []Result[V] {
	names, byName := make([]string, len(keys)), make(map[string]K, len(keys))
	for i, key := range keys {
		names[i] = r.Name(key)
		byName[names[i]] = key
	}
	return r.Cache.GetMany(ctx, names, maxAge, func(ctx context.Context, missing []string) func(context.Context, string) (V, error) {
		wanted := make([]K, len(missing))
		for i, name := range missing {
			wanted[i] = byName[name]
		}
		outcome := r.Coalescer.Join(ctx, wanted)
		return func(ctx context.Context, name string) (V, error) {
			value, exists, err := outcome(ctx, byName[name])
			if err == nil && !exists && r.Absent != nil {
				err = r.Absent(byName[name])
			}
			return value, err
		}
	})
}

// Close ends the reads.
func (r Reader[K, V]) Close() { r.Coalescer.Close() }

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
