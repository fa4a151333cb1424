package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label outcome.
const (
	outcomeSuccess  = "success"
	outcomeError    = "error"
	outcomePanic    = "panic"
	outcomeTerminal = "terminal" // the user has to act
	outcomeAfter    = "after"    // the reconciler waits for something
	outcomeDeferred = "deferred" // the gateway asked to wait
	outcomeStopped  = "stopped"  // cut off by the end of the process
)

// metrics are those of one runner; the controller's name is a constant label, so several runners share a registry.
type metrics struct {
	total    *prometheus.CounterVec
	duration prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, name string, q *queue) (*metrics, error) {
	labels := prometheus.Labels{"controller": name}
	m := &metrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reconcile_total", Help: "Attempts by outcome.", ConstLabels: labels,
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reconcile_duration_seconds", Help: "Duration of an attempt.", ConstLabels: labels,
			Buckets: []float64{.001, .005, .02, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120},
		}),
	}
	if reg == nil {
		return m, nil
	}
	collectors := []prometheus.Collector{m.total, m.duration, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reconcile_queue_oldest_seconds", Help: "Age of the key that has waited longest.", ConstLabels: labels,
	}, func() float64 { return q.oldest().Seconds() })}
	for p := range Priority(priorities) {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "reconcile_queue_depth", Help: "Keys that wait for a worker.",
			ConstLabels: prometheus.Labels{"controller": name, "priority": p.String()},
		}, func() float64 { return float64(q.depth(p)) }))
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(outcome string, d time.Duration) {
	m.total.WithLabelValues(outcome).Inc()
	m.duration.Observe(d.Seconds())
}

// LatencyBuckets are those of the existing CCM's histograms of nodes and routes, in milliseconds.
func LatencyBuckets() []float64 {
	return []float64{
		500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 7000, 8000, 9000, 10000, 30000, 60000, 100000, 150000, 200000, 300000,
		600000, 700000, 800000,
	}
}
