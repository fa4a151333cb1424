package openapi

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/tracing"
)

// beginSpan opens the span of an attempt. It lasts from the wait for the budget to the end of the answer. Parameters and what the
// cloud says in words stay out of it: they hold names, and at times what was signed.
func (x *exchange) beginSpan(ctx context.Context) {
	product := string(x.call.Product)
	if service, err := x.call.Product.service(); err == nil {
		product = service.code
	}
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
