// Package rpc makes a gRPC server that knows every caller and asks for every call whether it is allowed. What a method needs is
// data, a row of Policies; forgetting one is an error at the start.
package rpc

import (
	"context"
	"crypto/tls"
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
	stopTimeout = 8 * time.Second
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
	cfg         Config
	limits      Limits
	account     *Account
	connections *connections
	registered  []registration
	health      *health.Server
	metrics     metrics
	tls         *tls.Config

	outer, inner               grpc.UnaryServerInterceptor // around the headers, and around the message
	unknown, forbidden, closed logging.Occasional
	refusals                   Peers // bounds the audit lines of each caller's writes of which nothing was sent

	turn atomic.Pointer[turn]
}

// registration is a service with its handlers.
type registration struct {
	desc    *grpc.ServiceDesc
	handler any
}

// turn is a time for which this replica is active, or a standby.
type turn struct {
	active bool
	over   context.Context // ends with the turn
	end    func()
}

func newTurn(active bool) *turn {
	over, end := context.WithCancel(context.Background())
	return &turn{active: active, over: over, end: end}
}

// New makes a Server. Register the handlers, then Serve.
func New(cfg Config) (*Server, error) {
	if cfg.Authenticator == nil || cfg.Authorizer == nil || cfg.Logger == nil {
		return nil, errors.New("rpc: Authenticator, Authorizer and Logger are required")
	}
	tlsConfig, err := cfg.TLS.reloading(cfg.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:      cfg,
		limits:   cfg.Limits.withDefaults(),
		health:   health.NewServer(),
		metrics:  newMetrics(),
		tls:      tlsConfig,
		refusals: Peers{Burst: 10, PerSecond: 1},
	}
	s.turn.Store(newTurn(false))
	s.account = newAccount(s.limits)
	s.connections = newConnections(s.limits, func() bool { return s.turn.Load().active }, func(reason, peer string) {
		s.metrics.closed.WithLabelValues(reason).Inc()
		what := "connection without a permitted call is closed"
		switch reason {
		case notRead:
			what = "connection of a caller that does not read is closed"
		case IdleLongest:
			what = "connection is closed for others"
		}
		s.closed.Warn(cfg.Logger, what, "address", peer, "reason", reason)
	})
	s.connections.sending = s.limits.Send
	if err := s.metrics.register(cfg.Registerer, s.connections.count); err != nil {
		return nil, fmt.Errorf("register the metrics of the server: %w", err)
	}
	s.outer = chain(s.metrics.unary, recovering(cfg.Logger))
	s.inner = chain(
		audit(cfg.Logger, &s.refusals),
		limit(cfg.Logger),
		narrow,
		extend(cfg.Context),
		intercept(cfg.Interceptor),
		recovering(cfg.Logger), // Of the handler, so that the audit log has its panics.
	)
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(s, s.health)
	return s, nil
}

// newGRPC makes a server of gRPC for one listener. Streams end when stopping is closed.
func (s *Server) newGRPC(stopping <-chan struct{}) *grpc.Server {
	server := grpc.NewServer(append(tracing.ServerOptions(s.cfg.Tracers),
		grpc.Creds(greeting{credentials.NewTLS(s.tls)}),
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
		grpc.InTapHandle(tapped),
		grpc.StreamInterceptor(s.stream(stopping)),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return nil }), // So that what is unknown comes to the interceptor.
	)...)
	for _, r := range s.registered {
		server.RegisterService(r.desc, r.handler)
	}
	if s.cfg.Reflection.Resource != "" {
		reflection.Register(server)
	}
	return server
}

// RegisterService implements grpc.ServiceRegistrar, for the generated Register functions.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, handler any) {
	s.registered = append(s.registered, registration{s.headersFirst(desc), handler})
	s.health.SetServingStatus(desc.ServiceName, healthv1.HealthCheckResponse_NOT_SERVING)
}

// Account is what the callers have under way, for servers of other protocols that bound the same callers.
func (s *Server) Account() *Account { return s.account }

// SetServing sets what health checks report: whether this is the active replica. The answer is the same for each
// service, and for "", which is all of them.
func (s *Server) SetServing(serving bool) {
	state := healthv1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = healthv1.HealthCheckResponse_SERVING
	}
	s.turn.Swap(newTurn(serving)).end()
	s.health.SetServingStatus("", state)
	for _, r := range s.registered {
		s.health.SetServingStatus(r.desc.ServiceName, state)
	}
}

// Check says what is wrong with the policies: a handler without a row, or a row without a handler.
func (s *Server) Check() error {
	if err := s.cfg.Policies.check(s.newGRPC(nil).GetServiceInfo()); err != nil {
		return fmt.Errorf("policies: %w", err)
	}
	return nil
}

// Serve checks the policies and answers on listener until ctx ends. Calls under way may then finish within 8 seconds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if err := s.Check(); err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.serve(ctx, listener, s.health.Shutdown) // Clients use another replica then.
}

// ServeActive answers on what listen opens, whenever this is the active replica, until ctx ends: a client that tries
// the addresses of all replicas finds the active one.
func (s *Server) ServeActive(ctx context.Context, listen func(context.Context) (net.Listener, error)) error {
	return s.WhileActive(ctx, "clients that make no health checks find no gateway", func(ctx context.Context) error {
		listener, err := listen(ctx)
		if err != nil {
			return err
		}
		return s.serve(ctx, listener, func() {})
	})
}

// WhileActive calls serve, whenever this is the active replica, until ctx ends. The context of serve ends with that time.
// An error of it does not end the process, which works without it: the log then has it, with what is lost.
func (s *Server) WhileActive(ctx context.Context, lost string, serve func(context.Context) error) error {
	for ctx.Err() == nil {
		now := s.turn.Load()
		if now.active {
			s.inTurn(ctx, now, lost, serve)
		}
		select {
		case <-now.over.Done():
		case <-ctx.Done():
		}
	}
	return nil
}

func (s *Server) inTurn(ctx context.Context, now *turn, lost string, serve func(context.Context) error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(now.over, end)() //nolint:contextcheck // The turn outlives the call.
	if err := serve(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Error("a port of the active replica has failed: restart this process", "lost", lost, "error", err)
	}
}

// serve answers on listener until ctx ends or the listener fails. It calls leaving then, lets calls finish, and ends those
// that do not.
func (s *Server) serve(ctx context.Context, listener net.Listener, leaving func()) error {
	ctx, end := context.WithCancel(ctx)
	stopping, stopped := make(chan struct{}), make(chan struct{})
	server := s.newGRPC(stopping)
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		leaving()
		close(stopping)
		limit := time.AfterFunc(stopTimeout, server.Stop)
		defer limit.Stop()
		server.GracefulStop()
	})
	err := server.Serve(guarded{listener, s.connections})
	end()
	<-stopped
	if err != nil {
		return fmt.Errorf("serve gRPC on %s: %w", listener.Addr(), err)
	}
	return nil
}
