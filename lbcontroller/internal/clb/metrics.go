package clb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of the kind.
type metrics struct{ drift *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) metrics {
	return metrics{drift: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "lbcontroller_drift_total", Help: "What checks for drift found, by what it was about (instance, listeners, servers), and whether it was mended or reported.",
	}, []string{"part", "result"})}
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
