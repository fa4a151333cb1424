package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/proto/rpcerr"
)

// cloud answers a key with its upper case; keys that begin with "no-" do not exist.
type cloud struct {
	mu      sync.Mutex
	batches [][]string
	latency time.Duration
	fail    func(keys []string) error
}

func (s *cloud) load(ctx context.Context, keys []string) (map[string]string, error) {
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
func join(ctx context.Context, c *Reader[string, string], keys ...string) (map[string]string, error) {
	found := map[string]string{}
	for i, result := range c.GetMany(ctx, keys, 0) {
		if result.Err != nil {
			return nil, result.Err
		}
		if result.Value != "" {
			found[keys[i]] = result.Value
		}
	}
	return found, nil
}

func (s *cloud) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sizes []int
	for _, b := range s.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func newTestReader(t *testing.T, s *cloud, change func(*Config[string, string])) *Reader[string, string] {
	t.Helper()
	cfg := Config[string, string]{Name: "test", Load: s.load, MaxItems: 100, Logger: discard}
	if change != nil {
		change(&cfg)
	}
	c := New(cfg)
	return c
}

func TestManyCallersShareFewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: 50 * time.Millisecond}
		c := newTestReader(t, s, nil)
		var callers sync.WaitGroup
		for i := range 5000 {
			key := "i-" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
			callers.Go(func() {
				v, err := c.Get(t.Context(), key, 0)
				if v != strings.ToUpper(key) || err != nil {
					t.Errorf("Get(%q) = %q, %v", key, v, err)
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
		{name: "the first waits no longer than Max", arrivals: every(15*time.Millisecond, 80), want: []int{67, 13}},
		{name: "after a read, one by one", want: []int{2, 4, 1}, arrivals: []time.Duration{
			0, 0, 200 * time.Millisecond, 270 * time.Millisecond, 340 * time.Millisecond, 420 * time.Millisecond, 3 * time.Second}},
		{name: "long after a read, no longer than at the beginning", want: []int{2, 1, 1}, arrivals: []time.Duration{
			0, 0, 3 * time.Second, 3050 * time.Millisecond}},
		{name: "a full batch starts at once", arrivals: every(0, 101), want: []int{100, 1}},
		{name: "arrivals gather while a batch is read", latency: 150 * time.Millisecond,
			arrivals: []time.Duration{0, 30 * time.Millisecond, 80 * time.Millisecond, 130 * time.Millisecond}, want: []int{1, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &cloud{latency: tt.latency}
				c := newTestReader(t, s, nil)
				var callers sync.WaitGroup
				for i, at := range tt.arrivals {
					callers.Go(func() {
						pass(at)
						if _, err := c.Get(t.Context(), strings.Repeat("k", i+1), 0); err != nil {
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
		s := &cloud{}
		c := newTestReader(t, s, func(cfg *Config[string, string]) { cfg.MaxItems = 2 })
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
		s := &cloud{latency: 5 * time.Second}
		c := newTestReader(t, s, nil)
		var callers sync.WaitGroup
		get := func(timeout time.Duration, want error) {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				begin := time.Now()
				if _, err := c.Get(ctx, "a", 0); !errors.Is(err, want) {
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
		s := &cloud{latency: time.Hour}
		c := newTestReader(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, "a", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if l := c.lanes[laneName{}]; l.running > 0 {
			t.Error("the batch goes on after its caller's deadline")
		}
	})
}

func TestAbandonedKeysAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{}
		c := newTestReader(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := c.Get(ctx, "gone", 0); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want Canceled", err)
			}
		})
		callers.Go(func() {
			if _, err := c.Get(t.Context(), "stays", 0); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		callers.Wait()
		if diff := cmp.Diff([][]string{{"stays"}}, s.batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

func TestErrors(t *testing.T) {
	bad := errors.New("bad item")
	overall := errors.New("throttled")
	panicked := errors.New("batch test: panic: oops")
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
				s := &cloud{fail: tt.fail}
				c := newTestReader(t, s, func(cfg *Config[string, string]) {
					cfg.Blames = func(err error) bool { return errors.Is(err, bad) }
				})
				var callers sync.WaitGroup
				for _, key := range []string{"a", "b", "c", "d"} {
					callers.Go(func() {
						_, err := c.Get(t.Context(), key, 0)
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

// TestReadsOfWhoHasLeftEnd: a batch that nobody waits for any more is not read to its end, and keys that nobody wants do not pile up.
func TestReadsOfWhoHasLeftEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: time.Hour}
		c := newTestReader(t, s, func(cfg *Config[string, string]) { cfg.Parallel, cfg.Timeout = 1, 2*time.Hour })
		ctx, cancel := context.WithCancel(t.Context())
		for round := range 10 {
			keys := make([]string, 1000)
			for i := range keys {
				keys[i] = fmt.Sprint(round, "-", i)
			}
			short, leave := context.WithTimeout(ctx, time.Second)
			if _, err := join(short, c, keys...); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want DeadlineExceeded", err)
			}
			leave()
		}
		cancel()
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, l := range c.lanes {
			if l.running > 0 || l.count > 0 || len(l.queues) > 0 {
				t.Errorf("%d reads go on, %d keys in %d queues wait", l.running, l.count, len(l.queues))
			}
		}
		if len(c.flights) > 0 || len(c.waiting) > 0 || c.total > 0 {
			t.Errorf("%d flights, %d callers and %d keys are left", len(c.flights), len(c.waiting), c.total)
		}
	})
}

// TestHalvesEndWithTheirLastCaller: of a batch that is read in halves, callers have their answers while others wait. It
// ends when those leave.
func TestHalvesEndWithTheirLastCaller(t *testing.T) {
	bad := errors.New("malformed id")
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: time.Minute, fail: func([]string) error { return bad }}
		c := newTestReader(t, s, func(cfg *Config[string, string]) {
			cfg.Blames, cfg.Timeout = func(err error) bool { return errors.Is(err, bad) }, time.Hour
		})
		ctx, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := c.Get(t.Context(), "first", 0); !errors.Is(err, bad) {
				t.Errorf("first: %v", err)
			}
		})
		synctest.Wait()
		callers.Go(func() {
			if _, err := c.Get(ctx, "second", 0); !errors.Is(err, context.Canceled) {
				t.Errorf("second: %v, want Canceled", err)
			}
		})
		pass(2*time.Minute + 30*time.Second) // Both have been read, the first as well, and the second is under way.
		leave()
		callers.Wait()
		synctest.Wait()
		if diff := cmp.Diff([]int{2, 1, 1}, s.sizes()); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if l := c.lanes[laneName{}]; l.running > 0 {
			t.Error("the batch goes on for nobody")
		}
	})
}

// TestOneCallerWithManyKeys: who asks for 20 000 items at once does not make others wait, may not ask for more before some are read, and
// costs no goroutine per item.
func TestOneCallerWithManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: time.Second}
		c := newTestReader(t, s, func(cfg *Config[string, string]) { cfg.Timeout = time.Hour })
		keys := make([]string, mostPerCaller)
		for i := range keys {
			keys[i] = fmt.Sprint("i-", i)
		}
		greedy := WithLane(t.Context(), "greedy", "", 0)
		before := runtime.NumGoroutine()
		var job sync.WaitGroup
		job.Go(func() {
			for _, result := range c.GetMany(greedy, keys, 0) {
				if result.Err != nil {
					t.Error(result.Err)
					return
				}
			}
		})
		synctest.Wait()
		if grown := runtime.NumGoroutine() - before; grown > 100 {
			t.Errorf("%d goroutines for %d items", grown, len(keys))
		}
		begun := time.Now()
		if _, err := c.Get(WithLane(t.Context(), "modest", "", 0), "x", 0); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("another caller's read took %s", took)
		}
		more := make([]string, 5000)
		for i := range more {
			more[i] = fmt.Sprint("more-", i)
		}
		_, err := join(greedy, c, more...)
		if _, ok := rpcerr.RetryAfter(err); !ok {
			t.Errorf("more keys give %v, want when to try again", err)
		}
		job.Wait()
	})
}

