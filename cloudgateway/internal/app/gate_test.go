package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// TestCallersTerms: a tool that is given a tenth of the budget gets no more, and others go on.
func TestCallersTerms(t *testing.T) {
	const tool, controller = "system:serviceaccount:tools:backup", "system:serviceaccount:kube-system:lbcontroller"
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default()
		cfg.Budget.Callers = map[string]config.CallerBudget{tool: {Share: 0.1}}
		budget, err := flow.New(cfg.Budget, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		gate := &gate{budget: budget}
		gate.begin(t.Context(), time.Time{})
		acquire := func(name string) error {
			ctx, cancel := context.WithTimeout(onBehalf(cfg)(rpc.WithCaller(t.Context(), rpc.Caller{Name: name})), 100*time.Millisecond)
			defer cancel()
			return gate.Acquire(ctx, "slb", "CreateVServerGroup")
		}
		went := 0
		for acquire(tool) == nil {
			went++
		}
		if went > 6 {
			t.Errorf("the tool made %d calls at once, want at most a tenth of 63", went)
		}
		if err := acquire(controller); err != nil {
			t.Errorf("another caller: %v", err)
		}
	})
}

// TestSharesDoNotHoldResources: a tool that has used up its share waits for its next call with the key of a load balancer. Whoever wants to
// change that load balancer does not wait for the share.
func TestSharesDoNotHoldResources(t *testing.T) {
	const tool, controller = "system:serviceaccount:tools:backup", "system:serviceaccount:kube-system:lbcontroller"
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default()
		cfg.Budget.Callers = map[string]config.CallerBudget{tool: {Share: 0.1}}
		budget, err := flow.New(cfg.Budget, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		locks := flow.Keyed[string]{Callers: cfg.Budget.Callers}
		as := func(name string) context.Context {
			return onBehalf(cfg)(rpc.WithCaller(t.Context(), rpc.Caller{Name: name}))
		}
		change := func(name string, calls int) {
			ctx := as(name)
			unlock, err := locks.Lock(ctx, "lb-1")
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			for range calls {
				if err := budget.Acquire(ctx, "slb", "CreateVServerGroup"); err != nil {
					t.Error(err)
				}
			}
		}
		var work sync.WaitGroup
		work.Go(func() { change(tool, 10) }) // of 6 per minute
		synctest.Wait()
		start := time.Now()
		work.Go(func() { change(controller, 1) })
		work.Wait()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the controller's change took %s", took)
		}
	})
}

// TestBoundedCallersReadApart: what a tool's read waits for, others do not.
func TestBoundedCallersReadApart(t *testing.T) {
	const tool, controller = "system:serviceaccount:tools:backup", "system:serviceaccount:kube-system:lbcontroller"
	for _, tt := range []struct {
		name   string
		budget config.CallerBudget
		apart  bool
	}{
		{name: "a tenth", budget: config.CallerBudget{Share: 0.1}, apart: true},
		{name: "all", budget: config.CallerBudget{Share: 1, Weight: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config.Default()
				cfg.Budget.Callers = map[string]config.CallerBudget{tool: tt.budget}
				with := onBehalf(cfg)
				var calls atomic.Int32
				c := batch.New(batch.Config[string, string]{Logger: slog.New(slog.DiscardHandler), MaxItems: 10,
					Load: func(context.Context, []string) (map[string]string, error) {
						calls.Add(1)
						return nil, nil
					}})
				var reads sync.WaitGroup
				for _, name := range []string{tool, controller} {
					reads.Go(func() {
						if _, err := c.Get(with(rpc.WithCaller(t.Context(), rpc.Caller{Name: name})), "i-1", 0); err != nil {
							t.Error(err)
						}
					})
				}
				reads.Wait()
				if apart := calls.Load() == 2; apart != tt.apart {
					t.Errorf("%d calls for the tool and the controller", calls.Load())
				}
			})
		})
	}
}

