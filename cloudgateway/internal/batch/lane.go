package batch

import "context"

// laneName tells whose reads share calls.
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
// and other urgencies: they neither share a call nor wait for one. A shared call waits for the rate limit in the name of whoever began
// it, so a caller who may use little of that has to own a lane, lest others wait with it; the others are one owner, "". For the same
// reason urgent reads never join less urgent ones, at the price of a call now and then; but what an urgent one reads already, a less
// urgent one of the same owner gets as well. Reads without a lane have one together. What is remembered is everybody's. Lanes last, so
// there must be few.
func WithLane(ctx context.Context, name, owner string, urgency int) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{name: name, lane: laneName{owner: owner, urgency: urgency}})
}

// Apart keeps what is asked for under the context apart from the rest of its lane, e.g. for a resource whose changes would make those of
// others wait. Its name must be one of few.
func Apart(ctx context.Context, name string) context.Context {
	c := callerOf(ctx)
	c.lane.owner += "\x00" + name
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

func laneOf(ctx context.Context) laneName { return callerOf(ctx).lane }

// serves reports whether a read of the lane is as good for one of another lane as its own would be.
func (l laneName) serves(other laneName) bool {
	return l.owner == other.owner && l.urgency >= other.urgency
}