// TestManyCallersWithManyKeys: however many callers ask for as much as they may, the next one is answered.
func TestManyCallersWithManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestReader(t, &cloud{latency: time.Second}, nil)
		ctx, leave := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		for i := range 5 {
			keys := make([]string, mostPerCaller)
			for j := range keys {
				keys[j] = fmt.Sprintf("i-%d-%d", i, j)
			}
			jobs.Go(func() { c.GetMany(WithLane(ctx, fmt.Sprint("greedy-", i), "", 0), keys, 0) })
		}
		synctest.Wait()
		if _, err := c.Get(WithLane(t.Context(), "modest", "", 0), "x", 0); err != nil {
			t.Error(err)
		}
		leave()
		jobs.Wait()
	})
}

// TestCallersWithMoreTime: whoever shares reads that ran out of their first caller's time gets others, as few as there were.
func TestCallersWithMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{latency: 5 * time.Second}
		c := newTestReader(t, s, nil)
		var keys []string
		for i := range 150 {
			keys = append(keys, fmt.Sprint("i-", i))
		}
		var callers sync.WaitGroup
		get := func(timeout time.Duration, want error) {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				for i, result := range c.GetMany(ctx, keys, 0) {
					if !errors.Is(result.Err, want) {
						t.Errorf("%s with %s: error %v, want %v", keys[i], timeout, result.Err, want)
						return
					}
				}
			})
		}
		get(2*time.Second, context.DeadlineExceeded)
		pass(1500 * time.Millisecond) // The reads have begun, with the deadline of the first caller.
		get(10*time.Second, nil)
		callers.Wait()
		if diff := cmp.Diff([]int{100, 50, 100, 50}, s.sizes()); diff != "" {
			t.Errorf("sizes of the reads (-want +got):\n%s", diff)
		}
	})
}

