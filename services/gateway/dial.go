// Package gateway is the controllers' side of the cloud gateway: proto/client with a resolver that needs no DNS,
// traces, and calls that a reconcile.Runner doesn't wait for.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/proto/client"
	"alicloud-controllers.dev/services/buffers"
	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/tracing"
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
	*client.Conn

	calls *Client
}

// Client gives the typed clients.
func (c *Conn) Client() *Client { return c.calls }

// Dial makes a connection. It does not wait for the gateway; Ready reports whether it answers.
func Dial(cfg Config) (*Conn, error) {
	var p config.Problems
	if cfg.Validate(&p, "gateway"); p.Err() != nil {
		return nil, p.Err()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	conn := &Conn{}
	options := append(tracing.DialOptions(cfg.Tracers), experimental.WithBufferPool(buffers.Pool))
	if cfg.Dialer != nil {
		options = append(options, grpc.WithContextDialer(cfg.Dialer))
	}
	if strings.HasPrefix(cfg.Address, scheme+":") {
		if cfg.Kubernetes == nil {
			return nil, fmt.Errorf("gateway.address %q: is for processes with access to the API server", cfg.Address)
		}
		options = append(options, grpc.WithResolvers(endpoints{client: cfg.Kubernetes, log: cfg.Logger, changed: conn.replicasChanged}))
	}
	dialed, err := client.Dial(client.Config{
		Address: cfg.Address, CAFile: cfg.CAFile, ServerName: cfg.ServerName, TokenFile: cfg.TokenFile,
		CertFile: cfg.CertFile, KeyFile: cfg.KeyFile,
		AnyReplica: cfg.AnyReplica, UserAgent: cfg.UserAgent, Logger: cfg.Logger, Options: options,
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	conn.Conn, conn.calls = dialed, NewClient(dialed.GRPC()) // Before the first call, with which gRPC begins to look for replicas.
	return conn, nil
}

// replicasChanged has replicas tried at once that were lost: the one that came back has the address of the old one where pods are
// on the node's network.
func (c *Conn) replicasChanged() { c.GRPC().ResetConnectBackoff() }
