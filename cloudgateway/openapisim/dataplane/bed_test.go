package dataplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lbID = "lb-1"

// bed is a cloud with one load balancer, and a plane that serves it.
type bed struct {
	t       testing.TB
	address netip.Addr
	plane   *Plane

	mu         sync.Mutex
	cloud      *state.Cloud
	now        time.Time
	generation uint64
}

func newBed(t testing.TB) *bed {
	t.Helper()
	return newLoggedBed(t, t.Output())
}

func newLoggedBed(t testing.TB, log io.Writer) *bed {
	t.Helper()
	address := netip.AddrFrom4([4]byte{127, byte(128 + rand.IntN(64)), byte(rand.IntN(256)), byte(1 + rand.IntN(250))})
	return newBedAt(t, address, Ranges{}, log)
}

// newBedAt has its load balancer at an address, and a plane for ranges.
func newBedAt(t testing.TB, address netip.Addr, ranges Ranges, log io.Writer) *bed {
	t.Helper()
	b := &bed{t: t, address: address, cloud: state.New("cn-hangzhou", "1"), now: time.Unix(1e9, 0)}
	b.cloud.LoadBalancers[lbID] = &state.LoadBalancer{ID: lbID, Address: b.address.String(), Status: "active"}
	b.cloud.Instances["i-1"] = &state.Instance{ID: "i-1", Status: "Running", PrivateIPs: []string{"127.0.0.1"}}
	handler := slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})
	plane, err := New(Config{Cloud: b, Ranges: ranges, Logger: slog.New(handler)})
	if err != nil {
		t.Fatal(err)
	}
	b.plane = plane
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		plane.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return b
}

func (b *bed) Generation() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.generation
}

func (b *bed) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bed) View(f func(*state.Cloud)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.cloud.LoadBalancers[lbID].Listeners {
		if !l.SettleAt.IsZero() && !b.now.Before(l.SettleAt) {
			l.Status, l.SettleAt = l.SettleTo, time.Time{}
		}
	}
	f(b.cloud)
}

// change changes the cloud and returns when the plane has followed.
func (b *bed) change(f func(*state.Cloud)) {
	b.t.Helper()
	b.mu.Lock()
	f(b.cloud)
	b.generation++
	changed := b.generation
	b.mu.Unlock()
	eventually(b.t, "the plane follows", func() bool { return b.plane.current().generation >= changed })
}

// group puts servers, all of instance i-1, into a vServer group.
func (b *bed) group(id string, servers ...*state.Server) {
	b.t.Helper()
	b.change(func(c *state.Cloud) {
		c.ServerGroups[id] = &state.ServerGroup{ID: id, LoadBalancerID: lbID, Servers: servers}
	})
}

func server(port, weight int) *state.Server {
	return &state.Server{Type: "ecs", ServerID: "i-1", Port: port, Weight: weight}
}

// listen adds a running listener on a free port, forwarding to group g without health checks unless attributes (name, value, …)
// say otherwise. It returns its address.
func (b *bed) listen(protocol string, attributes ...string) string {
	b.t.Helper()
	port := b.freePort(protocol)
	l := &state.Listener{Port: port, Protocol: protocol, Status: "running", Attributes: map[string]string{
		"VServerGroupId": "g", "HealthCheckSwitch": "off", "HealthCheck": "off",
	}}
	for i := 0; i < len(attributes); i += 2 {
		l.Attributes[attributes[i]] = attributes[i+1]
	}
	b.change(func(c *state.Cloud) {
		lb := c.LoadBalancers[lbID]
		lb.Listeners = append(lb.Listeners, l)
	})
	return fmt.Sprintf("%s:%d", b.address, port)
}

func (b *bed) listener(i int) *state.Listener { return b.cloud.LoadBalancers[lbID].Listeners[i] }

func (b *bed) freePort(protocol string) int {
	b.t.Helper()
	if protocol == protoUDP {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: b.address.AsSlice()})
		if err != nil {
			b.t.Fatal(err)
		}
		defer conn.Close()
		return conn.LocalAddr().(*net.UDPAddr).Port
	}
	ln, err := net.Listen("tcp", b.address.String()+":0")
	if err != nil {
		b.t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// open reports whether somebody listens, without a trace: the connection is reset.
func open(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	abort(conn)
	return true
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker, deadline := time.NewTicker(2*time.Millisecond), time.After(2*time.Minute)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited 2 minutes in vain: %s", what)
		}
	}
}

// tcpServer greets every connection with its name and the client's address, then echoes lines. It returns its port.
func tcpServer(t testing.TB, name string) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			serving.Go(func() {
				defer conn.Close()
				fmt.Fprintf(conn, "%s %s\n", name, remote(conn).Addr())
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return ln.Addr().(*net.TCPAddr).Port
}

// httpServer runs a handler and returns its port.
func httpServer(t testing.TB, handler http.HandlerFunc) int {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// greeting connects from an address of loopback and returns the first line, or the error.
func greeting(t *testing.T, from, address string) string {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return "error" // a reset may come before the dialer is done
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "error"
	}
	return line[:len(line)-1]
}

func connect(t testing.TB, from, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
