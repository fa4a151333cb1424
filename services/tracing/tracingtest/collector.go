// Package tracingtest is the other side of tracing in tests: a collector that takes OTLP over gRPC and keeps the spans.
package tracingtest

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Span is a span that was received.
type Span struct {
	Name, Kind, Trace, ID string
	// Parent is an ID, empty for the beginning of a trace.
	Parent string
	// Started can be compared.
	Started string
	// Links are the IDs of spans.
	Links []string
	// Error is what the status says, empty if it is no error.
	Error  string
	Failed bool
	// Attributes are the span's, and Resource those of its process.
	Attributes, Resource map[string]string
	// Events are their names.
	Events []string
}

// Collector keeps what it receives.
type Collector struct {
	// Endpoint is where it listens, "host:port".
	Endpoint string

	mu       sync.Mutex
	received []*tracev1.ResourceSpans
	failure  error
}

// Start runs a collector until the end of the test.
func Start(t testing.TB, options ...grpc.ServerOption) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Endpoint: listener.Addr().String()}
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: export}},
	}, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("collector: %v", err)
		}
	})
	return c
}

// Fail lets the collector refuse everything; nil lets it take everything again.
func (c *Collector) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

// export handles OTLP's one method. Its request is on the wire what TracesData is, and its answer may be empty.
//
//nolint:revive // The order of the arguments is gRPC's.
func export(srv any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var data tracev1.TracesData
	if err := decode(&data); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, srv.(*Collector).take(data.GetResourceSpans()) //nolint:forcetypeassert // Start registers nothing else.
}

func (c *Collector) take(spans []*tracev1.ResourceSpans) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.received = append(c.received, spans...)
	}
	return c.failure
}

// Spans gives what was received.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var spans []Span
	for _, r := range c.received {
		resource := texts(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				spans = append(spans, read(s, resource))
			}
		}
	}
	return spans
}

// Text is everything received, for a search.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	for _, r := range c.received {
		text.WriteString(r.String())
	}
	return text.String()
}

func read(s *tracev1.Span, resource map[string]string) Span {
	span := Span{
		Name: s.GetName(), Kind: s.GetKind().String(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Attributes: texts(s.GetAttributes()), Resource: maps.Clone(resource),
		Started: fmt.Sprintf("%020d", s.GetStartTimeUnixNano()),
		Error:   s.GetStatus().GetMessage(), Failed: s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR,
	}
	for _, link := range s.GetLinks() {
		span.Links = append(span.Links, hex.EncodeToString(link.GetSpanId()))
	}
	for _, event := range s.GetEvents() {
		span.Events = append(span.Events, event.GetName())
	}
	return span
}

func texts(attributes []*commonv1.KeyValue) map[string]string {
	m := make(map[string]string, len(attributes))
	for _, a := range attributes {
		m[a.GetKey()] = text(a.GetValue())
	}
	return m
}

// text is the value of an attribute as a person would write it.
func text(v *commonv1.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return v.StringValue
	case *commonv1.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	default:
		return fmt.Sprint(v)
	}
}
