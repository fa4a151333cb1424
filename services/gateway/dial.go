// Package gateway is the controllers' side of the cloud gateway: a connection that finds the active replica and proves who is
// calling, and the typed clients on it.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental"
	_ "google.golang.org/grpc/health" // Lets the client watch which replica is SERVING.
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/services/buffers"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/tracing"
)

const (
	// keepaliveTime finds a dead connection, e.g. of a vanished node, before a call has to wait for it.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	// firstReconnect and reconnectDelay are the first and the longest wait, give or take a fifth, before a lost replica is tried again.
	firstReconnect, reconnectDelay = 100 * time.Millisecond, 3 * time.Second
	// connectTimeout is gRPC's own.
	connectTimeout = 20 * time.Second
	// maxAnswer fits the answer that lists 20 000 instances.
	maxAnswer = 64 << 20
)

// Config says where the gateway is and who is calling.
type Config struct {
	// Address is "kubernetes:///service.namespace:port" for clients in the cluster, or "host:port", "dns:///name:port" and the like.
	Address string `json:"address"`
	// CAFile holds the certificates that sign the gateway's.
	CAFile string `json:"caFile"`
	// ServerName is the name in the gateway's certificate; if empty, the host of address, or "service.namespace.svc".
	ServerName string `json:"serverName"`
	// TokenFile holds the ServiceAccount token, which is read again every ten seconds, since it is renewed in place.
	TokenFile string `json:"tokenFile"`
	// CertFile is a client certificate, for callers outside of Kubernetes, which have no token. It may be renewed in place.
	CertFile string `json:"certFile"`
	// KeyFile is the private key of the client certificate.
	KeyFile string `json:"keyFile"`
	// Kubernetes finds the replicas if Address begins with "kubernetes:"; it may list and watch the EndpointSlices of the namespace.
	Kubernetes kubernetes.Interface `json:"-"`
	// AnyReplica calls the replica at Address, active or not. Only an active one reaches the cloud.
	AnyReplica bool `json:"-"`
	// UserAgent is how the gateway's log calls this process.
	UserAgent string `json:"-"`
	// Logger says why there is no connection; nil for silence.
	Logger *slog.Logger `json:"-"`
	// Dialer makes the connections to replicas in tests; nil for TCP.
	Dialer func(ctx context.Context, address string) (net.Conn, error) `json:"-"`
	// Tracers lead the caller's traces on to the gateway; nil for no traces.
	Tracers trace.TracerProvider `json:"-"`
}

// Validate notes what is wrong, under key.
func (c Config) Validate(p *config.Problems, key string) {
	p.Required(key+".address", c.Address)
	p.Required(key+".caFile", c.CAFile)
	if c.CertFile == "" && c.KeyFile == "" {
		p.Required(key+".tokenFile", c.TokenFile)
		return
	}
	p.Required(key+".certFile", c.CertFile)
	p.Required(key+".keyFile", c.KeyFile)
}

// Conn is a connection to the gateway. It connects by itself, whenever it has to.
type Conn struct {
	cc     *grpc.ClientConn
	client *Client
}

// Dial makes a connection. It does not wait for the gateway; Ready reports whether it answers.
func Dial(cfg Config) (*Conn, error) { return dial(cfg) }

// dial lets a test add options.
func dial(cfg Config, more ...grpc.DialOption) (*Conn, error) {
	var p config.Problems
	if cfg.Validate(&p, "gateway"); p.Err() != nil {
		return nil, p.Err()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	all := method.All()
	sc, err := serviceConfig(all, !cfg.AnyReplica)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(sc),
		grpc.WithDisableServiceConfig(), // One from DNS could switch the retries.
		grpc.WithUnaryInterceptor(withDeadline(deadlines(all))),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithUserAgent(cfg.UserAgent),
		experimental.WithBufferPool(buffers.Pool),
		grpc.WithConnectParams(reconnect()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
	}
	if cfg.Dialer != nil {
		options = append(options, grpc.WithContextDialer(cfg.Dialer))
	}
	if cfg.TokenFile != "" {
		options = append(options, grpc.WithPerRPCCredentials(&tokenFile{path: cfg.TokenFile}))
	}
	conn := &Conn{}
	if strings.HasPrefix(cfg.Address, scheme+":") {
		if cfg.Kubernetes == nil {
			return nil, fmt.Errorf("gateway.address %q: is for processes with access to the API server", cfg.Address)
		}
		options = append(options, grpc.WithResolvers(endpoints{client: cfg.Kubernetes, log: cfg.Logger, changed: conn.replicasChanged}))
	}
	options = append(options, tracing.DialOptions(cfg.Tracers)...)
	cc, err := grpc.NewClient(cfg.Address, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("gateway.address %q: %w", cfg.Address, err)
	}
	conn.cc, conn.client = cc, NewClient(cc) // Before the first call, with which gRPC begins to look for replicas.
	return conn, nil
}

// replicasChanged has replicas tried at once that were lost: the one that came back has the address of the old one where pods are
// on the node's network.
func (c *Conn) replicasChanged() { c.cc.ResetConnectBackoff() }

// reconnect is how a replica that is gone is tried again. gRPC's own longest wait is 2 minutes, for which a standby that came back
// would not be there for this client. Its own first wait is a second: pods on the node's network have an address before they listen, so on a
// fresh cluster every client would lose that second, and again after each restart of the gateway's container.
func reconnect() grpc.ConnectParams {
	wait := backoff.DefaultConfig
	wait.BaseDelay, wait.MaxDelay = firstReconnect, reconnectDelay
	return grpc.ConnectParams{Backoff: wait, MinConnectTimeout: connectTimeout}
}

// Client gives the typed clients.
func (c *Conn) Client() *Client { return c.client }

// Close ends the connection and all calls on it.
func (c *Conn) Close() error { return c.cc.Close() }

// Watch connects, and calls back each time that the connection becomes ready, until ctx ends. The first time may be before the call.
func (c *Conn) Watch(ctx context.Context, ready func()) error {
	c.cc.Connect() // gRPC would wait for the first call, which a controller makes when it leads: a standby would still have to connect then.
	state := c.cc.GetState()
	for c.cc.WaitForStateChange(ctx, state) {
		if state = c.cc.GetState(); state == connectivity.Ready {
			ready()
		}
	}
	return nil
}

// Await waits until an active gateway answers, and gives up with the reason when patience is over. It is for programs that ask once; others
// try again when Watch calls them.
func (c *Conn) Await(ctx context.Context, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := healthv1.NewHealthClient(c.cc).Check(waiting, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err == nil {
		return nil
	}
	return c.Ready(ctx) // The error of a call that waits does not have the reason.
}

// Ready gives nil if an active gateway answers, and otherwise why not.
func (c *Conn) Ready(ctx context.Context) error {
	answer, err := healthv1.NewHealthClient(c.cc).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("ask the gateway for its health: %w", err)
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return errors.New("the gateway is " + answer.GetStatus().String())
	}
	return nil
}
