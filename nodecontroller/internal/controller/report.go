package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Reasons of events, the same as those of the existing CCM.
const (
	eventInitialized  = "InitializedNode"
	eventSyncFailed   = "SyncNodeFailed"
	eventDeleted      = "DeletedNode"
	eventDeleteFailed = "DeleteNodeFailed"
)

// Values of the label verb, the same as those of the existing CCM.
const (
	verbReconcile   = "reconcile"
	verbRemoveTaint = "remove_taint"
)

// nodeEvent refers to a node as the kubelet does, with its name for its UID, so that both kinds are shown together.
func (c *Controller) nodeEvent(node, kind, reason, message string) {
	c.cfg.Recorder.Event(&corev1.ObjectReference{Kind: "Node", Name: node, UID: types.UID(node)}, kind, reason, message)
}

type metrics struct {
	latency  *prometheus.HistogramVec
	deleted  prometheus.Counter
	deferred prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ccm_node_latencies_duration_milliseconds",
			Help: "Duration of the initialisation of a node and of a sweep over all nodes.",
			Buckets: []float64{500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 7000, 8000, 9000, 10000, 30000, 60000, 100000, 150000,
				200000, 300000, 600000, 700000, 800000},
		}, []string{"verb"}),
		deleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nodecontroller_deleted_nodes_total", Help: "Nodes deleted because their instances are gone.",
		}),
		deferred: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nodecontroller_deferred_deletions", Help: "Nodes to delete that the deletion budget keeps for later.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.latency, m.deleted, m.deferred} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
