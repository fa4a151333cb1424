package flow

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestLateTurnIsRefused: calls of a higher priority come while another waits that had time enough. It goes with half a second for the
// call itself, or is refused for its rate so long before its deadline: the cloud's answer would come too late, and who shares the call
// hears why in time.
func TestLateTurnIsRefused(t *testing.T) {
	sent, refused := 0, 0
	for n := range 20 {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(t, nil)
			pause := b.Throttled("slb", "CreateLoadBalancer", 10*time.Second)
			ctx, cancel := context.WithTimeout(as(t.Context(), "late", Change), pause+600*time.Millisecond)
			defer cancel()
			var work sync.WaitGroup
			work.Go(func() {
				err := b.Acquire(ctx, "slb", "CreateLoadBalancer")
				deadline, _ := ctx.Deadline()
				e, ok := rpcerr.From(err)
				switch left := time.Until(deadline); {
				case left < headroom:
					t.Errorf("behind %d calls: %v, %s before its deadline", n, err, left)
				case err == nil:
					sent++
				case !ok || e.Code != codes.ResourceExhausted || e.Reason != rpcerr.Throttled:
					t.Errorf("behind %d calls: %v, want THROTTLED", n, err)
				default:
					refused++
				}
			})
			synctest.Wait()
			for range n {
				work.Go(func() {
					if err := b.Acquire(as(t.Context(), "controller", Backend), "slb", "CreateLoadBalancer"); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
		})
	}
	if sent == 0 || refused == 0 {
		t.Errorf("%d went and %d were refused, so that this shows nothing", sent, refused)
	}
}
