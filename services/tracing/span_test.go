package tracing

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// unsampled is a context in a trace that is not recorded.
func unsampled(t *testing.T) context.Context {
	t.Helper()
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, span := Tracer(never).Start(t.Context(), "unsampled")
	t.Cleanup(func() { span.End() })
	return ctx
}

func TestChildOfNothing(t *testing.T) {
	t.Parallel()
	ctx := unsampled(t)
	for name, parent := range map[string]func() (got, want any){
		"no span":   func() (any, any) { ctx, _ := Child(t.Context(), "x"); return ctx, t.Context() },
		"unsampled": func() (any, any) { child, _ := Child(ctx, "x"); return child, ctx },
	} {
		if got, want := parent(); got != want {
			t.Errorf("%s: the context is another one", name)
		}
	}
	if _, span := Child(ctx, "x"); span.IsRecording() {
		t.Error("a span is recorded")
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	recording := sdktrace.NewTracerProvider(sdktrace.WithSyncer(tracetest.NewInMemoryExporter()))
	sampled, span := Tracer(recording).Start(t.Context(), "sampled")
	defer span.End()
	Log(t.Context(), log).Info("no trace")
	Log(unsampled(t), log).Info("no trace")
	if strings.Contains(text.String(), "trace_id") {
		t.Errorf("a line leads to a trace that is not there:\n%s", text.String())
	}
	Log(sampled, log).Info("trace")
	if want := "trace_id=" + span.SpanContext().TraceID().String(); !strings.Contains(text.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, text.String())
	}
}
