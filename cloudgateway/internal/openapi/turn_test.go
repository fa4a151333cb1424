package openapi

import (
	"context"
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

// TestTurnLostWhileConnecting: what has waited for a connection is not sent when the turn is over meanwhile, and the caller hears that nothing
// was. The same goes for a connection that is there.
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
			_, err := w.client.Do(t.Context(), write, nil)
			if e, _ := rpcerr.From(err); e == nil || e.Code != codes.Unavailable || e.Reason != rpcerr.NotActive || e.RetryAfter != time.Second {
				t.Errorf("the caller got %v", err)
			}
			if got := cloud.attempts(); got != sent {
				t.Errorf("%d calls reached the cloud, want %d", got, sent)
			}
		})
	}
}

// TestTurnLastsToTheAnswer: an attempt has its turn until it is answered, lost or given up.
func TestTurnLastsToTheAnswer(t *testing.T) {
	t.Parallel()
	turn := &shift{}
	var during atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		during.Store(10*turn.changes.Load() + turn.others.Load())
		if r.FormValue("Action") == "DescribeLoadBalancers" {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done() // The caller leaves.
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, strings.TrimPrefix(server.URL, "http://"), func(cfg *Config) { cfg.Turn, cfg.Retry = turn, time.Millisecond })
	for action, tt := range map[string]struct {
		mutating bool
		want     int64
	}{"DescribeLoadBalancers": {want: 1}, "CreateLoadBalancer": {mutating: true, want: 10}} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := w.client.Do(ctx, Call{Product: SLB, Action: action, Mutating: tt.mutating}, nil)
		cancel()
		if err == nil || during.Load() != tt.want || turn.changes.Load()+turn.others.Load() != 0 {
			t.Errorf("%s: %v, %d while it was under way, want %d, and %d afterwards", action, err, during.Load(), tt.want,
				turn.changes.Load()+turn.others.Load())
		}
	}
}
