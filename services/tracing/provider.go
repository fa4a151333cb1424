// Package tracing makes the traces of a process: one begins with a controller's work on an object or with a call to the gateway,
// goes over gRPC (W3C trace context) and ends at the requests to the cloud. Code that begins traces is given a provider; all code below
// takes part by Child, which needs nothing but the context. There is nothing process-wide.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/services/config"
)

// flushTimeout bounds the sending of the last spans when the process stops.
const flushTimeout = 3 * time.Second

// Provider is where the spans of a process go.
type Provider struct {
	log      *slog.Logger
	sdk      *sdktrace.TracerProvider // nil if tracing is off
	exporter sdktrace.SpanExporter
}

// Start makes the provider that cfg describes. The name and version are those of the process. It doesn't wait for the collector.
// Nothing later does either: spans that can't be sent are dropped. Run sends the last ones.
func Start(ctx context.Context, cfg Config, name, version string, log *slog.Logger) (*Provider, error) {
	var p config.Problems
	if cfg.Validate(&p, "tracing"); p.Err() != nil {
		return nil, p.Err()
	}
	if cfg.Endpoint == "" {
		return &Provider{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this process in its traces: %w", err)
	}
	client, err := newSender(cfg)
	if err != nil {
		return nil, err
	}
	otlp, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("tracing.endpoint %q: %w", cfg.Endpoint, err)
	}
	return newProvider(cfg, otlp, log.With("collector", cfg.Endpoint),
		attribute.String("service.name", name),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", host),
	), nil
}

// newProvider makes a provider on an exporter; the attributes are those of the process.
func newProvider(cfg Config, exporter sdktrace.SpanExporter, log *slog.Logger, process ...attribute.KeyValue) *Provider {
	return &Provider{log: log, exporter: exporter, sdk: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&steady{SpanExporter: exporter, log: log}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.sampleRatio()))),
		sdktrace.WithResource(resource.NewSchemaless(process...)),
	)}
}

// Tracers is for code that begins traces; nil if tracing is off, which all of them understand.
func (p *Provider) Tracers() trace.TracerProvider {
	if p.sdk == nil {
		return nil // And not a typed nil.
	}
	return p.sdk
}

// Run waits for the end of ctx and sends the last spans. It is at its end at once if tracing is off.
func (p *Provider) Run(ctx context.Context) error {
	if p.sdk == nil {
		return nil
	}
	<-ctx.Done()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := p.sdk.Shutdown(bounded); err != nil {
		p.log.Warn("the last spans were not sent", "error", err)
		// The SDK has left an export under way behind; with the time over, this ends it.
		_ = p.exporter.Shutdown(bounded) // What is wrong has been said.
	}
	return nil
}

// steady hides failed exports from the SDK, which would report each of them to a process-wide handler. It logs the beginning and the
// end of an outage.
type steady struct {
	sdktrace.SpanExporter

	log  *slog.Logger
	lost int // spans in the present outage; the SDK exports one batch at a time
}

// ExportSpans implements sdktrace.SpanExporter.
func (s *steady) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil:
		if s.lost == 0 {
			s.log.Warn("the collector takes no traces; spans are lost until it does", "error", err)
		}
		s.lost += len(spans)
	case s.lost > 0:
		s.log.Info("the collector takes traces again", "lostSpans", s.lost)
		s.lost = 0
	}
	return nil
}
