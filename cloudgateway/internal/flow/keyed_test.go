package flow

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
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
