package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCacheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard, Name: "test"})
		version := 0
		get := func(maxAge time.Duration) int {
			v, err := c.Do(t.Context(), "k", maxAge, func(context.Context) (int, error) { version++; return version, nil })
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		steps := []struct {
			after  time.Duration
			maxAge time.Duration
			want   int
		}{
			{maxAge: time.Minute, want: 1},
			{after: time.Minute, maxAge: time.Minute, want: 1},
			{after: time.Second, maxAge: time.Minute, want: 2},
			{maxAge: 0, want: 3},
			{after: time.Second, maxAge: time.Hour, want: 3},
		}
		for i, step := range steps {
			pass(step.after)
			if got := get(step.maxAge); got != step.want {
				t.Errorf("step %d: got version %d, want %d", i, got, step.want)
			}
		}
		c.Invalidate("k", "unknown")
		if got := get(time.Hour); got != 4 {
			t.Errorf("after Invalidate: got version %d, want 4", got)
		}
	})
}

func TestCacheSharesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int32]{Logger: discard, Name: "test"})
		var loads atomic.Int32
		load := func(context.Context) (int32, error) {
			n := loads.Add(1)
			pass(time.Second)
			return n, nil
		}
		var callers sync.WaitGroup
		get := func(ctx context.Context, want int32, wantErr error) {
			callers.Go(func() {
				got, err := c.Do(ctx, "k", time.Minute, load)
				if got != want || !errors.Is(err, wantErr) {
					t.Errorf("Do = %d, %v, want %d, %v", got, err, want, wantErr)
				}
			})
		}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		get(short, 0, context.DeadlineExceeded) // began the read, does not end it
		synctest.Wait()
		for range 100 {
			get(t.Context(), 1, nil)
		}
		synctest.Wait()
		c.Invalidate("k")
		get(t.Context(), 2, nil) // comes after a write: must not get what was read before it
		callers.Wait()
		got, err := c.Do(t.Context(), "k", time.Minute, load)
		if got != 2 || err != nil {
			t.Errorf("remembered %d, %v, want the read that began after Invalidate", got, err)
		}
	})
}

func TestCacheForgetsErrorsAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard, Name: "test"})
		broken := errors.New("broken")
		if _, err := c.Do(t.Context(), "k", time.Hour, func(context.Context) (int, error) { return 0, broken }); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
		if _, err := c.Do(t.Context(), "k", time.Hour, func(context.Context) (int, error) { panic("oops") }); err == nil {
			t.Error("no error after a panic")
		}
		if v, err := c.Do(t.Context(), "k", time.Hour, func(context.Context) (int, error) { return 1, nil }); v != 1 || err != nil {
			t.Errorf("Do = %d, %v, want 1", v, err)
		}
	})
}

func TestCacheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard, Name: "test", Timeout: time.Second})
		_, err := c.Do(t.Context(), "k", 0, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard, Name: "test", Room: NewRoom(int64(3 * sizeOf(0)))})
		loads := 0
		get := func(i int) {
			if _, err := c.Do(t.Context(), fmt.Sprint(i), time.Hour, func(context.Context) (int, error) { loads++; return i, nil }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			get(i)
			pass(time.Second)
		}
		loads = 0
		for _, i := range []int{2, 3, 4} {
			get(i)
		}
		if loads != 0 || c.stored.Len() != 3 {
			t.Errorf("%d reads and %d entries, want the newest three remembered", loads, c.stored.Len())
		}
	})
}

// TestClear: nothing that was read before is remembered, nor is a read that was under way.
func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard})
		loads := 0
		get := func(key string, takes time.Duration) {
			if _, err := c.Do(t.Context(), key, time.Hour, func(context.Context) (int, error) {
				loads++
				pass(takes)
				return 1, nil
			}); err != nil {
				t.Error(err)
			}
		}
		get("read", 0)
		var underWay sync.WaitGroup
		underWay.Go(func() { get("under way", time.Second) })
		synctest.Wait()
		c.Clear()
		underWay.Wait()
		if c.stored.Len() != 0 || len(c.flights) != 0 {
			t.Errorf("%d entries and %d reads are left", c.stored.Len(), len(c.flights))
		}
		for _, key := range []string{"read", "under way", "read", "under way"} {
			get(key, 0)
		}
		if loads != 4 {
			t.Errorf("%d reads, want each once before and once after", loads)
		}
	})
}

func TestInvalidateFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config[string, int]{Logger: discard})
		loads := map[string]int{}
		get := func(key string, takes time.Duration) {
			if _, err := c.Do(t.Context(), key, time.Hour, func(context.Context) (int, error) {
				loads[key]++
				pass(takes)
				return 1, nil
			}); err != nil {
				t.Error(err)
			}
		}
		get("lb-1 80", 0)
		get("lb-10 80", 0)
		var underWay sync.WaitGroup
		underWay.Go(func() { get("lb-1 443", time.Second) })
		synctest.Wait()
		c.InvalidateFunc(func(key string) bool { return strings.HasPrefix(key, "lb-1 ") })
		underWay.Wait()
		for key, want := range map[string]int{"lb-1 80": 2, "lb-1 443": 2, "lb-10 80": 1} {
			if get(key, 0); loads[key] != want {
				t.Errorf("%s: %d reads, want %d", key, loads[key], want)
			}
		}
	})
}
