package batch

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/tracing"
)

// mostLinks bounds the links of one span; OpenTelemetry keeps no more by default.
const mostLinks = 128

// waiting are the spans of the calls that wait for a batch, those that are recorded.
type waiting []trace.Span

// add notes the span of a call, once.
func (w *waiting) add(span trace.Span) {
	same := func(other trace.Span) bool { return other.SpanContext().Equal(span.SpanContext()) }
	if span.IsRecording() && len(*w) < mostLinks && !slices.ContainsFunc(*w, same) {
		*w = append(*w, span)
	}
}

// begin opens the span of a batch. A span has one parent and a batch many callers, so it is the child of the first one that is
// recorded, and it is linked with the others, both ways: from the read to all whom it serves, and from each of them to the read, where
// the cloud's request id is.
func (w waiting) begin(ctx context.Context, name string, items int) (context.Context, trace.Span) {
	if len(w) == 0 {
		return ctx, trace.SpanFromContext(context.Background())
	}
	links := make([]trace.Link, 0, len(w)-1)
	for _, other := range w[1:] {
		links = append(links, trace.Link{SpanContext: other.SpanContext()})
	}
	ctx, span := tracing.Child(trace.ContextWithSpan(ctx, w[0]), "batch "+name, trace.WithLinks(links...),
		trace.WithAttributes(attribute.String("batch.name", name), attribute.Int("batch.items", items)))
	for _, other := range w[1:] {
		other.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, span
}
