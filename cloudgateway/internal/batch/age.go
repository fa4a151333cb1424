package batch

import (
	"context"
	"sync"
	"time"
)

// Age finds out how old the answers are that reads under a context give.
type Age struct {
	mu     sync.Mutex
	oldest time.Time
}

type ageKey struct{}

// WithAge returns a context whose reads an Age sees.
func WithAge(ctx context.Context) (context.Context, *Age) {
	age := &Age{}
	return context.WithValue(ctx, ageKey{}, age), age
}

// AsOf is when the cloud was asked for the oldest of the answers; now if there is none.
func (a *Age) AsOf() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.oldest.IsZero() {
		return time.Now()
	}
	return a.oldest
}

// see notes an answer.
func see(ctx context.Context, asOf time.Time) {
	age, ok := ctx.Value(ageKey{}).(*Age)
	if !ok {
		return
	}
	age.mu.Lock()
	defer age.mu.Unlock()
	if age.oldest.IsZero() || asOf.Before(age.oldest) {
		age.oldest = asOf
	}
}

type keepKey struct{}

// Keep returns a context whose reads are remembered for a time, as if somebody would accept that age.
func Keep(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, keepKey{}, d)
}

// kept is how long an answer is to be remembered that may be as old as maxAge.
func kept(ctx context.Context, maxAge time.Duration) time.Duration {
	d, _ := ctx.Value(keepKey{}).(time.Duration)
	return max(d, maxAge)
}
