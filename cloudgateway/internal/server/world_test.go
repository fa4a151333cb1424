package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/internal/replay"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// world is the gateway's handlers between a client and a simulated cloud.
type world struct {
	*gateway.Client

	conn      *grpc.ClientConn
	sim       *openapisim.Simulator
	endpoints map[openapi.Product]*pipes.Listener
	patience  time.Duration  // of the gateway, for one answer of the cloud
	kill      func()         // the gateway, in the middle of whatever it does
	scopes    []config.Scope // of the caller, whose name is scoped
	locks     *heldLocks
}

const (
	testVPC     = "vpc-1"
	testVSwitch = "vsw-1"
	testTable   = "vtb-1"
	testCert    = "cert-1"
	testCA      = "ca-1"
)

// newWorld starts a world whose cloud has a VPC, 100 instances and a certificate, and in which every change is done at once. All its
// connections are in memory, so that it can live in a bubble of synctest, where waiting takes no time.
func newWorld(t *testing.T, adjust ...func(*openapisim.Config)) *world {
	t.Helper()
	settings := api.FastSettings()
	cfg := openapisim.Config{LimitsOff: true, Settings: &settings, Seed: seed(100)}
	for _, a := range adjust {
		a(&cfg)
	}
	cfg.Settings.SpecificationsNotSold = false // the requests of these tests name one
	sim, err := openapisim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		sim: sim, endpoints: map[openapi.Product]*pipes.Listener{}, patience: patience,
		locks: &heldLocks{longest: map[string]time.Duration{}},
	}
	for _, p := range []openapi.Product{openapi.SLB, openapi.NLB, openapi.VPC, openapi.ECS, openapi.CAS} {
		w.endpoints[p] = pipes.Serve(t, sim.Handler(string(p)))
	}
	w.startGateway(t)
	return w
}

// dial connects to the endpoint of a product, whose name is its host.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	product, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return w.endpoints[openapi.Product(product)].Dial(ctx, network, address)
}

// emptySeed leaves out the instances, for worlds whose operations bring their own.
func emptySeed(c *openapisim.Config) { c.Seed = seed(0) }

// patience is how long the gateway waits for one answer of the cloud, where a test doesn't say. Most worlds live in real time, on machines
// with other work.
const patience = 10 * time.Second

// startGateway starts a gateway that knows nothing yet, and lets the world's client talk to it.
func (w *world) startGateway(t *testing.T) {
	t.Helper()
	hosts := map[openapi.Product]string{}
	for p := range w.endpoints {
		hosts[p] = string(p)
	}
	client := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Endpoints: hosts, Dial: w.dial, Credentials: fixedKey{}, Budget: noBudget{},
		AttemptTimeout: w.patience, Retry: time.Millisecond,
	})
	t.Cleanup(client.Close)
	caller := rampolicy.NewGuard(client) // As in the process: what no RAM policy has is not sent.
	api := config.API{Enable: method.ToolServices()}
	services := New(Config{
		Shared: cloud.Shared{Locks: w.locks, Room: batch.NewRoom(64 << 20), Logger: slog.New(slog.DiscardHandler)},
		Caller: caller, ServersPerCall: 40, RoutesPerCall: 50, Version: "test", Region: "cn-hangzhou", VpcID: testVPC, API: api, Scopes: w.scopes,
	})
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(identified, Intercept(replay.New(Policies(api), nil).Before(services.Scoped))))
	services.Register(server)
	w.conn, w.kill = pipes.ServeGRPC(t, server), server.Stop
	w.Client = gateway.NewClient(w.conn)
}

// scoped is the name of the caller.
const scoped = "system:serviceaccount:tools:web"

// identified gives every call the same caller.
func identified(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(rpc.WithCaller(ctx, rpc.Caller{Name: scoped}), request)
}

type fixedKey struct{}

func (fixedKey) Current() (credentials.Credentials, error) {
	return credentials.Credentials{
		AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret,
	}, nil
}

func (fixedKey) Renew(context.Context, credentials.Credentials) bool { return false }

type noBudget struct{}

func (noBudget) Acquire(context.Context, string, string) error { return nil }

func (noBudget) Answered(string, string) {}

func (noBudget) Throttled(string, string, time.Duration) time.Duration { return time.Second }

// seed is what the cloud holds from the start.
func seed(instances int) *state.Cloud {
	c := state.New("cn-hangzhou", "")
	c.Vpcs[testVPC] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	c.VSwitches[testVSwitch] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/18"}
	c.RouteTables[testTable] = &state.RouteTable{VpcID: testVPC, Type: "System"}
	c.Certificates[testCert] = &state.Certificate{}
	c.Certificates[testCA] = &state.Certificate{CA: true}
	c.UserCertificates[testCert], c.UserCertificates[testCA] = &state.UserCertificate{}, &state.UserCertificate{CA: true}
	for i := range instances {
		c.Instances[instanceID(i)] = &state.Instance{
			VpcID: testVPC, VSwitchID: testVSwitch, ZoneID: "cn-hangzhou-h", Status: "Running",
			PrivateIPs: []string{fmt.Sprintf("192.168.%d.%d", 1+i/200, 1+i%200)},
		}
	}
	return c
}

func instanceID(i int) string { return fmt.Sprintf("i-%04d", i) }

// ecsServers makes servers on the instances from first on.
func ecsServers(first, count int) []*slbv1.Server {
	list := make([]*slbv1.Server, count)
	for i := range list {
		list[i] = &slbv1.Server{
			Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(first + i), Port: 30080, Weight: new(int32(100)), Description: "k8s/80/web",
		}
	}
	return list
}

// forget drops the calls so far.
func (w *world) forget() { w.sim.ClearCalls() }

// actions lists the calls since forget, in their order; reads only if asked for.
func (w *world) actions(reads bool) []string {
	var list []string
	for _, c := range w.calls(reads) {
		list = append(list, c.Action)
	}
	return list
}

func (w *world) calls(reads bool) []journal.Call {
	return slices.DeleteFunc(w.sim.Calls(0), func(c journal.Call) bool { return !c.Mutating && !reads })
}

// strike puts one fault in force.
func (w *world) strike(t *testing.T, rules ...fault.Rule) {
	t.Helper()
	if err := w.sim.SetFaults(rules...); err != nil {
		t.Fatal(err)
	}
}
