package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The times of the election in this test are shorter than the defaults, 15 s, 10 s and 1 s, and leave a machine that
// halts 10 s for a renewal. The limit of the takeover is that of the defaults: TestLeaseDefaults knows what the Lease
// takes of it, and a busy machine needs as long as ever to connect and to answer.
const (
	quickElection = "leaderElection: {enabled: true, namespace: kube-system, name: cloudgateway, " +
		"leaseDuration: 11s, renewDeadline: 10s, retryPeriod: 200ms}\n"
	takeOverLimit = 20 * time.Second
)

// TestStandbyTakesOver: when the active replica is killed in the middle of its callers' changes, they go on with the standby
// without a restart, and each change is there once.
func TestStandbyTakesOver(t *testing.T) {
	w := newWorld(t)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.sim.SetFaults(fault.Rule{
		Action: "CreateLoadBalancer", Nth: 3, Times: 1, When: fault.After, Latency: api.Duration(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	file := w.write("replica.yaml", string(text)+quickElection)
	active := w.startReplica(file)
	active.await("leader elected")
	standby := w.startReplica(file)
	standby.await("leader elected")
	client := w.dialReplicas(active.addr, standby.addr)

	var acknowledged []string
	change := func(n int) {
		name := fmt.Sprintf("web-%d", n)
		untilServed(t, func(ctx context.Context) error {
			_, err := client.LoadBalancers.CreateLoadBalancer(ctx, &slbv1.CreateLoadBalancerRequest{
				RequestId: name, Name: name, AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
			}, grpc.WaitForReady(true))
			return err
		})
		acknowledged = append(acknowledged, name)
	}
	change(0)
	begun := time.Now()
	change(1) // What this machine is slow at is measured: a takeover is about five calls.
	slowest := time.Since(begun)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		change(2)
	}()
	w.await("CreateLoadBalancer", 3)
	killed := time.Now()
	active.kill()
	untilServed(t, func(ctx context.Context) error {
		_, err := client.LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Name: "web-0"}, grpc.WaitForReady(true))
		return err
	})
	took := time.Since(killed)
	<-changed
	change(3)
	t.Logf("the standby served after %s, a change took %s before", took, slowest)
	if took > takeOverLimit+5*slowest {
		t.Errorf("the standby served after %s, at most %s are right", took, takeOverLimit)
	}
	var names []string
	w.sim.View(func(c *state.Cloud) {
		for _, lb := range c.LoadBalancers {
			names = append(names, lb.Name)
		}
	})
	slices.Sort(names)
	if diff := cmp.Diff(acknowledged, names); diff != "" {
		t.Errorf("load balancers (-acknowledged +there):\n%s", diff)
	}
}

// TestPlainClientFindsTheActiveReplica: a client of gRPC that makes no health checks, and only tries the addresses of
// all replicas, gets its answers from the active one, and from the other one when that is killed.
func TestPlainClientFindsTheActiveReplica(t *testing.T) {
	w := newWorld(t)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	var replicas []*replica
	var found resolver.State
	for _, host := range []string{"127.0.0.2", "127.0.0.3"} {
		address := net.JoinHostPort(host, port)
		found.Addresses = append([]resolver.Address{{Addr: address}}, found.Addresses...) // The standby's first.
		file := w.write("replica-"+host+".yaml", string(text)+quickElection+"activeListen: "+address+"\n")
		replicas = append(replicas, w.startReplica(file))
		replicas[len(replicas)-1].await("leader elected")
	}
	names := manual.NewBuilderWithScheme("plain")
	names.InitialState(found)
	transport, err := credentials.NewClientTLSFromFile(filepath.Join(w.dir, "tls.crt"), "cloudgateway")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("plain:///cloudgateway", grpc.WithTransportCredentials(transport), grpc.WithResolvers(names))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read := func(ctx context.Context) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer reader")
		_, err := slbv1.NewLoadBalancerServiceClient(conn).ListLoadBalancers(ctx,
			&slbv1.ListLoadBalancersRequest{Name: "web"}, grpc.WaitForReady(true))
		return err
	}
	untilServed(t, read) // The first may be in the moment before the active one listens.
	for range 20 {
		if err := read(t.Context()); err != nil {
			t.Fatalf("while nothing happens: %v", err)
		}
	}
	replicas[0].kill()
	untilServed(t, read)
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// untilServed repeats a call whose gateway is gone, as callers do. It may run beside the test, so it doesn't end it.
func untilServed(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		switch err := call(ctx); {
		case err == nil:
			return
		case status.Code(err) != codes.Unavailable || ctx.Err() != nil:
			t.Errorf("got %v, want the answer within %s, and UNAVAILABLE until then", err, patience)
			return
		}
	}
}

