// Package client calls the cloud gateway: a connection that finds the active replica and proves who is calling, the
// typed services on it, and lists item by item. It needs gRPC and the gateway's protocol, and nothing else.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	_ "google.golang.org/grpc/health" // Lets the client watch which replica is SERVING.
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"alicloud-controllers.dev/proto/method"
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
	// Address is "dns:///name:port" of all replicas, or "host:port" and the like.
	Address string
	// CAFile holds the certificates that sign the gateway's.
	CAFile string
	// ServerName is the name in the gateway's certificate; if empty, the host of Address.
	ServerName string
	// TokenFile holds the ServiceAccount token, which is read again every ten seconds, since it is renewed in place.
	TokenFile string
	// CertFile and KeyFile are a client certificate and its key, for callers that have no token. They are read again for each connection.
	CertFile, KeyFile string
	// AnyReplica calls the replica at Address, active or not. Only an active one reaches the cloud.
	AnyReplica bool
	// UserAgent is how the gateway's log calls this process.
	UserAgent string
	// Logger says why there is no connection; nil for silence.
	Logger *slog.Logger
	// Options are further options of gRPC.
	Options []grpc.DialOption
}

func (c Config) check() error {
	var errs []error
	if c.Address == "" || c.CAFile == "" {
		errs = append(errs, errors.New("fields Address and CAFile are required"))
	}
	if (c.CertFile == "") != (c.KeyFile == "") || c.CertFile == "" && c.TokenFile == "" {
		errs = append(errs, errors.New("TokenFile, or CertFile and KeyFile, are required"))
	}
	return errors.Join(errs...)
}

// Conn is a connection to the gateway. It connects by itself, whenever it has to.
type Conn struct {
	cc     *grpc.ClientConn
	client *Client
}

// Dial makes a connection. It does not wait for the gateway; Ready reports whether it answers.
func Dial(cfg Config) (*Conn, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
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
		grpc.WithConnectParams(reconnect()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
	}
	if cfg.TokenFile != "" {
		options = append(options, grpc.WithPerRPCCredentials(&tokenFile{path: cfg.TokenFile}))
	}
	cc, err := grpc.NewClient(cfg.Address, append(options, cfg.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", cfg.Address, err)
	}
	return &Conn{cc: cc, client: New(cc)}, nil
}

// reconnect is how a replica that is gone is tried again. gRPC's own longest wait is 2 minutes, for which a standby that came back
// would not be there for this client. Its own first wait is a second: pods on the node's network have an address before
// they listen, so on a fresh cluster every client would lose that second, and again after each restart of the gateway's
// container.
func reconnect() grpc.ConnectParams {
	wait := backoff.DefaultConfig
	wait.BaseDelay, wait.MaxDelay = firstReconnect, reconnectDelay
	return grpc.ConnectParams{Backoff: wait, MinConnectTimeout: connectTimeout}
}

// Client gives the typed services.
func (c *Conn) Client() *Client { return c.client }

// GRPC gives the connection, for services on it of one's own.
func (c *Conn) GRPC() *grpc.ClientConn { return c.cc }

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
