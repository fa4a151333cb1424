package batch

import (
	"context"
	"strings"
	"time"
)

// Cache is a Reader of answers that are not gathered: every read has a load of its own.
type Cache[V any] struct{ reader *Reader[string, V] }

// NewCache makes an empty cache. It panics without a Logger.
func NewCache[V any](cfg Config[string, V]) *Cache[V] {
	if err := cfg.complete(); err != nil {
		panic(err) // A defect of the program, which every start of it shows.
	}
	return &Cache[V]{newReader(cfg)}
}

// Get returns the value of a key as it was at most maxAge ago, or as load reads it. Errors are not remembered.
func (c *Cache[V]) Get(ctx context.Context, key string, maxAge time.Duration, load func(context.Context) (V, error)) (V, error) {
	return c.reader.Do(ctx, key, maxAge, load)
}

// Invalidate is Reader.Invalidate.
func (c *Cache[V]) Invalidate(keys ...string) { c.reader.Invalidate(keys...) }

// InvalidatePrefix is Invalidate of all keys that begin so.
func (c *Cache[V]) InvalidatePrefix(prefix string) {
	c.reader.InvalidateFunc(func(key string) bool { return strings.HasPrefix(key, prefix) })
}

// Clear is Reader.Clear.
func (c *Cache[V]) Clear() { c.reader.Clear() }
