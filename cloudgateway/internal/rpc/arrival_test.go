package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/tlstest"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
)

// TestAdmissions: of what begins at once, few calls of a connection without a permitted call are decided on at a time, whether the calls
// are waited for, given up at once, or of methods that do not exist, and it costs others nothing. Nothing is left of them.
func TestAdmissions(t *testing.T) {
	t.Parallel()
	const most, conns, calls = 2, 10, 15
	for _, tc := range []struct {
		name, method, token string
		reset               bool
		timeout             time.Duration
	}{
		{name: "caller", method: getMethod, token: tokenEditor},
		{name: "stranger", method: getMethod, token: "guess"},
		{name: "given up", method: getMethod, token: tokenEditor, reset: true},
		{name: "unknown method", method: "/no.Service/Method"},
		{name: "unknown method of a service", method: getMethod + "s"},
		{name: "no method", method: "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			now := &counting{Authenticator: authority{}, release: release}
			w := newWorld(t, func(c *Config) {
				c.Limits, c.Authenticator = Limits{AdmittingPerStranger: most, StrangerCalls: calls}, now
			})
			other := w.dial(tokenViewer)
			if err := w.get(other); err != nil {
				t.Fatal(err)
			}
			now.hold.Store(true)
			var ended atomic.Int64
			var sent, drained sync.WaitGroup
			var hostiles []*hostile.Client
			for range conns {
				c, err := w.dialRaw("127.0.0.1")
				if err != nil {
					t.Fatal(err)
				}
				hostiles = append(hostiles, c)
				defer c.Close()
				sent.Go(func() {
					for stream := uint32(1); stream < 2*2*calls; stream += 2 {
						if c.Headers(stream, tc.method, tc.token, true) != nil || tc.reset && c.Reset(stream) != nil {
							break
						}
					}
				})
				drained.Go(func() { c.Drain(&ended) })
			}
			sent.Wait()
			if err := w.get(other); err != nil {
				t.Errorf("another caller: %v", err)
			}
			close(release)
			if err := w.get(other); err != nil {
				t.Errorf("another caller: %v", err)
			}
			if got := now.most.Load(); got > most*conns {
				t.Errorf("%d calls were decided on at a time, want at most %d", got, most*conns)
			}
			for _, c := range hostiles {
				_ = c.Close()
			}
			drained.Wait()
			until(t, "nothing is left", func() bool {
				c := w.server.connections
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.unknown == 0 && len(c.callers) == 1
			})
		})
	}
}

// TestAdmissionsOfACaller: a caller that is known has no more, on all of its connections together, and none of them is closed for it.
// What it gives up before it is decided takes nobody's place.
func TestAdmissionsOfACaller(t *testing.T) {
	t.Parallel()
	const most, conns, calls = 5, 3, 15
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	now := &counting{Authenticator: authority{}, release: held}
	w := newWorld(t, func(c *Config) { c.Limits, c.Authenticator = Limits{AdmittingPerCaller: most}, now })
	trust, err := credentials.NewClientTLSFromFile(w.path("server.crt"), tlstest.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	other, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(trust))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var known []*gateway.Conn
	for range conns {
		conn := w.dial(tokenEditor)
		if err := w.get(conn); err != nil {
			t.Fatal(err)
		}
		known = append(known, conn)
	}
	now.most.Store(0)
	now.hold.Store(true)
	var all sync.WaitGroup
	for _, conn := range known {
		for range calls {
			all.Go(func() {
				if err := w.get(conn); err != nil {
					t.Errorf("a call that waited: %v", err)
				}
			})
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				_, _ = conn.Client().LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
			})
		}
	}
	until(t, "all places are taken", func() bool { return now.now.Load() == most })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+tokenViewer)
	_, err = slbv1.NewLoadBalancerServiceClient(other).GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
	if err != nil {
		t.Errorf("another caller: %v", err)
	}
	release()
	all.Wait()
	if got := now.most.Load(); got > most {
		t.Errorf("%d calls were decided on at a time, want at most %d", got, most)
	}
	until(t, "all places are free", func() bool {
		c := w.server.connections
		c.mu.Lock()
		defer c.mu.Unlock()
		idle := len(c.callers["editor"].entrances) == 0
		for n := range c.all {
			idle = idle && n.busy == 0
		}
		return idle
	})
}

// TestBrokenWhileOneWaits: a connection to whose client nothing can be written is closed, also while a call of it waits to
// be decided on, and with it goes all that gRPC has of its other calls.
func TestBrokenWhileOneWaits(t *testing.T) { //nolint:paralleltest // It looks for one of its goroutines.
	held, answer := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	now := &counting{Authenticator: authority{}, release: held}
	w := newWorld(t, func(c *Config) { c.Limits, c.Authenticator = Limits{AdmittingPerCaller: 1, Send: time.Hour}, now })
	w.handler.answer = strings.Repeat("x", 1<<20)
	begun := make(chan struct{})
	w.handler.get = func(context.Context) error {
		close(begun)
		<-answer
		return nil
	}
	c, err := w.dialRaw("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	request, err := proto.Marshal(&slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
	if err == nil {
		err = c.Headers(1, getMethod, tokenEditor, true)
	}
	if err == nil {
		err = c.Send(1, request)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	now.hold.Store(true)
	for stream := uint32(3); stream <= 5; stream += 2 {
		if err := c.Headers(stream, getMethod, tokenEditor, true); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a call waits to be decided on", func() bool {
		all := make([]byte, 1<<20)
		return strings.Contains(string(all[:runtime.Stack(all, true)]), "rpc.(*arrival).arrive(")
	})
	raw := c.Conn.(*tls.Conn).NetConn().(*net.TCPConn)
	if err := errors.Join(raw.SetLinger(0), raw.Close()); err != nil { // Its host resets the connection.
		t.Fatal(err)
	}
	close(answer)
	until(t, "the connection is closed", func() bool {
		callers, strangers := w.server.connections.count()
		return callers+strangers == 0
	})
}

// counting is an Authenticator that counts who asks at a time, and may let all but the viewer wait.
type counting struct {
	Authenticator

	release   chan struct{}
	hold      atomic.Bool
	now, most atomic.Int64
}

// Authenticate implements Authenticator.
func (c *counting) Authenticate(ctx context.Context, token string) (Caller, error) {
	if c.hold.Load() && token != tokenViewer {
		defer c.now.Add(-1)
		if n := c.now.Add(1); n > c.most.Load() {
			c.most.Store(n)
		}
		<-c.release
	}
	return c.Authenticator.Authenticate(ctx, token)
}
