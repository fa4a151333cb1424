package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// store is a cloud that answers a key with its upper case; keys that begin with "no-" do not exist.
type store struct {
	mu      sync.Mutex
	batches [][]string
	latency time.Duration
	fail    func(keys []string) error
}

func (s *store) load(ctx context.Context, keys []string) (map[string]string, error) {
	keys = slices.Sorted(slices.Values(keys))
	s.mu.Lock()
	s.batches = append(s.batches, keys)
	s.mu.Unlock()
	select {
	case <-time.After(s.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail != nil {
		if err := s.fail(keys); err != nil {
			return nil, err
		}
	}
	found := make(map[string]string)
	for _, key := range keys {
		if !strings.HasPrefix(key, "no-") {
			found[key] = strings.ToUpper(key)
		}
	}
	return found, nil
}

// join reads keys in one step and gives those that exist.
func join(ctx context.Context, c *Coalescer[string, string], keys ...string) (map[string]string, error) {
	outcome, found := c.Join(ctx, keys), map[string]string{}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		value, exists, err := outcome(ctx, key)
		if err != nil {
			return nil, err
		}
		if exists {
			found[key] = value
		}
	}
	return found, nil
}

func (s *store) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sizes []int
	for _, b := range s.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func newCoalescer(t *testing.T, s *store, change func(*Config[string, string])) *Coalescer[string, string] {
	t.Helper()
	cfg := Config[string, string]{Name: "test", Load: s.load, MaxItems: 100}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestManyCallersShareFewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{latency: 50 * time.Millisecond}
		c := newCoalescer(t, s, nil)
		defer c.Close()
		var callers sync.WaitGroup
		for i := range 5000 {
			key := "i-" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
			callers.Go(func() {
				v, exists, err := c.Get(t.Context(), key)
				if v != strings.ToUpper(key) || !exists || err != nil {
					t.Errorf("Get(%q) = %q, %t, %v", key, v, exists, err)
				}
			})
		}
		callers.Wait()
		if n := len(s.sizes()); n > 60 {
			t.Errorf("%d reads for 5000 items, want at most 60", n)
		}
	})
}

func TestWindows(t *testing.T) {
	tests := []struct {
		name     string
		arrivals []time.Duration // one new key each
		latency  time.Duration
		want     []int
	}{
		{name: "alone", arrivals: []time.Duration{0}, want: []int{1}},
		{name: "together", arrivals: []time.Duration{0, 10 * time.Millisecond, 25 * time.Millisecond}, want: []int{3}},
		{name: "apart", arrivals: []time.Duration{0, 30 * time.Millisecond}, want: []int{1, 1}},
		{name: "the first waits no longer than Max", arrivals: every(15*time.Millisecond, 20), want: []int{14, 6}},
		{name: "a full batch starts at once", arrivals: every(0, 101), want: []int{100, 1}},
		{name: "arrivals gather while a batch is read", latency: 150 * time.Millisecond,
			arrivals: []time.Duration{0, 30 * time.Millisecond, 80 * time.Millisecond, 130 * time.Millisecond}, want: []int{1, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{latency: tt.latency}
				c := newCoalescer(t, s, nil)
				defer c.Close()
				var callers sync.WaitGroup
				for i, at := range tt.arrivals {
					callers.Go(func() {
						pass(at)
						if _, _, err := c.Get(t.Context(), strings.Repeat("k", i+1)); err != nil {
							t.Error(err)
						}
					})
				}
				callers.Wait()
				if diff := cmp.Diff(tt.want, s.sizes()); diff != "" {
					t.Errorf("batch sizes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func every(d time.Duration, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i) * d
	}
	return out
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := newCoalescer(t, s, func(cfg *Config[string, string]) { cfg.MaxItems = 2 })
		defer c.Close()
		got, err := join(t.Context(), c, "a", "b", "a", "no-c", "d", "e")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"a": "A", "b": "B", "d": "D", "e": "E"}, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{2, 2, 1}, s.sizes()); diff != "" {
			t.Errorf("batch sizes (-want +got):\n%s", diff)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{latency: 5 * time.Second}
		c := newCoalescer(t, s, nil)
		defer c.Close()
		var callers sync.WaitGroup
		get := func(timeout time.Duration, want error) {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				begin := time.Now()
				if _, _, err := c.Get(ctx, "a"); !errors.Is(err, want) {
					t.Errorf("with %s: error %v, want %v", timeout, err, want)
				}
				if took := time.Since(begin); took > timeout {
					t.Errorf("with %s: returned after %s", timeout, took)
				}
			})
		}
		get(time.Second, context.DeadlineExceeded) // its end does not end the batch
		get(10*time.Second, nil)
		callers.Wait()
	})
}

func TestBatchEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{latency: time.Hour}
		c := newCoalescer(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := c.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
		begin := time.Now()
		c.Close()
		if took := time.Since(begin); took > 0 {
			t.Errorf("the batch went on for %s after its caller's deadline", took)
		}
	})
}

func TestAbandonedKeysAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := newCoalescer(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, _, err := c.Get(ctx, "gone"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want Canceled", err)
			}
		})
		callers.Go(func() {
			if _, _, err := c.Get(t.Context(), "stays"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		callers.Wait()
		c.Close()
		if diff := cmp.Diff([][]string{{"stays"}}, s.batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

func TestErrors(t *testing.T) {
	bad := errors.New("bad item")
	overall := errors.New("throttled")
	panicked := errors.New("read test: panic: oops")
	tests := []struct {
		name  string
		fail  func(keys []string) error
		want  map[string]error
		sizes int
	}{
		{
			name:  "an error is everybody's",
			fail:  func([]string) error { return overall },
			want:  map[string]error{"a": overall, "b": overall, "c": overall, "d": overall},
			sizes: 1,
		},
		{
			name: "an error about one item is its caller's only",
			fail: func(keys []string) error {
				if slices.Contains(keys, "c") {
					return bad
				}
				return nil
			},
			want:  map[string]error{"c": bad},
			sizes: 5,
		},
		{
			name:  "a panic is an error",
			fail:  func([]string) error { panic("oops") },
			want:  map[string]error{"a": panicked, "b": panicked, "c": panicked, "d": panicked},
			sizes: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{fail: tt.fail}
				c := newCoalescer(t, s, func(cfg *Config[string, string]) {
					cfg.Blames = func(err error) bool { return errors.Is(err, bad) }
				})
				defer c.Close()
				var callers sync.WaitGroup
				for _, key := range []string{"a", "b", "c", "d"} {
					callers.Go(func() {
						_, _, err := c.Get(t.Context(), key)
						if want := tt.want[key]; fmt.Sprint(err) != fmt.Sprint(want) {
							t.Errorf("Get(%q): error %v, want %v", key, err, want)
						}
					})
				}
				callers.Wait()
				if n := len(s.sizes()); n != tt.sizes {
					t.Errorf("%d reads, want %d", n, tt.sizes)
				}
			})
		})
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{latency: time.Second}
		c := newCoalescer(t, s, nil)
		var callers sync.WaitGroup
		get := func(key string, want error) {
			callers.Go(func() {
				if _, _, err := c.Get(t.Context(), key); !errors.Is(err, want) {
					t.Errorf("Get(%q): error %v, want %v", key, err, want)
				}
			})
		}
		get("under way", nil)
		pass(100 * time.Millisecond)
		get("waiting", ErrClosed)
		synctest.Wait()
		c.Close()
		get("late", ErrClosed)
		callers.Wait()
	})
}
