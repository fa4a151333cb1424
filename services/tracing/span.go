package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"alicloud-controllers.dev/services/logging"
)

// scope names the maker of our spans.
const scope = "alicloud-controllers.dev"

// Tracer begins traces. It makes nothing if the provider is nil.
func Tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return noop.Tracer{}
	}
	return provider.Tracer(scope)
}

// Child begins a span below the one in ctx, if that is recorded: the parent knows its provider. Otherwise the span is one that
// records nothing; ask IsRecording before anything that costs.
func Child(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, options...) //nolint:spancheck // The caller ends it.
}

// Fail marks the span as failed. Secrets in the text of err are taken out, as in logs.
func Fail(span trace.Span, err error) {
	if span.IsRecording() {
		span.SetStatus(codes.Error, logging.Redact(err.Error()))
	}
}

// Log adds the trace to the lines of a logger, if it is one that is recorded. The key is OpenTelemetry's, by which viewers lead from a
// line to its trace.
func Log(ctx context.Context, log *slog.Logger) *slog.Logger {
	if at := trace.SpanContextFromContext(ctx); at.IsSampled() {
		return log.With("trace_id", at.TraceID().String()) //nolint:sloglint // Not our name, see above.
	}
	return log
}
