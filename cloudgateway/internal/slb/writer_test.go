package slb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// busyCloud takes every change that does not come too soon after the one before it.
type busyCloud struct {
	settles time.Duration
	slow    map[string]time.Duration // those that take longer
	takes   time.Duration            // one call

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
	b.until[group] = time.Now().Add(max(b.settles, b.slow[group]))
	return nil
}

func newProduct(caller cloud.Caller) *Product {
	return New(caller, cloud.Shared{Locks: &flow.Keyed[string]{}}, nil)
}

// changes makes changes of load balancers at the same time, and returns how long each took on average.
func changes(t *testing.T, p *Product, writes int, balancers ...string) time.Duration {
	t.Helper()
	var all sync.WaitGroup
	start := time.Now()
	for _, id := range balancers {
		all.Go(func() {
			for range writes {
				if err := p.Exclusively(t.Context(), id, func(ctx context.Context, w *Writer) error {
					return w.Set(ctx, "AddVServerGroupBackendServers", cloud.Params{"VServerGroupId": id})
				}); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start) / time.Duration(writes)
}

// TestBusyAnswersAreTheException: of the changes that follow each other on the same instance, a few are refused, and
// again every five minutes. The others wait until the cloud is ready, and hardly longer.
func TestBusyAnswersAreTheException(t *testing.T) {
	const writes = 400
	for _, settles := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
		t.Run(settles.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &busyCloud{settles: settles, takes: 100 * time.Millisecond, until: map[string]time.Time{}}
				took := changes(t, newProduct(b), writes, "lb-0", "lb-1", "lb-2", "lb-3", "lb-4")
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

// TestSlowBalancersAreAlone: while one in twenty load balancers is slow, the others are as fast as before.
func TestSlowBalancersAreAlone(t *testing.T) {
	const balancers, writes = 100, 20
	mean := func(slow int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			b := &busyCloud{settles: 100 * time.Millisecond, takes: 50 * time.Millisecond, until: map[string]time.Time{},
				slow: map[string]time.Duration{}}
			p := newProduct(b)
			ids := make([]string, balancers)
			for i := range ids {
				ids[i] = fmt.Sprintf("lb-%d", i)
			}
			for _, id := range ids[:slow] {
				b.slow[id] = 4 * time.Second
			}
			var others sync.WaitGroup
			for _, id := range ids[:slow] {
				others.Go(func() { changes(t, p, writes, id) })
			}
			<-time.After(time.Minute) // The slow ones have been so for a while.
			took = changes(t, p, writes, ids[slow:]...)
			others.Wait()
		})
		return took
	}
	alone, beside := mean(0), mean(balancers/20)
	t.Logf("a change every %s, and every %s beside slow load balancers", alone, beside)
	if beside > alone+alone/10 {
		t.Errorf("a change takes %s beside slow load balancers, and %s without", beside, alone)
	}
}

// TestPauseEndsBeforeTheDeadline: a change that can't wait as long as it should is sent at once.
func TestPauseEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busyCloud{until: map[string]time.Time{}}
		p := newProduct(b)
		p.pace.Took("lb-1", 3*time.Second)
		p.changed.Put("lb-1", time.Now(), time.Minute)
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