// TestOneByOne: callers who ask for one item each share few reads, if they come on their own and if they wait for each other.
func TestOneByOne(t *testing.T) {
	const nodes, workers = 200, 10
	for _, tt := range []struct {
		name string
		wait bool // a worker asks for the next item when it has the last one
		most int  // reads
	}{
		{name: "within two seconds", most: 3},
		{name: "as workers come free", wait: true, most: nodes/workers + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &cloud{latency: 50 * time.Millisecond}
				c := newTestReader(t, s, nil)
				var calls sync.WaitGroup
				for w := range workers {
					calls.Go(func() {
						pass(time.Duration(w) * 10 * time.Millisecond)
						for i := range nodes / workers {
							get := func() {
								if _, err := c.Get(t.Context(), fmt.Sprint("i-", w, "-", i), 0); err != nil {
									t.Error(err)
								}
							}
							if tt.wait {
								get()
								continue
							}
							calls.Go(get)
							pass(2 * time.Second * workers / nodes)
						}
					})
				}
				calls.Wait()
				if reads := len(s.sizes()); reads > tt.most {
					t.Errorf("%d reads of %v items, want at most %d", reads, s.sizes(), tt.most)
				}
			})
		})
	}
}

// TestOneBadKey: of a hundred callers only the one whose key the cloud refuses gets the refusal.
func TestOneBadKey(t *testing.T) {
	bad := errors.New("malformed id")
	synctest.Test(t, func(t *testing.T) {
		s := &cloud{fail: func(keys []string) error {
			if slices.Contains(keys, "i-42") {
				return bad
			}
			return nil
		}}
		c := newTestReader(t, s, func(cfg *Config[string, string]) {
			cfg.Blames = func(err error) bool { return errors.Is(err, bad) }
		})
		keys := make([]string, 100)
		for i := range keys {
			keys[i] = fmt.Sprint("i-", i)
		}
		for i, result := range c.GetMany(t.Context(), keys, 0) {
			if (result.Err != nil) != (i == 42) {
				t.Errorf("%s: %v", keys[i], result.Err)
			}
		}
		if reads := len(s.sizes()); reads > 15 {
			t.Errorf("%d reads, want at most 15", reads)
		}
		s.fail = func([]string) error { return bad }
		for i, result := range c.GetMany(t.Context(), keys, 0) {
			if !errors.Is(result.Err, bad) {
				t.Errorf("%s: %v", keys[i], result.Err)
			}
		}
		if reads := len(s.sizes()); reads > 15+2*hopeless {
			t.Errorf("%d reads where all keys are bad", reads-15)
		}
	})
}
