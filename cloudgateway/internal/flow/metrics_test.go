package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricsAreBounded: twenty callers that use all actions with all priorities and outcomes leave less than 2 000 series, and strangers
// can't add to them without end.
func TestMetricsAreBounded(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	b := newBudget(t, func(cfg *Config) { cfg.Registerer = reg })
	use := func(callers int) (series int) {
		for i := range callers {
			for name := range b.limits {
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
	if got := use(20); got > 2000 {
		t.Errorf("%d series of 20 callers, want at most 2000", got)
	} else {
		t.Logf("%d series of 20 callers", got)
	}
	if got := use(500); got > 3000 {
		t.Errorf("%d series of 500 callers", got)
	}
}
