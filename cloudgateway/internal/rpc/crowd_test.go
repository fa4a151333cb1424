package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/tlstest"
)

// TestCrowd: many callers behind one address, such as that of a node, who connect at once, are all served soon; also if
// some only watch, and if a program beside them opens connection after connection that comes to nothing.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const soon = 10 * time.Second
	for _, tt := range []struct {
		callers, watchers int
		noise             time.Duration // between two connections that come to nothing; 0 for none
	}{
		{callers: 50},
		{callers: 100, watchers: 20},
		{callers: 6, watchers: 6, noise: 100 * time.Millisecond},
		{callers: 6, watchers: 6, noise: 30 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			identity := issued(t)
			text, err := os.ReadFile(identity.CertFile)
			if err != nil {
				t.Fatal(err)
			}
			authorities, now := x509.NewCertPool(), time.Now()
			authorities.AppendCertsFromPEM(text)
			trust := credentials.NewTLS(&tls.Config{
				MinVersion: tls.VersionTLS13, ServerName: tlstest.ServerName, RootCAs: authorities, Time: func() time.Time { return now },
			})
			synctest.Test(t, func(t *testing.T) {
				s, _ := newStreet(t, identity)
				if tt.noise > 0 {
					stop := s.disturb(tt.noise)
					defer stop()
					<-time.After(time.Minute)
				}
				for range tt.watchers {
					s.client(trust).Connect()
				}
				begun := time.Now()
				var served sync.WaitGroup
				for range tt.callers {
					client := slbv1.NewLoadBalancerServiceClient(s.client(trust))
					served.Go(func() {
						_, err := client.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}, grpc.WaitForReady(true))
						if took := time.Since(begun); err != nil || took > soon {
							t.Errorf("a caller was served after %s, %v", took, err)
						}
					})
				}
				served.Wait()
			})
		})
	}
}

// TestClosedArrivalsAreLogged: the log names the address of whoever connects too often.
func TestClosedArrivalsAreLogged(t *testing.T) {
	t.Parallel()
	identity := issued(t)
	synctest.Test(t, func(t *testing.T) {
		s, log := newStreet(t, identity)
		for range 200 {
			conn, err := s.dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
		}
		synctest.Wait()
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "address=10.0.0.1 reason=") {
			t.Errorf("the log is %q, want one line that names the address", text)
		}
	})
}

// issued is a new identity of a server.
func issued(t *testing.T) TLSConfig {
	t.Helper()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "server")
	return TLSConfig{CertFile: filepath.Join(dir, "server.crt"), KeyFile: filepath.Join(dir, "server.key")}
}

// street is where all come from one address.
type street struct {
	t     *testing.T
	conns chan net.Conn
	port  atomic.Int32
	end   context.Context //nolint:containedctx // It stands for the listener's life.
	close func()
}

// newStreet starts a server at its end.
func newStreet(t *testing.T, identity TLSConfig) (*street, *buffer) {
	t.Helper()
	nothing := func(context.Context) error { return nil }
	log := &buffer{}
	server, err := New(Config{
		TLS: identity, Policies: policies(), Authenticator: authority{}, Authorizer: authority{}, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	slbv1.RegisterLoadBalancerServiceServer(server, &balancers{get: nothing, remove: nothing})
	server.SetServing(true)
	s := &street{t: t, conns: make(chan net.Conn)}
	s.end, s.close = context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return s, log
}

// client connects as services/gateway does.
func (s *street) client(trust credentials.TransportCredentials) *grpc.ClientConn {
	s.t.Helper()
	wait := backoff.DefaultConfig
	wait.BaseDelay, wait.MaxDelay = 100*time.Millisecond, 3*time.Second
	client, err := grpc.NewClient("passthrough:///gateway", grpc.WithTransportCredentials(trust), grpc.WithPerRPCCredentials(editor{}),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.dial(ctx) }),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: wait, MinConnectTimeout: 20 * time.Second}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// disturb opens connections and closes them at once, until stop.
func (s *street) disturb(interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		next := time.NewTicker(interval)
		defer next.Stop()
		for {
			select {
			case <-next.C:
				if conn, err := s.dial(ctx); err == nil {
					_ = conn.Close()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (s *street) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case s.conns <- addressed{far, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: int(s.port.Add(1))}}:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.end.Done():
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (s *street) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.end.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *street) Close() error {
	s.close()
	return nil
}

// Addr implements net.Listener.
func (*street) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 7443} }

// editor is the token of the editor.
type editor struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (editor) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + tokenEditor}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (editor) RequireTransportSecurity() bool { return true }
