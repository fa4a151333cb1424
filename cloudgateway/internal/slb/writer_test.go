package slb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// busyCloud takes every change that does not come too soon after the one before it.
type busyCloud struct {
	settles time.Duration
	takes   time.Duration // one call

	mu             sync.Mutex
	until          map[string]time.Time
	taken, refused int
}

func (b *busyCloud) Do(ctx context.Context, call openapi.Call, _ any) (openapi.Result, error) {
	result := openapi.Result{Sent: time.Now()}
	cloud.Sleep(ctx, b.takes/2)
	err := b.change(call.Params["VServerGroupId"])
	cloud.Sleep(ctx, b.takes/2)
	return result, err
}

func (b *busyCloud) change(group string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Now().Before(b.until[group]) {
		b.refused++
		return &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: time.Second}
	}
	b.taken++
	b.until[group] = time.Now().Add(b.settles)
	return nil
}

func newProduct(caller cloud.Caller) *Product {
	return New(caller, cloud.Shared{Locks: &flow.Keyed[string]{}}, nil)
}

// TestBusyAnswersAreTheException: writes that follow each other on the same instance wait until the cloud is ready, and no longer.
func TestBusyAnswersAreTheException(t *testing.T) {
	const balancers, learning, writes = 5, 20, 400
	for _, settles := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
		t.Run(settles.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &busyCloud{settles: settles, takes: 100 * time.Millisecond, until: map[string]time.Time{}}
				p := newProduct(b)
				round := func(writes int) {
					var all sync.WaitGroup
					for i := range balancers {
						all.Go(func() {
							for range writes {
								id := fmt.Sprintf("lb-%d", i)
								if err := p.Exclusively(t.Context(), id, func(ctx context.Context, w *Writer) error {
									return w.Set(ctx, "AddVServerGroupBackendServers", cloud.Params{"VServerGroupId": id})
								}); err != nil {
									t.Errorf("write: %v", err)
								}
							}
						})
					}
					all.Wait()
				}
				round(learning)
				b.taken, b.refused = 0, 0
				start := time.Now()
				round(writes)
				took := time.Since(start) / writes
				t.Logf("%d writes taken, %d refused, one every %s", b.taken, b.refused, took)
				if limit := b.taken / 20; b.refused > limit {
					t.Errorf("%d of %d writes were refused, at most %d are right", b.refused, b.taken, limit)
				}
				if limit := b.takes + settles + settles/4; took > limit {
					t.Errorf("one write every %s, want %s", took, limit)
				}
			})
		})
	}
}

// TestPauseEndsBeforeTheDeadline: a change that can't wait as long as it should is sent at once.
func TestPauseEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busyCloud{until: map[string]time.Time{}}
		p := newProduct(b)
		p.pace.estimator.Sufficed(3 * time.Second)
		p.pace.last.Put("lb-1", time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := p.Exclusively(ctx, "lb-1", func(ctx context.Context, w *Writer) error {
			return w.Set(ctx, "StopLoadBalancerListener", cloud.Params{"LoadBalancerId": "lb-1"})
		})
		if err != nil || time.Since(start) > 0 {
			t.Errorf("got %v after %s, want the cloud's answer at once", err, time.Since(start))
		}
	})
}
