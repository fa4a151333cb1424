package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/proto/tlstest"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
)

// dialRaw connects from an address of the loopback network. It fails softly: the server may have had enough.
func (w *world) dialRaw(from string) (*hostile.Client, error) {
	return hostile.Dial(w.t.Context(), w.address, from)
}

// heap is what is in use after a collection, in MiB.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}

// until waits for a condition, but not for ever: a test that hangs costs the whole run.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	const patience = 2 * time.Minute
	for deadline := time.After(patience); !holds(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func (w *world) strangers() (callers, strangers int) { return w.server.connections.count() }

const getMethod = slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName

// TestStalledMessages: who has no token costs the server a bounded amount of memory, however many connections stall in the middle of a
// message, and neither a caller who is there nor one who comes from elsewhere is kept from calling.
func TestStalledMessages(t *testing.T) {
	for _, connections := range []int{30, 100} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			w := newWorld(t, nil)
			honest := w.dial(tokenEditor)
			if err := w.get(honest); err != nil {
				t.Fatal(err)
			}
			before := heap()
			var work sync.WaitGroup
			var refused atomic.Int64
			open := make(chan *hostile.Client, connections)
			for range connections {
				r, err := w.dialRaw("127.0.0.2")
				if err != nil {
					continue // crowded out in the middle of its handshake
				}
				open <- r
				work.Go(func() { r.Drain(&refused) })
				for stream := range uint32(8) {
					if r.Headers(2*stream+1, getMethod, "", true) != nil || r.Stall(2*stream+1, 1<<20-5, 16<<10) != nil {
						break
					}
				}
			}
			if err := w.get(honest); err != nil {
				t.Errorf("the caller who was there: %v", err)
			}
			if err := w.get(w.dial(tokenEditor)); err != nil {
				t.Errorf("the caller who comes: %v", err)
			}
			limits := w.server.limits
			if _, strangers := w.strangers(); strangers > limits.StrangersPerPeer {
				t.Errorf("%d connections of the stranger, want at most %d", strangers, limits.StrangersPerPeer)
			}
			if grown := heap() - before; grown > 64 {
				t.Errorf("the heap grew by %.0f MiB", grown)
			}
			close(open)
			for r := range open {
				_ = r.Close()
			}
			work.Wait()
			if refused.Load() == 0 {
				t.Error("no call was refused; the test shows nothing")
			}
		})
	}
}

// TestSlowHeaders: a connection whose first call does not come is closed.
func TestSlowHeaders(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{FirstCall: 200 * time.Millisecond} })
	var ended atomic.Int64
	for name, begin := range map[string]func(*hostile.Client) error{
		"nothing":      func(*hostile.Client) error { return nil },
		"half headers": func(r *hostile.Client) error { return r.Headers(1, getMethod, tokenEditor, false) },
	} {
		until(t, "a connection with "+name, func() bool {
			r, err := w.dialRaw("127.0.0.1")
			if err != nil {
				return false // On a busy machine the time may be over in the handshake,
			}
			begun := begin(r) == nil // or before the headers.
			r.Drain(&ended)          // It comes back when the connection ends.
			return begun
		})
	}
	until(t, "connections forgotten", func() bool {
		callers, strangers := w.strangers()
		return callers+strangers == 0
	})
}

// TestSlowMessage: the message of a caller has to be complete in time, and so has that of a health check.
func TestSlowMessage(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Receive: 200 * time.Millisecond} })
	for method, token := range map[string]string{
		getMethod: tokenEditor, healthv1.Health_Check_FullMethodName: "", healthv1.Health_Watch_FullMethodName: "",
	} {
		r, err := w.dialRaw("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Headers(1, method, token, true); err != nil {
			t.Fatal(err)
		}
		if err := r.Stall(1, 1000, 10); err != nil {
			t.Fatal(err)
		}
		var ended atomic.Int64
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			r.Drain(&ended)
		}()
		until(t, method+" ends", func() bool { return ended.Load() > 0 })
		_ = r.Close()
		<-drained
	}
}

