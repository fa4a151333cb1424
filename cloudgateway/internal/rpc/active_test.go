package rpc

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/tlstest"
)

// plain is a client that makes no health checks: get makes a call, and leave closes the connection.
func (w *world) plain(address string) (get func() error, leave func()) {
	w.t.Helper()
	trust, err := credentials.NewClientTLSFromFile(w.path("server.crt"), tlstest.ServerName)
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(trust), grpc.WithPerRPCCredentials(editor{}))
	if err != nil {
		w.t.Fatal(err)
	}
	return func() error {
			request := &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"}
			_, err := slbv1.NewLoadBalancerServiceClient(conn).GetLoadBalancer(w.t.Context(), request)
			return err
		}, func() {
			if err := conn.Close(); err != nil {
				w.t.Error(err)
			}
		}
}

// TestServeActive: the address of the active replica answers in each of its turns. At the end of one, its clients are
// told to leave, and nobody listens.
func TestServeActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.server.SetServing(false)
	opened := make(chan net.Listener)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.server.ServeActive(ctx, func(ctx context.Context) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
			if err == nil {
				opened <- l
			}
			return l, err
		})
	}()
	for range 3 {
		w.server.SetServing(true)
		address := (<-opened).Addr().String()
		get, leave := w.plain(address)
		if err := get(); err != nil {
			t.Errorf("in its turn: %v", err)
		}
		w.server.SetServing(false)
		until(t, "the connection is left", func() bool { return status.Code(get()) == codes.Unavailable })
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
			t.Error("a standby listens")
			_ = c.Close()
		}
		leave()
	}
	w.server.SetServing(true)
	<-opened
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ServeActive = %v", err)
	}
}

// failing is a listener that accepts one connection, and fails on demand.
type failing struct {
	net.Listener
	accepted atomic.Bool
	fail     chan struct{}
}

func (f *failing) Accept() (net.Conn, error) {
	if f.accepted.Swap(true) {
		<-f.fail
		return nil, errors.New("no buffer space")
	}
	return f.Listener.Accept()
}

// TestServeActiveWithoutListener: when the listener fails, clients are told to leave as at the end of a turn.
func TestServeActiveWithoutListener(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &failing{Listener: inner, fail: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.server.ServeActive(ctx, func(context.Context) (net.Listener, error) { return listener, nil })
	}()
	get, leave := w.plain(inner.Addr().String())
	if err := get(); err != nil {
		t.Errorf("in its turn: %v", err)
	}
	close(listener.fail)
	until(t, "the connection is left", func() bool { return status.Code(get()) == codes.Unavailable })
	leave()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ServeActive = %v", err)
	}
}
