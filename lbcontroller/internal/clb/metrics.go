package clb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// metrics are those of the kind.
type metrics struct{ drift *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) metrics {
	return metrics{drift: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "lbcontroller_drift_total", Help: "Changes that checks for drift made, by what they were about: instance, listeners or servers.",
	}, []string{"part"})}
}

// countDrift counts what a check for drift is about to change.
func (m metrics) countDrift(p plan.Plan) {
	for action := range p.Actions() {
		part := "listeners"
		switch action.(type) {
		case plan.CreateInstance, plan.UpdateInstance:
			part = "instance"
		case plan.CreateGroup, plan.ChangeServers, plan.DeleteGroup:
			part = "servers"
		}
		m.drift.WithLabelValues(part).Inc()
	}
}
