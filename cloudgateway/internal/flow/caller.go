package flow

import "context"

// Priority orders calls that wait for the same budget. The zero value is the lowest.
type Priority int

// The priorities, lowest first.
const (
	Background Priority = iota // drift checks and periodic reads
	Deletion                   // what goes away may go a little later
	Change                     // creation, and changes that a user asked for
	Backend                    // who gets the traffic: has a reserve of its own

	priorities = int(Backend) + 1
)

// String is the priority's name in metrics.
func (p Priority) String() string {
	switch p {
	case Backend:
		return "backend"
	case Change:
		return "change"
	case Deletion:
		return "deletion"
	case Background:
	}
	return "background"
}

// Caller is on whose behalf a call is made.
type Caller struct {
	// Name is the fair share's key, e.g. the caller's ServiceAccount. Names have to be few, since metrics carry them.
	Name     string
	Priority Priority
}

type callerKey struct{}

// WithCaller marks everything done under the context as done for the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller of a context. What the gateway does by itself has the name "cloudgateway".
func CallerFrom(ctx context.Context) Caller {
	c, ok := ctx.Value(callerKey{}).(Caller)
	if !ok || c.Name == "" {
		c.Name = "cloudgateway"
	}
	c.Priority = min(max(c.Priority, Background), Backend)
	return c
}
