package flow

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	wait                 *prometheus.HistogramVec
	throttled            *prometheus.CounterVec
	waiting, rate, limit *prometheus.GaugeVec
}

// actionMetrics are the metrics of one action.
type actionMetrics struct {
	wait                 prometheus.ObserverVec
	throttled            prometheus.Counter
	waiting, rate, limit prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	action := []string{"product", "action"}
	return metrics{
		wait: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cloudgateway_budget_wait_seconds",
			Help:    "Time that calls waited for the rate limit, by how it ended: sent, refused (no room before the deadline) or gave_up.",
			Buckets: []float64{.001, .01, .1, .5, 1, 2, 5, 10, 20, 40, 80, 160},
		}, []string{"product", "action", "caller", "priority", "result"}),
		throttled: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_budget_throttled_total",
			Help: "Calls that the cloud refused for their rate.",
		}, action),
		waiting: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_budget_waiting",
			Help: "Calls that wait for the rate limit.",
		}, action),
		rate: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_budget_rate",
			Help: "Calls per second that the rate limit lets go at present; lower than the limit after throttling or a burst.",
		}, action),
		limit: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_budget_limit",
			Help: "Calls per second that the gateway uses of the account's limit at most.",
		}, action),
	}
}

func (m metrics) of(product, action string) actionMetrics {
	labels := prometheus.Labels{"product": product, "action": action}
	return actionMetrics{
		wait:      m.wait.MustCurryWith(labels),
		throttled: m.throttled.With(labels),
		waiting:   m.waiting.With(labels),
		rate:      m.rate.With(labels),
		limit:     m.limit.With(labels),
	}
}

func (m actionMetrics) waited(c Caller, result string, d time.Duration) {
	m.wait.With(prometheus.Labels{"caller": c.Name, "priority": c.Priority.String(), "result": result}).Observe(d.Seconds())
}
