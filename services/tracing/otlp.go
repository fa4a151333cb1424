package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	// exportMethod is OTLP's one method for traces.
	exportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	// exportTimeout bounds the sending of one batch of spans, its repetitions included.
	exportTimeout = 10 * time.Second
	// retries bridge the restart of a collector.
	retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.5s", "maxBackoff": "4s",
		"backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
)

// sender sends spans to a collector; it is an otlptrace.Client. OpenTelemetry's own would link grpc-gateway into every process and
// raise the versions of what client-go stands on, for a call that is one line.
type sender struct{ conn *grpc.ClientConn }

func newSender(cfg Config) (*sender, error) {
	transport, err := cfg.transport()
	if err != nil {
		return nil, err
	}
	_, address, _ := cfg.split()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport), grpc.WithDefaultServiceConfig(retries))
	if err != nil {
		return nil, fmt.Errorf("tracing.endpoint %q: %w", cfg.Endpoint, err)
	}
	return &sender{conn: conn}, nil
}

func (c Config) transport() (credentials.TransportCredentials, error) {
	if c.plain() {
		return insecure.NewCredentials(), nil
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tracing.caFile: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tracing.caFile: %s holds no PEM certificate", c.CAFile)
		}
	}
	return credentials.NewTLS(secure), nil
}

// Start implements otlptrace.Client. The connection makes itself.
func (*sender) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. It ends a call under way too.
func (s *sender) Stop(context.Context) error { return s.conn.Close() }

// UploadTraces implements otlptrace.Client. TracesData is on the wire what OTLP's request is, and of the answer we need nothing.
func (s *sender) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	bounded, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	return s.conn.Invoke(bounded, exportMethod, &tracev1.TracesData{ResourceSpans: spans}, &emptypb.Empty{})
}
