package lb

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// metrics are those of all kinds.
type metrics struct {
	drift    *prometheus.CounterVec
	withheld *prometheus.GaugeVec
	orphans  *prometheus.GaugeVec
	// certificateEnd says when certificates end, by kind and id.
	certificateEnd *prometheus.GaugeVec
	// lastServers counts Services that keep servers only because there is no other, and noBackends those with a port that has none.
	lastServers, noBackends serviceGauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	return metrics{
		drift: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "lbcontroller_drift_total",
			Help: "What checks for drift found, by what it was about (instance, listeners, servers), and whether it was mended or reported.",
		}, []string{"part", "result"}),
		orphans: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_orphans",
			Help: "Load balancers with the tags of this cluster whose Services are gone, when they were looked for last, by kind.",
		}, []string{"kind"}),
		certificateEnd: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_certificate_end_timestamp_seconds",
			Help: "When a server certificate that Services name ends, in Unix time, by kind of the load balancer.",
		}, []string{"kind", "certificate"}),
		lastServers: serviceGauge{factory.NewGauge(prometheus.GaugeOpts{
			Name: "lbcontroller_last_servers", Help: "Services whose last servers stay although no node qualifies as a backend any more.",
		})},
		noBackends: serviceGauge{factory.NewGauge(prometheus.GaugeOpts{
			Name: "lbcontroller_services_without_backends",
			Help: "Services with a port for which the load balancer has no server, those of weight 0 not counted.",
		})},
		withheld: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_withheld_changes",
			Help: "Changes in the cloud that are not made because of the policy (report or upsert-only), by policy.",
		}, []string{"policy"}),
	}
}

// withhold counts how many changes a policy holds back for a Service.
func (m metrics) withhold(s *state, now withheld) {
	if old := s.withheld; old.changes > 0 {
		m.withheld.WithLabelValues(string(old.policy)).Sub(float64(old.changes))
	}
	if s.withheld = now; now.changes > 0 {
		m.withheld.WithLabelValues(string(now.policy)).Add(float64(now.changes))
	}
}

// serviceGauge counts Services.
type serviceGauge struct{ prometheus.Gauge }

// set says whether a Service is one of those that are counted, and remembers that.
func (g serviceGauge) set(counted *bool, counts bool) {
	switch {
	case counts && !*counted:
		g.Inc()
	case !counts && *counted:
		g.Dec()
	}
	*counted = counts
}

// countDrift counts what a check for drift is about to change, and what it only reports.
func (m metrics) countDrift(changed plan.Plan, reported []plan.Action) {
	for action := range changed.Actions() {
		m.drift.WithLabelValues(partOf(action), "mended").Inc()
	}
	for _, action := range reported {
		m.drift.WithLabelValues(partOf(action), "reported").Inc()
	}
}

// partOf names what an action is about.
func partOf(action plan.Action) string {
	switch part, _ := action.About(); part {
	case plan.PartInstance:
		return "instance"
	case plan.PartGroup, plan.PartServers:
		return "servers"
	default:
		return "listeners"
	}
}
