package openapi

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics of attempts. The labels are bounded by the actions and the classes of errors that the gateway knows: codes of errors are the cloud's, which
// has hundreds and adds more.
type metrics struct {
	calls  *prometheus.CounterVec
	took   *prometheus.HistogramVec // by product: a histogram for each action would be two thirds of the gateway's series
	action *prometheus.SummaryVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	factory := promauto.With(reg)
	return metrics{
		calls: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_openapi_calls_total",
			Help: "Attempts to call the cloud, by outcome: ok, no_answer, canceled, or the class of the error, of which errors.md lists the codes.",
		}, []string{"product", "action", "outcome"}),
		took: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cloudgateway_openapi_call_duration_seconds",
			Help:    "Time from sending a call to the cloud to the end of its answer.",
			Buckets: []float64{.01, .025, .05, .1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 25.6},
		}, []string{"product"}),
		action: factory.NewSummaryVec(prometheus.SummaryOpts{
			Name: "cloudgateway_openapi_action_duration_seconds",
			Help: "Time from sending a call of an action to the end of its answer.",
		}, []string{"product", "action"}),
	}
}

// record counts and logs an attempt that has ended. Nothing of the request gets into either but its action.
func (x *exchange) record() {
	took := time.Since(x.started)
	outcome, requestID := x.outcome()
	product, action := string(x.call.Product), x.call.Action
	x.client.reach.note(x.call.Product, x.started, x.failure)
	x.client.metrics.calls.WithLabelValues(product, action, outcome).Inc()
	x.client.metrics.took.WithLabelValues(product).Observe(took.Seconds())
	x.client.metrics.action.WithLabelValues(product, action).Observe(took.Seconds())
	x.client.cfg.Logger.Debug("cloud call", "api", x.call.api(), "outcome", outcome, "attempt", x.attempts, "took", took, "cloudRequestId", requestID)
}

func (x *exchange) outcome() (outcome, requestID string) {
	switch {
	case x.succeeded():
		return "ok", ""
	case x.answer != nil:
		return string(x.meaning.Class), x.refusal.RequestID
	case errors.Is(x.failure, context.Canceled):
		return "canceled", ""
	default:
		return "no_answer", ""
	}
}