// TestUrgentReadsOvertake: while a background job reads for minutes as fast as the budget lets it, a read that decides who gets traffic
// is answered at once, also of what the job is about to read.
func TestUrgentReadsOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default().Budget
		budget, err := flow.New(cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int32
		reader := batch.New(batch.Config[int, string]{
			Logger: slog.New(slog.DiscardHandler), MaxItems: 1, Timeout: time.Hour, Load: func(ctx context.Context,
				keys []int) (map[int]string, error) {
				calls.Add(1)
				return map[int]string{keys[0]: "there"}, budget.Acquire(ctx, "ecs", "DescribeInstances")
			},
		})
		as := func(priority flow.Priority) context.Context {
			return inTheNameOf(t.Context(), cfg, flow.Caller{Name: "somebody", Priority: priority})
		}
		everything := make([]int, 2000)
		for i := range everything {
			everything[i] = i
		}
		start := time.Now()
		var job sync.WaitGroup
		job.Go(func() {
			for _, result := range reader.GetMany(as(flow.Background), everything, 0) {
				if result.Err != nil {
					t.Error(result.Err)
					return
				}
			}
		})
		<-time.After(time.Minute)
		for _, key := range []int{1999, 2000} {
			begun := time.Now()
			if _, err := reader.Get(as(flow.Backend), key, 0); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%d was read after %s", key, took)
			}
		}
		job.Wait()
		if took := time.Since(start); took < 3*time.Minute {
			t.Errorf("the job took only %s; the test shows nothing", took)
		}
	})
}

func TestStandbyDoesNotCall(t *testing.T) {
	budget, err := flow.New(config.Default().Budget, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	gate := &gate{budget: budget}
	if got := rpcerr.ReasonOf(gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers")); got != rpcerr.NotActive {
		t.Errorf("before its term: reason %q", got)
	}
	gate.begin(t.Context(), time.Time{})
	if err := gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers"); err != nil {
		t.Errorf("in its term: %v", err)
	}
	gate.end()
	if got := rpcerr.ReasonOf(gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers")); got != rpcerr.NotActive {
		t.Errorf("after its term: reason %q", got)
	}
}

// TestFirstCallOfATurn: where another replica may have called in the present minute, who begins sends one call after the other, and
// otherwise the calls go as fast as the limit has them go.
func TestFirstCallOfATurn(t *testing.T) {
	const limit = 60        // in a minute
	const careful = 5*5 + 1 // in five seconds
	tests := []struct {
		name  string
		until func(now time.Time) time.Time // another replica may have called
		least int                           // calls that go within five seconds
		most  int
	}{
		{name: "nobody before", until: func(time.Time) time.Time { return time.Time{} }, least: limit / 2, most: limit},
		{name: "just now", until: func(now time.Time) time.Time { return now }, least: careful / 2, most: careful},
		{name: "its lease would have lasted longer",
			until: func(now time.Time) time.Time { return now.Add(10 * time.Second) }, least: careful / 2, most: careful},
		{name: "in the minute before", until: func(now time.Time) time.Time { return now.Add(-30 * time.Second) }, least: limit / 2, most: limit},
		{name: "yesterday", until: func(now time.Time) time.Time { return now.AddDate(0, 0, -1) }, least: limit / 2, most: limit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget, err := flow.New(config.Default().Budget, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				gate := &gate{budget: budget}
				<-time.After(20 * time.Second) // into the minute
				gate.begin(t.Context(), tt.until(time.Now()))
				ctx, cancel := context.WithTimeout(flow.WithCaller(t.Context(), flow.Caller{Priority: flow.Change}), 5*time.Second)
				defer cancel()
				sent := 0
				for gate.Acquire(ctx, "slb", "CreateLoadBalancer") == nil {
					sent++
				}
				if sent > tt.most || sent < tt.least {
					t.Errorf("%d calls went at once, want %d to %d", sent, tt.least, tt.most)
				}
			})
		})
	}
}

