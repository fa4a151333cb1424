package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/tracing"
)

// linked are the spans that a span is linked to.
func linked(links []sdktrace.Link) []trace.SpanID {
	var ids []trace.SpanID
	for _, l := range links {
		ids = append(ids, l.SpanContext.SpanID())
	}
	return ids
}

// TestBatchIsPartOfItsCallersTraces: the read of a batch is in the trace of one caller, and linked with the spans of the others that
// are recorded.
func TestBatchIsPartOfItsCallersTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := tracetest.NewInMemoryExporter()
		recording := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
		not := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
		s := &cloud{latency: time.Millisecond, fail: func([]string) error { return errors.New("AccessKeySecret=hush") }}
		var inTrace trace.SpanContext
		c := newTestReader(t, s, func(cfg *Config[string, string]) {
			cfg.Load = func(ctx context.Context, keys []string) (map[string]string, error) {
				inTrace = trace.SpanContextFromContext(ctx)
				return s.load(ctx, keys)
			}
		})
		var callers sync.WaitGroup
		call := func(tracer trace.Tracer, name string, keys ...string) {
			ctx, span := tracer.Start(t.Context(), name)
			callers.Go(func() {
				defer span.End()
				if _, err := join(ctx, c, keys...); err == nil {
					t.Error("no error")
				}
			})
			synctest.Wait()
		}
		call(not, "unsampled", "a")
		call(recording, "first", "b", "c")
		call(recording, "second", "b", "d")
		callers.Wait()
		synctest.Wait()

		spans := map[string]tracetest.SpanStub{}
		for _, s := range exporter.GetSpans() {
			spans[s.Name] = s
		}
		batch, first, second := spans["batch test"], spans["first"], spans["second"]
		if len(spans) != 3 || batch.Parent.SpanID() != first.SpanContext.SpanID() || inTrace.SpanID() != batch.SpanContext.SpanID() {
			t.Fatalf("the read is not in the trace of the first recorded caller: %v", spans)
		}
		if got := linked(batch.Links); !slices.Equal(got, []trace.SpanID{second.SpanContext.SpanID()}) {
			t.Errorf("the read is linked to %v", got)
		}
		if got := linked(second.Links); !slices.Equal(got, []trace.SpanID{batch.SpanContext.SpanID()}) {
			t.Errorf("the second caller is linked to %v", got)
		}
		if batch.Status.Code != codes.Error || batch.Status.Description != "AccessKeySecret=REDACTED" {
			t.Errorf("status %v", batch.Status)
		}
	})
}

func TestUntracedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestReader(t, &cloud{}, nil)
		if _, err := c.Get(t.Context(), "a", 0); err != nil {
			t.Error(err)
		}
	})
}

// TestBoundedLinks: however many wait, the span of a batch stays of a size that can be sent.
func TestBoundedLinks(t *testing.T) {
	recording := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(tracetest.NewInMemoryExporter())))
	var w waiting
	for range 2 * mostLinks {
		_, span := recording.Start(t.Context(), "x")
		w.add(span)
		w.add(span)
		span.End()
	}
	if len(w) != mostLinks {
		t.Errorf("%d spans, want %d", len(w), mostLinks)
	}
}

// TestSharedReadsAreLinked: a caller that gets another one's answer finds that one's trace.
func TestSharedReadsAreLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exporter := tracetest.NewInMemoryExporter()
		recording := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
		cache := New(Config[string, string]{Name: "test", Logger: discard})
		get := func(name string) trace.SpanContext {
			ctx, span := recording.Start(t.Context(), name)
			defer span.End()
			if _, err := cache.Do(ctx, "key", time.Hour, func(context.Context) (string, error) {
				pass(time.Second)
				return "value", nil
			}); err != nil {
				t.Error(err)
			}
			return span.SpanContext()
		}
		var callers sync.WaitGroup
		var reader trace.SpanContext
		callers.Go(func() { reader = get("reader") })
		synctest.Wait()
		callers.Go(func() { get("sharer") })
		callers.Wait()
		get("later")
		for _, s := range exporter.GetSpans() {
			var want []trace.SpanID
			if s.Name == "sharer" {
				want = []trace.SpanID{reader.SpanID()}
			}
			if got := linked(s.Links); !slices.Equal(got, want) {
				t.Errorf("%s is linked to %v, want %v", s.Name, got, want)
			}
			if hit := len(s.Events) == 1 && s.Events[0].Name == "cache hit"; hit != (s.Name == "later") {
				t.Errorf("%s: events %v", s.Name, s.Events)
			}
		}
	})
}
