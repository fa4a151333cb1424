package flow

import (
	"cmp"
	"context"
	"fmt"
)

// Priority orders calls that wait for the same budget. The zero value is the lowest.
type Priority int

// The priorities, lowest first.
const (
	Background Priority = iota // drift checks and periodic reads
	Deletion                   // what goes away may go a little later
	Change                     // creation, and changes that a user asked for
	Backend                    // who gets the traffic

	priorities = int(Backend) + 1
)

// String is the priority's name in metrics and call metadata.
func (p Priority) String() string {
	switch p {
	case Backend:
		return "backend"
	case Change:
		return "user"
	case Deletion:
		return "deletion"
	case Background:
	}
	return "background"
}

// ParsePriority finds a priority by its name.
func ParsePriority(name string) (p Priority, ok bool) {
	for p := Background; p <= Backend; p++ {
		if p.String() == name {
			return p, true
		}
	}
	return Background, false
}

// Caller is on whose behalf a call is made.
type Caller struct {
	// Name is the fair share's key, e.g. the caller's ServiceAccount. Names have to be few, since metrics carry them.
	Name     string
	Priority Priority
}

// CallerBudget is what a caller gets of the budget. The zero value is what a caller gets who is not named.
type CallerBudget struct {
	// Weight is the number of calls that the caller may make in its turn. Default 1.
	Weight int
	// Share is the part of the gateway's budget for an action that the caller may use at most, also if nobody else wants it. 0
	// and 1: all of it.
	Share float64
}

func (b CallerBudget) validate() error {
	if b.Weight < 0 {
		return fmt.Errorf("weight %d: want at least 1", b.Weight)
	}
	if b.Share < 0 || b.Share > 1 {
		return fmt.Errorf("share %g: want more than 0 and at most 1", b.Share)
	}
	return nil
}

// Bounded reports whether the caller may not use all of the budget.
func (b CallerBudget) Bounded() bool { return b.Share > 0 && b.Share < 1 }

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
