package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// Values of the label verb, the same as those of the existing CCM.
const (
	verbReconcile   = "reconcile"
	verbRemoveTaint = "remove_taint"
)

type metrics struct {
	latency  *prometheus.HistogramVec
	deleted  prometheus.Counter
	deferred prometheus.Gauge
	fault    prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	return &metrics{
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ccm_node_latencies_duration_milliseconds",
			Help:    "Duration of the initialisation of a node and of a sweep over all nodes.",
			Buckets: reconcile.LatencyBuckets(),
		}, []string{"verb"}),
		deleted: factory.NewCounter(prometheus.CounterOpts{
			Name: "nodecontroller_deleted_nodes_total", Help: "Nodes deleted because their instances are gone.",
		}),
		deferred: factory.NewGauge(prometheus.GaugeOpts{
			Name: "nodecontroller_deferred_deletions", Help: "Nodes to delete that the deletion budget keeps for later.",
		}),
		fault: factory.NewGauge(prometheus.GaugeOpts{
			Name: "nodecontroller_no_instance_found", Help: "1 if the last sweep found not one instance of the nodes, as with wrong credentials.",
		}),
	}
}

// expiry shows what a sweep found about nodes whose instances are gone.
func (m *metrics) expiry(verdict lifecycle.Verdict) {
	m.deferred.Set(float64(len(verdict.Deferred)))
	m.fault.Set(0)
	if verdict.Fault {
		m.fault.Set(1)
	}
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
