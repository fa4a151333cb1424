package flow

import (
	"context"
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

	"alicloud-controllers.dev/services/rpcerr"
)

func newBudget(t *testing.T, change func(*Config)) *Budget {
	t.Helper()
	var cfg Config
	if change != nil {
		change(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func as(ctx context.Context, name string, p Priority) context.Context {
	return WithCaller(ctx, Caller{Name: name, Priority: p})
}

// drain uses up what may go at once, the reserve too.
func drain(t *testing.T, b *Budget, action string) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(as(t.Context(), "drain", Backend), time.Millisecond)
		err := b.Acquire(ctx, "slb", action)
		cancel()
		if err != nil {
			return
		}
	}
}

func TestOtherCallersChangeGoesWithinTwoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		bulk, stop := context.WithCancel(as(t.Context(), "bulk", Change))
		var work sync.WaitGroup
		var sent atomic.Int32
		for range 4 { // keeps the queue full
			work.Go(func() {
				for b.Acquire(bulk, "slb", "AddVServerGroupBackendServers") == nil {
					sent.Add(1)
				}
			})
		}
		longest := time.Duration(0)
		for range 60 {
			pass(10 * time.Second)
			begin := time.Now()
			if err := b.Acquire(as(t.Context(), "lbcontroller", Backend), "slb", "AddVServerGroupBackendServers"); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(begin))
		}
		stop()
		work.Wait()
		if longest > 2*time.Second {
			t.Errorf("a backend change waited for %s", longest)
		}
		if total := sent.Load() + 60; total < 10*63*95/100 || total > 10*63+31 {
			t.Errorf("%d calls in ten minutes at 63 per minute", total)
		}
	})
}

func TestEveryPriorityMakesProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		var work sync.WaitGroup
		var sent [priorities]atomic.Int32
		for i := range sent {
			for range 3 {
				work.Go(func() {
					for b.Acquire(as(ctx, "a", Priority(i)), "slb", "CreateVServerGroup") == nil {
						sent[i].Add(1)
					}
				})
			}
		}
		work.Wait()
		for i := range sent {
			if n := sent[i].Load(); n < 60 {
				t.Errorf("priority %s: %d calls in ten minutes", Priority(i), n)
			}
		}
		if high, low := sent[Backend].Load(), sent[Background].Load(); high < low {
			t.Errorf("the highest priority got %d calls, the lowest %d", high, low)
		}
	})
}

func TestRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		drain(t, b, "CreateLoadBalancer") // 42 per minute, so 21 at once, and 18 in the rest of the minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := b.Acquire(ctx, "slb", "CreateLoadBalancer")
		if took := time.Since(begin); took > 0 {
			t.Errorf("refused after %s, want at once", took)
		}
		e, ok := rpcerr.From(err)
		if !ok || e.Code != codes.ResourceExhausted || e.Reason != rpcerr.Throttled || e.API != "slb/CreateLoadBalancer" {
			t.Fatalf("error %v, want THROTTLED", err)
		}
		// What it was told to wait is true.
		pass(e.RetryAfter)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Acquire(ctx, "slb", "CreateLoadBalancer"); err != nil {
			t.Errorf("after %s: %v", e.RetryAfter, err)
		}
	})
}

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		drain(t, b, "CreateLoadBalancer")
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			err := b.Acquire(ctx, "slb", "CreateLoadBalancer")
			if e, ok := rpcerr.From(err); !ok || e.Code != codes.Canceled {
				t.Errorf("error %v, want CANCELED", err)
			}
		})
		synctest.Wait()
		cancel()
		work.Wait()
		if err := b.Acquire(ctx, "slb", "CreateLoadBalancer"); err == nil {
			t.Error("a canceled caller was let go")
		}
	})
}

func TestThrottlingStopsTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		b := newBudget(t, func(cfg *Config) { cfg.Registerer = reg })
		drain(t, b, "CreateLoadBalancer")
		var work sync.WaitGroup
		work.Go(func() { // waits for a token when the throttling comes
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			begin := time.Now()
			if e, ok := rpcerr.From(b.Acquire(ctx, "slb", "CreateLoadBalancer")); !ok || e.RetryAfter != 30*time.Second {
				t.Errorf("error %v, want THROTTLED and 30s", e)
			}
			if took := time.Since(begin); took > 0 {
				t.Errorf("refused after %s, want at once", took)
			}
		})
		work.Go(func() { // can wait
			begin := time.Now()
			if err := b.Acquire(t.Context(), "slb", "CreateLoadBalancer"); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took < 30*time.Second {
				t.Errorf("went after %s, in the pause", took)
			}
		})
		synctest.Wait()
		if got := b.Throttled("slb", "CreateLoadBalancer", 30*time.Second); got != 30*time.Second {
			t.Errorf("pause of %s, want 30s", got)
		}
		work.Wait()
		if err := b.Acquire(t.Context(), "slb", "DeleteLoadBalancer"); err != nil {
			t.Errorf("another action: %v", err)
		}
		want := `
			# HELP cloudgateway_budget_throttled_total Calls that the cloud refused for their rate.
			# TYPE cloudgateway_budget_throttled_total counter
			cloudgateway_budget_throttled_total{action="CreateLoadBalancer",product="slb"} 1
			cloudgateway_budget_throttled_total{action="DeleteLoadBalancer",product="slb"} 0
		`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "cloudgateway_budget_throttled_total"); err != nil {
			t.Error(err)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, func(cfg *Config) { cfg.MaxWaiting = 2 })
		drain(t, b, "CreateLoadBalancer")
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 2 {
			work.Go(func() {
				if b.Acquire(ctx, "slb", "CreateLoadBalancer") == nil {
					t.Error("went without a token")
				}
			})
		}
		synctest.Wait()
		if e, ok := rpcerr.From(b.Acquire(ctx, "slb", "CreateLoadBalancer")); !ok || e.Reason != rpcerr.Throttled || e.RetryAfter <= 0 {
			t.Errorf("error %v, want THROTTLED with the wait", e)
		}
		cancel()
		work.Wait()
	})
}

func TestLimits(t *testing.T) {
	b := newBudget(t, func(cfg *Config) {
		cfg.Share = 0.5
		cfg.Overrides = map[string]Limit{"slb/DeleteLoadBalancer": {Calls: 600, Window: time.Minute}}
	})
	tests := []struct {
		product, action string
		want            Limit
	}{
		{"slb", "CreateLoadBalancer", Limit{30, time.Minute}},
		{"slb", "DeleteLoadBalancer", Limit{300, time.Minute}},
		{"slb", "UntagResources", Limit{2, time.Second}},
		{"vpc", "CreateRouteEntries", Limit{150, time.Minute}},
		{"ecs", "DescribeInstances", Limit{300, time.Minute}},
		{"sts", "GetCallerIdentity", Limit{150, time.Minute}}, // not in the table
		{"slb", "NewAction", Limit{30, time.Minute}},          // not in the table
	}
	for _, tt := range tests {
		if got := b.limiter(tt.product, tt.action).pacer.limit; got != tt.want {
			t.Errorf("%s/%s: limit %s, want %s", tt.product, tt.action, got, tt.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{name: "share", cfg: Config{Share: 1.5}, want: "budget share 1.5: want more than 0 and at most 1"},
		{name: "negative share", cfg: Config{Share: -1}, want: "budget share -1: want more than 0 and at most 1"},
		{name: "unknown action", cfg: Config{Overrides: map[string]Limit{"slb/Typo": {Calls: 1, Window: time.Second}}},
			want: `budget override "slb/Typo": no such action; want PRODUCT/ACTION such as slb/CreateLoadBalancer`},
		{name: "no calls", cfg: Config{Overrides: map[string]Limit{"slb/CreateLoadBalancer": {Window: time.Second}}},
			want: `budget override "slb/CreateLoadBalancer": calls 0: want at least 1`},
		{name: "window", cfg: Config{Overrides: map[string]Limit{"slb/CreateLoadBalancer": {Calls: 1}}},
			want: `budget override "slb/CreateLoadBalancer": window 0s: want 1s to 1h`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
