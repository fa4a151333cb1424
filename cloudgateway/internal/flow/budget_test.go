package flow

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
	servicesconfig "alicloud-controllers.dev/services/config"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// defaultShare is that of the configuration.
const defaultShare = 0.7

func newBudget(t *testing.T, change func(*config.Budget)) *Budget {
	t.Helper()
	return newBudgetIn(t, nil, change)
}

// newBudgetIn makes a budget with the metrics in a registry.
func newBudgetIn(t *testing.T, reg prometheus.Registerer, change func(*config.Budget)) *Budget {
	t.Helper()
	cfg := config.Default().Budget
	if change != nil {
		change(&cfg)
	}
	b, err := New(cfg, reg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// override is a limit as the configuration has it.
func override(calls int, window time.Duration) config.Limit {
	return config.Limit{Calls: calls, Window: servicesconfig.Duration(window)}
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

// fill keeps so many calls of the context's caller waiting until stop is closed, and counts those that went. They have no
// deadline, so that none is refused for it.
func fill(ctx context.Context, stop <-chan struct{}, work *sync.WaitGroup, b *Budget, waiting int, sent *atomic.Int32) {
	ctx, cancel := context.WithCancel(ctx)
	work.Go(func() {
		<-stop
		cancel()
	})
	for range waiting {
		work.Go(func() {
			for b.Acquire(ctx, "slb", "AddVServerGroupBackendServers") == nil {
				sent.Add(1)
			}
		})
	}
}

// TestOtherCallersChangeGoesSoon: a bulk job keeps the queue full for ten minutes, and another caller changes backends. It goes at once if
// the job is background work. Else it may have to wait until one of the calls goes that are kept back for later in the window.
func TestOtherCallersChangeGoesSoon(t *testing.T) {
	const limit = 90 // in a minute
	for priority, most := range map[Priority]time.Duration{
		Background: time.Second, Deletion: 7 * time.Second, Change: 7 * time.Second, Backend: 7 * time.Second,
	} {
		t.Run(priority.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(t, nil)
				stop := make(chan struct{})
				var work sync.WaitGroup
				var sent atomic.Int32
				start := time.Now()
				fill(as(t.Context(), "bulk", priority), stop, &work, b, 1000, &sent)
				pass(time.Minute) // the burst at the beginning is over
				longest := time.Duration(0)
				for range 60 {
					pass(9 * time.Second)
					begin := time.Now()
					if err := b.Acquire(as(t.Context(), "lbcontroller", Backend), "slb", "AddVServerGroupBackendServers"); err != nil {
						t.Fatal(err)
					}
					longest = max(longest, time.Since(begin))
				}
				close(stop)
				work.Wait()
				t.Logf("a backend change waited for %s at most", longest)
				if longest > most {
					t.Errorf("a backend change waited for %s, want at most %s", longest, most)
				}
				want := float64(limit)
				if priority == Background {
					want = defaultShare*limit + 60/time.Since(start).Minutes()
				}
				if rate := float64(sent.Load()+60) / time.Since(start).Minutes(); rate < 0.95*want || rate > 1.05*want {
					t.Errorf("%.1f calls per minute, want %.0f", rate, want)
				}
			})
		})
	}
}

func TestEveryPriorityMakesProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		stop := make(chan struct{})
		var work sync.WaitGroup
		var sent [Backend + 1]atomic.Int32
		for p := Background; p <= Backend; p++ {
			fill(as(t.Context(), "a", p), stop, &work, b, 100, &sent[p])
		}
		pass(10 * time.Minute)
		close(stop)
		work.Wait()
		for p := Background; p <= Backend; p++ {
			n := sent[p].Load()
			t.Logf("priority %s: %d calls in ten minutes", p, n)
			if n < 60 {
				t.Errorf("priority %s: %d calls in ten minutes, want at least every tenth", p, n)
			}
		}
		if high, low := sent[Backend].Load(), sent[Background].Load(); high < low {
			t.Errorf("the highest priority got %d calls, the lowest %d", high, low)
		}
	})
}

