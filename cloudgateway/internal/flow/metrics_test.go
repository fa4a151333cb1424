package flow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestWaitsByCaller: the metrics show whose calls waited, how many and for how long, also of calls that were given up or refused meanwhile.
// Calls that go at once, or are refused at once, have not waited.
func TestWaitsByCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		b := newBudgetIn(t, reg, func(cfg *config.Budget) {
			cfg.Overrides = map[string]config.Limit{"slb/" + learned: override(1, time.Minute)}
		})
		acquire := func(caller string, patience time.Duration) error {
			ctx, cancel := context.WithCancel(as(t.Context(), caller, Change))
			defer cancel()
			if patience > 0 {
				defer time.AfterFunc(patience, cancel).Stop()
			}
			return b.Acquire(ctx, "slb", learned)
		}
		if err := acquire("quick", 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var work sync.WaitGroup
		work.Go(func() {
			if err := acquire("patient", 0); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		work.Go(func() {
			if acquire("hasty", 10*time.Second) == nil {
				t.Error("a call that was given up went")
			}
		})
		short, cancel := context.WithTimeout(as(t.Context(), "short", Change), time.Second)
		defer cancel()
		if b.Acquire(short, "slb", learned) == nil {
			t.Error("a call with a deadline that is too early went")
		}
		work.Wait()
		waited := time.Since(began).Seconds() // of the patient caller, who went last
		if waited < 30 {
			t.Fatalf("the second call of a minute went after %v s", waited)
		}
		want := fmt.Sprintf(`
			# HELP cloudgateway_budget_caller_wait_seconds_total Time that the calls of a caller waited for the rate limit, `+
			`whether they were sent or not.
			# TYPE cloudgateway_budget_caller_wait_seconds_total counter
			cloudgateway_budget_caller_wait_seconds_total{caller="hasty"} 10
			cloudgateway_budget_caller_wait_seconds_total{caller="patient"} %v
			cloudgateway_budget_caller_wait_seconds_total{caller="quick"} 0
			cloudgateway_budget_caller_wait_seconds_total{caller="short"} 0
			# HELP cloudgateway_budget_caller_waits_total Calls of a caller that waited for the rate limit, whether they were sent or not.
			# TYPE cloudgateway_budget_caller_waits_total counter
			cloudgateway_budget_caller_waits_total{caller="hasty"} 1
			cloudgateway_budget_caller_waits_total{caller="patient"} 1
			cloudgateway_budget_caller_waits_total{caller="quick"} 0
			cloudgateway_budget_caller_waits_total{caller="short"} 0
		`, waited)
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
			"cloudgateway_budget_caller_wait_seconds_total", "cloudgateway_budget_caller_waits_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestMetricsAreBounded: an action has five series, whoever calls it and however that ends. Twenty callers that use all of them with all
// priorities and outcomes leave 460 others at most, and strangers can't add to them without end.
func TestMetricsAreBounded(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	b := newBudgetIn(t, reg, nil)
	all := slices.Sorted(maps.Keys(b.limits))
	use := func(callers int, actions []string) (series int) {
		for i := range callers {
			for _, name := range actions {
				product, action, _ := strings.Cut(name, "/")
				l := b.limiter(product, action)
				for p := Background; p <= Backend; p++ {
					for _, result := range []string{"sent", "refused", "gave_up"} {
						l.metrics.waited(Caller{Name: fmt.Sprint("caller-", i), Priority: p}, result, 1)
					}
				}
			}
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				series++
				if h := m.GetHistogram(); h != nil {
					series += len(h.GetBucket()) + 2
				}
				if m.GetSummary() != nil {
					series++
				}
			}
		}
		return series
	}
	if got, most := use(20, all), 5*len(all)+460; got > most {
		t.Errorf("%d series of %d actions and 20 callers, want at most %d", got, len(all), most)
	} else {
		t.Logf("%d series of 20 callers", got)
	}
	if got := use(500, all[:1]); got > 3000 {
		t.Errorf("%d series of 500 callers", got)
	}
}
