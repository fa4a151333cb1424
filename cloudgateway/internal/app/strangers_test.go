package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/rpc/hostile"
)

// besiegeWith is the environment variable that makes the test binary the strangers of an assault, in JSON.
const besiegeWith = "GATEWAY_ASSAULT"

// assault is what strangers, and callers who ask for too much, do to a gateway.
type assault struct {
	Kind        string
	Connections int           // at a time
	PerSecond   int           // calls of all connections together, for "tokens"
	Every       time.Duration // each connects so often, one after the other; 0: again a second after it has lost its connection
	Least       int64         // calls that are to be ended before they leave
	Network     int           // of the strangers: no assault finds that those before it have used up what their addresses may do
	Length      time.Duration
	Address     string
	Dir         string // with the certificate and the token of a caller

	// What is expected of it.
	held    int      // connections at a time at most; 0: strangersHeld
	busy    bool     // it keeps the processor busy with calls that it may make
	answers []string // the codes that tools may get
	all     bool     // each call of theirs is answered: they do nothing wrong
}

// tally is what came of it.
type tally struct {
	Tried, Open, Most atomic.Int64 // connections: begun, open at present, most of them at a time
	Closed            atomic.Int64 // by the gateway, also in the middle of the handshake
	Calls, Ended      atomic.Int64 // begun, and answered or refused
	Lost              atomic.Int64 // calls of tools that got no answer, also since they found no connection

	mu    sync.Mutex
	codes map[string]int64 // of the answers that tools got
}

// sums are the numbers of a tally, on their way to the test.
type sums struct {
	Tried, Most, Closed, Calls, Ended, Lost int64

	Codes map[string]int64
}

// The strangers come from many addresses, so that it is not the bound for one of them that helps.
const strangersPerAddress = 30

// again is how long a stranger waits whose connection was closed, before the next one. One that guesses tokens hardly waits.
const again = time.Second

// assaults are the strangers' means.
var assaults = map[string]func(a *assault, t *tally) func(ctx context.Context, c *hostile.Client){
	"stalled messages": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) { t.stall(c, "", 8, 16<<10) }
	},
	"slow headers": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(ctx context.Context, c *hostile.Client) {
			t.Calls.Add(1)
			for err := c.Headers(1, stalledMethod, "", false); err == nil; err = c.MoreHeaders(1) {
				pause(ctx, time.Second)
			}
		}
	},
	"tokens": func(a *assault, t *tally) func(context.Context, *hostile.Client) {
		every := time.Second * time.Duration(a.Connections) / time.Duration(a.PerSecond)
		return func(ctx context.Context, c *hostile.Client) {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for stream := uint32(1); ctx.Err() == nil && c.Headers(stream, stalledMethod, rand.Text(), true) == nil; stream += 2 {
				t.Calls.Add(1)
				<-tick.C
			}
		}
	},
	"messages at the limit": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) { t.stall(c, rand.Text(), 16, 48<<10) }
	},
	"streams": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) { t.stall(c, rand.Text(), 1000, 0) }
	},
	"answers that nobody reads": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) {
			t.unread(c, ecsv1.InstanceService_ListInstances_FullMethodName, wholeList())
		}
	},
	"batches of 20 000 ids, unread": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) {
			t.unread(c, ecsv1.InstanceService_BatchGetInstances_FullMethodName,
				&ecsv1.BatchGetInstancesRequest{InstanceIds: known(mostIDs), MaxAge: durationpb.New(time.Hour)})
		}
	},
	"small calls of a caller": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) { t.unread(c, smallMethod, smallCall()) }
	},
	"small calls of a caller, unread": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(ctx context.Context, c *hostile.Client) {
			t.unread(c, smallMethod, smallCall())
			for c.Grant(1) == nil && ctx.Err() == nil { // Nothing else tells whom reads nothing that the connection is over.
				pause(ctx, again/10)
			}
		}
	},
	"streams of a caller": func(_ *assault, t *tally) func(context.Context, *hostile.Client) {
		return func(_ context.Context, c *hostile.Client) { t.stall(c, "bulk", 10_000, 0) }
	},
}

const smallMethod = ecsv1.InstanceService_BatchGetInstances_FullMethodName

// smallCall is refused when it was read.
func smallCall() *ecsv1.BatchGetInstancesRequest {
	var ids []string
	for range 20 {
		ids = append(ids, "ü"+rand.Text()[:4])
	}
	return &ecsv1.BatchGetInstancesRequest{InstanceIds: ids}
}

// unread begins calls of a caller who takes nothing of the answers.
func (t *tally) unread(c *hostile.Client, method string, request proto.Message) {
	message, err := proto.Marshal(request)
	if err != nil {
		panic(err) // It is ours.
	}
	const calls = 250
	for i := range calls {
		stream := uint32(2*i + 1)
		if c.Headers(stream, method, "bulk", true) != nil || c.Send(stream, message) != nil {
			return
		}
		t.Calls.Add(1)
	}
}

