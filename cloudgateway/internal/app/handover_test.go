package app

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
)

// TestNobodyHoldsUpAHandover: when the active replica is told to end, or can't renew its Lease, callers are without an
// answer for a moment, whatever its others wait for: what was not sent to the cloud is refused, so that it comes to the
// next replica, and nobody waits for whoever reads slowly.
func TestNobodyHoldsUpAHandover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute: make test runs it, make quick and -short do not")
	}
	for name, burden := range burdens() {
		for _, way := range []leaving{
			// The standby looks at the Lease every 1 to 2.2 s.
			{name: "told to end", election: election, limit: 3 * time.Second},
			// Nobody leads for the second between the last moment of the one and the first of the other, and one retryPeriod more.
			{name: "Lease lost", election: quickElection, limit: 3 * time.Second, lost: true},
		} {
			if way.lost && (name == "idle" || name == "front") {
				continue // They differ in nothing from the others then.
			}
			t.Run(name+"/"+way.name, func(t *testing.T) {
				// A machine that halts may hold up one handover, and what waits for others all. A handover is about five
				// calls to the API server and of callers, which a busy machine makes longer.
				const tries = 5
				for n := range tries {
					gap, slowest := handover(t, way, burden)
					t.Logf("%s, %s: %s without an answer; a read took %s before", name, way.name,
						gap.Round(10*time.Millisecond), slowest.Round(10*time.Millisecond))
					if gap <= way.limit+5*slowest {
						return
					}
					if n == tries-1 {
						t.Errorf("%s: callers were without an answer for more than %s, %d times", name, way.limit, tries)
					}
				}
			})
		}
	}
}

// leaving is how the active replica ceases to be that.
type leaving struct {
	name, election string
	limit          time.Duration
	lost           bool
}

// burden is what the active replica has to do when it is to end. Ended gives the errors of the calls that waited.
type burden func(w *world, g *Gateway, direct *gateway.Client) (ended func() error)

func burdens() map[string]burden {
	return map[string]burden{
		"idle": func(*world, *Gateway, *gateway.Client) func() error { return func() error { return nil } },
		"full queue": func(w *world, g *Gateway, direct *gateway.Client) func() error {
			_, leave := w.queued(g, func(ctx context.Context, n int) error {
				_, err := direct.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{VpcId: "vpc-1", Name: strconv.Itoa(n)})
				return err // The client repeats what was refused, and waits for the next replica.
			})
			return func() error {
				leave()
				return nil
			}
		},
		"slow clients": func(w *world, g *Gateway, _ *gateway.Client) func() error {
			w.unread()
			return w.readLate(g)
		},
		"front": func(w *world, g *Gateway, _ *gateway.Client) func() error {
			tool := newTool(w.t, w.openFront(g), "tool", toolSecret)
			ended, _ := w.queued(g, func(ctx context.Context, _ int) error {
				got, err := tool.send(ctx, http.MethodPost, tool.sign(http.MethodPost, tool.params("vpc:DescribeVSwitches", nil)), nil, nil)
				if err == nil && got.Status != http.StatusOK &&
					(got.Code != "ServiceUnavailable" || got.Header.Get("X-Acs-Retry-After") == "") {
					err = errors.New(got.Body)
				}
				return err
			})
			return ended
		},
		"slow tools": func(w *world, g *Gateway, _ *gateway.Client) func() error {
			w.longAnswer(g)
			return w.readLongAnswer(g)
		},
	}
}