// TestStrangersSendLittle: methods that need no token are no way to make the server hold much.
func TestStrangersSendLittle(t *testing.T) {
	w := newWorld(t, nil)
	r, err := w.dialRaw("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var ended atomic.Int64
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		r.Drain(&ended)
	}()
	for stream := range uint32(100) {
		if r.Headers(2*stream+1, healthv1.Health_Check_FullMethodName, "", true) != nil || r.Stall(2*stream+1, 1<<20-5, 32<<10) != nil {
			break
		}
	}
	<-drained // The server has ended the connection.
	until(t, "connection forgotten", func() bool {
		_, strangers := w.strangers()
		return strangers == 0
	})
}

// TestManyRefusals: a connection on which call after call is refused is closed, however few bytes the calls take.
func TestManyRefusals(t *testing.T) {
	const most = 10
	w := newWorld(t, func(c *Config) { c.Limits = Limits{StrangerCalls: most} })
	r, err := w.dialRaw("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var ended atomic.Int64
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		r.Drain(&ended)
	}()
	for call, open := uint32(0), true; open; call++ {
		if call > most {
			t.Fatalf("the connection is open after %d refused calls", call)
		}
		answered := ended.Load()
		if r.Headers(2*call+1, getMethod, "guess", true) != nil {
			break
		}
		until(t, "an answer", func() bool {
			select {
			case <-drained:
				open = false
				return true
			default:
				return ended.Load() > answered
			}
		})
	}
	until(t, "connection forgotten", func() bool {
		_, strangers := w.strangers()
		return strangers == 0
	})
}

// TestManyStreams: a thousand calls on one connection, or ten thousand if the environment has SIEGE, of a stranger and of a caller, are
// taken as many at a time as there may be.
func TestManyStreams(t *testing.T) {
	streams := 1000
	if os.Getenv("SIEGE") != "" {
		streams = 10_000
	}
	w := newWorld(t, nil)
	var most, now atomic.Int64
	w.handler.get = func(context.Context) error {
		defer now.Add(-1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		return nil
	}
	tls, err := credentials.NewClientTLSFromFile(w.path("server.crt"), tlstest.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, token string
		want        codes.Code
	}{
		{name: "stranger", token: "Bearer guess", want: codes.Unauthenticated},
		{name: "caller", token: "Bearer " + tokenEditor},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(tls))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var calls sync.WaitGroup
			var served atomic.Int64
			for range streams {
				calls.Go(func() {
					ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", tc.token)
					_, err := slbv1.NewLoadBalancerServiceClient(conn).GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1"})
					switch codeOfErr(err) {
					case tc.want:
						served.Add(1)
					case codes.Unavailable: // The connection of a stranger ends when too much has come.
					default:
						t.Errorf("got %v, want %s", err, tc.want)
					}
				})
			}
			calls.Wait()
			if served.Load() == 0 || tc.want == codes.OK && served.Load() < int64(streams) {
				t.Errorf("%d calls were answered as they should", served.Load())
			}
		})
	}
	if limit := int64(w.server.limits.Streams); most.Load() > limit || most.Load() == 0 {
		t.Errorf("%d calls at a time, want 1 to %d", most.Load(), limit)
	}
}

// TestMessageSize: a message may have the size of the limit, and not more.
func TestMessageSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conn := w.dial(tokenEditor)
	limit := w.server.limits.Request
	for size, want := range map[int]codes.Code{limit - 100: codes.OK, limit + 1: codes.ResourceExhausted} {
		_, err := conn.Client().LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{
			LoadBalancerId: string(bytes.Repeat([]byte("l"), size)),
		})
		if codeOfErr(err) != want {
			t.Errorf("a message of %d bytes gives %v, want %s", size, err, want)
		}
	}
}

