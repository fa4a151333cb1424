// Package rpc makes a gRPC server that knows every caller and asks for every call whether it is allowed. What a method needs is
// data, a row of Policies; forgetting one is an error at the start.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"alicloud-controllers.dev/services/buffers"
	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/tracing"
)

const (
	// connectionAge makes clients look the address up again from time to time; the grace is longer than any call.
	connectionAge   = 10 * time.Minute
	connectionGrace = 3 * time.Minute
	// pingInterval is the least time between a client's keepalive pings that is tolerated.
	pingInterval = 10 * time.Second
	// keepaliveTime and keepaliveTimeout end the connections of vanished hosts.
	keepaliveTime    = time.Minute
	keepaliveTimeout = 20 * time.Second
	// maxHeaders fits the largest tokens.
	maxHeaders = 32 << 10
	// window is how much of a request may arrive before it is read. It is the least that HTTP/2 has.
	window = 64<<10 - 1
	// stopTimeout is how long calls under way may go on after the stop.
	stopTimeout = 20 * time.Second
)

// Config describes a Server.
type Config struct {
	TLS           TLSConfig
	Policies      Policies
	Authenticator Authenticator
	Authorizer    Authorizer
	// Context adds to the context of a call what its handler needs to know of the caller; nil for nothing.
	Context func(context.Context) context.Context
	// Interceptor stands right before the handlers, behind all that the server itself does with a call; nil for none.
	Interceptor grpc.UnaryServerInterceptor
	// Limits bound what callers cost.
	Limits Limits
	// Reflection is what a caller needs to ask for the protocol. Without a resource it is not offered.
	Reflection Policy
	// Registerer gets the metrics; nil for none.
	Registerer prometheus.Registerer
	// Tracers make the server take part in the traces of its callers; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// Server is a gRPC server. It says NOT_SERVING until SetServing.
type Server struct {
	cfg      Config
	limits   Limits
	account  *account
	grpc     *grpc.Server
	health   *health.Server
	metrics  metrics
	stopping chan struct{}

	outer, inner               grpc.UnaryServerInterceptor // around the headers, and around the message
	unknown, forbidden, closed logging.Occasional
	refusals                   Peers // bounds the audit lines of the refused writes of each caller

	connections atomic.Pointer[connections] // nil until Serve
	serving     atomic.Bool
}

// New makes a Server. Register the handlers, then Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Authenticator == nil || cfg.Authorizer == nil || cfg.Logger == nil {
		return nil, errors.New("rpc: Authenticator, Authorizer and Logger are required")
	}
	tlsConfig, err := cfg.TLS.guarded(cfg.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:      cfg,
		limits:   cfg.Limits.withDefaults(),
		health:   health.NewServer(),
		metrics:  newMetrics(),
		stopping: make(chan struct{}),
		refusals: Peers{Burst: 10, PerSecond: 1},
	}
	s.account = newAccount(s.limits)
	if err := s.metrics.register(cfg.Registerer, s.count); err != nil {
		return nil, fmt.Errorf("register the metrics of the server: %w", err)
	}
	s.outer = chain(s.metrics.unary, recovering(cfg.Logger))
	s.inner = chain(
		audit(cfg.Logger),
		limit(cfg.Logger),
		extend(cfg.Context),
		intercept(cfg.Interceptor),
		recovering(cfg.Logger), // Of the handler, so that the audit log has its panics.
	)
	s.grpc = grpc.NewServer(append(tracing.ServerOptions(cfg.Tracers),
		grpc.Creds(credentials.NewTLS(tlsConfig)),
		grpc.ConnectionTimeout(s.limits.FirstCall),
		experimental.BufferPool(buffers.Pool),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(s.limits.Request),
		grpc.MaxConcurrentStreams(uint32(s.limits.Streams)),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(int32(s.limits.Request)),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: connectionGrace, Time: keepaliveTime, Timeout: keepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
		grpc.InTapHandle(severable),
		grpc.StreamInterceptor(s.stream),
	)...)
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(headersFirst{s}, s.health)
	if cfg.Reflection.Resource != "" {
		reflection.Register(s.grpc)
	}
	return s, nil
}

// count gives the number of connections, of which there are none before Serve.
func (s *Server) count() (callers, strangers int) {
	if c := s.connections.Load(); c != nil {
		return c.count()
	}
	return 0, 0
}

// RegisterService implements grpc.ServiceRegistrar, for the generated Register functions.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, handler any) {
	headersFirst{s}.RegisterService(desc, handler)
	s.health.SetServingStatus(desc.ServiceName, healthv1.HealthCheckResponse_NOT_SERVING)
}

// SetServing sets what health checks report: whether this is the active replica. The answer is the same for each service, and for "", which is
// all of them.
func (s *Server) SetServing(serving bool) {
	state := healthv1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = healthv1.HealthCheckResponse_SERVING
	}
	s.serving.Store(serving)
	s.health.SetServingStatus("", state)
	for service := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(service, state)
	}
}

// Check says what is wrong with the policies: a handler without a row, or a row without a handler.
func (s *Server) Check() error {
	if err := s.cfg.Policies.check(s.grpc.GetServiceInfo()); err != nil {
		return fmt.Errorf("policies: %w", err)
	}
	return nil
}

// Serve checks the policies and answers on listener until ctx ends. Calls under way may then finish within 20 seconds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if err := s.Check(); err != nil {
		return errors.Join(err, listener.Close())
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.stop()
	})
	bounded := newConnections(listener, s.limits, s.serving.Load, func(reason, peer string) {
		s.metrics.closed.WithLabelValues(reason).Inc()
		s.closed.Warn(s.cfg.Logger, "connection without a permitted call is closed", "address", peer, "reason", reason)
	})
	s.connections.Store(bounded)
	err := s.grpc.Serve(bounded)
	if !unhook() {
		<-stopped
		return nil
	}
	return fmt.Errorf("serve gRPC on %s: %w", listener.Addr(), err)
}

// stop makes the clients use another replica, lets calls finish, and ends those that do not.
func (s *Server) stop() {
	s.health.Shutdown()
	close(s.stopping)
	limit := time.AfterFunc(stopTimeout, s.grpc.Stop)
	defer limit.Stop()
	s.grpc.GracefulStop()
}
