package app

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

// turn is the gate that every call to the cloud passes: only the active replica calls, and each call waits in the name of the
// gateway's caller, with the priority of the method that was called.
type turn struct {
	budget *flow.Budget
	active atomic.Bool
}

// begin lets calls go, at the rate at which another replica may have left off.
func (t *turn) begin() {
	t.budget.TakeOver()
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
	if caller, ok := rpc.CallerFrom(ctx); ok {
		policy, _ := rpc.PolicyFrom(ctx)
		ctx = flow.WithCaller(ctx, flow.Caller{Name: caller.Name, Priority: flow.Priority(policy.Priority)})
	}
	return t.budget.Acquire(ctx, product, action)
}

// Throttled implements openapi.Budget.
func (t *turn) Throttled(product, action string, retryAfter time.Duration) time.Duration {
	return t.budget.Throttled(product, action, retryAfter)
}
