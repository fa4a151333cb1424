package tracing

import (
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// ServerOptions make a gRPC server take part in the traces of its callers; none if provider is nil.
func ServerOptions(provider trace.TracerProvider) []grpc.ServerOption {
	if provider == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(options(provider)...))}
}

// DialOptions make a gRPC client lead its traces on to the server; none if provider is nil.
func DialOptions(provider trace.TracerProvider) []grpc.DialOption {
	if provider == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(options(provider)...))}
}

// options name everything that otelgrpc would otherwise take from process-wide variables.
func options(provider trace.TracerProvider) []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(provider),
		otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()), // Prometheus has the metrics.
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(traced),
	}
}

// traced reports whether a call has a span. Health checks, whose streams last as long as the connection, and reflection have none.
func traced(info *stats.RPCTagInfo) bool {
	return !strings.HasPrefix(info.FullMethodName, "/grpc.")
}
