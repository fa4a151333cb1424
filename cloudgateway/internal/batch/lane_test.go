package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLanesDoNotWaitForEachOther: a tool reads as slowly as its share of the budget lets it, and whoever has another lane does not
// notice, neither with the same key nor with others. What the tool has read is everybody's.
func TestLanesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		var mu sync.Mutex
		r := New(Config[string, string]{Logger: discard, MaxItems: 2, Parallel: 2, Load: func(ctx context.Context,
			keys []string) (map[string]string, error) {
			mu.Lock()
			loads++
			mu.Unlock()
			if callerOf(ctx).lane.owner == "tool" {
				<-time.After(10 * time.Second)
			}
			found := map[string]string{}
			for _, key := range keys {
				found[key] = callerOf(ctx).lane.owner
			}
			return found, nil
		}})
		begin := time.Now()
		var tool sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} { // two batches are read, one is full, one gathers
			tool.Go(func() {
				if got, err := r.Get(WithLane(t.Context(), "tool", "tool", 0), key, time.Minute); got != "tool" || err != nil {
					t.Errorf("the tool read %q, %v", got, err)
				}
			})
		}
		<-time.After(100 * time.Millisecond)
		for _, key := range []string{"a", "g", "x"} {
			if got, err := r.Get(t.Context(), key, time.Minute); got != "" || err != nil {
				t.Errorf("%s came from lane %q, %v", key, got, err)
			}
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the others waited for %s", took)
		}
		tool.Wait()
		before := loads
		if got, err := r.Get(t.Context(), "c", time.Minute); got != "tool" || err != nil || loads != before {
			t.Errorf("what the tool read is not remembered: %q, %v", got, err)
		}
		// The others read "a" later than the tool, although they had it sooner.
		if got, err := r.Get(t.Context(), "a", time.Minute); got != "" || err != nil || loads != before {
			t.Errorf("an old answer took the place of a newer one: %q, %v", got, err)
		}
	})
}

// TestUrgentReadsDoNotWaitForOthers: a background job that reads everything holds no urgent read up, neither of what it reads nor of
// anything else. Whoever is in less of a hurry shares what an urgent one reads.
func TestUrgentReadsDoNotWaitForOthers(t *testing.T) {
	const background, urgent = 0, 3
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int32
		r := New(Config[string, int]{Logger: discard, MaxItems: 1, Parallel: 1, Load: func(ctx context.Context,
			keys []string) (map[string]int, error) {
			loads.Add(1)
			<-time.After(time.Duration(4-callerOf(ctx).lane.urgency) * time.Second) // as the rate limit lets them go
			return map[string]int{keys[0]: callerOf(ctx).lane.urgency}, nil
		}})
		var job sync.WaitGroup
		job.Go(func() {
			for _, result := range r.GetMany(WithLane(t.Context(), "", "", background), []string{"a", "b", "c"}, 0) {
				if result.Err != nil || result.Value != background {
					t.Errorf("the job read %+v", result)
				}
			}
		})
		synctest.Wait()
		begin := time.Now()
		var others sync.WaitGroup
		for _, key := range []string{"a", "x"} {
			others.Go(func() {
				if got, err := r.Get(WithLane(t.Context(), "", "", urgent), key, 0); got != urgent || err != nil {
					t.Errorf("%s came from urgency %d, %v", key, got, err)
				}
			})
		}
		synctest.Wait()
		others.Go(func() {
			if got, err := r.Get(WithLane(t.Context(), "", "", background), "x", 0); got != urgent || err != nil {
				t.Errorf("x was read again with urgency %d, %v", got, err)
			}
		})
		others.Wait()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("urgent reads took %s", took)
		}
		job.Wait()
		if got := loads.Load(); got != 5 {
			t.Errorf("%d loads, want 3 of the job and 2 urgent ones", got)
		}
	})
}