// TestWorkOfOneCaller: a caller has a bounded number of calls and bytes under way, and others are served meanwhile.
func TestWorkOfOneCaller(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		limits Limits
	}{
		{name: "calls", limits: Limits{CallsPerCaller: 5}},
		{name: "bytes", limits: Limits{BytesPerCaller: 5 * (1003 + callRoom)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Limits = tc.limits })
			release := make(chan struct{})
			var inside atomic.Int64
			w.handler.get = func(ctx context.Context) error {
				if caller, _ := CallerFrom(ctx); caller.Name == "editor" {
					inside.Add(1)
					<-release
				}
				return nil
			}
			conn := w.dial(tokenEditor)
			request := &slbv1.GetLoadBalancerRequest{LoadBalancerId: string(bytes.Repeat([]byte("l"), 1000))}
			results := make(chan error, 5)
			for range 5 {
				go func() {
					_, err := conn.Client().LoadBalancers.GetLoadBalancer(t.Context(), request)
					results <- err
				}()
			}
			until(t, "five calls under way", func() bool { return inside.Load() == 5 })
			if _, err := conn.Client().LoadBalancers.GetLoadBalancer(t.Context(), request); codeOfErr(err) != codes.ResourceExhausted {
				t.Errorf("the sixth call gives %v", err)
			}
			if err := w.get(w.dial(tokenViewer)); err != nil {
				t.Errorf("another caller: %v", err)
			}
			close(release)
			for range 5 {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
			until(t, "nothing under way", func() bool {
				w.server.account.mu.Lock()
				defer w.server.account.mu.Unlock()
				return len(w.server.account.callers) == 0 && w.server.account.all.bytes == 0
			})
			if err := w.get(conn); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// unread is a world whose answers have so many bytes, and a caller in it who lets nothing of them come.
func unread(t *testing.T, size int, limits Limits) (*world, *hostile.Client) {
	t.Helper()
	w := newWorld(t, func(c *Config) { c.Limits = limits })
	w.handler.answer = strings.Repeat("l", size)
	r, err := w.dialRaw("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return w, r
}

// ask makes so many calls.
func ask(t *testing.T, r *hostile.Client, first, calls int) {
	t.Helper()
	for i := range calls {
		stream := uint32(2*(first+i) + 1)
		err := r.Headers(stream, getMethod, tokenEditor, true)
		if err == nil {
			err = r.Send(stream, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// underWay is what all callers have under way.
func (w *world) underWay() (calls, bytes int) {
	a := w.server.account
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.calls, a.all.bytes
}

// TestAnswersNobodyReads: an answer counts until its last byte is gone, whether it is given up or not. A caller who reads none has no more
// of them than its bytes, others are served, and its connection ends when it takes too long.
func TestAnswersNobodyReads(t *testing.T) {
	t.Parallel()
	const size, most, calls = 1 << 20, 5, 15
	limits := Limits{BytesPerCaller: most*size + calls*callRoom, Send: time.Minute}
	w, r := unread(t, size, limits)
	refused := w.server.metrics.handled.WithLabelValues(slbv1.LoadBalancerService_ServiceDesc.ServiceName, "GetLoadBalancer",
		"ResourceExhausted")
	ask(t, r, 0, calls)
	until(t, "all are decided", func() bool { return testutil.ToFloat64(refused) == calls-most })
	if under, bytes := w.underWay(); under != most || bytes < most*size {
		t.Errorf("%d calls and %d bytes are under way, want %d calls", under, bytes, most)
	}
	w.handler.answer = "lb-1"
	if err := w.get(w.dial(tokenViewer)); err != nil {
		t.Errorf("another caller: %v", err)
	}
	for call := range calls {
		if err := r.Reset(uint32(2*call + 1)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "nothing is under way when all are given up", func() bool {
		under, bytes := w.underWay()
		return under == 0 && bytes == 0
	})
}

// TestAnswersNobodyReadsInTime: the same with small answers, whose calls count, and the time to read.
func TestAnswersNobodyReadsInTime(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := unread(t, size, Limits{Send: 500 * time.Millisecond, CallsPerCaller: 10})
			if err := r.Window(0); err != nil {
				t.Fatal(err)
			}
			answer := make(chan struct{}) // The time to read begins with the answers, however long the calls take to come.
			w.handler.get = func(context.Context) error {
				<-answer
				return nil
			}
			ask(t, r, 0, 10)
			until(t, "all are under way", func() bool {
				under, _ := w.underWay()
				return under == 10
			})
			close(answer)
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				var ended atomic.Int64
				r.Drain(&ended)
			}()
			<-drained // The server has ended the connection.
			until(t, "nothing is under way", func() bool {
				under, bytes := w.underWay()
				return under == 0 && bytes == 0
			})
			if closed := testutil.ToFloat64(w.server.metrics.closed.WithLabelValues("answer not read")); closed != 1 {
				t.Errorf("%v connections were closed for that", closed)
			}
		})
	}
}

// TestTooLongAnAnswer: an answer that never fits says what to do, and one of a change that was made does not look as if it was not.
func TestTooLongAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits = Limits{BytesPerCaller: 1 << 20} })
	w.handler.answer = strings.Repeat("l", 2<<20)
	conn := w.dial(tokenEditor)
	if e, _ := rpcerr.From(w.get(conn)); e == nil || e.Code != codes.ResourceExhausted || e.RetryAfter != 0 ||
		!strings.Contains(e.Message, "page_size") {
		t.Errorf("a read: %v", e)
	}
	_, err := conn.Client().LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{RequestId: "r-1"})
	if rpcerr.ReasonOf(err) != rpcerr.OutcomeUnknown {
		t.Errorf("a change: %v", err)
	}
}

