package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// start runs a Runner until the end of the test; the result stops it and waits.
func start(t *testing.T, cfg Config) (*Runner, func()) {
	t.Helper()
	cfg.Name = "test"
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

// journal records when a key was reconciled, as the time since the test began.
type journal struct {
	mu    sync.Mutex
	begin time.Time
	times []time.Duration
}

func (j *journal) note() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times = append(j.times, time.Since(j.begin))
	return len(j.times)
}

func TestRunnerRetries(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	throttled := func(d time.Duration) error {
		return fmt.Errorf("read: %w", (&rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: d}).GRPCStatus().Err())
	}
	for _, tc := range []struct {
		name string
		// errs are the results of the first attempts; the following ones succeed.
		errs []error
		// want are the least delays between attempts; each may be a fifth longer.
		want     []time.Duration
		outcomes string
	}{
		{name: "success", outcomes: `reconcile_total{controller="test",outcome="success"} 1`},
		{name: "failures double", errs: []error{failure, failure, failure}, want: []time.Duration{1, 2, 4}, outcomes: `
reconcile_total{controller="test",outcome="error"} 3
reconcile_total{controller="test",outcome="success"} 1`},
		{name: "failures are capped", errs: []error{failure, failure, failure, failure, failure, failure},
			want: []time.Duration{1, 2, 4, 8, 10, 10}, outcomes: `
reconcile_total{controller="test",outcome="error"} 6
reconcile_total{controller="test",outcome="success"} 1`},
		{name: "terminal", errs: []error{Terminal(failure)}, outcomes: `reconcile_total{controller="test",outcome="terminal"} 1`},
		{name: "wrapped terminal", errs: []error{fmt.Errorf("x: %w", Terminal(failure))},
			outcomes: `reconcile_total{controller="test",outcome="terminal"} 1`},
		{name: "after starts over", errs: []error{failure, After(nil, 7*time.Second), failure}, want: []time.Duration{1, 7, 1}, outcomes: `
reconcile_total{controller="test",outcome="after"} 1
reconcile_total{controller="test",outcome="error"} 2
reconcile_total{controller="test",outcome="success"} 1`},
		{name: "delay of the gateway", errs: []error{throttled(3 * time.Second), failure}, want: []time.Duration{3, 1}, outcomes: `
reconcile_total{controller="test",outcome="deferred"} 1
reconcile_total{controller="test",outcome="error"} 1
reconcile_total{controller="test",outcome="success"} 1`},
		{name: "delay of the gateway is capped", errs: []error{throttled(time.Hour)}, want: []time.Duration{10}, outcomes: `
reconcile_total{controller="test",outcome="deferred"} 1
reconcile_total{controller="test",outcome="success"} 1`},
		{name: "terminal beats the gateway", errs: []error{Terminal(throttled(time.Second))},
			outcomes: `reconcile_total{controller="test",outcome="terminal"} 1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &journal{begin: time.Now()}
				registry := prometheus.NewRegistry()
				r, _ := start(t, Config{MaxDelay: 10 * time.Second, Registerer: registry, Reconciler: Func(func(context.Context, string) error {
					if n := j.note(); n <= len(tc.errs) {
						return tc.errs[n-1]
					}
					return nil
				})})
				r.Add("key", User)
				wait(time.Hour)
				synctest.Wait()
				if len(j.times) != len(tc.want)+1 {
					t.Fatalf("attempts at %v, want %d", j.times, len(tc.want)+1)
				}
				for i, least := range tc.want {
					least *= time.Second
					if got := j.times[i+1] - j.times[i]; got < least || got > least*6/5 {
						t.Errorf("delay %d is %s, want %s to %s", i+1, got, least, least*6/5)
					}
				}
				want := "# HELP reconcile_total Attempts by outcome.\n# TYPE reconcile_total counter\n" + strings.TrimSpace(tc.outcomes) + "\n"
				if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "reconcile_total"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A key that comes before its turn fails as seldom as one that doesn't: the delay of its failures goes on growing.
func TestNotBegunIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, taken, early := &journal{begin: time.Now()}, true, 0
		r, _ := start(t, Config{Reconciler: Func(func(context.Context, string) error {
			if taken = !taken; taken {
				early++
				return ErrNotBegun
			}
			j.note()
			return errors.New("no")
		})})
		r.Add("key", User)
		for range 4 {
			wait(5 * time.Minute)
			synctest.Wait()
			r.Add("key", User) // Its turn has come.
		}
		synctest.Wait()
		if len(j.times) != 5 || early != 4 {
			t.Errorf("attempts at %v, and %d before its turn", j.times, early)
		}
		if failures := r.failures["key"].count; failures != 5 {
			t.Errorf("%d failures in a row are known", failures)
		}
	})
}

// An outage that everybody shares ends for all at once: the delays that it made grow must not outlast it.
func TestRunnerResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var down atomic.Bool
		down.Store(true)
		var done atomic.Int32
		r, err := New(Config{Name: "test", Logger: slog.New(slog.DiscardHandler), Reconciler: Func(func(context.Context, string) error {
			if down.Load() {
				return errors.New("nobody answers")
			}
			done.Add(1)
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { _ = r.Run(ctx) })
		for i := range 20 {
			r.Add(fmt.Sprint("node-", i), Node)
		}
		<-time.After(time.Hour)
		down.Store(false)
		r.Resume()
		synctest.Wait()
		if n := done.Load(); n != 20 {
			t.Errorf("%d of 20 keys are done when the outage ends", n)
		}
		cancel()
		running.Wait()
	})
}

func TestRunnerSurvivesPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := &journal{begin: time.Now()}
		r, stop := start(t, Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Reconciler: Func(func(context.Context, string) error {
				if j.note() == 1 {
					panic("boom")
				}
				return nil
			}),
		})
		r.Add("key", User)
		wait(time.Minute)
		stop()
		if len(j.times) != 2 {
			t.Errorf("%d attempts, want 2", len(j.times))
		}
		for _, want := range []string{"boom", "runner_test.go", "key=key", "level=ERROR"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
	})
}

func TestRunnerNeverRunsAKeyTwiceAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, total, widest := map[string]int{}, 0, 0
		r, _ := start(t, Config{Workers: 4, Reconciler: Func(func(_ context.Context, key string) error {
			mu.Lock()
			running[key]++
			total++
			if running[key] > 1 {
				t.Errorf("%s runs %d times at once", key, running[key])
			}
			widest = max(widest, len(running))
			mu.Unlock()
			wait(time.Second)
			mu.Lock()
			if running[key]--; running[key] == 0 {
				delete(running, key)
			}
			mu.Unlock()
			return nil
		})})
		for range 10 {
			for _, key := range []string{"a", "b", "c"} {
				r.Add(key, User)
			}
			wait(100 * time.Millisecond)
		}
		wait(time.Minute)
		synctest.Wait()
		if total != 6 {
			t.Errorf("%d attempts, want one for each key, and one more for what was added meanwhile", total)
		}
		if widest != 3 {
			t.Errorf("at most %d keys ran at once, want 3", widest)
		}
	})
}

func TestRunnerTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got error
		begin := time.Now()
		var took time.Duration
		r, _ := start(t, Config{Timeout: time.Minute, Reconciler: Func(func(ctx context.Context, _ string) error {
			if got == nil {
				<-ctx.Done()
				got, took = ctx.Err(), time.Since(begin)
				return got
			}
			return nil
		})})
		r.Add("key", User)
		wait(time.Hour)
		synctest.Wait()
		if !errors.Is(got, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("the attempt ended with %v after %s, want a deadline after 1m", got, took)
		}
	})
}

func TestRunnerDrains(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		work time.Duration
		// took is how long the stop takes; cut reports whether the attempt was cut off.
		took time.Duration
		cut  bool
	}{
		{name: "in time", work: 3 * time.Second, took: 3 * time.Second},
		{name: "too long", work: time.Hour, took: 4 * time.Second, cut: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var done []string
				var cut bool
				r, stop := start(t, Config{Timeout: 2 * time.Hour, Reconciler: Func(func(ctx context.Context, key string) error {
					done = append(done, key)
					select {
					case <-time.After(tc.work):
					case <-ctx.Done():
						cut = true
					}
					return ctx.Err()
				})})
				r.Add("first", User)
				r.Add("second", User)
				r.AddAfter("third", User, time.Second)
				synctest.Wait()
				begin := time.Now()
				stop()
				if got := time.Since(begin); got != tc.took || cut != tc.cut {
					t.Errorf("stopped after %s, cut %v; want %s, %v", got, cut, tc.took, tc.cut)
				}
				if diff := cmp.Diff([]string{"first"}, done); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRunnerQueueMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	discard := slog.New(slog.DiscardHandler)
	nothing := Func(func(context.Context, string) error { return nil })
	r, err := New(Config{Name: "one", Reconciler: nothing, Logger: discard, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Name: "two", Reconciler: nothing, Logger: discard, Registerer: registry}); err != nil {
		t.Errorf("a second runner on the registry: %v", err)
	}
	if _, err := New(Config{Name: "one", Reconciler: nothing, Logger: discard, Registerer: registry}); err == nil {
		t.Error("two runners of one name share a registry")
	}
	r.Add("a", User)
	r.Add("b", User)
	r.Add("c", Periodic)
	want := `# HELP reconcile_queue_depth Keys that wait for a worker.
# TYPE reconcile_queue_depth gauge
`
	for _, name := range []string{"one", "two"} {
		for p, n := range map[string]int{"endpoint": 0, "node": 0, "periodic": 1, "user": 2} {
			if name == "two" {
				n = 0
			}
			want += fmt.Sprintf("reconcile_queue_depth{controller=%q,priority=%q} %d\n", name, p, n)
		}
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "reconcile_queue_depth"); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	if Terminal(nil) != nil {
		t.Error("Terminal(nil) is an error")
	}
	for _, err := range []error{Terminal(cause), After(cause, time.Second)} {
		if !errors.Is(err, cause) || err.Error() != "cause" {
			t.Errorf("%T hides its cause: %v", err, err)
		}
	}
	if got := After(nil, time.Second).Error(); got != "to be continued in 1s" {
		t.Errorf("After(nil).Error() = %q", got)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New takes an empty Config")
	}
}

// TestWaitingHoldsNoWorker: attempts that wait for the cloud leave the worker to others, up to a bound, and those of
// the least priority have a bound of their own.
func TestWaitingHoldsNoWorker(t *testing.T) {
	t.Parallel()
	const keys = 12
	for name, tc := range map[string]struct {
		waiting, periodic int
		priority          Priority
		want              time.Duration
	}{
		"held":     {0, 0, User, keys * time.Second},
		"free":     {20, 0, User, time.Second},
		"bounded":  {2, 0, User, keys / 3 * time.Second},
		"periodic": {20, 2, Periodic, keys / 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var left sync.WaitGroup
				left.Add(keys)
				r, err := New(Config{Name: "test", Logger: slog.New(slog.DiscardHandler), Workers: 1, Waiting: tc.waiting, Periodic: tc.periodic,
					Reconciler: Func(func(ctx context.Context, _ string) error {
						defer left.Done()
						Waiting(ctx, func() { <-time.After(time.Second) })
						return nil
					})})
				if err != nil {
					t.Fatal(err)
				}
				for i := range keys {
					r.Add(fmt.Sprint(i), tc.priority)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				begin := time.Now()
				go func() { ended <- r.Run(ctx) }()
				left.Wait()
				if took := time.Since(begin); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestSeveralWaitsHoldOneWorker: an attempt that makes several calls at the same time gives its one worker to others, and not one for each
// call.
func TestSeveralWaitsHoldOneWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var working atomic.Int32
		r, stop := start(t, Config{Workers: 2, Waiting: 20, Reconciler: Func(func(ctx context.Context, key string) error {
			if key != "waits" {
				working.Add(1)
				<-time.After(time.Second)
				working.Add(-1)
				return nil
			}
			var calls sync.WaitGroup
			for i := range 5 {
				calls.Go(func() { Waiting(ctx, func() { <-time.After(time.Duration(i+1) * time.Minute) }) })
			}
			calls.Wait()
			return nil
		})})
		defer stop()
		// While calls are under way, and when they have ended.
		for _, at := range []string{"all calls", "some calls", "none"} {
			if at == "all calls" {
				r.Add("waits", User)
				synctest.Wait()
			}
			for i := range 10 {
				r.Add(fmt.Sprint(i), Node)
			}
			synctest.Wait()
			if got := working.Load(); got != 2 {
				t.Errorf("%s are under way: %d attempts hold a worker at once, of 2 workers", at, got)
			}
			<-time.After(160 * time.Second)
		}
	})
}

// TestDeferredWaitsAsAsked: of several failures, the time that one asks for counts.
func TestDeferredWaitsAsAsked(t *testing.T) {
	t.Parallel()
	several := errors.Join(errors.New("invalid"), &rpcerr.Error{Code: codes.ResourceExhausted, RetryAfter: time.Minute})
	if after, ok := retryAfter(Defer(several, time.Hour)); !ok || after != time.Hour {
		t.Errorf("got %s, %t", after, ok)
	}
}