// unread makes a call whose answer nobody ever reads.
func (w *world) unread() *hostile.Client {
	w.t.Helper()
	c, err := hostile.Dial(w.t.Context(), w.addr, "127.0.0.1")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	before := w.sim.Calls(0)
	request, err := proto.Marshal(&slbv1.ListLoadBalancersRequest{Name: "slow-" + strconv.Itoa(len(before))})
	if err == nil {
		err = c.Window(0)
	}
	if err == nil {
		err = c.Headers(1, slbv1.LoadBalancerService_ListLoadBalancers_FullMethodName, "writer", true)
	}
	if err == nil {
		err = c.Send(1, request)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	until(w.t, "the cloud is asked for the answer that nobody reads", func() bool {
		return slices.ContainsFunc(w.sim.Calls(int64(len(before))), func(c journal.Call) bool { return c.Action == "DescribeLoadBalancers" })
	})
	return c
}

// readLate makes a call whose answer is read when the replica is no longer the active one.
func (w *world) readLate(g *Gateway) (ended func() error) {
	c := w.unread()
	return onceOver(g, func() error {
		if err := c.Window(1 << 20); err != nil {
			return err
		}
		var answered atomic.Int64
		c.Drain(&answered)
		if answered.Load() != 1 {
			return errors.New("a client that reads late gets no answer")
		}
		return nil
	})
}

// onceOver calls read when the turn of a replica is over.
func onceOver(g *Gateway, read func() error) (ended func() error) {
	result := make(chan error, 1)
	go func() {
		<-g.gate.current().calls.Done()
		result <- read()
	}()
	return func() error { return <-result }
}

// long is what no buffer of a connection holds.
const long = 8 << 20

// longAnswer lets a tool ask for a long answer, of which it reads nothing but the first byte.
func (w *world) longAnswer(g *Gateway) net.Conn {
	w.t.Helper()
	if err := w.sim.SetFaults(fault.Rule{Action: "DescribeVpcs", Error: &fault.Error{
		Status: http.StatusBadRequest, Code: "Long", Message: strings.Repeat("x", long),
	}}); err != nil {
		w.t.Fatal(err)
	}
	tool := newTool(w.t, w.openFront(g), "tool", toolSecret)
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(w.t.Context(), "tcp", g.front.Addr())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: front\r\n\r\n", tool.sign(http.MethodGet, tool.params("vpc:DescribeVpcs", nil)))
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return conn
}

// readLongAnswer reads such an answer when the replica is no longer the active one.
func (w *world) readLongAnswer(g *Gateway) (ended func() error) {
	conn := w.longAnswer(g)
	return onceOver(g, func() error {
		if text, err := io.ReadAll(io.LimitReader(conn, long)); err != nil || len(text) < long {
			return fmt.Errorf("a tool that reads late gets %d bytes of its answer: %w", len(text), err)
		}
		return nil
	})
}

// TestToolsHearOfAHandover: a connection that a tool keeps open is not closed under its next call, which hears that another
// replica takes over, and that this one takes no more of them.
func TestToolsHearOfAHandover(t *testing.T) {
	const tries = 5
	for n := 0; !hearsOfAHandover(t); n++ {
		if n == tries {
			t.Fatalf("this machine was too slow %d times", tries)
		}
	}
}

// hearsOfAHandover is false where the machine halted for longer than the connection is kept, which is a second.
func hearsOfAHandover(t *testing.T) bool {
	t.Helper()
	w := fronted(t, "")
	g := w.start()
	tool := newTool(t, w.openFront(g), "tool", toolSecret)
	address := g.front.Addr()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	ask := func() (status int, last bool, err error) {
		_, err = fmt.Fprintf(conn, "POST /?%s HTTP/1.1\r\nHost: front\r\nContent-Length: 0\r\n\r\n",
			tool.sign(http.MethodPost, tool.params("ecs:DescribeInstances", nil)))
		if err != nil {
			return 0, false, err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return 0, false, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, answer.Close, err
	}
	if status, last, err := ask(); status != http.StatusOK || last || err != nil {
		t.Fatalf("got %d, which ends the connection: %t, %v", status, last, err)
	}
	stopped, begun := make(chan error, 1), time.Now()
	go func() { stopped <- w.stop() }()
	until(t, "no more connections are taken", func() bool {
		another, err := net.Dial("tcp", address)
		if err == nil {
			_ = another.Close()
		}
		return err != nil
	})
	status, last, err := ask()
	if err != nil && time.Since(begun) > time.Second {
		t.Logf("after %s: %v", time.Since(begun), err)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		return false
	}
	if status != http.StatusServiceUnavailable || !last || err != nil {
		t.Errorf("got %d, which ends the connection: %t, %v", status, last, err)
	}
	if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	return true
}

// handover lets the active one of two replicas go, and returns the longest time for which a caller had no answer, and
// how long a read took it before.
func handover(t *testing.T, way leaving, burden burden) (gap, slowest time.Duration) {
	t.Helper()
	w := fronted(t, way.election+"budget: {overrides: {vpc/DescribeVSwitches: {calls: 1, window: 1s}}}\n")
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.Replace(string(text), "wait: 3s", "wait: 90s", 1), "\n"),
		func(line string) bool { return strings.HasPrefix(line, "budget: {callers") })
	w.file = w.write("handover.yaml", strings.Join(lines, "\n"))
	w.toolMay = map[string]bool{"vpc:DescribeVSwitches": true, "vpc:DescribeVpcs": true}
	first := w.start()
	w.mayLose = way.lost
	end, firstAddr := w.stop, w.addr
	if way.lost {
		end = w.ended
	}
	direct := w.dial("writer")
	ended := burden(w, first, direct)
	w.start()
	client := w.dialReplicas(firstAddr, w.addr)
	read := func() {
		untilServed(t, func(ctx context.Context) error {
			_, err := client.LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Name: "web"}, grpc.WaitForReady(true))
			return err
		})
	}
	read()
	for range 3 {
		begun := time.Now()
		read()
		slowest = max(slowest, time.Since(begun))
	}
	stopped := make(chan error, 1)
	last := time.Now()
	if way.lost {
		w.lease.refuse()
	}
	go func() { stopped <- end() }()
	pace := time.NewTicker(250 * time.Millisecond) // Reads are not to fill the queue themselves.
	defer pace.Stop()
	for over := false; !over; {
		select {
		case err := <-stopped:
			if way.lost != errors.Is(err, kube.ErrLeaseLost) || !way.lost && err != nil {
				t.Errorf("the first replica ended with %v", err)
			}
			over = true
		default:
		}
		read()
		gap, last = max(gap, time.Since(last)), time.Now()
		<-pace.C
	}
	if err := ended(); err != nil {
		t.Errorf("a call that waited: %v", err)
	}
	return gap, slowest
}

