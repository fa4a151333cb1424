package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	open  atomic.Int64    // connections that the server has not closed
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
	open := &counted{Conn: far, open: &p.open}
	p.open.Add(1)
	p.conns <- open
	return client{near, bufio.NewReader(near)}
}

// counted is the server's end of a connection.
type counted struct {
	net.Conn

	open *atomic.Int64
	once sync.Once
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// begins sends a request.
func (c client) begins(path string) bool {
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: admin\r\n\r\n")
	return err == nil
}

// asks reports whether a request is answered.
func (c client) asks(t *testing.T) bool { return c.gets(t, "/livez") }

func (c client) gets(t *testing.T, path string) bool {
	t.Helper()
	if !c.begins(path) {
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

// TestAnswersThatNobodyReads: who reads no answer keeps neither many of them in memory, nor others from theirs.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/livez", "/readyz"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listener := newPipes()
				server := &Server{listeners: []net.Listener{listener}, http: newHTTP(Handler(prometheus.NewRegistry()))}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- server.Run(ctx) }()
				for range 3 * mostAnswered {
					listener.dial(t).begins(path)
					synctest.Wait()
				}
				if open := listener.open.Load(); open != mostAnswered {
					t.Errorf("%d connections are open, want %d", open, mostAnswered)
				}
				for range mostAnswered {
					if !listener.dial(t).gets(t, path) {
						t.Error("who reads is not answered")
					}
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPagesAreMadeInTurn: few pages of metrics are made at a time, and who does not read one keeps nobody from the next.
func TestPagesAreMadeInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowCollector{}
		registry := prometheus.NewRegistry()
		registry.MustRegister(slow)
		listener := newPipes()
		server := &Server{listeners: []net.Listener{listener}, http: newHTTP(Handler(registry))}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Run(ctx) }()
		for range 5 * mostGathered {
			listener.dial(t).begins("/metrics")
		}
		begun := time.Now()
		if !listener.dial(t).gets(t, "/metrics") || time.Since(begun) > 6*time.Second {
			t.Errorf("who reads gets no page, or after %s", time.Since(begun))
		}
		if most := slow.most.Load(); most != mostGathered {
			t.Errorf("%d pages are made at a time, want %d", most, mostGathered)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute) // The others come to their end.
	})
}

// slowCollector takes a second to be collected.
type slowCollector struct{ now, most atomic.Int64 }

// Describe implements prometheus.Collector.
func (*slowCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *slowCollector) Collect(chan<- prometheus.Metric) {
	for now := c.now.Add(1); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			break
		}
	}
	<-time.After(time.Second)
	c.now.Add(-1)
}

// TestChecksRunInRounds: however many ask at once, the conditions are checked ten times a second at most, for each
// after it has asked, and alone nobody waits.
func TestChecksRunInRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		handler := Handler(prometheus.NewRegistry(), Check{Name: "kubernetes", Check: func(context.Context) error {
			runs.Add(1)
			<-time.After(5 * time.Millisecond)
			return nil
		}})
		ask := func() time.Duration {
			begun, before, recorder := time.Now(), runs.Load(), httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			if recorder.Code != http.StatusOK || runs.Load() == before {
				t.Errorf("%d after %d more runs", recorder.Code, runs.Load()-before)
			}
			return time.Since(begun)
		}
		if took := ask(); took != 5*time.Millisecond {
			t.Errorf("alone it takes %s", took)
		}
		<-time.After(time.Second)
		runs.Store(0)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for until := time.Now().Add(time.Second); time.Now().Before(until); {
					ask()
				}
			})
		}
		all.Wait()
		if got := runs.Load(); got < 10 || got > 11 {
			t.Errorf("%d runs in a second, want 10 or 11", got)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", nil))
		<-time.After(time.Second)
	})
}
