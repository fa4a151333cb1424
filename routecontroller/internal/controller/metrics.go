package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/services/reconcile"
)

// Values of the label verb, the same as those of the existing CCM.
const (
	verbReconcile = "reconcile"
	verbCreate    = "create"
	verbDelete    = "delete"
)

type metrics struct {
	latency *prometheus.HistogramVec
	entries *prometheus.GaugeVec
	refused *prometheus.GaugeVec
	orphans *prometheus.GaugeVec
	held    *prometheus.GaugeVec
	foreign *prometheus.GaugeVec
	fault   *prometheus.GaugeVec
	// recordFault is 1 while what the next leader has to know can't be read or written.
	recordFault prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer, routeQuota int) *metrics {
	factory := promauto.With(registerer)
	factory.NewGauge(prometheus.GaugeOpts{
		Name: "routecontroller_route_quota", Help: "Custom entries that a route table may hold, as configured.",
	}).Set(float64(routeQuota))
	return &metrics{
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ccm_route_latencies_duration_milliseconds",
			Help:    "Duration of a pass over a route table and of the creation and deletion of routes in it.",
			Buckets: reconcile.LatencyBuckets(),
		}, []string{"verb"}),
		entries: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_route_entries", Help: "Custom entries of a route table.",
		}, []string{"route_table"}),
		refused: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_refused_routes", Help: "Routes of nodes that can't be created because of somebody else's entry.",
		}, []string{"route_table"}),
		orphans: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_orphan_routes", Help: "Routes of this cluster that no Node claims and that are kept for now.",
		}, []string{"route_table"}),
		held: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_held_deletions", Help: "Routes of Nodes that are gone that the deletion budget keeps for later.",
		}, []string{"route_table"}),
		foreign: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_foreign_overlaps", Help: "Entries of others that take a part of a Node's traffic.",
		}, []string{"route_table"}),
		recordFault: factory.NewGauge(prometheus.GaugeOpts{
			Name: "routecontroller_record_unusable", Help: "1 if a ConfigMap for the next leader can't be read or written, which stops deletions.",
		}),
		fault: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_no_node_claims", Help: "1 if there are routes of this cluster and no Node claims any, which stops deletions.",
		}, []string{"route_table"}),
	}
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