// TestConnectionsOfOneCaller: a caller has a bounded number of connections, and others find room beside them.
func TestConnectionsOfOneCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits = Limits{ConnectionsPerCaller: 2} })
	release, inside := make(chan struct{}), make(chan struct{}, 2)
	w.handler.remove = func(context.Context) error {
		inside <- struct{}{}
		<-release
		return nil
	}
	var conns []*gateway.Conn
	var busy sync.WaitGroup
	for range 2 {
		conn := w.dial(tokenEditor)
		conns = append(conns, conn)
		busy.Go(func() {
			if err := w.remove(conn); err != nil {
				t.Error(err)
			}
		})
		<-inside
	}
	third := w.dial(tokenEditor)
	if err := w.get(third); codeOfErr(err) != codes.ResourceExhausted {
		t.Errorf("a call on the third connection gives %v", err)
	}
	if err := w.get(conns[0]); err != nil {
		t.Errorf("a call on the first: %v", err)
	}
	if err := w.get(w.dial(tokenViewer)); err != nil {
		t.Errorf("another caller: %v", err)
	}
	close(release)
	busy.Wait()
	until(t, "the place of one that is idle for the third connection", func() bool { return w.get(third) == nil })
	for _, conn := range append(conns, third) {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	until(t, "no connection of the caller", func() bool {
		c := w.server.connections
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.callers["editor"] == nil
	})
}

// TestArrivals: an address from which connection after connection comes to nothing is soon served slowly, and others are not.
func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, beyond = 3, 2
		waiting := make(chan net.Conn)
		c := guarded{queue{conns: waiting}, newConnections(Limits{Arrivals: burst, ArrivalsPerSecond: 1,
			ArrivalsBeyond: 5 * beyond}.withDefaults(), always, func(_, _ string) {})}
		accepted := make(chan net.Conn, 100)
		go func() {
			for {
				conn, err := c.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		port := 0
		arrive := func(ip string, times int) (let int) {
			for range times {
				port++
				near, far := net.Pipe()
				t.Cleanup(func() { _, _ = near.Close(), far.Close() })
				waiting <- addressed{near, &net.TCPAddr{IP: net.ParseIP(ip), Port: port}}
				synctest.Wait()
			}
			for ; len(accepted) > 0; let++ {
				conn := <-accepted
				if ip == "10.0.0.2" {
					_ = conn.(*connection).prove("caller")
				}
				t.Cleanup(func() { _ = conn.Close() })
			}
			return let
		}
		if let := arrive("10.0.0.1", 20); let != burst+beyond {
			t.Errorf("%d connections of a stranger, want %d", let, burst+beyond)
		}
		for range 20 {
			if arrive("10.0.0.2", 1) != 1 {
				t.Error("the connection of a caller is closed")
			}
		}
		<-time.After(2 * time.Second)
		if let := arrive("10.0.0.1", 20); let != 2+beyond {
			t.Errorf("%d connections of a stranger two seconds later, want %d", let, 2+beyond)
		}
		close(waiting)
	})
}

