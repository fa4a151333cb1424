package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/routecontroller/internal/apply"
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
	held    *prometheus.GaugeVec
	// unconfirmed are the orphans of which it is not known whether their instances are gone.
	unconfirmed *prometheus.GaugeVec
	foreign     *prometheus.GaugeVec
	fault       *prometheus.GaugeVec
	// recordFault is 1 while what the next leader has to know can't be read or written.
	recordFault prometheus.Gauge
	unread      *prometheus.GaugeVec
	routes      *prometheus.GaugeVec
	quotaUsed   *prometheus.GaugeVec
	available   prometheus.Histogram
	// unmanaged counts the nodes in vSwitches that are bound to tables without routes.
	unmanaged *prometheus.GaugeVec
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
		held: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_held_deletions", Help: "Routes of Nodes that are gone that the deletion budget keeps for later.",
		}, []string{"route_table"}),
		unconfirmed: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_unconfirmed_routes",
			Help: "Routes without a Node of which it can't be found out whether their instances are gone, by cause: region, credentials, " +
				"unavailable, throttled, nothing_found, partial, inconsistent, other.",
		}, []string{"route_table", "cause"}),
		unread: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_table_unread",
			Help: "1 if a route table could not be read when it had to be, by cause: credentials, unavailable, throttled, other.",
		}, []string{"route_table", "cause"}),
		foreign: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_foreign_overlaps", Help: "Entries of others that take a part of a Node's traffic.",
		}, []string{"route_table"}),
		routes: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_routes",
			Help: "Routes of Nodes and of this cluster by state: available, pending, missing, unusable (no range, one that " +
				"another Node has, or no instance of this region), refused (an entry of others is in the way), " +
				"blocked (an entry of ours is, which stays for now), orphan (no Node claims it, and it is kept for now).",
		}, []string{"route_table", "state"}),
		quotaUsed: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_route_quota_used_ratio", Help: "Share of the configured quota that the custom entries of a route table use.",
		}, []string{"route_table"}),
		available: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "routecontroller_time_to_available_seconds",
			Help:    "Time from the creation of a Node until a route of it is available in a table.",
			Buckets: prometheus.ExponentialBuckets(0.5, 2, 12), //nolint:mnd // Half a second to 17 minutes.
		}),
		unmanaged: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_unmanaged_table_nodes",
			Help: "Nodes whose vSwitch is bound to a route table of the VPC that gets no routes, by that table.",
		}, []string{"route_table"}),
		recordFault: factory.NewGauge(prometheus.GaugeOpts{
			Name: "routecontroller_record_unusable", Help: "1 if a ConfigMap for the next leader can't be read or written, which stops deletions.",
		}),
		fault: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "routecontroller_no_node_claims", Help: "1 if there are routes of this cluster and no Node claims any, which stops deletions.",
		}, []string{"route_table"}),
	}
}

// count shows how many routes of a table are in which state.
func (m *metrics) count(tableID string, v view, blocked int, result apply.Result) {
	made, working := 0, 0
	for _, entry := range result.Created {
		if entry.Available {
			working++
		}
		made++
	}
	for state, n := range map[string]int{
		"available": len(v.plan.Ready) + working,
		"pending":   len(v.plan.Pending) + made - working,
		"missing":   len(v.plan.Create) - made,
		"unusable":  len(v.claims.Unroutable),
		"refused":   len(v.plan.Refused),
		"blocked":   blocked,
		"orphan":    len(v.waiting) - len(v.orphans.Delete),
	} {
		m.routes.WithLabelValues(tableID, state).Set(float64(n))
	}
}

// countUnclear shows how many orphans are kept because nothing can be found out about their instances, by cause.
func (m *metrics) countUnclear(tableID string, count map[cause]int) {
	for _, why := range allCauses() {
		m.unconfirmed.WithLabelValues(tableID, string(why)).Set(float64(count[why]))
	}
}

// read shows whether a table could be read, and why not.
func (m *metrics) read(tableID string, err error) {
	for _, why := range []cause{causeCredentials, causeUnavailable, causeThrottled, causeOther} {
		unread := 0.0
		if err != nil && causeOf(err) == why {
			unread = 1
		}
		m.unread.WithLabelValues(tableID, string(why)).Set(unread)
	}
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
