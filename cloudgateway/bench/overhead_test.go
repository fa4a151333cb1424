package bench

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// unlimited is no budget.
type unlimited struct{}

func (unlimited) Acquire(context.Context, string, string) error { return nil }
func (unlimited) Answered(string, string)                       {}

func (unlimited) Throttled(string, string, time.Duration) time.Duration { return 0 }

// BenchmarkGatewayOverhead calls the simulated cloud 200 times in a second, in each round a second directly and a
// second through the gateway, in random order, and compares how long the calls take from when they were due. The
// gateway's calls go over TLS with a token, and each makes one call to the cloud: nothing is cached. GATEWAY_BEFORE is
// the absolute path of this package's tests at another commit, as go test -c makes them: then its gateway has a second
// in each round, too, with the same caller and cloud.
func BenchmarkGatewayOverhead(b *testing.B) {
	const (
		balancers = 200
		perSecond = 200
		rounds    = 10 // of a second each way
	)
	w := newWorld(b, seedBalancers(balancers), wide("slb/DescribeVServerGroupAttribute", "slb/SetVServerGroupAttribute"))
	direct := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Credentials: accessKey{}, Budget: unlimited{},
		Endpoints: map[openapi.Product]string{openapi.SLB: w.sim.Endpoint("slb")},
	})
	b.Cleanup(direct.Close)
	clients := map[string]*gateway.Client{"gateway": w.dial()}
	if before := os.Getenv("GATEWAY_BEFORE"); before != "" {
		w.run(before)
		clients["before"] = w.dial()
	}

	calls := []struct {
		name    string
		direct  func(ctx context.Context, i int) error
		through func(ctx context.Context, c *gateway.Client, i int) error
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
			through: func(ctx context.Context, c *gateway.Client, i int) error {
				request := &slbv1.GetServerGroupRequest{ServerGroupId: groupID(i%balancers, 0)}
				_, err := c.ServerGroups.GetServerGroup(ctx, request)
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
			through: func(ctx context.Context, c *gateway.Client, i int) error {
				_, err := c.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
					LoadBalancerId: balancerID(i % balancers), ServerGroupId: groupID(i%balancers, 0),
					Update: []*slbv1.Server{{
						Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: instanceID(0), Port: int32(30000 + i%balancers),
						Weight: new(int32(60)),
					}},
				})
				return err
			},
		},
	}
	for _, call := range calls {
		b.Run(call.name, func(b *testing.B) {
			ways := map[string]func(ctx context.Context, i int) error{"direct": call.direct}
			for name, client := range clients {
				ways[name] = func(ctx context.Context, i int) error { return call.through(ctx, client, i) }
			}
			took := make(map[string][]time.Duration)
			for _, way := range ways {
				paced(b, perSecond, perSecond, way) // connections, tokens, and the half rate after a start
			}
			w.sim.ClearCalls()
			made, order := 0, slices.Collect(maps.Keys(ways))
			for b.Loop() {
				for range rounds {
					// The first call of a second is slower if the second before did something else.
					rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
					for _, name := range order {
						took[name] = append(took[name], paced(b, perSecond, perSecond, ways[name])...)
						made += perSecond
					}
				}
			}
			if reached := len(w.sim.Calls(0)); reached != made {
				b.Errorf("%d calls reached the cloud, want %d", reached, made)
			}
			b.ReportMetric(0, "ns/op")
			for name, q := range map[string]float64{"p50": 0.50, "p99": 0.99} {
				for way := range ways {
					b.ReportMetric(milliseconds(quantile(took[way], q)), name+"-"+way+"-ms")
				}
			}
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

func quantile(d []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[int(q*float64(len(sorted)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
