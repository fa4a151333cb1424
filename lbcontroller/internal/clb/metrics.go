package clb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of the kind.
type metrics struct {
	drift    *prometheus.CounterVec
	withheld *withheldGauge
	orphans  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	return metrics{
		drift: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "lbcontroller_drift_total", Help: "What checks for drift found, by what it was about (instance, listeners, servers), and whether it was mended or reported.",
		}, []string{"part", "result"}),
		orphans: factory.NewGauge(prometheus.GaugeOpts{
			Name: "lbcontroller_orphans", Help: "CLBs with the tags of this cluster whose Services are gone, when they were looked for last.",
		}),
		withheld: &withheldGauge{gauge: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_withheld_changes", Help: "Changes in the cloud that are not made because of the policy (report or upsert-only), by policy.",
		}, []string{"policy"})},
	}
}

// countDrift counts what a check for drift is about to change, and what it only reports.
func (m metrics) countDrift(d decision) {
	for action := range d.plan.Actions() {
		m.drift.WithLabelValues(partOf(action), "mended").Inc()
	}
	for _, action := range d.reported {
		m.drift.WithLabelValues(partOf(action), "reported").Inc()
	}
}
