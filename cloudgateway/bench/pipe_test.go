package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// network connects HTTP clients and a server without sockets, so that both can live in a synctest bubble: time goes by in it only
// while nobody waits for anything outside.
type network struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newNetwork() *network {
	closed := make(chan struct{})
	return &network{accepted: make(chan net.Conn), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// serve runs a server until stop is called, which waits for its end.
func (n *network) serve(t testing.TB, handler http.Handler) (stop func()) {
	t.Helper()
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(n); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		serving.Wait()
	}
}

// Dial is for openapi.Config.
func (n *network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.accepted <- server:
		return client, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *network) Close() error {
	n.close()
	return nil
}

// Addr implements net.Listener.
func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
