package client

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/proto/tlstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is a gateway that answers with its name as the version.
type replica struct {
	commonv1.UnimplementedCapabilitiesServiceServer

	name    string
	health  *health.Server
	address string
	token   atomic.Value // of the last call
	calls   atomic.Int32
	fail    atomic.Pointer[rpcerr.Error]
}

func (r *replica) GetCapabilities(ctx context.Context, _ *commonv1.GetCapabilitiesRequest) (*commonv1.GetCapabilitiesResponse, error) {
	r.calls.Add(1)
	if sent := metadata.ValueFromIncomingContext(ctx, "authorization"); len(sent) == 1 {
		r.token.Store(strings.TrimPrefix(sent[0], "Bearer "))
	}
	if err := r.fail.Load(); err != nil {
		return nil, err
	}
	return &commonv1.GetCapabilitiesResponse{Version: r.name}, nil
}

// serving makes it the active replica, or a standby.
func (r *replica) serving(active bool) {
	state := healthv1.HealthCheckResponse_NOT_SERVING
	if active {
		state = healthv1.HealthCheckResponse_SERVING
	}
	r.health.SetServingStatus("", state)
}

func newReplica(t *testing.T, dir, name string) *replica {
	t.Helper()
	identity, err := credentials.NewServerTLSFromFile(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{name: name, health: health.NewServer(), address: listener.Addr().String()}
	r.serving(false)
	server := grpc.NewServer(grpc.Creds(identity))
	commonv1.RegisterCapabilitiesServiceServer(server, r)
	healthv1.RegisterHealthServer(server, r.health)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return r
}

// connect dials all replicas, as a headless Service's name would resolve to.
func connect(t *testing.T, dir string, replicas ...*replica) *Conn {
	t.Helper()
	names := manual.NewBuilderWithScheme("test")
	var addresses []resolver.Address
	for _, r := range replicas {
		addresses = append(addresses, resolver.Address{Addr: r.address})
	}
	names.InitialState(resolver.State{Addresses: addresses})
	conn, err := Dial(Config{
		Address: "test:///gateway", CAFile: filepath.Join(dir, "ca.crt"), ServerName: tlstest.ServerName,
		TokenFile: filepath.Join(dir, "token"), UserAgent: "test", Options: []grpc.DialOption{grpc.WithResolvers(names)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return conn
}

func setUp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tlstest.Issue(t, dir, "ca")
	writeToken(t, dir, "first")
	return dir
}

func writeToken(t *testing.T, dir, token string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func version(ctx context.Context, conn *Conn) (string, error) {
	answer, err := conn.Client().Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{})
	return answer.GetVersion(), err
}

// eventually calls until want answers; the switch is not instant, but no timer is involved.
func eventually(t *testing.T, conn *Conn, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if got, err := version(ctx, conn); err == nil && got == want {
			return
		}
	}
	t.Fatalf("%s never answered", want)
}

func TestFollowsTheActiveReplica(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	a, b := newReplica(t, dir, "a"), newReplica(t, dir, "b")
	conn := connect(t, dir, a, b)
	if err := conn.Ready(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("Ready without an active replica = %v", err)
	}
	a.serving(true)
	eventually(t, conn, "a")
	if err := conn.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v", err)
	}
	if b.calls.Load() != 0 {
		t.Error("the standby was called")
	}
	a.serving(false)
	b.serving(true)
	eventually(t, conn, "b")
}

// Controllers wait for the moment in which the gateway can be reached again: their delays have grown meanwhile.
func TestWatchReportsThatTheGatewayIsBack(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	a := newReplica(t, dir, "a")
	a.serving(true)
	conn := connect(t, dir, a)
	eventually(t, conn, "a")
	ctx, cancel := context.WithCancel(t.Context())
	back := make(chan struct{}, 10)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := conn.Watch(ctx, func() { back <- struct{}{} }); err != nil {
			t.Errorf("Watch = %v", err)
		}
	})
	for len(back) == 0 { // Watch may begin, or go on, after the gateway is back.
		a.serving(false)
		for conn.cc.GetState() == connectivity.Ready {
			conn.cc.WaitForStateChange(t.Context(), connectivity.Ready)
		}
		a.serving(true)
		for state := conn.cc.GetState(); state != connectivity.Ready; state = conn.cc.GetState() {
			conn.cc.WaitForStateChange(t.Context(), state)
		}
	}
	cancel()
	watching.Wait()
}

