package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

// Reasons of events, the same as those of the existing CCM.
const (
	eventInitialized  = "InitializedNode"  // Normal: the Node has its provider ID, addresses and labels and may run pods.
	eventSyncFailed   = "SyncNodeFailed"   // Warning: the Node can't be brought in step with its instance; it is tried again.
	eventDeleted      = "DeletedNode"      // Normal: the instance is gone and so is the Node.
	eventDeleteFailed = "DeleteNodeFailed" // Warning: the instance seems gone but the Node stays for now; the text says why.
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
	fault    prometheus.Gauge
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
		fault: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nodecontroller_no_instance_found", Help: "1 if the last sweep found not one instance of the nodes, as with wrong credentials.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.latency, m.deleted, m.deferred, m.fault} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// expiry shows what a sweep found about nodes whose instances are gone.
func (m *metrics) expiry(verdict lifecycle.Verdict) {
	m.deferred.Set(float64(len(verdict.Deferred)))
	m.fault.Set(0)
	if verdict.Fault {
		m.fault.Set(1)
	}
}

func (m *metrics) observe(verb string, start time.Time) {
	m.latency.WithLabelValues(verb).Observe(float64(time.Since(start).Milliseconds()))
}