// patience is for what takes a moment, and minutes only if it never comes: a test that waits for ever costs the whole run.
const patience = 2 * time.Minute

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// await waits until the cloud has got that many calls of an action.
func (w *world) await(action string, count int) {
	w.t.Helper()
	until(w.t, fmt.Sprintf("the cloud has got %d calls of %s", count, action), func() bool {
		got := 0
		for _, c := range w.sim.Calls(0) {
			if c.Action == action {
				got++
			}
		}
		return got >= count
	})
}

// replica is a gateway in a process of its own.
type replica struct {
	t    *testing.T
	pid  int
	kill func()

	addr, admin string

	lines  chan map[string]any
	audits atomic.Int64 // lines of the audit log
}

// startReplica starts a gateway and waits until it listens.
func (w *world) startReplica(file string) *replica {
	w.t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off", processFile+"="+file) // Its memory is looked at.
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &replica{t: w.t, pid: command.Process.Pid, lines: make(chan map[string]any, 16)}
	ended := make(chan struct{})
	p.kill = sync.OnceFunc(func() {
		if err := command.Process.Kill(); err != nil {
			w.t.Errorf("kill: %v", err)
		}
		<-ended
	})
	w.t.Cleanup(p.kill)
	go func() {
		defer close(ended)
		p.read(bufio.NewScanner(out))
		if err := command.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			w.t.Errorf("the gateway ended with %v", err)
		}
	}()
	started := p.await("starting")
	p.addr, _ = started["listen"].(string)
	p.admin, _ = started["admin"].(string)
	return p
}

// read passes on the lines of the log that are waited for.
func (p *replica) read(log *bufio.Scanner) {
	defer close(p.lines)
	for log.Scan() {
		line := map[string]any{}
		if json.Unmarshal(log.Bytes(), &line) != nil {
			continue
		}
		if line["msg"] == "audit" {
			p.audits.Add(1)
		}
		if message := line["msg"]; message == "starting" || message == "leader elected" || message == "the OpenAPI front listens" {
			select {
			case p.lines <- line:
			default:
			}
		}
	}
}

// await waits for a line of the log.
func (p *replica) await(message string) map[string]any {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				p.t.Fatalf("the gateway ended before it said %q", message)
			}
			if line["msg"] == message {
				return line
			}
		case <-deadline:
			p.t.Fatalf("the gateway did not say %q", message)
		}
	}
}

// dialReplicas connects to several gateways, as the DNS name of a headless Service does.
func (w *world) dialReplicas(addresses ...string) *gateway.Client {
	w.t.Helper()
	replicas := manual.NewBuilderWithScheme("replicas")
	var found resolver.State
	for _, a := range addresses {
		found.Addresses = append(found.Addresses, resolver.Address{Addr: a})
	}
	replicas.InitialState(found)
	resolver.Register(replicas)
	conn, err := gateway.Dial(gateway.Config{
		Address: "replicas:///cloudgateway", CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway",
		TokenFile: w.write("token-writer", "writer"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	return conn.Client()
}

// leases is the part of the API server that keeps Leases.
type leases struct {
	mu        sync.Mutex
	version   int
	held      map[string]*coordinationv1.Lease
	forbidden bool
	refused   string // the identity of a replica that can't renew
}

// handle answers a request about a Lease: the object, or a refusal.
func (l *leases) handle(method, name string, sent *coordinationv1.Lease) (any, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(code int, reason metav1.StatusReason) (any, int) {
		return &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
			Reason: reason, Message: string(reason),
		}, code
	}
	if method == http.MethodPost {
		name = sent.GetName()
	}
	there := l.held[name]
	switch {
	case l.forbidden:
		return refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case l.refuses(sent):
		return refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case method == http.MethodPost && there != nil:
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case method != http.MethodPost && there == nil:
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	case method == http.MethodPut && sent.GetResourceVersion() != there.GetResourceVersion():
		return refuse(http.StatusConflict, metav1.StatusReasonConflict)
	case method == http.MethodGet:
		return there, http.StatusOK
	}
	l.version++
	sent.ResourceVersion = strconv.Itoa(l.version)
	sent.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	l.held[name] = sent
	return sent, http.StatusOK
}

// refuses reports whether a replica that can't renew wants to, or to give the Lease back.
func (l *leases) refuses(sent *coordinationv1.Lease) bool {
	if l.refused == "" || sent == nil {
		return false
	}
	holder := sent.Spec.HolderIdentity
	return holder == nil || *holder == "" || *holder == l.refused
}

// TestLeaseDefaults: in the worst case the standby sees late that the lease was renewed, and late that it has ended.
func TestLeaseDefaults(t *testing.T) {
	election := config.Default().LeaderElection
	slowest := float64(election.RetryPeriod.Or(0)) * (1 + leaderelection.JitterFactor)
	if worst := election.LeaseDuration.Or(0) + time.Duration(2*slowest); worst >= takeOverLimit {
		t.Errorf("the standby may need %s", worst)
	}
}
