package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/tracing"
)

// metrics of attempts. The labels are bounded by the actions and the classes of errors that the gateway knows: codes of
// errors are the cloud's, which has hundreds and adds more.
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
	product, action := string(x.call.Product), x.call.counted()
	x.client.reach.note(x.call.Product, x.started, x.failure)
	x.client.metrics.calls.WithLabelValues(product, action, outcome).Inc()
	x.client.metrics.took.WithLabelValues(product).Observe(took.Seconds())
	x.client.metrics.action.WithLabelValues(product, action).Observe(took.Seconds())
	x.client.cfg.Logger.Debug("cloud call", "api", x.call.api(), "outcome", outcome, "attempt", x.attempts, "took", took,
		"cloudRequestId", requestID)
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

const (
	// enoughFailures in a row, without an answer between them, make a product unreachable: one connection may break.
	enoughFailures = 3
	// staleFailure is when the last failure says nothing any more: no call has been tried since.
	staleFailure = 5 * time.Minute
	// forgotten is when the metric says so, too. Those who back off try every six minutes, and an alert needs a while.
	forgotten = 3 * staleFailure
)

// reach is what attempts have shown of the way to each product. Every answer shows that the way is there, also a refusal; a
// product that has not been called counts as reachable.
type reach struct {
	failures *prometheus.GaugeVec

	mu   sync.Mutex
	seen map[Product]*silence
}

// silence is the time since a product last answered.
type silence struct {
	failures int
	first    time.Time
	last     time.Time
	err      error
}

func newReach(reg prometheus.Registerer) *reach {
	r := &reach{
		seen: make(map[Product]*silence),
		failures: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cloudgateway_openapi_unanswered",
			Help: "Attempts to call the cloud that had no answer, since the last that had one; 0 if none was made for 15 " +
				"minutes.",
		}, []string{"product"}),
	}
	if reg != nil {
		reg.MustRegister(r)
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *reach) Describe(to chan<- *prometheus.Desc) { r.failures.Describe(to) }

// Collect implements prometheus.Collector.
func (r *reach) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	for p, s := range r.seen {
		s.expire()
		r.failures.WithLabelValues(string(p)).Set(float64(s.failures))
	}
	r.mu.Unlock()
	r.failures.Collect(to)
}

// expire forgets failures that are over: nobody has called the product since.
func (s *silence) expire() {
	if s.failures > 0 && time.Since(s.last) >= forgotten {
		*s = silence{}
	}
}

// note takes the outcome of an attempt: nil if the product answered.
func (r *reach) note(p Product, started time.Time, failure error) {
	now := time.Now()
	switch {
	case errors.Is(failure, errTooLong):
		failure = nil // It was an answer.
	case errors.Is(failure, context.Canceled):
		return // The caller went away.
	case errors.Is(failure, context.DeadlineExceeded) && now.Sub(started) < connectTimeout:
		return // The caller had little time.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seen[p]
	if s == nil {
		s = &silence{}
		r.seen[p] = s
	}
	s.expire()
	if failure == nil {
		*s = silence{}
	} else {
		if s.failures == 0 {
			s.first = started
		}
		s.failures, s.last, s.err = s.failures+1, now, failure
	}
}

// Reachable is nil unless recent calls show that a product can't be reached; for readiness checks. It calls nothing.
func (c *Client) Reachable() error {
	r := c.reach
	r.mu.Lock()
	defer r.mu.Unlock()
	var silent []string
	for _, p := range Products() {
		if p.row().foreign { // The gateway itself works without it.
			continue
		}
		if s := r.seen[p]; s != nil && s.failures >= enoughFailures && time.Since(s.last) < staleFailure {
			silent = append(silent, fmt.Sprintf("no answer from %s to %d attempts since %s: %v",
				c.hosts[p], s.failures, s.first.UTC().Format(time.RFC3339), s.err))
		}
	}
	if len(silent) > 0 {
		return errors.New(strings.Join(silent, "\n"))
	}
	return nil
}

// beginSpan opens the span of an attempt. It lasts from the wait for the budget to the end of the answer. Parameters and what the
// cloud says in words stay out of it: they hold names, and at times what was signed.
func (x *exchange) beginSpan(ctx context.Context) {
	product := x.call.Product.row().code
	_, x.span = tracing.Child(ctx, product+"."+x.call.Action, trace.WithSpanKind(trace.SpanKindClient))
	if x.span.IsRecording() {
		x.span.SetAttributes(
			attribute.String("rpc.system.name", "aliyun-openapi"),
			attribute.String("server.address", x.client.hosts[x.call.Product]),
			attribute.String("cloud.region", x.client.cfg.Region),
			attribute.String("aliyun.product", product),
			attribute.String("aliyun.action", x.call.Action),
			attribute.Int("aliyun.attempt", x.attempts),
		)
	}
}

// acquire waits for the budget and shows in the trace for how long.
func (x *exchange) acquire(ctx context.Context) error {
	begin := time.Now()
	err := x.client.cfg.Budget.Acquire(ctx, string(x.call.Product), x.call.Action)
	if x.span.IsRecording() {
		x.span.SetAttributes(attribute.Int64("budget.wait_ms", time.Since(begin).Milliseconds()))
	}
	return err
}

// endSpan closes the span of an attempt that got an answer or none, or that was not made because of err.
func (x *exchange) endSpan(err error) {
	if !x.span.IsRecording() {
		return
	}
	defer x.span.End()
	if err != nil {
		tracing.Fail(x.span, err)
		return
	}
	if x.answer == nil {
		tracing.Fail(x.span, x.failure)
		return
	}
	x.span.SetAttributes(
		attribute.Int("http.response.status_code", x.answer.status), attribute.String("aliyun.request_id", x.answer.requestID()))
	if !x.succeeded() {
		code := cmp.Or(x.refusal.Code, string(x.meaning.Class))
		x.span.SetAttributes(attribute.String("error.type", code))
		tracing.Fail(x.span, errors.New(code))
	}
}
