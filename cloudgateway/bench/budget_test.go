package bench

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	servicesconfig "alicloud-controllers.dev/services/config"
)

const write = "CreateVServerGroup"

// accessKey is a credentials provider that always has the simulated cloud's key.
type accessKey struct{}

func (accessKey) Current() (credentials.Credentials, error) {
	return credentials.Credentials{
		AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret,
	}, nil
}

func (accessKey) Renew(context.Context, credentials.Credentials) bool { return false }

// TestThousandQueuedWrites sends 1 000 writes through budget and client to the simulated cloud, which grants 90 in a minute of its
// clock. What the gateway believes at first is right, twice or half of that.
func TestThousandQueuedWrites(t *testing.T) {
	const (
		queued, granted = 1000, 90
		window          = time.Minute
	)
	tests := []struct {
		name     string
		believed int
		upTo     float64
		least    float64 // part of the limit that is used after two windows
	}{
		{name: "right", believed: granted, upTo: 1, least: 0.95},
		{name: "twice the truth", believed: 2 * granted, upTo: 1, least: 0.8},
		{name: "half the truth", believed: granted / 2, upTo: 4, least: 0.75},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, client := limited(t, granted, tt.believed, tt.upTo)
				begin := time.Now()
				var work sync.WaitGroup
				for i := range queued {
					work.Go(func() { writeUntilDone(t, client, i) })
				}
				work.Wait()
				took := time.Since(begin)

				late, throttled := 0, 0
				for _, call := range sim.Calls(0) {
					switch {
					case call.Code != "":
						throttled++
					case call.Time.Sub(begin) >= 2*window:
						late++
					}
				}
				used := float64(late) / ((took - 2*window).Minutes() * granted)
				lost := float64(throttled) / float64(queued+throttled)
				t.Logf("%.1f %% of the limit used after two windows, %d of %d calls throttled (%.2f %%), %s in all",
					100*used, throttled, queued+throttled, 100*lost, took.Round(time.Second))
				if used < tt.least {
					t.Errorf("%.1f %% of the limit used after two windows, want %.0f", 100*used, 100*tt.least)
				}
				if lost >= 0.03 || tt.believed == granted && throttled > 0 {
					t.Errorf("%.2f %% of calls throttled", 100*lost)
				}
				sim.View(func(c *state.Cloud) {
					if len(c.ServerGroups) != queued {
						t.Errorf("%d groups exist, want %d", len(c.ServerGroups), queued)
					}
				})
			})
		})
	}
}

// limited is a cloud that grants so many writes per minute, and a client that believes in another number.
func limited(t *testing.T, granted, believed int, upTo float64) (*openapisim.Simulator, *openapi.Client) {
	t.Helper()
	fast := api.FastSettings()
	sim, err := openapisim.New(openapisim.Config{Settings: &fast, Seed: &state.Cloud{
		LoadBalancers: map[string]*state.LoadBalancer{"lb-1": {AddressType: "internet", Status: "active"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.SetLimits(limit.Table{"slb/" + write: {Calls: granted, Window: api.Duration(time.Minute)}}); err != nil {
		t.Fatal(err)
	}
	listener, stop := pipes.ServeUntil(t, sim.Handler("slb"))
	cfg := config.Default().Budget
	cfg.LearnUpTo = upTo
	cfg.Overrides = map[string]config.Limit{"slb/" + write: {Calls: believed, Window: servicesconfig.Duration(time.Minute)}}
	budget, err := flow.New(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Credentials: accessKey{}, Budget: budget, Dial: listener.Dial,
		Endpoints: map[openapi.Product]string{openapi.SLB: listener.Addr().String()}, Timeout: time.Hour,
	})
	t.Cleanup(func() {
		client.Close()
		stop()
	})
	return sim, client
}

// writeUntilDone makes a group, again if there is no room for it, as late as the error says.
func writeUntilDone(t *testing.T, client *openapi.Client, i int) {
	call := openapi.Call{Product: openapi.SLB, Action: write, Mutating: true, Params: map[string]string{
		"LoadBalancerId": "lb-1", "VServerGroupName": "group-" + strconv.Itoa(i),
	}}
	ctx := flow.WithCaller(t.Context(), flow.Caller{Name: "bulk", Priority: flow.Change})
	for {
		_, err := client.Do(ctx, call, nil)
		if err == nil {
			return
		}
		wait, ok := rpcerr.RetryAfter(err)
		if rpcerr.ReasonOf(err) != rpcerr.Throttled || !ok {
			t.Error(err)
			return
		}
		<-time.After(wait)
	}
}
