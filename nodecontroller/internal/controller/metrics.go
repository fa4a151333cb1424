package controller

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"
)

// Values of the label verb, the same as those of the existing CCM.
const (
	verbReconcile   = "reconcile"
	verbRemoveTaint = "remove_taint"
)

type metrics struct {
	latency     *prometheus.HistogramVec
	initialized prometheus.Histogram
	deleted     prometheus.Counter
	fault       prometheus.Gauge
	held        *prometheus.GaugeVec
	unread      *prometheus.GaugeVec
}

// newMetrics registers the metrics. states counts all nodes by state, and planned those with planned maintenance.
func newMetrics(registerer prometheus.Registerer, states, planned func() map[string]int) *metrics {
	factory := promauto.With(registerer)
	if registerer != nil {
		registerer.MustRegister(counted{prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nodecontroller_nodes",
			Help: "Nodes by state: uninitialized, forwarding (keeps its taint until the source/destination check of its network " +
				"interface is off), initialized, stopped, " +
				"silent (the kubelet does not report), stale_provider_id (the kubelet reports, and the instance is gone), " +
				"foreign (the instance is of another VPC or cluster), duplicate (another Node is the same instance), other (excluded, virtual, or no " +
				"instance of this region).",
		}, []string{"state"}), states})
		registerer.MustRegister(counted{prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nodecontroller_planned_maintenance_nodes",
			Help: "Nodes whose condition MaintenancePlanned the controller has set, by state: scheduled, imminent (within " +
				"maintenance.lead, or under way).",
		}, []string{"state"}), planned})
	}
	return &metrics{
		latency: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ccm_node_latencies_duration_milliseconds",
			Help:    "Duration of the initialisation of a node and of a sweep over all nodes.",
			Buckets: reconcile.LatencyBuckets(),
		}, []string{"verb"}),
		initialized: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "nodecontroller_time_to_untainted_seconds",
			Help:    "Time from the creation of a Node until it has its addresses and labels and lost the taint of an uninitialised node.",
			Buckets: prometheus.ExponentialBuckets(0.5, 2, 12), //nolint:mnd // Half a second to 17 minutes.
		}),
		deleted: factory.NewCounter(prometheus.CounterOpts{
			Name: "nodecontroller_deleted_nodes_total", Help: "Nodes deleted because their instances are gone.",
		}),
		held: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nodecontroller_held_deletions",
			Help: "Silent nodes that stay though their instances seem gone or can't be asked about, by cause: budget (too many were deleted " +
				"lately), nothing_found, contradicted, inconsistent, record, unanswered.",
		}, []string{"cause"}),
		unread: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "nodecontroller_instances_unread",
			Help: "1 if the last sweep could not read the instances of nodes, by cause: credentials, unavailable, throttled, other.",
		}, []string{"cause"}),
		fault: factory.NewGauge(prometheus.GaugeOpts{
			Name: "nodecontroller_no_instance_found", Help: "1 if the last sweep found not one instance of the nodes, as with wrong credentials.",
		}),
	}
}

// states are the values of the label state of nodes, of which each node has one.
const (
	stateOther         = "other" // no instance of this region, or excluded
	stateUninitialized = "uninitialized"
	stateForwarding    = "forwarding" // it waits for its network interface only
	stateStopped       = "stopped"
	stateSilent        = "silent"
	stateStale         = "stale_provider_id" // the kubelet reports, and the instance is gone
	stateForeign       = "foreign"           // the instance is none of the cluster's
	stateDuplicate     = "duplicate"
	stateInitialized   = "initialized"
)

// counted is a gauge that is counted when the metrics are read.
type counted struct {
	*prometheus.GaugeVec

	count func() map[string]int
}

// Collect implements prometheus.Collector.
func (g counted) Collect(metrics chan<- prometheus.Metric) {
	for label, n := range g.count() {
		g.WithLabelValues(label).Set(float64(n))
	}
	g.GaugeVec.Collect(metrics)
}

// expiry shows how many nodes are held whose instances seem gone, and why.
func (m *metrics) expiry(held map[heldCause]int) {
	for _, cause := range allHeld() {
		m.held.WithLabelValues(string(cause)).Set(float64(held[cause]))
	}
}

// setFault shows whether the last part of a sweep found not one instance.
func (m *metrics) setFault(nothingFound bool) {
	m.fault.Set(0)
	if nothingFound {
		m.fault.Set(1)
	}
}

// read shows whether the instances of nodes could be read, and why not.
func (m *metrics) read(err error) {
	for _, cause := range []string{causeCredentials, causeUnavailable, causeThrottled, causeOther} {
		m.unread.WithLabelValues(cause).Set(0)
	}
	if err != nil {
		m.unread.WithLabelValues(causeOf(err)).Set(1)
	}
}

// Causes of reads that fail, as routecontroller has them.
const (
	causeCredentials = "credentials" // of the gateway in the cloud or of the controller at the gateway, or what they allow
	causeUnavailable = "unavailable" // the gateway or the cloud does not answer
	causeThrottled   = "throttled"
	causeOther       = "other"
)

func causeOf(err error) string {
	switch rpcerr.ReasonOf(err) {
	case rpcerr.CloudForbidden, rpcerr.CloudCredentials, rpcerr.CallerForbidden, rpcerr.CallerUnauthenticated:
		return causeCredentials
	case rpcerr.Throttled:
		return causeThrottled
	case rpcerr.CloudUnavailable:
		return causeUnavailable
	default:
	}
	failure, ok := rpcerr.From(err)
	if errors.Is(err, context.DeadlineExceeded) || ok && (failure.Code == codes.Unavailable || failure.Code == codes.DeadlineExceeded) {
		return causeUnavailable
	}
	return causeOther
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
