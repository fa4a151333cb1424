package rpc

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/proto/tlstest"

	"alicloud-controllers.dev/services/gateway"
)

// Tokens of the callers in the tests.
const (
	tokenEditor = "token-of-the-editor"
	tokenViewer = "token-of-the-viewer"
)

// authority is an Authenticator and an Authorizer.
type authority struct{}

func (authority) Authenticate(_ context.Context, token string) (Caller, error) {
	switch token {
	case tokenEditor:
		return Caller{Name: "editor"}, nil
	case tokenViewer:
		return Caller{Name: "viewer"}, nil
	case "outage":
		return Caller{}, context.DeadlineExceeded
	default:
		return Caller{}, &rpcerr.Error{Code: codes.Unauthenticated, Reason: rpcerr.CallerUnauthenticated, Message: "the token is not accepted"}
	}
}

func (authority) Authorize(_ context.Context, caller Caller, resource, verb string) error {
	if caller.Name == "editor" || verb == "get" {
		return nil
	}
	return &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CallerForbidden, Message: caller.Name + " may not " +
		verb + " " + resource}
}

// balancers is a handler whose methods are the test's.
type balancers struct {
	slbv1.UnimplementedLoadBalancerServiceServer

	get    func(ctx context.Context) error
	remove func(ctx context.Context) error
	answer string // the id that is answered; empty: the one that is asked for
}

func (b *balancers) GetLoadBalancer(ctx context.Context, req *slbv1.GetLoadBalancerRequest) (*slbv1.GetLoadBalancerResponse, error) {
	id := cmp.Or(b.answer, req.GetLoadBalancerId())
	return &slbv1.GetLoadBalancerResponse{LoadBalancer: &slbv1.LoadBalancer{LoadBalancerId: id}}, b.get(ctx)
}

func (b *balancers) CreateLoadBalancer(context.Context, *slbv1.CreateLoadBalancerRequest) (*slbv1.CreateLoadBalancerResponse, error) {
	return &slbv1.CreateLoadBalancerResponse{LoadBalancer: &slbv1.LoadBalancer{LoadBalancerId: b.answer}}, nil
}

func (b *balancers) DeleteLoadBalancer(ctx context.Context, _ *slbv1.DeleteLoadBalancerRequest) (*slbv1.DeleteLoadBalancerResponse, error) {
	return &slbv1.DeleteLoadBalancerResponse{}, b.remove(ctx)
}

// policies has a row for every method of the service.
func policies() Policies {
	p := Policies{}
	for _, m := range slbv1.LoadBalancerService_ServiceDesc.Methods {
		p["/"+slbv1.LoadBalancerService_ServiceDesc.ServiceName+"/"+m.MethodName] = Policy{Resource: "loadbalancers",
			Verb: "get", Timeout: time.Minute}
	}
	p[slbv1.LoadBalancerService_DeleteLoadBalancer_FullMethodName] = Policy{
		Resource: "loadbalancers", Verb: "delete", Timeout: time.Minute, Mutating: true, Priority: 7,
	}
	p[slbv1.LoadBalancerService_CreateLoadBalancer_FullMethodName] = Policy{
		Resource: "loadbalancers", Verb: "create", Timeout: time.Minute, Mutating: true,
	}
	return p
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// world is a server with a handler, and what is needed to call it.
type world struct {
	t        *testing.T
	dir      string
	server   *Server
	registry *prometheus.Registry
	handler  *balancers
	log      *buffer
	address  string
	stop     func()
}

func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	nothing := func(context.Context) error { return nil }
	w := &world{
		t: t, dir: t.TempDir(), registry: prometheus.NewRegistry(), log: &buffer{},
		handler: &balancers{get: nothing, remove: nothing},
	}
	w.issue("server")
	cfg := Config{
		TLS:      TLSConfig{CertFile: w.path("server.crt"), KeyFile: w.path("server.key")},
		Policies: policies(), Authenticator: authority{}, Authorizer: authority{}, Registerer: w.registry,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	server, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.server = server
	slbv1.RegisterLoadBalancerServiceServer(server, w.handler)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(w.stop)
	server.SetServing(true)
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name string, content []byte) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), content, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// issue writes a new certificate and its key.
func (w *world) issue(name string) {
	w.t.Helper()
	tlstest.Issue(w.t, w.dir, name)
}

// dial connects as the holder of a token.
func (w *world) dial(token string) *gateway.Conn {
	w.t.Helper()
	w.write("token", []byte(token+"\n"))
	conn, err := gateway.Dial(gateway.Config{
		Address: w.address, CAFile: w.path("server.crt"), ServerName: tlstest.ServerName, TokenFile: w.path("token"), UserAgent: "test",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := conn.Close(); err != nil && !strings.Contains(err.Error(), "closing") {
			w.t.Errorf("Close = %v", err)
		}
	})
	return conn
}

// dialWith connects with a client certificate, and with a token if there is one.
func (w *world) dialWith(name, token string) *gateway.Conn {
	w.t.Helper()
	cfg := gateway.Config{
		Address: w.address, CAFile: w.path("server.crt"), ServerName: tlstest.ServerName,
		CertFile: w.path(name + ".crt"), KeyFile: w.path(name + ".key"),
	}
	if token != "" {
		w.write("token-"+name, []byte(token))
		cfg.TokenFile = w.path("token-" + name)
	}
	conn, err := gateway.Dial(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			w.t.Errorf("Close = %v", err)
		}
	})
	return conn
}

// get and remove call the two methods of the handler.
func (w *world) get(conn *gateway.Conn) error {
	_, err := conn.Client().LoadBalancers.GetLoadBalancer(w.t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
	return err
}

func (w *world) remove(conn *gateway.Conn) error {
	_, err := conn.Client().LoadBalancers.DeleteLoadBalancer(w.t.Context(),
		&slbv1.DeleteLoadBalancerRequest{LoadBalancerId: "lb-1", RequestId: "r-1"})
	return err
}

// unregistered is a service without policies.
type unregistered struct {
	commonv1.UnimplementedCapabilitiesServiceServer
}
