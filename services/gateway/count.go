package gateway

import (
	"context"
	"sync/atomic"
)

// counterKey is the key of the counter in a context.
type counterKey struct{}

// CountCalls returns a context whose calls are counted, whatever becomes of them.
func CountCalls(ctx context.Context) (context.Context, *atomic.Int64) {
	counter := &atomic.Int64{}
	return context.WithValue(ctx, counterKey{}, counter), counter
}

// count counts a call that is about to begin.
func count(ctx context.Context) {
	if counter, ok := ctx.Value(counterKey{}).(*atomic.Int64); ok {
		counter.Add(1)
	}
}
