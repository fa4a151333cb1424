// Package inprocess is the gateway as the tests of its callers can have it: the real handlers, on a simulated cloud, in the process of the
// test. All connections are in memory, so that it can live in a bubble of synctest, where waiting takes no time. What stands before the
// handlers in the process (identity, permissions, budgets) is left out.
package inprocess

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/internal/replay"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
	"alicloud-controllers.dev/cloudgateway/internal/server"
)

// Dial starts a gateway on a simulated cloud, in the region of that, and connects to it. Both end with the test.
func Dial(t testing.TB, sim *openapisim.Simulator, vpcID string) *grpc.ClientConn {
	t.Helper()
	var region string
	sim.View(func(c *state.Cloud) { region = c.Region })
	endpoints, hosts := map[string]*pipes.Listener{}, map[openapi.Product]string{}
	for _, p := range []openapi.Product{openapi.SLB, openapi.NLB, openapi.VPC, openapi.ECS, openapi.CAS} {
		endpoints[string(p)], hosts[p] = pipes.Serve(t, sim.Handler(string(p))), string(p)
	}
	client := openapi.New(openapi.Config{
		Region: region, Scheme: "HTTP", Endpoints: hosts, Credentials: key{}, Budget: noBudget{},
		AttemptTimeout: 10 * time.Second, Retry: time.Millisecond,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			product, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return endpoints[product].Dial(ctx, network, address)
		},
	})
	t.Cleanup(client.Close)
	api := config.API{Enable: method.ToolServices()}
	services := server.New(server.Config{
		Shared: cloud.Shared{Locks: &flow.Keyed[string]{}, Room: batch.NewRoom(64 << 20), Logger: slog.New(slog.DiscardHandler)},
		Caller: rampolicy.NewGuard(client), ServersPerCall: 40, RoutesPerCall: 50, Version: "test", Region: region, VpcID: vpcID, API: api,
	})
	identified := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return handler(rpc.WithCaller(ctx, rpc.Caller{Name: "system:serviceaccount:test:test"}), request)
	}
	gateway := grpc.NewServer(grpc.ChainUnaryInterceptor(identified,
		server.Intercept(replay.New(server.Policies(api), nil).Before(services.Scoped))))
	services.Register(gateway)
	return pipes.ServeGRPC(t, gateway)
}

type key struct{}

func (key) Current() (credentials.Credentials, error) {
	return credentials.Credentials{AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret}, nil
}

func (key) Renew(context.Context, credentials.Credentials) bool { return false }

type noBudget struct{}

func (noBudget) Acquire(context.Context, string, string) error { return nil }

func (noBudget) Answered(string, string) {}

func (noBudget) Throttled(string, string, time.Duration) time.Duration { return time.Second }