// A standby makes no call, and is connected when it takes over.
func TestWatchConnects(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	a := newReplica(t, dir, "a")
	a.serving(true)
	conn := connect(t, dir, a)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if err := conn.Watch(ctx, cancel); err != nil {
		t.Errorf("Watch = %v", err)
	}
	if state := conn.cc.GetState(); state != connectivity.Ready {
		t.Errorf("without any call, the connection is %s", state)
	}
}

func TestTokenIsSent(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	r := newReplica(t, dir, "a")
	r.serving(true)
	eventually(t, connect(t, dir, r), "a")
	if got := r.token.Load(); got != "first" {
		t.Errorf("the gateway got token %q", got)
	}
}

// TestTokenIsReadAgain: a renewed token is sent soon, and no call goes on for long with one that is not there any more.
func TestTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &tokenFile{path: filepath.Join(dir, "token")}
		want := func(token string) {
			t.Helper()
			sent, err := f.GetRequestMetadata(t.Context())
			if got := sent["authorization"]; got != token || (token == "") != (status.Code(err) == codes.Unauthenticated) {
				t.Errorf("%q is sent, want %q; %v", got, token, err)
			}
		}
		want("")
		writeToken(t, dir, "first")
		want("Bearer first")
		writeToken(t, dir, "second")
		<-time.After(tokenAge - time.Nanosecond)
		want("Bearer first")
		<-time.After(time.Nanosecond)
		want("Bearer second")
		writeToken(t, dir, "")
		<-time.After(tokenAge)
		want("")
		writeToken(t, dir, "third")
		want("Bearer third")
	})
}

