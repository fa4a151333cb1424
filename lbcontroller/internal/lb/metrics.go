package lb

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of all kinds.
type metrics struct {
	drift    *prometheus.CounterVec
	withheld *withheldGauge
	orphans  *prometheus.GaugeVec
	// certificateEnd says when certificates end, by kind and id.
	certificateEnd *prometheus.GaugeVec
	// lastServers counts Services that keep servers only because there is no other, and noBackends those with a port that has none.
	lastServers, noBackends *serviceGauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	return metrics{
		drift: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "lbcontroller_drift_total", Help: "What checks for drift found, by what it was about (instance, listeners, servers), and whether it was mended or reported.",
		}, []string{"part", "result"}),
		orphans: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_orphans", Help: "Load balancers with the tags of this cluster whose Services are gone, when they were looked for last, by kind.",
		}, []string{"kind"}),
		certificateEnd: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_certificate_end_timestamp_seconds", Help: "When a server certificate that Services name ends, in Unix time, by kind of the load balancer.",
		}, []string{"kind", "certificate"}),
		lastServers: &serviceGauge{gauge: factory.NewGauge(prometheus.GaugeOpts{
			Name: "lbcontroller_last_servers", Help: "Services whose last servers stay although no node qualifies as a backend any more.",
		})},
		noBackends: &serviceGauge{gauge: factory.NewGauge(prometheus.GaugeOpts{
			Name: "lbcontroller_services_without_backends", Help: "Services with a port for which the load balancer has no server, those of weight 0 not counted.",
		})},
		withheld: &withheldGauge{gauge: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_withheld_changes", Help: "Changes in the cloud that are not made because of the policy (report or upsert-only), by policy.",
		}, []string{"policy"})},
	}
}

// forget takes a Service that has no load balancer any more out of the counts.
func (m metrics) forget(key string) {
	m.withheld.set(key, "", 0)
	m.lastServers.set(key, false)
	m.noBackends.set(key, false)
}

// serviceGauge counts Services.
type serviceGauge struct {
	gauge prometheus.Gauge

	mu   sync.Mutex
	keys map[string]bool
}

// set says whether a Service is one of those that are counted.
func (g *serviceGauge) set(key string, counts bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys == nil {
		g.keys = map[string]bool{}
	}
	if g.keys[key] = true; !counts {
		delete(g.keys, key)
	}
	g.gauge.Set(float64(len(g.keys)))
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