// TestNobodyIsRefusedForHigherPriorities: more calls of the highest priority wait than go in an hour. The wait that is
// predicted for a call of a lower one is much shorter, so that it waits although it has a deadline.
func TestNobodyIsRefusedForHigherPriorities(t *testing.T) {
	for _, priority := range []Priority{Background, Deletion, Change} {
		t.Run(priority.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(t, nil)
				stop := make(chan struct{})
				var work sync.WaitGroup
				var sent atomic.Int32
				fill(as(t.Context(), "bulk", Backend), stop, &work, b, 4000, &sent)
				pass(time.Minute)
				longest := time.Duration(0)
				for range 30 {
					ctx, cancel := context.WithTimeout(as(t.Context(), "lbcontroller", priority), 75*time.Second)
					begin := time.Now()
					if err := b.Acquire(ctx, "slb", "AddVServerGroupBackendServers"); err != nil {
						t.Errorf("after %s: %v", time.Since(begin), err)
					}
					cancel()
					longest = max(longest, time.Since(begin))
				}
				close(stop)
				work.Wait()
				t.Logf("a call waited for %s at most", longest)
				if longest > time.Minute+time.Second {
					t.Errorf("a call waited for %s, want a turn after %d calls of others, in the next window at the latest", longest, patience)
				}
			})
		})
	}
}

// TestCallersByTheirTerms: three callers keep the queue full for ten minutes.
func TestCallersByTheirTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budgets := map[string]config.CallerBudget{"heavy": {Weight: 3}, "backup": {Share: 0.1}}
		b := newBudget(t, func(cfg *config.Budget) { cfg.Callers = budgets })
		drain(t, b, "AddVServerGroupBackendServers") // so that nobody profits from being the first
		stop := make(chan struct{})
		var work sync.WaitGroup
		sent := map[string]*atomic.Int32{"heavy": {}, "plain": {}, "backup": {}}
		for name, n := range sent {
			fill(as(t.Context(), name, Change), stop, &work, b, 200, n)
		}
		pass(10 * time.Minute)
		close(stop)
		work.Wait()
		heavy, plain, backup := sent["heavy"].Load(), sent["plain"].Load(), sent["backup"].Load()
		t.Logf("heavy %d, plain %d, backup %d", heavy, plain, backup)
		if backup > 66 || backup < 30 { // it has to wait for its turn besides
			t.Errorf("backup made %d calls, want 10 %% of 630 at most", backup)
		}
		if heavy < plain*29/10 || heavy > plain*31/10 {
			t.Errorf("heavy made %d calls, plain %d; want three times as many", heavy, plain)
		}
		if total := heavy + plain + backup; total < (630-31)*95/100 {
			t.Errorf("%d calls in ten minutes at 63 per minute", total)
		}
	})
}

// TestBoundedCallerAlone: what one caller may not use stays free although nobody else wants it, whatever its priority.
func TestBoundedCallerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, func(cfg *config.Budget) { cfg.Callers = map[string]config.CallerBudget{"backup": {Share: 0.1}} })
		stop := make(chan struct{})
		var work sync.WaitGroup
		var sent atomic.Int32
		fill(as(t.Context(), "backup", Backend), stop, &work, b, 1000, &sent)
		for range 10 {
			pass(time.Minute)
			begin := time.Now()
			// A deadline this short would be refused if the calls of the other counted.
			ctx, cancel := context.WithTimeout(as(t.Context(), "plain", Background), time.Second)
			if err := b.Acquire(ctx, "slb", "AddVServerGroupBackendServers"); err != nil || time.Since(begin) > clockMargin {
				t.Errorf("another caller went after %s: %v", time.Since(begin), err)
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(as(t.Context(), "backup", Backend), time.Hour)
		defer cancel()
		if e, ok := rpcerr.From(b.Acquire(ctx, "slb", "AddVServerGroupBackendServers")); !ok || e.RetryAfter < 2*time.Hour {
			t.Errorf("error %v, want THROTTLED and the hours that 1000 calls at 6 per minute take", e)
		}
		close(stop)
		work.Wait()
		if n := sent.Load(); n < 57 || n > 66 {
			t.Errorf("%d calls in ten minutes at 6 per minute", n)
		}
	})
}

func TestRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		for begin := time.Now(); time.Since(begin) < 30*time.Second; pass(time.Second) { // the whole window's calls
			drain(t, b, "CreateLoadBalancer")
		}
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
		// RetryAfter is right.
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
		b := newBudgetIn(t, reg, nil)
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
		b := newBudget(t, nil)
		drain(t, b, "CreateLoadBalancer")
		l := b.limiter("slb", "CreateLoadBalancer")
		wait := func(name string) {
			for range mostWaiting {
				l.queue.push(&waiter{caller: Caller{Name: name, Priority: Change}, result: make(chan error, 1)})
			}
		}
		refused := func(name, want string) {
			t.Helper()
			e, ok := rpcerr.From(b.Acquire(as(t.Context(), name, Change), "slb", "CreateLoadBalancer"))
			if !ok || e.Reason != rpcerr.Throttled || e.RetryAfter <= 0 || !strings.Contains(e.Message, want) {
				t.Errorf("error %v, want THROTTLED with the wait", e)
			}
		}
		wait("bulk")
		refused("bulk", "5000 calls of bulk are waiting")
		for i := range 3 {
			wait(fmt.Sprint("other", i))
		}
		refused("another", "20000 calls are waiting")
	})
}

func TestLimits(t *testing.T) {
	b := newBudget(t, func(cfg *config.Budget) {
		cfg.Share = 0.5
		cfg.Overrides = map[string]config.Limit{"slb/DeleteLoadBalancer": override(600, time.Minute)}
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
		{"slb", "NewAction", Limit{45, time.Minute}},          // as OtherWrites
	}
	for _, tt := range tests {
		l := b.limiter(tt.product, tt.action)
		if got := (Limit{l.share.calls, l.pacer.window}); got != tt.want {
			t.Errorf("%s/%s: share %v, want %v", tt.product, tt.action, got, tt.want)
		}
	}
}

// TestUnknownAction: the names of actions are the one thing of a budget that the configuration can't check.
func TestUnknownAction(t *testing.T) {
	_, err := New(config.Budget{Overrides: map[string]config.Limit{"slb/Typo": override(1, time.Second)}}, nil, nil)
	want := `budget override "slb/Typo": no such action; want PRODUCT/ACTION such as slb/CreateLoadBalancer`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestPart: a gateway with a part of the account's limits has that part of each, also of those that the configuration
// names and of actions that the table does not have, and one call at least.
func TestPart(t *testing.T) {
	b := newBudget(t, func(cfg *config.Budget) {
		cfg.Part = 0.1
		cfg.Overrides = map[string]config.Limit{"slb/CreateLoadBalancer": override(200, time.Minute),
			"slb/DeleteLoadBalancer": override(3, time.Second)}
	})
	documented, err := Limits()
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]int{
		"CreateLoadBalancer": 20, "DeleteLoadBalancer": 1,
		"DescribeLoadBalancers": documented["slb/DescribeLoadBalancers"].Calls / 10, "SetNothing": documented["slb/OtherWrites"].Calls / 10,
	} {
		if got := b.limiter("slb", action).allowance; got.limit != float64(want) || got.most != float64(want) {
			t.Errorf("%s: %v calls, and %v at most, want %d", action, got.limit, got.most, want)
		}
	}
}

// TestCounts: actions that the table has count by themselves, all others of a product together, so that names which a
// caller makes up are few.
func TestCounts(t *testing.T) {
	b := newBudget(t, nil)
	for action, want := range map[string]string{
		"DescribeInstances": "DescribeInstances", "DescribeAnything": OtherReads, "ListAnything": OtherReads, "RunAnything": OtherWrites,
		"RunInstances": "RunInstances",
		"Describer":    OtherReads, "": OtherWrites,
	} {
		if got := b.Counts("ecs", action); got != want {
			t.Errorf("%q counts as %s, want %s", action, got, want)
		}
	}
	for _, product := range []string{"slb", "nlb", "vpc", "ecs"} {
		for _, others := range []string{OtherReads, OtherWrites} {
			if _, known := b.limits[product+"/"+others]; !known {
				t.Errorf("limits.csv has no %s of %s", others, product)
			}
		}
	}
}

// TestWaitLeavesTimeForTheCall: a call that would have less than half a second left after its wait is refused at once.
func TestWaitLeavesTimeForTheCall(t *testing.T) {
	for _, tt := range []struct {
		left    time.Duration
		refused bool
	}{{400 * time.Millisecond, true}, {600 * time.Millisecond, false}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(t, nil)
			pause := b.Throttled("slb", "CreateLoadBalancer", 10*time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), pause+tt.left)
			defer cancel()
			begin := time.Now()
			err := b.Acquire(ctx, "slb", "CreateLoadBalancer")
			if took := time.Since(begin); (err != nil) != tt.refused || tt.refused && took > 0 || !tt.refused && took < pause {
				t.Errorf("%s left: %v after %s", tt.left, err, took)
			}
		})
	}
}
