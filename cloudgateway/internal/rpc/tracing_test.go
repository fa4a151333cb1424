package rpc

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/proto/tlstest"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
)

// traced lets a controller delete a load balancer in one attempt, and gives the spans of both sides. The handler's error is refusal.
func traced(t *testing.T, sampler sdktrace.Sampler, refusal error) (tracetest.SpanStubs, string) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	w := newWorld(t, func(c *Config) { c.Tracers = tracers })
	w.handler.remove = func(context.Context) error { return refusal }
	w.write("token", []byte(tokenEditor))
	conn, err := gateway.Dial(gateway.Config{
		Address: w.address, CAFile: w.path("server.crt"), ServerName: tlstest.ServerName, TokenFile: w.path("token"), Tracers: tracers,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Ready(t.Context()); err != nil { // A health check, which must not be in a trace.
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	runner, err := reconcile.New(reconcile.Config{
		Name: "service", Tracers: tracers, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Reconciler: reconcile.Func(func(ctx context.Context, _ string) error {
			_, err := conn.Client().LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-1"})
			stop() // Of the runner; the attempt outlives it.
			return reconcile.Terminal(err)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	runner.Add("default/web", reconcile.User)
	if err := runner.Run(ctx); err != nil {
		t.Fatal(err)
	}
	w.stop()
	return exporter.GetSpans(), w.log.String()
}

func attributes(span tracetest.SpanStub) map[string]string {
	m := map[string]string{}
	for _, a := range span.Attributes {
		if a.Value.Type() == attribute.STRING {
			m[string(a.Key)] = a.Value.AsString()
		}
	}
	return m
}

// TestOneTraceFromTheObjectToTheGateway: what a controller does for an object and what the gateway does for it are one trace.
func TestOneTraceFromTheObjectToTheGateway(t *testing.T) {
	t.Parallel()
	refusal := &rpcerr.Error{Code: codes.Internal, Reason: rpcerr.Internal, Message: "the disk is full"}
	for _, tc := range []struct {
		name    string
		refusal error
		// want is the status of the spans, from the first to the last in the trace.
		want    []otelcodes.Code
		outcome string
	}{
		{name: "success", want: []otelcodes.Code{otelcodes.Unset, otelcodes.Unset, otelcodes.Unset}, outcome: "success"},
		{name: "error", refusal: refusal, want: []otelcodes.Code{otelcodes.Error, otelcodes.Error, otelcodes.Error}, outcome: "terminal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spans, log := traced(t, sdktrace.AlwaysSample(), tc.refusal)
			if len(spans) != 3 {
				t.Fatalf("%d spans, want those of the attempt, the client and the server: %v", len(spans), spans)
			}
			byKind := map[trace.SpanKind]tracetest.SpanStub{}
			for _, s := range spans {
				byKind[s.SpanKind] = s
			}
			attempt, client, server := byKind[trace.SpanKindInternal], byKind[trace.SpanKindClient], byKind[trace.SpanKindServer]
			if server.Parent.SpanID() != client.SpanContext.SpanID() || client.Parent.SpanID() != attempt.SpanContext.SpanID() ||
				attempt.Parent.IsValid() {
				t.Error("the spans are not below one another")
			}
			if diff := cmp.Diff(tc.want, []otelcodes.Code{attempt.Status.Code, client.Status.Code, server.Status.Code}); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			want := map[string]string{"key": "default/web", "priority": "user", "outcome": tc.outcome}
			if diff := cmp.Diff(want, attributes(attempt)); attempt.Name != "reconcile service" || diff != "" {
				t.Errorf("attempt %q (-want +got):\n%s", attempt.Name, diff)
			}
			const method = "cloudgateway.slb.v1.LoadBalancerService/DeleteLoadBalancer"
			if client.Name != method || server.Name != method || attributes(server)["caller"] != "editor" {
				t.Errorf("client %q, server %q with %v", client.Name, server.Name, attributes(server))
			}
			lines := map[string]bool{"msg=audit": true, `msg="not tried again until it changes"`: tc.refusal != nil}
			for line, there := range lines {
				_, rest, found := strings.Cut(log, line)
				rest, _, _ = strings.Cut(rest, "\n")
				if found != there {
					t.Errorf("the log has %s: %t", line, found)
				}
				if id := "trace_id=" + attempt.SpanContext.TraceID().String(); there && !strings.Contains(rest, id) {
					t.Errorf("the line %s lacks %s: %s", line, id, rest)
				}
			}
		})
	}
}

func TestNoTrace(t *testing.T) {
	t.Parallel()
	spans, log := traced(t, sdktrace.NeverSample(), nil)
	if len(spans) > 0 || strings.Contains(log, "trace_id") {
		t.Errorf("%d spans, and the log\n%s", len(spans), log)
	}
}