// known are ids of 20 000 instances, of which the cloud has some.
func known(most int) []string {
	ids := make([]string, most)
	for i := range ids {
		ids[i] = fmt.Sprintf("i-%020d", i)
	}
	return ids
}

const (
	mostIDs     = 20_000
	instances   = 3000 // that the cloud has
	instanceTag = 10   // that each of them has
)

const stalledMethod = slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName

// wholeList asks for all instances, which may be as old as the siege.
func wholeList() *ecsv1.ListInstancesRequest {
	return &ecsv1.ListInstancesRequest{VpcId: "vpc-1", MaxAge: durationpb.New(time.Hour)}
}

// stall begins calls whose messages, of the greatest size, do not come to their end.
func (t *tally) stall(c *hostile.Client, token string, calls, sent int) {
	const mib = 1 << 20
	for i := range calls {
		stream := uint32(2*i + 1)
		if c.Headers(stream, stalledMethod, token, true) != nil || sent > 0 && c.Stall(stream, mib-5, sent) != nil {
			return
		}
		t.Calls.Add(1)
	}
}

// strangers runs an assault in this process, which gives way to the gateway: strangers have machines of their own.
func strangers(plan string) error {
	var a assault
	if err := json.Unmarshal([]byte(plan), &a); err != nil {
		return err
	}
	const lowest = 19
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var t tally
	go func() {
		defer cancel()
		<-time.After(a.Length)
		_, caller := a.callers()[a.Kind]
		// On a slow machine it takes longer. What the strangers have not done by then, the sums tell.
		for late := time.Now().Add(2 * patience); time.Now().Before(late) &&
			(t.Calls.Load() == 0 || caller && t.Ended.Load() < int64(a.Connections) || t.Ended.Load() < a.Least); {
			<-time.After(again / 100)
		}
	}()
	if err := a.run(ctx, &t); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(sums{
		t.Tried.Load(), t.Most.Load(), t.Closed.Load(), t.Calls.Load(), t.Ended.Load(), t.Lost.Load(), t.codes,
	})
}

