package lb_test

import (
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// calls are the calls to the gateway that the metric counts.
func (w *world) callsOfMetric() (sum float64) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "lbcontroller_reconcile_calls" {
			sum = family.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return sum
}

// TestReconcileCalls: every call of a reconcile is counted.
func TestReconcileCalls(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.update(annotated(annotation.Scheduler, "wrr"))
		w.addNode(3)
		w.settle()
		check(t, "calls", float64(len(w.calls())), w.callsOfMetric())
		check(t, "conflicts", map[string]float64{}, w.gauge("lbcontroller_conflicts_total"))
	})
}
