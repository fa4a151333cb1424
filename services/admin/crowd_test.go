package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
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

// from is a connection of a client.
type from struct {
	net.Conn

	address string
}

// RemoteAddr implements net.Conn.
func (f *from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.address))
}

// TestKubeletIsNotCrowdedOut: a client that asks again and again crowds out its own connections, and not the one of the kubelet, whether
// that waits for an answer or has not asked yet. A host with many addresses is one client.
func TestKubeletIsNotCrowdedOut(t *testing.T) {
	t.Parallel()
	for _, state := range []http.ConnState{http.StateNew, http.StateActive} {
		for name, address := range map[string]func(n int) string{
			"IPv4":     func(n int) string { return fmt.Sprintf("10.0.0.2:%d", 1+n) },
			"IPv6":     func(n int) string { return fmt.Sprintf("[2001:db8::%x]:1", 1+n) },
			"in IPv6":  func(n int) string { return fmt.Sprintf("[::ffff:10.0.0.2]:%d", 1+n) },
			"by zones": func(n int) string { return fmt.Sprintf("[fe80::%x%%eth%d]:1", 1+n, n%2) },
		} {
			c, kubelet := newCrowd(), &from{address: "10.0.0.1:1"}
			c.change(kubelet, state)
			var open, closed []net.Conn
			for n := range 2 * mostConnections {
				conn := &from{address: address(n)}
				open = append(open, conn)
				if leaves := c.change(conn, state); leaves != nil {
					closed = append(closed, leaves)
				}
			}
			most := map[http.ConnState]int{http.StateNew: mostConnections, http.StateActive: mostAnswered}[state]
			if len(closed) != 2*mostConnections+1-most || slices.Contains(closed, net.Conn(kubelet)) {
				t.Errorf("%s, %s: %d are closed, the kubelet's: %t", name, state, len(closed), slices.Contains(closed, net.Conn(kubelet)))
			}
			if len(closed) > 0 && closed[0] != open[0] {
				t.Errorf("%s, %s: another one is closed than the one that is there for longest", name, state)
			}
		}
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

// TestChecksRunInRounds: however many ask at once, the conditions are checked ten times a second at most. Nobody waits for longer than
// the checks take, and no answer is older than a tenth of a second.
func TestChecksRunInRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes = 5 * time.Millisecond
		var runs, last atomic.Int64
		handler := Handler(prometheus.NewRegistry(), Check{Name: "kubernetes", Check: func(context.Context) error {
			runs.Add(1)
			last.Store(time.Now().UnixNano())
			<-time.After(takes)
			return nil
		}})
		ask := func() {
			begun, recorder := time.Now(), httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			took, old := time.Since(begun), begun.Sub(time.Unix(0, last.Load()))
			if recorder.Code != http.StatusOK || took > takes || old >= betweenRounds {
				t.Errorf("%d after %s, %s old", recorder.Code, took, old)
			}
		}
		ask()
		<-time.After(time.Second)
		runs.Store(0)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for until := time.Now().Add(time.Second); time.Now().Before(until); <-time.After(time.Millisecond) {
					ask()
				}
			})
		}
		all.Wait()
		if got := runs.Load(); got < 9 || got > 11 {
			t.Errorf("%d runs in a second, want about 10", got)
		}
		<-time.After(time.Second)
		gone, leave := context.WithCancel(t.Context())
		leave()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", nil))
		<-time.After(time.Second)
	})
}