func (a *assault) run(ctx context.Context, t *tally) error {
	if calls, ok := a.callers()[a.Kind]; ok {
		return a.call(ctx, t, calls)
	}
	var connect func(ctx context.Context, from string, n int)
	if begin, ok := assaults[a.Kind]; ok {
		do := begin(a, t)
		connect = func(ctx context.Context, from string, _ int) { t.connect(ctx, a.Kind, a.Address, from, do) }
	} else if do, ok := frontAssaults[a.Kind]; ok {
		connect = func(ctx context.Context, from string, _ int) { t.connectFront(ctx, a.Address, from, do) }
	} else if of, ok := toolAssaults[a.Kind]; ok {
		connect = func(ctx context.Context, from string, n int) { t.visit(ctx, a, of, from, n) }
	} else {
		return fmt.Errorf("no assault %q", a.Kind)
	}
	var all sync.WaitGroup
	for i := range a.Connections {
		all.Go(func() {
			address := i / strangersPerAddress
			if a.PerSecond > 0 || a.Every > 0 {
				address = i // From one address, no more than 200 a second are let in.
			}
			from := fmt.Sprintf("127.%d.%d.%d", a.Network, 1+address/200, 1+address%200)
			next := time.Now().Add(a.Every * time.Duration(i) / time.Duration(a.Connections))
			for pause(ctx, time.Until(next)); ctx.Err() == nil; pause(ctx, time.Until(next)) {
				connect(ctx, from, i)
				switch {
				case a.Every > 0:
					next = next.Add(a.Every)
				case a.PerSecond > 0:
					next = time.Now().Add(again / 100)
				default:
					next = time.Now().Add(again)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// frontAssaults are the strangers' means against the OpenAPI front. Each returns when the front has ended the connection.
var frontAssaults = map[string]func(ctx context.Context, t *tally, c net.Conn) error{
	"front: idle connections": func(_ context.Context, t *tally, _ net.Conn) error {
		t.Calls.Add(1)
		return nil
	},
	"front: slow headers": func(ctx context.Context, t *tally, c net.Conn) error {
		t.Calls.Add(1)
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: front\r\n")
		for ; err == nil && ctx.Err() == nil; _, err = io.WriteString(c, "X-More: 1\r\n") {
			pause(ctx, time.Second)
		}
		return err
	},
	"front: bodies of 10 MiB": func(_ context.Context, t *tally, c net.Conn) error {
		t.Calls.Add(1)
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: front\r\nContent-Length: 10485760\r\n\r\n")
		for block := make([]byte, 64<<10); err == nil; _, err = c.Write(block) {
			continue
		}
		return err
	},
	"front: half bodies": func(_ context.Context, t *tally, c net.Conn) error {
		t.Calls.Add(1)
		const body = 128 << 10
		_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: front\r\nX-Long: %s\r\nContent-Length: %d\r\n\r\n",
			strings.Repeat("h", body/4), body)
		if err == nil {
			_, err = c.Write(make([]byte, body-1))
		}
		return err
	},
	"front: invented keys": func(_ context.Context, t *tally, c net.Conn) error {
		t.Calls.Add(1)
		_, err := fmt.Fprintf(c,
			"GET /?Action=DescribeRegions&Version=2014-05-26&AccessKeyId=%s&SignatureMethod=HMAC-SHA1&SignatureNonce=%s&Timestamp=%s&Signature=x "+
				"HTTP/1.1\r\nHost: front\r\n\r\n", rand.Text(), rand.Text(), time.Now().UTC().Format("2006-01-02T15:04:05Z"))
		return err
	},
	// Each would cost the API server a review, and comes in the longest form that the cloud takes.
	"front: invented tokens": func(_ context.Context, t *tally, c net.Conn) error {
		t.Calls.Add(1)
		body := "OIDCToken=" + rand.Text() + strings.Repeat("t", 20_000)
		_, err := fmt.Fprintf(c, "POST /?Action=AssumeRoleWithOIDC&Version=2015-04-01 HTTP/1.1\r\nHost: front\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body)
		return err
	},
}

// connectFront holds one connection to the OpenAPI front until the gateway ends it.
func (t *tally) connectFront(ctx context.Context, address, from string, do func(context.Context, *tally, net.Conn) error) {
	t.Tried.Add(1)
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}, Config: &tls.Config{InsecureSkipVerify: true},
	}
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		leave := context.AfterFunc(ctx, func() { _ = c.Close() })
		var doing sync.WaitGroup
		doing.Go(func() { _ = do(ctx, t, c) }) // The end of the connection is what counts.
		t.held(func() { _, _ = io.Copy(io.Discard, c) })
		leave()
		_ = c.Close()
		doing.Wait()
	}
	if ctx.Err() == nil {
		t.Closed.Add(1)
	}
}

// held counts a connection as long as it is there.
func (t *tally) held(while func()) {
	for open, most := t.Open.Add(1), t.Most.Load(); open > most && !t.Most.CompareAndSwap(most, open); most = t.Most.Load() {
	}
	while()
	t.Open.Add(-1)
}

// connect holds one connection until the gateway ends it.
func (t *tally) connect(ctx context.Context, kind, address, from string, do func(context.Context, *hostile.Client)) {
	t.Tried.Add(1)
	c, err := hostile.Dial(ctx, address, from)
	if err != nil {
		if ctx.Err() == nil {
			t.Closed.Add(1)
		}
		return
	}
	for open, most := t.Open.Add(1), t.Most.Load(); open > most && !t.Most.CompareAndSwap(most, open); most = t.Most.Load() {
	}
	leave := context.AfterFunc(ctx, func() { _ = c.Close() })
	var doing sync.WaitGroup
	if kind == "small calls of a caller, unread" {
		_ = c.Deaf()
		do(ctx, c)
	} else {
		doing.Go(func() { do(ctx, c) })
		c.Drain(&t.Ended)
	}
	if ctx.Err() == nil {
		t.Closed.Add(1)
	}
	leave()
	_ = c.Close()
	t.Open.Add(-1)
	doing.Wait()
}

// callers are the means of a caller with a token.
func (a *assault) callers() map[string]func(context.Context, *gateway.Client) error {
	const mib = 1 << 20
	long, ids := strings.Repeat("l", mib-100), known(mostIDs)
	return map[string]func(context.Context, *gateway.Client) error{
		"messages at the limit of a caller": func(ctx context.Context, c *gateway.Client) error {
			_, err := c.LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: long})
			return err
		},
		// What a caller may do that may only list: items that take two bytes on the wire and fifty times as much in memory.
		"empty tags": func(ctx context.Context, c *gateway.Client) error {
			const tag = 1<<3 | 2 // field 1 of the request, with a length
			r := &slbv1.ListLoadBalancersRequest{}
			r.ProtoReflect().SetUnknown(bytes.Repeat([]byte{tag, 0}, (mib-100)/2))
			_, err := c.LoadBalancers.ListLoadBalancers(ctx, r)
			return err
		},
		"20 000 ids": func(ctx context.Context, c *gateway.Client) error {
			_, err := c.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
			return err
		},
	}
}

// call lets a caller make calls, as many at a time as there are connections otherwise.
func (a *assault) call(ctx context.Context, t *tally, call func(context.Context, *gateway.Client) error) error {
	conn, err := gateway.Dial(gateway.Config{
		Address: a.Address, CAFile: filepath.Join(a.Dir, "tls.crt"), ServerName: "cloudgateway", TokenFile: filepath.Join(a.Dir, "token-bulk"),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	t.Tried.Add(1)
	t.Most.Store(1)
	var all sync.WaitGroup
	for range a.Connections {
		all.Go(func() {
			for ctx.Err() == nil {
				t.Calls.Add(1)
				if err := call(ctx, conn.Client()); err != nil {
					pause(ctx, again/10)
				}
				if ctx.Err() == nil {
					t.Ended.Add(1)
				}
			}
		})
	}
	all.Wait()
	return nil
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
