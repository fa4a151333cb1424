package sts_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// memory is a network inside the process, by address, so that a test's clock can jump while servers wait for calls.
type memory map[string]*listener

// serve puts endpoints of a simulated cloud on the network, by address, until the end of the test.
func serve(t *testing.T, sim *openapisim.Simulator, endpoints map[string]string) memory {
	t.Helper()
	network := memory{}
	for name, address := range endpoints {
		l := &listener{calls: make(chan net.Conn), closed: make(chan struct{})}
		network[address] = l
		server := &http.Server{Handler: sim.Handler(name), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			serving.Wait()
		})
	}
	return network
}

// Dial connects to an address.
func (m memory) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	l := m[address]
	if l == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	select {
	case l.calls <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (*listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
