package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
)

// metrics keeps the names of the existing CCM, on which dashboards stand.
type metrics struct {
	latency *prometheus.HistogramVec
	result  *prometheus.CounterVec
	gates   *prometheus.CounterVec
	// services count Services by how they stand.
	services *prometheus.GaugeVec
	delay    prometheus.Histogram
	calls    prometheus.Histogram
	// conflicts are those with other clients that write on the same Services.
	conflicts *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	return metrics{
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ccm_slb_latencies_duration_milliseconds", Help: "Time to bring a load balancer to what its Service asks for, by verb.",
			Buckets: prometheus.ExponentialBuckets(50, 2, 14),
		}, []string{"type", "verb"}),
		result: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ccm_slb_operation_result", Help: "Reconciles of load balancers that made a change or failed, by verb and status.",
		}, []string{"type", "verb", "status"}),
		gates: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "lbcontroller_readiness_gates_total", Help: "Conditions of readiness gates written on pods, by reason.",
		}, []string{"reason"}),
		services: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_services",
			Help: "Services with a load balancer, by the reason of their condition Synced; Pending as long as there is no address.",
		}, []string{"state"}),
		calls: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "lbcontroller_reconcile_calls", Help: "Calls to the gateway of one reconcile of a Service.",
			Buckets: []float64{0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64},
		}),
		conflicts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "lbcontroller_conflicts_total",
			Help: "Conflicts with others who write on a Service: its status was overwritten (status) or its labels were " +
				"taken off (labels) again and again, or it changed meanwhile (version).",
		}, []string{"kind"}),
		delay: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "lbcontroller_endpoint_delay_seconds", Help: "Time from a change of a Service's endpoints until its servers were right.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 14),
		}),
	}
}

// stands counts how a Service stands; empty for one that has no load balancer.
func (m metrics) stands(s *service, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == state {
		return
	}
	if s.state != "" {
		m.services.WithLabelValues(s.state).Dec()
	}
	if s.state = state; state != "" {
		m.services.WithLabelValues(state).Inc()
	}
}

const (
	verbCreation    = "Creation"
	verbDeletion    = "Deletion"
	verbUpdate      = "Update"
	statusSucceeded = "Success"
	statusFailed    = "Fail"
)

func verbOf(svc *corev1.Service, wanted bool) string {
	switch {
	case !wanted:
		return verbDeletion
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		return verbCreation
	default:
		return verbUpdate
	}
}

func (m metrics) count(metricType, verb string, start time.Time, err error) {
	status := statusSucceeded
	if err != nil {
		status = statusFailed
	} else {
		m.latency.WithLabelValues(metricType, verb).Observe(float64(time.Since(start).Milliseconds()))
	}
	m.result.WithLabelValues(metricType, verb, status).Inc()
}
