package flow

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"
)

func TestKeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Keyed[string]
		unlock, err := locks.Lock(t.Context(), "lb-a")
		if err != nil {
			t.Fatal(err)
		}

		other, err := locks.Lock(t.Context(), "lb-b")
		if err != nil {
			t.Fatalf("another key: %v", err)
		}
		other()

		var order []int
		var work sync.WaitGroup
		for i := range 5 {
			work.Go(func() {
				unlock, err := locks.Lock(t.Context(), "lb-a")
				if err != nil {
					t.Error(err)
					return
				}
				defer unlock()
				order = append(order, i)
			})
			synctest.Wait() // until it waits
		}

		ctx, cancel := context.WithCancel(t.Context())
		work.Go(func() {
			if _, err := locks.Lock(ctx, "lb-a"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		unlock()
		unlock() // does no harm
		work.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if len(locks.locks) != 0 {
			t.Errorf("%d locks are kept after their use", len(locks.locks))
		}
	})
}

// TestKeyedIsBounded: one caller can make only so many writes wait for a load balancer, and others still find room.
func TestKeyedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Keyed[string]
		unlock, err := locks.Lock(t.Context(), "lb")
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		ctx, stop := context.WithCancel(as(t.Context(), "tool", Change))
		var work sync.WaitGroup
		for range mostWaitingForKey {
			work.Go(func() {
				if _, err := locks.Lock(ctx, "lb"); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want Canceled", err)
				}
			})
		}
		synctest.Wait()
		if _, err := locks.Lock(ctx, "lb"); rpcerr.ReasonOf(err) != rpcerr.Throttled {
			t.Errorf("one too many: error %v, want THROTTLED", err)
		}
		work.Go(func() {
			if _, err := locks.Lock(as(ctx, "controller", Change), "lb"); !errors.Is(err, context.Canceled) {
				t.Errorf("another caller: error %v, want Canceled", err)
			}
		})
		synctest.Wait()
		stop()
		work.Wait()
		if locks.queue != 0 {
			t.Errorf("%d count as waiting when nobody does", locks.queue)
		}
	})
}

// TestKeyedOrder: a backend change does not wait behind other writes to a load balancer that several Services share, and a caller
// with many writes takes turns with the others.
func TestKeyedOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks Keyed[string]
		unlock, err := locks.Lock(t.Context(), "lb")
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var work sync.WaitGroup
		for _, c := range []Caller{
			{"tool", Deletion}, {"tool", Change}, {"tool", Change}, {"tool", Change}, {"controller", Change}, {"controller", Backend},
		} {
			work.Go(func() {
				unlock, err := locks.Lock(WithCaller(t.Context(), c), "lb")
				if err != nil {
					t.Error(err)
					return
				}
				defer unlock()
				order = append(order, c.Name+" "+method.PriorityName(c.Priority))
			})
			synctest.Wait() // until it waits
		}
		unlock()
		work.Wait()
		want := []string{"controller backend", "tool user", "controller user", "tool user", "tool user", "tool deletion"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// TestKeyedIsExclusive locks few keys from many goroutines, some of which give up: a key never has two holders, and all come to
// an end.
func TestKeyedIsExclusive(t *testing.T) {
	var locks Keyed[int]
	var holders [3]atomic.Int32
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(as(t.Context(), string(rune('a'+i%4)), Priority(i%int(Backend)+1)))
				if (i+n)%3 == 0 {
					go cancel()
				}
				key := (i + n) % len(holders)
				if unlock, err := locks.Lock(ctx, key); err == nil {
					if holders[key].Add(1) != 1 {
						t.Error("a key has two holders")
					}
					runtime.Gosched()
					holders[key].Add(-1)
					unlock()
				}
				cancel()
			}
		})
	}
	work.Wait()
	if len(locks.locks) != 0 {
		t.Errorf("%d locks are kept after their use", len(locks.locks))
	}
}
