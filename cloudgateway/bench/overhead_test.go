package bench

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// unlimited is no budget.
type unlimited struct{}

func (unlimited) Acquire(context.Context, string, string) error         { return nil }
func (unlimited) Throttled(string, string, time.Duration) time.Duration { return 0 }

// BenchmarkGatewayOverhead calls the simulated cloud 200 times in a second, a second directly and a second through the gateway in
// turn, and compares how long the calls take from when they were due. The gateway's calls go over TLS with a token, and each makes
// one call to the cloud: nothing is cached. One operation is a call through the gateway.
func BenchmarkGatewayOverhead(b *testing.B) {
	const (
		balancers = 200
		perSecond = 200
		rounds    = 10 // of a second each, both ways
	)
	w := newWorld(b, seedBalancers(balancers), wide("slb/DescribeVServerGroupAttribute", "slb/SetVServerGroupAttribute"))
	gateway := w.dial()
	direct := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Credentials: accessKey{}, Budget: unlimited{},
		Endpoints: map[openapi.Product]string{openapi.SLB: w.sim.Endpoint("slb")},
	})
	b.Cleanup(direct.Close)

	calls := []struct {
		name            string
		direct, through func(ctx context.Context, i int) error
	}{
		{
			name: "read",
			direct: func(ctx context.Context, i int) error {
				_, err := direct.Do(ctx, openapi.Call{
					Product: openapi.SLB, Action: "DescribeVServerGroupAttribute",
					Params: map[string]string{"VServerGroupId": groupID(i%balancers, 0)},
				}, &map[string]any{})
				return err
			},
			through: func(ctx context.Context, i int) error {
				_, err := gateway.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: groupID(i%balancers, 0)})
				return err
			},
		},
		{
			name: "write",
			direct: func(ctx context.Context, i int) error {
				_, err := direct.Do(ctx, openapi.Call{
					Product: openapi.SLB, Action: "SetVServerGroupAttribute", Mutating: true, Idempotent: true,
					Params: map[string]string{
						"VServerGroupId": groupID(i%balancers, 0),
						"BackendServers": `[{"ServerId":"` + instanceID(0) + `","Port":"` + port(i%balancers) + `","Type":"ecs","Weight":"50"}]`,
					},
				}, &map[string]any{})
				return err
			},
			through: func(ctx context.Context, i int) error {
				_, err := gateway.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: balancerID(i % balancers), ServerGroupId: groupID(i%balancers, 0),
					Update: []*slbv1.Server{{
						Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(0), Port: int32(30000 + i%balancers), Weight: new(int32(60)),
					}},
				})
				return err
			},
		},
	}
	for _, call := range calls {
		b.Run(call.name, func(b *testing.B) {
			warm := perSecond // connections, tokens, and the half rate after a start
			paced(b, warm, perSecond, call.direct)
			paced(b, warm, perSecond, call.through)
			w.sim.ClearCalls()
			var direct, through []time.Duration
			for b.Loop() {
				for range rounds {
					direct = append(direct, paced(b, perSecond, perSecond, call.direct)...)
					through = append(through, paced(b, perSecond, perSecond, call.through)...)
				}
			}
			if made, want := len(w.sim.Calls(0)), len(direct)+len(through); made != want {
				b.Errorf("%d calls reached the cloud, want %d", made, want)
			}
			b.ReportMetric(0, "ns/op")
			report(b, "p50", 0.50, direct, through)
			report(b, "p99", 0.99, direct, through)
		})
	}
}

// paced starts n calls at a rate, whether earlier ones have ended or not, and returns how long each took from when it was due.
func paced(b *testing.B, n, perSecond int, call func(ctx context.Context, i int) error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var calls sync.WaitGroup
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	for i := range n {
		<-ticker.C
		due := time.Now()
		calls.Go(func() {
			if err := call(b.Context(), i); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(due)
		})
	}
	calls.Wait()
	return took
}

// report states a quantile of both and the difference, in milliseconds.
func report(b *testing.B, name string, q float64, direct, through []time.Duration) {
	b.Helper()
	d, t := quantile(direct, q), quantile(through, q)
	b.ReportMetric(milliseconds(d), name+"-direct-ms")
	b.ReportMetric(milliseconds(t), name+"-gateway-ms")
	b.ReportMetric(milliseconds(t-d), name+"-added-ms")
}

func quantile(d []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[int(q*float64(len(sorted)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
