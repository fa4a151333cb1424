package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	end   context.Context //nolint:containedctx // It stands for the listener's life.
	close func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn)}
	p.end, p.close = context.WithCancel(context.Background())
	return p
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.end.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// client is somebody who keeps a connection.
type client struct {
	net.Conn

	answers *bufio.Reader
}

func (p *pipes) dial(t *testing.T) client {
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	p.conns <- far
	return client{near, bufio.NewReader(near)}
}

// asks reports whether a request is answered.
func (c client) asks(t *testing.T) bool {
	t.Helper()
	if _, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: admin\r\n\r\n"); err != nil {
		return false
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, answer.Body)
	err = errors.Join(err, answer.Body.Close())
	synctest.Wait()
	return err == nil && answer.StatusCode == http.StatusOK
}

// TestConnectionsThatWait: who keeps a connection without using it makes room for those who come later, and does not keep it for ever.
func TestConnectionsThatWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		others int
		after  time.Duration
		open   bool
	}{
		"alone":         {after: time.Minute, open: true},
		"for a while":   {after: 3 * time.Minute},
		"among few":     {others: mostConnections - 1, open: true},
		"among so many": {others: mostConnections},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listener := newPipes()
				server := &Server{listeners: []net.Listener{listener}, http: newHTTP(Handler(prometheus.NewRegistry()))}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- server.Run(ctx) }()
				first := listener.dial(t)
				if !first.asks(t) {
					t.Fatal("the first request is not answered")
				}
				for range tt.others {
					if !listener.dial(t).asks(t) {
						t.Fatal("who comes later is not answered")
					}
				}
				<-time.After(tt.after)
				if open := first.asks(t); open != tt.open {
					t.Errorf("the first connection is open: %t", open)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
