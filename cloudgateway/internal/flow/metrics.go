package flow

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/method"
)

// mostCallers is how many callers have a series of their own; those that come later share one.
const (
	mostCallers  = 50
	otherCallers = "others"
)

// How the wait of a call ended: the label "result".
const (
	resultSent    = "sent"
	resultRefused = "refused" // there was no room before the deadline, or too many waited
	resultGaveUp  = "gave_up"
)

// metrics keep callers, actions and priorities apart, so that their numbers add up instead of multiplying.
type metrics struct {
	wait           *prometheus.HistogramVec
	calls          *prometheus.CounterVec
	callerWaits    *prometheus.CounterVec
	callerWait     *prometheus.CounterVec
	actionWait     *prometheus.SummaryVec
	throttled      *prometheus.CounterVec
	waiting, limit *prometheus.GaugeVec
	callers        *callers
}

// actionMetrics are the metrics of one action, and those of all.
type actionMetrics struct {
	metrics
	wait           prometheus.Observer
	throttled      prometheus.Counter
	waiting, limit prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	action := []string{"product", "action"}
	return metrics{
		callers: &callers{known: map[string]bool{}, calls: map[Caller]*commonv1.CallerStatus{}},
		wait: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cloudgateway_budget_wait_seconds",
			Help:    "Time that calls waited for the rate limit, by how it ended: sent, refused (no room before the deadline) or gave_up.",
			Buckets: []float64{.001, .01, .1, .5, 1, 2, 5, 10, 20, 40, 80, 160},
		}, []string{"priority", "result"}),
		calls: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_budget_calls_total",
			Help: "Calls that wanted to go to the cloud, by caller, priority and how it ended.",
		}, []string{"caller", "priority", "result"}),
		callerWaits: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_budget_caller_waits_total",
			Help: "Calls of a caller that waited for the rate limit, whether they were sent or not.",
		}, []string{"caller"}),
		callerWait: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_budget_caller_wait_seconds_total",
			Help: "Time that the calls of a caller waited for the rate limit, whether they were sent or not.",
		}, []string{"caller"}),
		actionWait: factory.NewSummaryVec(prometheus.SummaryOpts{
			Name: "cloudgateway_budget_action_wait_seconds",
			Help: "Time that calls of an action waited for the rate limit, whether they were sent or not.",
		}, action),
		throttled: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_budget_throttled_total",
			Help: "Calls that the cloud refused for their rate.",
		}, action),
		waiting: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_budget_waiting",
			Help: "Calls that wait for the rate limit.",
		}, action),
		limit: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_budget_limit",
			Help: "Calls per second that the gateway sends at most at present: the account's limit, or less while others use it too.",
		}, action),
	}
}

func (m metrics) of(product, action string) actionMetrics {
	return actionMetrics{
		metrics:   m,
		wait:      m.actionWait.WithLabelValues(product, action),
		throttled: m.throttled.WithLabelValues(product, action),
		waiting:   m.waiting.WithLabelValues(product, action),
		limit:     m.limit.WithLabelValues(product, action),
	}
}

// forget ends the series of an action.
func (m metrics) forget(product, action string) {
	m.actionWait.DeleteLabelValues(product, action)
	m.throttled.DeleteLabelValues(product, action)
	m.waiting.DeleteLabelValues(product, action)
	m.limit.DeleteLabelValues(product, action)
}

func (m actionMetrics) waited(c Caller, result string, d time.Duration) {
	priority := method.PriorityName(c.Priority)
	m.wait.Observe(d.Seconds())
	m.metrics.wait.WithLabelValues(priority, result).Observe(d.Seconds())
	caller := m.callers.label(c.Name)
	m.callers.count(Caller{Name: caller, Priority: c.Priority}, result)
	m.calls.WithLabelValues(caller, priority, result).Inc()
	m.callerWait.WithLabelValues(caller).Add(d.Seconds()) // Also if it is 0: rates need a series from the first call on.
	waits := m.callerWaits.WithLabelValues(caller)
	if d > 0 {
		waits.Inc()
	}
}

// callers bounds how many callers have a label of their own, and counts their calls for the status.
type callers struct {
	mu    sync.Mutex
	known map[string]bool
	calls map[Caller]*commonv1.CallerStatus
}

func (n *callers) label(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.known[name] {
		if len(n.known) >= mostCallers {
			return otherCallers
		}
		n.known[name] = true
	}
	return name
}

func (n *callers) count(c Caller, result string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	calls := n.calls[c]
	if calls == nil {
		calls = &commonv1.CallerStatus{Caller: c.Name, Priority: c.Priority}
		n.calls[c] = calls
	}
	switch result {
	case resultSent:
		calls.Sent++
	case resultRefused:
		calls.Refused++
	case resultGaveUp:
		calls.GaveUp++
	}
}
