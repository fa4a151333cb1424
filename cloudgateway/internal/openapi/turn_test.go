package openapi

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// shift is a Turn that counts who is under way.
type shift struct {
	lost            atomic.Bool
	changes, others atomic.Int64
}

func (s *shift) Enter(mutating bool) (end func(), err error) {
	count := &s.others
	if mutating {
		count = &s.changes
	}
	count.Add(1)
	return func() { count.Add(-1) }, nil
}

func (s *shift) Holds() bool { return !s.lost.Load() }

// TestTurnLostWhileConnecting: what has waited for a connection is not sent when the turn is over meanwhile, and the
// caller hears that nothing was. The same goes for a connection that is there.
func TestTurnLostWhileConnecting(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]bool{"new connection": false, "idle connection": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, turn := newFakeCloud(t), &shift{}
			w := newWorld(t, cloud.host(), func(cfg *Config) {
				cfg.Turn = turn
				cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, network, address)
					if !warm {
						turn.lost.Store(true)
					}
					return c, err
				}
			})
			sent := 0
			if warm {
				if _, err := w.client.Do(t.Context(), write, nil); err != nil {
					t.Fatal(err)
				}
				turn.lost.Store(true)
				sent++
			}
			result, err := w.client.Do(t.Context(), write, nil)
			if !result.Sent.IsZero() {
				t.Errorf("it was sent at %s", result.Sent)
			}
			if e, _ := rpcerr.From(err); e == nil || e.Code != codes.Unavailable || e.Reason != rpcerr.NotActive || e.RetryAfter != time.Second {
				t.Errorf("the caller got %v", err)
			}
			if got := cloud.attempts(); got != sent {
				t.Errorf("%d calls reached the cloud, want %d", got, sent)
			}
		})
	}
}

// TestRefusedWrites: only of an attempt that has written nothing is it said that nothing was sent. A connection with
// TLS writes once more when it is closed.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct{ earlier, inTime, want bool }{
		"nothing written":               {want: true},
		"nothing written after another": {earlier: true, want: true},
		"written":                       {inTime: true},
	} {
		t.Run(name, func(t *testing.T) {
			turn := &shift{}
			raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			over := tls.Client(&turned{Conn: raw, turn: turn}, &tls.Config{InsecureSkipVerify: true})
			defer over.Close()
			if err := over.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			write := func(want error) {
				if _, err := over.Write([]byte("GET ")); !errors.Is(err, want) {
					t.Errorf("a write gives %v, want %v", err, want)
				}
			}
			if tt.earlier {
				write(nil)
			}
			u := usageOf(over)
			if tt.inTime {
				write(nil)
			}
			turn.lost.Store(true)
			if !tt.inTime {
				write(errNoTurn)
			}
			_ = over.Close() // It can't say farewell.
			if got := u.refused(); got != tt.want {
				t.Errorf("nothing was sent: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestTurnLastsToTheAnswer: an attempt has its turn until it is answered, lost or given up.
func TestTurnLastsToTheAnswer(t *testing.T) {
	t.Parallel()
	turn := &shift{}
	var during, attempts atomic.Int64
	var leave atomic.Pointer[context.CancelFunc]
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		during.Store(10*turn.changes.Load() + turn.others.Load())
		if r.FormValue("Action") == "DescribeLoadBalancers" && attempts.Add(1) < 3 {
			panic(http.ErrAbortHandler)
		}
		(*leave.Load())() // The caller leaves.
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, strings.TrimPrefix(server.URL, "http://"), func(cfg *Config) { cfg.Turn, cfg.Retry = turn, time.Millisecond })
	for action, tt := range map[string]struct {
		mutating bool
		want     int64
	}{"DescribeLoadBalancers": {want: 1}, "CreateLoadBalancer": {mutating: true, want: 10}} {
		ctx, cancel := context.WithCancel(t.Context())
		leave.Store(&cancel)
		_, err := w.client.Do(ctx, Call{Product: SLB, Action: action, Mutating: tt.mutating}, nil)
		cancel()
		if err == nil || during.Load() != tt.want || turn.changes.Load()+turn.others.Load() != 0 {
			t.Errorf("%s: %v, %d while it was under way, want %d, and %d afterwards", action, err, during.Load(), tt.want,
				turn.changes.Load()+turn.others.Load())
		}
	}
}

// lastWrites takes the turn away with a number of writes of a connection.
type lastWrites struct {
	net.Conn

	left int
	turn *shift
}

func (c *lastWrites) Write(p []byte) (int, error) {
	if c.left--; c.left == 0 {
		c.turn.lost.Store(true)
	}
	return c.Conn.Write(p)
}

// TestTurnLostWhileWriting: the rest of a change is not written, and the caller does not hear that nothing was sent.
func TestTurnLostWhileWriting(t *testing.T) {
	t.Parallel()
	cloud, turn := newFakeCloud(t), &shift{}
	w := newWorld(t, cloud.host(), func(cfg *Config) {
		cfg.Turn = turn
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			return &lastWrites{Conn: c, left: 1, turn: turn}, err
		}
	})
	_, err := w.client.Do(t.Context(), Call{Product: SLB, Action: "AddBackendServers", Mutating: true,
		Form: map[string]string{"BackendServers": strings.Repeat("x", 1<<20)}}, nil)
	if e, _ := rpcerr.From(err); e == nil || e.Reason != rpcerr.OutcomeUnknown || e.Unsent {
		t.Errorf("the caller got %v", err)
	}
}
