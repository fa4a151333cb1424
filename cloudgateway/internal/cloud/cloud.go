// Package cloud is what the products (slb, vpc, ecs) share in speaking with the cloud: how parameters are spelled, how pages
// are followed, and when a write is sent again.
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Caller makes one call to the cloud; *openapi.Client is one.
type Caller interface {
	Do(ctx context.Context, call openapi.Call, out any) (openapi.Result, error)
}

// Locker lets one holder of a key in at a time; *flow.Keyed is one.
type Locker interface {
	// Lock waits for its turn or the end of ctx.
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// Lock waits for the turn of a resource. Running out of time there means that the resource is busy, and that nothing was tried.
func Lock(ctx context.Context, locks Locker, key string) (unlock func(), err error) {
	unlock, err = locks.Lock(ctx, key)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, rpcerr.Errorf(rpcerr.ResourceBusy, "other changes of %s took until the deadline, nothing was tried",
			key).WithRetry(time.Second)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for other changes of %s: %w", key, err)
	}
	return unlock, nil
}

// Waiting times between two attempts, without the jitter: the cloud needs between a fraction of a second and a few seconds to
// apply a change.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 5 * time.Second
	// patience bounds the waiting where the caller set no deadline.
	patience = time.Minute
)

// Busy reports whether another change of the same resource stood in the way: the same call will do later.
func Busy(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceBusy }

// BlamesItem reports whether an error of a read of several items may be about one of them: the others can be read
// without it. The cloud refuses a read of all as soon as a RAM policy forbids it of one.
func BlamesItem(err error) bool {
	e, ok := rpcerr.From(err)
	_, odd := errors.AsType[unreadable](err)
	return odd || ok && (e.Code == codes.InvalidArgument || e.Code == codes.NotFound || e.Reason == rpcerr.CloudForbidden)
}

// Unclear reports whether a write may or may not have been executed.
func Unclear(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.OutcomeUnknown }

// Retry calls attempt until it succeeds, fails with an error that is not to be retried, or the next attempt would come after
// the deadline of ctx; then the last error is the result.
func Retry(ctx context.Context, again func(error) bool, attempt func(ctx context.Context) error) error {
	return RetryWith(ctx, Sleep, again, attempt)
}

// RetryWith is Retry with something else to do between two attempts than to sleep. Sleep says whether there was time for it.
func RetryWith(
	ctx context.Context, sleep func(context.Context, time.Duration) bool, again func(error) bool, attempt func(ctx context.Context) error,
) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	wait := firstWait
	for {
		err := attempt(ctx)
		if err == nil || !again(err) {
			return err
		}
		pause := wait/2 + rand.N(wait/2+1) //nolint:gosec // Jitter needs no secrecy.
		if hint, ok := rpcerr.RetryAfter(err); ok && wait > firstWait {
			// The hint is for callers that retry; the first repetition may find the resource free sooner.
			pause = max(pause, min(hint, lastWait))
		}
		if !sleep(ctx, pause) {
			return err
		}
		wait = min(2*wait, lastWait)
	}
}

// Sleep waits, and reports whether there was time for it: false at once if the deadline of ctx comes earlier.
func Sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Earlier ends a little before the caller's deadline: by then the caller has to have the answer.
func Earlier(ctx context.Context) (context.Context, context.CancelFunc) {
	const most, part = time.Second, 10
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(most, time.Until(deadline)/part)))
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// Shared is what the resources of all products work with.
type Shared struct {
	// Locks orders the writes to one resource, which the cloud refuses to take at the same time.
	Locks      Locker
	Registerer prometheus.Registerer
	// Room is for what reads remember; see batch.Config.
	Room *batch.Room
	// Logger gets the stacks of panics in reads. It is required.
	Logger *slog.Logger
}

// NewCache makes a reader of what is not gathered.
func NewCache[V any](s Shared, name string) *batch.Reader[string, V] {
	return batch.New(batch.Config[string, V]{Name: name, Room: s.Room, Registerer: s.Registerer, Logger: s.Logger})
}

// NewReader makes a reader of single items. Reads that come at the same time share calls of at most perCall items.
func NewReader[K comparable, V any](
	s Shared, name string, perCall int, g Gathering, load func(context.Context, []K) (map[K]V, error),
) *batch.Reader[K, V] {
	return batch.New(batch.Config[K, V]{
		Name: name, Load: load, MaxItems: perCall, Idle: cmp.Or(g.Idle, 200*time.Microsecond),
		Max: cmp.Or(g.Max, 100*time.Millisecond), Parallel: g.Parallel,
		Blames: BlamesItem, Room: s.Room, Registerer: s.Registerer, Logger: s.Logger,
	})
}
