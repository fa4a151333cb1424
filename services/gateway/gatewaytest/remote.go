package gatewaytest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpchealth "google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"alicloud-controllers.dev/proto/tlstest"
	"alicloud-controllers.dev/services/gateway"
)

// Remote is the gateway of a connection as a process of its own is seen: on connections with TLS, that end when it goes away
// and are refused until it is back.
type Remote struct {
	c   *Connection
	dir string

	mu       sync.Mutex
	listener *bufconn.Listener // nil while it is away
	stop     func()
}

// Remote makes a gateway that is away until Start. It ends with the test.
func (c *Connection) Remote() *Remote {
	c.t.Helper()
	r := &Remote{c: c, dir: c.t.TempDir()}
	tlstest.Issue(c.t, r.dir, "gateway")
	if err := os.WriteFile(filepath.Join(r.dir, "token"), []byte("token"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(r.Stop)
	return r
}

// Dial connects as a controller's process does. The connection ends with the test.
func (r *Remote) Dial() *gateway.Conn {
	t := r.c.t
	t.Helper()
	conn, err := gateway.Dial(gateway.Config{
		Address: "passthrough:///gateway", CAFile: filepath.Join(r.dir, "gateway.crt"), ServerName: tlstest.ServerName,
		TokenFile: filepath.Join(r.dir, "token"), Dialer: r.dial,
	})
	if err != nil {
		t.Fatalf("dial the fake gateway: %v", err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection to the fake gateway: %v", err)
		}
	})
	return conn
}

func (r *Remote) dial(ctx context.Context, _ string) (net.Conn, error) {
	r.mu.Lock()
	listener := r.listener
	r.mu.Unlock()
	if listener == nil {
		return nil, errors.New("connection refused")
	}
	return listener.DialContext(ctx)
}

// Start lets the gateway come back.
func (r *Remote) Start() {
	t := r.c.t
	t.Helper()
	files, err := credentials.NewServerTLSFromFile(filepath.Join(r.dir, "gateway.crt"), filepath.Join(r.dir, "gateway.key"))
	if err != nil {
		t.Fatal(err)
	}
	server, listener, served := r.c.newServer(grpc.Creds(files)), bufconn.Listen(pipeSize), make(chan struct{})
	healthv1.RegisterHealthServer(server, grpchealth.NewServer())
	go serve(t, server, listener, served)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = listener
	r.stop = func() {
		server.Stop()
		<-served
	}
}

// Stop ends the gateway with all its connections.
func (r *Remote) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.stop()
		r.listener = nil
	}
}

// serve closes served when the server has been stopped.
func serve(t testing.TB, server *grpc.Server, listener net.Listener, served chan<- struct{}) {
	defer close(served)
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		t.Errorf("serve the fake gateway: %v", err)
	}
}
