package rpc

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/tap"
)

// arrival is a call from its headers to the end of its handler.
type arrival struct {
	from     *connection // nil if it came another way
	sever    context.CancelCauseFunc
	admitted func() // gives the entrance back
	busy     bool   // It is no health check.
	// unwatch stops what ends a call that never gets a handler. It reports false if that has happened.
	unwatch func() bool
}

type arrivalKey struct{}

// notACall is why a connection is closed on which a call names no method.
const notACall = "not a call"

// tapped sees the headers of a call before gRPC begins anything for it, and makes the connection wait while enough calls of its caller are
// being admitted. A thousand that begin at once, and want the same locks, would hold up everybody else's, and the renewal of the Lease. It
// lets a call be cut while its message is being read, for which gRPC has no other means. It refuses nothing: of what is refused here,
// gRPC keeps the timer.
func tapped(ctx context.Context, info *tap.Info) (context.Context, error) {
	ctx, sever := context.WithCancelCause(ctx)
	a := &arrival{from: arrivedBy(ctx), sever: sever, admitted: func() {}, busy: !exempt(info.FullMethodName)}
	ctx = context.WithValue(ctx, arrivalKey{}, a)
	switch {
	case a.from == nil:
	case strings.Count(info.FullMethodName, "/") < 2: // It has no handler.
		a.from.end(notACall)
		sever(errClosed)
	case !a.arrive(ctx):
		sever(errClosed)
	}
	return ctx, nil
}

// arrive waits for an entrance. It reports false if the call or its connection has ended: gRPC then drops the call.
func (a *arrival) arrive(ctx context.Context) bool {
	entrances := a.from.of.Load().entrances
	select {
	case <-a.from.over: // It takes no place from others.
		return false
	default:
	}
	select {
	case entrances <- struct{}{}:
	case <-ctx.Done():
		return false
	case <-a.from.over:
		return false
	}
	a.admitted = sync.OnceFunc(func() { <-entrances })
	a.from.works(a.busy)
	// gRPC has no handler for a call whose time is over before it looks.
	a.unwatch = context.AfterFunc(ctx, a.end)
	return true
}

// handle notes that the handler begins. It reports false if the call has ended.
func (a *arrival) handle() bool { return a.from == nil || a.unwatch != nil && a.unwatch() }

// end notes that the handler has ended, or that there will be none.
func (a *arrival) end() {
	if a.from != nil {
		a.admitted()
		a.from.rested(a.busy)
	}
}

// arrivalOf is the call that a context is of.
func arrivalOf(ctx context.Context) *arrival {
	if a, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		return a
	}
	return &arrival{sever: func(error) {}, admitted: func() {}}
}

// works notes that a call has come.
func (n *connection) works(busy bool) {
	if !busy {
		return
	}
	n.owner.mu.Lock()
	defer n.owner.mu.Unlock()
	n.busy++
	n.idle = time.Time{}
}

// rested notes that a call has ended.
func (n *connection) rested(busy bool) {
	if !busy {
		return
	}
	n.owner.mu.Lock()
	defer n.owner.mu.Unlock()
	if n.busy--; n.busy == 0 {
		n.idle = time.Now()
	}
}