func TestReadsAreRepeatedOnlyWhenUnavailable(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	r := newReplica(t, dir, "a")
	r.serving(true)
	conn := connect(t, dir, r)
	eventually(t, conn, "a")
	for code, want := range map[codes.Code]int32{codes.Unavailable: 3, codes.ResourceExhausted: 1, codes.Unknown: 1} {
		r.calls.Store(0)
		r.fail.Store(&rpcerr.Error{Code: code, Reason: rpcerr.CloudUnavailable, Message: "no"})
		_, err := version(t.Context(), conn)
		if rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable || r.calls.Load() != want {
			t.Errorf("%s: %d calls, want %d; error %v", code, r.calls.Load(), want, err)
		}
		r.fail.Store(nil)
		eventually(t, conn, "a") // Gives gRPC's retry throttle its tokens back.
	}
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestUntrustedGateway(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	r := newReplica(t, dir, "a")
	r.serving(true)
	tlstest.Issue(t, dir, "other")
	log := &buffer{}
	conn, err := Dial(Config{
		Address: r.address, CAFile: filepath.Join(dir, "other.crt"), ServerName: tlstest.ServerName, TokenFile: filepath.Join(dir, "token"),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = version(t.Context(), conn)
	if closed := conn.Close(); closed != nil {
		t.Error(closed)
	}
	if status.Code(err) != codes.Unavailable || r.token.Load() != nil {
		t.Errorf("the call gives %v; the gateway got the token %v", err, r.token.Load())
	}
	if !strings.Contains(log.String(), "no TLS with the gateway") || !strings.Contains(log.String(), r.address) {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

// TestServiceConfig: what only reads is repeated when a connection breaks, and nothing else.
func TestServiceConfig(t *testing.T) {
	t.Parallel()
	text, err := serviceConfig(method.All(), true)
	if err != nil {
		t.Fatal(err)
	}
	var sc struct {
		MethodConfig []struct {
			Name []struct{ Service, Method string }
		}
	}
	if err := json.Unmarshal([]byte(text), &sc); err != nil || len(sc.MethodConfig) != 1 {
		t.Fatalf("the service config %s: %v", text, err)
	}
	repeated := map[string]bool{}
	for _, n := range sc.MethodConfig[0].Name {
		repeated["/"+n.Service+"/"+n.Method] = true
	}
	for full, want := range map[string]bool{
		slbv1.LoadBalancerService_GetLoadBalancer_FullMethodName: true, slbv1.LoadBalancerService_ListLoadBalancers_FullMethodName: true,
		ecsv1.InstanceService_BatchGetInstances_FullMethodName: true, commonv1.CapabilitiesService_GetCapabilities_FullMethodName: true,
		slbv1.LoadBalancerService_CreateLoadBalancer_FullMethodName: false, slbv1.ListenerService_StartListener_FullMethodName: false,
		slbv1.ServerGroupService_ApplyServerChanges_FullMethodName: false, vpcv1.EipService_ReleaseEip_FullMethodName: false,
	} {
		if repeated[full] != want {
			t.Errorf("%s is repeated: %t, want %t", full, repeated[full], want)
		}
	}
}

func TestDefaultDeadline(t *testing.T) {
	t.Parallel()
	const name = "/x.Y/Z"
	intercept := withDeadline(map[string]time.Duration{name: time.Minute})
	left := func(ctx context.Context, method string) (remaining time.Duration) {
		invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			if deadline, ok := ctx.Deadline(); ok {
				remaining = time.Until(deadline)
			}
			return nil
		}
		if err := intercept(ctx, method, nil, nil, nil, invoke); err != nil {
			t.Error(err)
		}
		return remaining
	}
	if got := left(t.Context(), name); got <= 50*time.Second || got > time.Minute {
		t.Errorf("without a deadline, %s are left", got)
	}
	own, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if got := left(own, name); got <= time.Minute {
		t.Errorf("the caller's hour became %s", got)
	}
	if got := left(t.Context(), "/other/Method"); got != 0 {
		t.Errorf("an unknown method got %s", got)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	good := Config{Address: "127.0.0.1:1", CAFile: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token")}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{name: "nothing", change: func(c *Config) { *c = Config{} },
			want: "Address and CAFile are required\nTokenFile, or CertFile and KeyFile, are required"},
		{name: "no key", change: func(c *Config) { c.CertFile = "x" }, want: "TokenFile, or CertFile and KeyFile, are required"},
		{name: "no CA file", change: func(c *Config) { c.CAFile = filepath.Join(dir, "none") }, want: "CAFile: open"},
		{name: "no certificate", change: func(c *Config) { c.CAFile = filepath.Join(dir, "token") }, want: "holds no PEM certificate"},
	} {
		cfg := good
		tc.change(&cfg)
		if conn, err := Dial(cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Dial = %v, %v, want %q", tc.name, conn, err, tc.want)
		}
	}
}

// TestAnyReplica: a caller who asks for it reaches a standby too.
func TestAnyReplica(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	standby := newReplica(t, dir, "standby")
	conn, err := Dial(Config{
		Address: standby.address, CAFile: filepath.Join(dir, "ca.crt"), ServerName: tlstest.ServerName,
		TokenFile: filepath.Join(dir, "token"), AnyReplica: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.Client().Capabilities.GetCapabilities(t.Context(), &commonv1.GetCapabilitiesRequest{}, grpc.WaitForReady(true))
	if err != nil || answer.GetVersion() != "standby" {
		t.Errorf("got %v, %v", answer, err)
	}
}

// TestAwait: who asks once waits for the active replica, and hears in the end why there is none.
func TestAwait(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	standby := newReplica(t, dir, "standby")
	conn := connect(t, dir, standby)
	if err := conn.Await(t.Context(), 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "NOT_SERVING") {
		t.Errorf("with a standby alone: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- conn.Await(t.Context(), time.Minute) }()
	standby.serving(true)
	if err := <-waited; err != nil {
		t.Errorf("with an active replica: %v", err)
	}
}