// always is for connections to the active replica.
func always() bool { return true }

// TestStandbyIsNotCrowded: to a standby, where nobody can make a call, the callers of one address do not crowd each other out.
func TestStandbyIsNotCrowded(t *testing.T) {
	t.Parallel()
	serving := false
	var reasons []string
	c := newConnections(Limits{StrangersPerPeer: 2}.withDefaults(), func() bool { return serving },
		func(reason, _ string) { reasons = append(reasons, reason) })
	port := 0
	admit := func() *connection {
		port++
		near, far := net.Pipe()
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		return c.admit(addressed{near, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}})
	}
	first, second := admit(), admit()
	if admit() != nil || len(reasons) != 0 {
		t.Errorf("a third one is let in, at the cost of others: %q", reasons)
	}
	serving = true
	_ = first.prove("caller")
	third := admit()
	if third == nil || len(reasons) != 0 {
		t.Errorf("when the first has called, the third is not let in, or at the cost of others: %q", reasons)
	}
	if fourth := admit(); fourth == nil || len(reasons) != 1 {
		t.Errorf("the active replica refuses who comes last: %q", reasons)
	} else {
		_ = fourth.Close()
	}
	for _, n := range []*connection{first, second, third} {
		_ = n.Close()
	}
}

// queue is a listener whose connections come from the test.
type queue struct {
	net.Listener

	conns chan net.Conn
}

// Accept implements net.Listener.
func (q queue) Accept() (net.Conn, error) {
	if conn, ok := <-q.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// TestOldestStrangerGoes: where there are too many strangers, the oldest of the address with the most has to go.
func TestOldestStrangerGoes(t *testing.T) {
	t.Parallel()
	limits := Limits{Strangers: 4, StrangersPerPeer: 3, Connections: 6}.withDefaults()
	var reasons []string
	c := newConnections(limits, always, func(reason, _ string) { reasons = append(reasons, reason) })
	port := 0
	admit := func(ip string) *connection {
		port++
		near, far := net.Pipe()
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		return c.admit(addressed{near, &net.TCPAddr{IP: net.ParseIP(ip), Port: port}})
	}
	open := func(n *connection) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.all[n]
		return ok
	}
	a1, a2, a3 := admit("10.0.0.1"), admit("10.0.0.1"), admit("10.0.0.1")
	a4 := admit("10.0.0.1")
	if open(a1) || !open(a2) {
		t.Error("a fourth connection of an address is not at the cost of its first")
	}
	b1, b2 := admit("2001:db8::1"), admit("2001:db8::2") // one network
	if open(a2) || !open(b1) || !open(b2) {
		t.Error("too many strangers are not at the cost of the address with the most")
	}
	for _, n := range []*connection{a3, a4, b1, b2} {
		if err := n.prove(n.RemoteAddr().String()); err != nil {
			t.Error(err)
		}
	}
	c1, c2 := admit("10.0.0.3"), admit("10.0.0.3")
	c3 := admit("10.0.0.4")
	if open(c1) || !open(c2) || !open(c3) {
		t.Error("too many connections are not at the cost of strangers")
	}
	if err := errors.Join(c2.prove("second"), c3.prove("third")); err != nil {
		t.Error(err)
	}
	if admit("10.0.0.5") != nil {
		t.Error("a connection of a caller is closed for a stranger's")
	}
	if callers, strangers := c.count(); callers != 6 || strangers != 0 {
		t.Errorf("%d callers and %d strangers", callers, strangers)
	}
	for _, n := range []*connection{a3, a4, b1, b2, c2, c3} {
		_ = n.Close()
	}
	if callers, strangers := c.count(); callers+strangers+len(c.strangers) != 0 {
		t.Errorf("%d callers and %d strangers after all have left", callers, strangers)
	}
	if len(reasons) != 3 {
		t.Errorf("closed for %q", reasons)
	}
}

// addressed is a connection from somewhere.
type addressed struct {
	net.Conn

	from net.Addr
}

// RemoteAddr implements net.Conn.
func (a addressed) RemoteAddr() net.Addr { return a.from }