// refuse lets whoever holds the Lease of the gateway renew it no more.
func (l *leases) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = *l.held["cloudgateway"].Spec.HolderIdentity
}

// queued lets 20 callers call again and again an action of which one a second may be sent, and returns when most of them wait. Ended gives
// the errors of the calls that waited. The limit isn't one of a minute: how long a call waited for it would depend on the time of day.
func (w *world) queued(g *Gateway, call func(ctx context.Context, n int) error) (ended func() error, leave func()) {
	w.t.Helper()
	const callers = 20
	results := make(chan error, callers)
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	w.t.Cleanup(cancel)
	var full atomic.Bool
	for n := range callers {
		go func() {
			for {
				if err := call(ctx, n); err != nil || full.Load() {
					results <- err
					return
				}
			}
		}()
	}
	until(w.t, "half of the calls wait in the gateway's queue", func() bool {
		select {
		case err := <-results:
			w.t.Fatalf("a call ended before the others waited: %v", err)
		default:
		}
		waiting := 0
		for _, action := range g.gate.budget.Actions() {
			for _, some := range action.GetWaiting() {
				waiting += int(some.GetCalls())
			}
		}
		return waiting >= callers/2
	})
	full.Store(true)
	return func() error {
		var wrong []error
		for range callers {
			wrong = append(wrong, <-results)
		}
		return errors.Join(wrong...)
	}, cancel
}
