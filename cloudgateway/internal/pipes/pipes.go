// Package pipes is a network within the process, for tests whose time is virtual: who writes waits for who reads, and
// nobody waits for anything outside.
package pipes

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// Listener listens in memory. It isn't gRPC's bufconn, where a read deadline that net/http has lifted may strike all the
// same: the server then takes the connection for broken and ends the request.
type Listener struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

// Listen makes a listener.
func Listen() *Listener {
	closed := make(chan struct{})
	return &Listener{dialed: make(chan net.Conn), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// Serve answers HTTP until the end of the test.
func Serve(t testing.TB, handler http.Handler) *Listener {
	t.Helper()
	listener, stop := ServeUntil(t, handler)
	t.Cleanup(stop)
	return listener
}

// ServeUntil answers HTTP until stop is called, which waits for the end.
func ServeUntil(t testing.TB, handler http.Handler) (listener *Listener, stop func()) {
	t.Helper()
	listener = Listen()
	server := &http.Server{ //nolint:gosec // No time limits: a connection may rest for as long as a test lets its time pass.
		Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return listener, func() {
		_ = server.Close() // There is nothing to close but memory.
		serving.Wait()
	}
}

// ServeGRPC serves until the end of the test, and connects to the server.
func ServeGRPC(t testing.TB, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(32 << 10) // What is never used of it is cleared all the same.
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return conn
}

// Dial connects to the listener, whatever the address, as soon as it accepts.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.dialed <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialed:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (*Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
