package app

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// turn is the gate that every call to the cloud passes: only the active replica calls.
type turn struct {
	budget *flow.Budget
	active atomic.Bool
}

// begin lets calls go. If another replica may have called up to a time, as the Lease tells, they go at the rate at which that one
// may have left off; zero: none has.
//
// A process without an election that is restarted can't know what it has spent before. It begins as if it had spent nothing, since
// a first start is much more frequent than a crash under full load: the first create of a minute then goes at once instead of
// after a pause. The price is small, because half a window's calls at most go at once: with the default share of 0.7 that is 105 %
// of the account's limit together with those before the crash, and what the cloud throttles of that lowers the rate for a while.
func (t *turn) begin(until time.Time) {
	if !until.IsZero() {
		t.budget.TakeOver(until)
	}
	t.active.Store(true)
}

func (t *turn) end() { t.active.Store(false) }

// Acquire implements openapi.Budget.
func (t *turn) Acquire(ctx context.Context, product, action string) error {
	if !t.active.Load() {
		return &rpcerr.Error{
			Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, RetryAfter: time.Second,
			Message: "this replica of the gateway is on standby; another one is active",
		}
	}
	return t.budget.Acquire(ctx, product, action)
}

// Throttled implements openapi.Budget.
func (t *turn) Throttled(product, action string, retryAfter time.Duration) time.Duration {
	return t.budget.Throttled(product, action, retryAfter)
}