// TestTermEndsWhileWritesWait: of a hundred writes that wait for the budget, none is sent when the term has ended.
func TestTermEndsWhileWritesWait(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(gate *gate, lost *atomic.Bool)
	}{
		{name: "lease given up", end: func(gate *gate, _ *atomic.Bool) { gate.end() }},
		{name: "lease run out unnoticed", end: func(_ *gate, lost *atomic.Bool) { lost.Store(true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget, err := flow.New(config.Default().Budget, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				var lost atomic.Bool
				gate := &gate{budget: budget, holds: func() bool { return !lost.Load() }}
				gate.begin(t.Context(), time.Time{})
				var sent, refused atomic.Int64
				var writes sync.WaitGroup
				for range 100 {
					writes.Go(func() {
						switch err := gate.Acquire(t.Context(), "slb", "CreateLoadBalancer"); {
						case err == nil:
							sent.Add(1)
						case rpcerr.ReasonOf(err) == rpcerr.NotActive:
							refused.Add(1)
							if e, _ := rpcerr.From(err); e.RetryAfter != time.Second {
								t.Errorf("a refused call shall try again after %s", e.RetryAfter)
							}
						default:
							t.Error(err)
						}
					})
				}
				<-time.After(30 * time.Second)
				before := sent.Load()
				tc.end(gate, &lost)
				writes.Wait()
				if before == 0 || before == 100 || sent.Load() != before || refused.Load() != 100-before {
					t.Errorf("%d writes were sent before the end of the term, %d after it, %d refused", before, sent.Load()-before, refused.Load())
				}
			})
		})
	}
}

// TestHandover: the end of a term waits for the changes that were sent, and for nothing else. A change without an
// answer ends with its handler when another replica may begin, or when it has had its time.
func TestHandover(t *testing.T) {
	const never = time.Hour
	for _, tt := range []struct {
		name      string
		mutating  bool
		answered  time.Duration
		drain     time.Duration // 0: no election
		lostAfter time.Duration
		want      time.Duration
	}{
		{name: "read", answered: never, drain: 4 * time.Second, lostAfter: never},
		{name: "change", mutating: true, answered: time.Second, drain: 4 * time.Second, lostAfter: never, want: time.Second},
		{name: "slow change", mutating: true, answered: 6 * time.Second, drain: 4 * time.Second, lostAfter: never, want: 6 * time.Second},
		{name: "hanging change", mutating: true, answered: never, drain: 4 * time.Second, lostAfter: never, want: mostWait},
		{name: "lease lost", mutating: true, answered: never, drain: 4 * time.Second, want: 4 * time.Second},
		{name: "lease lost meanwhile", mutating: true, answered: never, drain: 4 * time.Second, lostAfter: 5 * time.Second,
			want: 8 * time.Second},
		{name: "hanging change without an election", mutating: true, answered: never, lostAfter: never, want: mostWait},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				gate := &gate{drain: tt.drain, holds: func() bool { return time.Since(start) <= tt.lostAfter }}
				gate.begin(t.Context(), time.Time{})
				handler := gate.within(t.Context())
				end, err := gate.Enter(tt.mutating)
				if err != nil {
					t.Fatal(err)
				}
				var call sync.WaitGroup
				call.Go(func() {
					defer end()
					select {
					case <-handler.Done():
					case <-time.After(tt.answered):
					}
				})
				gate.end()
				if took := time.Since(start); took != tt.want {
					t.Errorf("the handover took %s, want %s", took, tt.want)
				}
				if _, err := gate.Enter(tt.mutating); rpcerr.ReasonOf(err) != rpcerr.NotActive {
					t.Errorf("a call afterwards: %v", err)
				}
				call.Wait()
			})
		})
	}
}

// TestHandlersEndWithTheTerm: what was sent before the end of a term may wait for its answer until another replica may begin.
func TestHandlersEndWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &gate{drain: 4 * time.Second}
		gate.begin(t.Context(), time.Time{})
		done, finish := context.WithCancel(t.Context())
		gate.within(done)
		finish() // Another handler's end changes nothing.
		ctx := gate.within(t.Context())
		start := time.Now()
		gate.end()
		<-ctx.Done()
		if took := time.Since(start); took != 4*time.Second || !errors.Is(context.Cause(ctx), errTermEnded) {
			t.Errorf("the handler's context ended after %s: %v", took, context.Cause(ctx))
		}
	})
}
