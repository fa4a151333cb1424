package batch

import (
	"context"
	"sync"
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
		c, err := New(Config[string, string]{MaxItems: 2, Parallel: 2, Load: func(ctx context.Context, keys []string) (map[string]string, error) {
			mu.Lock()
			loads++
			mu.Unlock()
			if laneOf(ctx) == "tool" {
				<-time.After(10 * time.Second)
			}
			found := map[string]string{}
			for _, key := range keys {
				found[key] = laneOf(ctx)
			}
			return found, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r := Reader[string, string]{Cache: NewCache[string](CacheConfig{}), Coalescer: c, Name: func(key string) string { return key }}
		begin := time.Now()
		var tool sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} { // two batches are read, one is full, one gathers
			tool.Go(func() {
				if got, err := r.Get(WithLane(t.Context(), "tool"), key, 0); got != "tool" || err != nil {
					t.Errorf("the tool read %q, %v", got, err)
				}
			})
		}
		<-time.After(100 * time.Millisecond)
		for _, key := range []string{"a", "g", "x"} {
			if got, err := r.Get(t.Context(), key, 0); got != "" || err != nil {
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
