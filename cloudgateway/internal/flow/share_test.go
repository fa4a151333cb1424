package flow

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// poll keeps on calling as many tools do: each worker one call after the other, that may take 8 s, and again a second or
// two after it has gone or was refused.
func poll(ctx context.Context, work *sync.WaitGroup, b *Budget, caller Caller, workers int, sent func()) {
	for worker := range workers {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		work.Go(func() {
			for ctx.Err() == nil {
				limited, cancel := context.WithTimeout(WithCaller(ctx, caller), 8*time.Second)
				if b.Acquire(limited, "slb", learned) == nil {
					sent()
				}
				cancel()
				select {
				case <-ctx.Done():
				case <-time.After(time.Second + time.Duration(random.Int64N(int64(time.Second)))):
				}
			}
		})
	}
}

// TestOthersKeepToTheShare: tools that poll with the priority of a user's change, each call of which finds room at once,
// leave room for the controllers in every minute. All of them together, and background work, use no more than the share.
func TestOthersKeepToTheShare(t *testing.T) {
	for _, tt := range []struct {
		name    string
		callers map[string]config.CallerBudget
		most    float64 // of the limit
		least   float64
		bound   time.Duration // of a controller's wait
	}{
		{"by default", nil, 0.7, 0.65, time.Second},
		{"one may use a tenth of it", map[string]config.CallerBudget{"terway": {Share: 0.1}}, 0.7, 0.65, time.Second},
		{"one may use all of the budget", map[string]config.CallerBudget{"terway": {Share: 1}}, 1, 0.95, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const run = 10 * time.Minute
				b := newBudget(t, func(cfg *config.Budget) { cfg.Controllers, cfg.Callers = []string{"controller"}, tt.callers })
				pass(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
				ctx, cancel := context.WithTimeout(t.Context(), run)
				defer cancel()
				var work sync.WaitGroup
				var mu sync.Mutex
				sent := 0
				count := func() {
					mu.Lock()
					defer mu.Unlock()
					sent++
				}
				poll(ctx, &work, b, Caller{"terway", Change}, 50, count)
				poll(ctx, &work, b, Caller{"karpenter", Change}, 10, count)
				poll(ctx, &work, b, Caller{"terraform", Background}, 10, count)
				longest, calls := time.Duration(0), 0
				for ; ctx.Err() == nil; pass(7 * time.Second) {
					begun := time.Now()
					if b.Acquire(as(ctx, "controller", Change), "slb", learned) == nil {
						longest, calls = max(longest, time.Since(begun)), calls+1
					}
				}
				work.Wait()
				used := float64(sent+calls) / run.Minutes() / minuteWrites
				t.Logf("%d calls of tools, %.0f %% of the limit with the controller's %d, whose longest wait was %s",
					sent, 100*used, calls, longest)
				if part := float64(sent) / run.Minutes() / minuteWrites; part > tt.most || used < tt.least {
					t.Errorf("the tools used %.2f of the limit, want %.2f at most; %.2f with the controller's, want %.2f", part, tt.most, used, tt.least)
				}
				if calls < 10 || longest > tt.bound {
					t.Errorf("%d calls of the controller, one of which waited for %s, longer than %s", calls, longest, tt.bound)
				}
				if tt.bound > time.Second && longest < 10*time.Second {
					t.Errorf("the longest wait is %s: the default is not worth anything", longest)
				}
			})
		})
	}
}

// TestQueueOfOneIsNotThatOfAnother: a caller with hundreds of calls in the queue, each of which may wait for minutes, does
// not have the call of another refused that can't: it goes at its turn.
func TestQueueOfOneIsNotThatOfAnother(t *testing.T) {
	for _, priority := range []Priority{Background, Change} {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(t, func(cfg *config.Budget) { cfg.Controllers = []string{"controller"} })
			ctx, cancel := context.WithCancel(t.Context())
			var work sync.WaitGroup
			for range 256 {
				work.Go(func() {
					for ctx.Err() == nil {
						patient, cancel := context.WithTimeout(as(ctx, "hog", priority), 5*time.Minute)
						err := b.Acquire(patient, "slb", learned)
						cancel()
						if e, ok := rpcerr.From(err); ok && e.RetryAfter > 0 && ctx.Err() == nil {
							pass(time.Second)
						}
					}
				})
			}
			pass(2 * time.Minute)
			for n := range 10 {
				limited, cancel := context.WithTimeout(as(ctx, "other", priority), 8*time.Second)
				if err := b.Acquire(limited, "slb", learned); err != nil {
					t.Errorf("%s, call %d: %v", priority, n, err)
				}
				cancel()
				pass(10 * time.Second)
			}
			cancel()
			work.Wait()
		})
	}
}
