package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ccm_route_latencies_duration_milliseconds",
			Help: "Duration of a pass over a route table and of the creation and deletion of routes in it.",
			Buckets: []float64{500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 7000, 8000, 9000, 10000, 30000, 60000, 100000, 150000,
				200000, 300000, 600000, 700000, 800000},
		}, []string{"verb"}),
		entries: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_route_entries", Help: "Custom entries of a route table.",
		}, []string{"route_table"}),
		refused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_refused_routes", Help: "Routes of nodes that can't be created because of somebody else's entry.",
		}, []string{"route_table"}),
	}
	for _, collector := range []prometheus.Collector{m.latency, m.entries, m.refused} {
		if registerer == nil {
			break
		}
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
