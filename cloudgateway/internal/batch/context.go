package batch

import (
	"context"
	"sync"
	"time"
)

// laneName identifies a lane, whose reads share calls.
type laneName struct {
	owner   string
	urgency int
}

// caller is on whose behalf something is read.
type caller struct {
	name string
	lane laneName
}

type callerKey struct{}

// WithLane names the caller, whose reads take turns with those of others, and its lane. Lanes keep reads apart from those of other owners
// and other urgencies: they neither share a call nor wait for one. A shared call waits for the rate limit in the name
// of the caller that began it, so a caller that may use little of that has to own a lane, lest others wait with it; the
// others are one owner, "". For the same reason urgent reads never join less urgent ones, at the price of a call now
// and then; but what an urgent one reads already, a less urgent one of the same owner gets as well. Reads without a
// lane have one together. What is remembered is shared by all. Lanes last, so there must be few.
func WithLane(ctx context.Context, name, owner string, urgency int) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{name: name, lane: laneName{owner: owner, urgency: urgency}})
}

// Lane identifies those whose reads share calls.
type Lane struct{ name laneName }

// LaneOf gives the lane of a context, for writes that go into calls together as reads do.
func LaneOf(ctx context.Context) Lane { return Lane{callerOf(ctx).lane} }

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// serves reports whether a read of the lane is as good for one of another lane as its own would be.
func (l laneName) serves(other laneName) bool {
	return l.owner == other.owner && l.urgency >= other.urgency
}

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

type retentionKey struct{}

// WithRetention returns a context whose reads are remembered for a time, as if a caller would accept that age.
func WithRetention(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, retentionKey{}, d)
}

// retention is how long an answer is to be remembered that may be as old as maxAge.
func retention(ctx context.Context, maxAge time.Duration) time.Duration {
	d, _ := ctx.Value(retentionKey{}).(time.Duration)
	return max(d, maxAge)
}
