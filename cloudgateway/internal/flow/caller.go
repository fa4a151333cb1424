package flow

import (
	"cmp"
	"context"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// Priority orders calls that wait for the same budget.
type Priority = commonv1.Priority

// The priorities, lowest first.
const (
	Background = commonv1.Priority_PRIORITY_BACKGROUND // drift checks and periodic reads
	Deletion   = commonv1.Priority_PRIORITY_DELETION   // what goes away may go a little later
	Change     = commonv1.Priority_PRIORITY_USER       // creation, and changes that a user asked for
	Backend    = commonv1.Priority_PRIORITY_BACKEND    // who gets the traffic
)

// Caller is on whose behalf a call is made.
type Caller struct {
	// Name is the fair share's key, e.g. the caller's ServiceAccount. Names have to be few, since metrics carry them.
	Name     string
	Priority Priority
}

type callerKey struct{}

// WithCaller marks everything done under the context as done for the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &task{caller: c.normal()})
}

// normal fills in what is missing. What the gateway does by itself has the name "cloudgateway".
func (c Caller) normal() Caller {
	c.Name = cmp.Or(c.Name, "cloudgateway")
	c.Priority = min(max(c.Priority, Background), Backend)
	return c
}

// CallerFrom returns the caller of a context.
func CallerFrom(ctx context.Context) Caller {
	if e := taskFrom(ctx); e != nil {
		return e.onBehalf()
	}
	return Caller{}.normal()
}

// taskFrom is what is done under the context, nil if WithCaller was not called.
func taskFrom(ctx context.Context) *task {
	e, _ := ctx.Value(callerKey{}).(*task)
	return e
}
