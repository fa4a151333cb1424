package batch

import "context"

type laneKey struct{}

// WithLane keeps reads apart from those of other lanes: they neither share a call nor wait for one. A shared call waits for the rate
// limit in the name of whoever began it, so a caller who may use little of that needs a lane, lest others wait with it. Reads that
// are not given a lane have one together. What is remembered is everybody's. Lanes last, so there must be few.
func WithLane(ctx context.Context, lane string) context.Context {
	return context.WithValue(ctx, laneKey{}, lane)
}

func laneOf(ctx context.Context) string {
	lane, _ := ctx.Value(laneKey{}).(string)
	return lane
}
