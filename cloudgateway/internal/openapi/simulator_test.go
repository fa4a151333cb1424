package openapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
)

// The tests in this file run everything below the products as it is in production: credentials of a RAM role from the metadata
// service, the budget, and the client, against the simulated cloud.

func newSimulator(t *testing.T) (*openapisim.Simulator, *openapi.Client) {
	t.Helper()
	sim, err := openapisim.New(openapisim.Config{Seed: &state.Cloud{Vpcs: map[string]*state.Vpc{"vpc-a": {CidrBlock: "10.0.0.0/8"}}}})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(name string) string {
		server := httptest.NewServer(sim.Handler(name))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	reader := metadata.New("http://" + serve("metadata"))
	provider := credentials.New(credentials.ECSRole{Metadata: reader}, nil, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := provider.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	provider.Renew(t.Context(), credentials.Credentials{}) // waits for the first fetch
	if err := provider.Ready(); err != nil {
		t.Fatal(err)
	}
	budget, err := flow.New(config.Default().Budget, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := openapi.New(openapi.Config{
		Region: "cn-hangzhou", Scheme: "HTTP", Credentials: provider, Budget: budget,
		Endpoints: map[openapi.Product]string{openapi.SLB: serve("slb"), openapi.VPC: serve("vpc"), openapi.ECS: serve("ecs"),
			openapi.STS: serve("sts")},
		Retry: time.Millisecond,
	})
	t.Cleanup(client.Close)
	return sim, client
}

func inject(t *testing.T, sim *openapisim.Simulator, rule fault.Rule) {
	t.Helper()
	if err := sim.SetFaults(rule); err != nil {
		t.Fatal(err)
	}
}

func create(name string) openapi.Call {
	return openapi.Call{Product: openapi.SLB, Action: "CreateLoadBalancer", Mutating: true, Idempotent: true, Params: map[string]string{
		"ClientToken": "token-" + name, "LoadBalancerName": name + " ü ~*+&=", "AddressType": "internet", "InstanceChargeType": "PayByCLCU",
	}}
}

func TestEveryProduct(t *testing.T) {
	_, client := newSimulator(t)
	tests := []struct {
		product openapi.Product
		action  string
	}{
		{openapi.SLB, "DescribeLoadBalancers"},
		{openapi.VPC, "DescribeVpcs"},
		{openapi.ECS, "DescribeInstances"},
		{openapi.STS, "GetCallerIdentity"},
	}
	for _, tt := range tests {
		var out map[string]any
		result, err := client.Do(t.Context(), openapi.Call{Product: tt.product, Action: tt.action}, &out)
		if err != nil || result.RequestID == "" || len(out) == 0 {
			t.Errorf("%s %s: %+v, %v, %v", tt.product, tt.action, result, out, err)
		}
	}
}

func TestLostAnswerOfACreation(t *testing.T) {
	tests := []struct {
		name       string
		rule       fault.Rule
		idempotent bool
		want       rpcerr.Reason
		exist      int
	}{
		{"repeated with the same token", fault.Rule{Action: "CreateLoadBalancer", Times: 1, When: fault.After, Drop: true}, true, "", 1},
		{"dropped before the effect", fault.Rule{Action: "CreateLoadBalancer", Times: 1, Drop: true}, true, "", 1},
		{"not repeatable", fault.Rule{Action: "CreateLoadBalancer", Times: 1, When: fault.After, Drop: true}, false, rpcerr.OutcomeUnknown, 1},
		{"500 after the effect", fault.Rule{Action: "CreateLoadBalancer", Times: 1, When: fault.After,
			Error: &fault.Error{Status: 500, Code: "InternalError"}}, false, rpcerr.OutcomeUnknown, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sim, client := newSimulator(t)
			inject(t, sim, tt.rule)
			call := create("lb")
			call.Idempotent = tt.idempotent
			var out struct{ LoadBalancerID string }
			_, err := client.Do(t.Context(), call, &out)
			if got := rpcerr.ReasonOf(err); got != tt.want || (tt.want == "" && (err != nil || out.LoadBalancerID == "")) {
				t.Errorf("answer %+v, error %v, want reason %q", out, err, tt.want)
			}
			sim.View(func(c *state.Cloud) {
				if len(c.LoadBalancers) != tt.exist {
					t.Errorf("%d load balancers exist, want %d", len(c.LoadBalancers), tt.exist)
				}
			})
		})
	}
}

func TestThrottledBySimulator(t *testing.T) {
	sim, client := newSimulator(t)
	inject(t, sim, fault.Rule{Action: "DescribeLoadBalancers", Times: 1, Error: &fault.Error{Code: "Throttling.User",
		RetryAfter: api.Duration(time.Hour)}})
	read := openapi.Call{Product: openapi.SLB, Action: "DescribeLoadBalancers"}
	_, err := client.Do(t.Context(), read, nil)
	first, ok := rpcerr.From(err)
	if !ok || first.Reason != rpcerr.Throttled || first.RetryAfter != 5*time.Minute {
		t.Errorf("error %v, want THROTTLED with the wait that the cloud named, but no more than 5 minutes", err)
	}
	_, err = client.Do(t.Context(), read, nil)
	if second, ok := rpcerr.From(err); !ok || second.Code != codes.ResourceExhausted || second.CloudCode != "" {
		t.Errorf("error %v, want the budget's refusal", err)
	}
	if calls := sim.Calls(0); len(calls) != 1 {
		t.Errorf("%d calls reached the cloud, want 1", len(calls))
	}
}

// TestFreshSignatures is for the race detector too: half of all attempts fail, and no nonce is used twice.
func TestFreshSignatures(t *testing.T) {
	sim, client := newSimulator(t)
	inject(t, sim, fault.Rule{Probability: 0.5, Error: &fault.Error{Status: 503, Code: "ServiceUnavailable", Message: "Try again."}})
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 5 {
				call := openapi.Call{Product: openapi.ECS, Action: "DescribeInstances",
					Params: map[string]string{"InstanceIds": fmt.Sprintf(`["i-%d-%d"]`, i, j)}}
				if _, err := client.Do(t.Context(), call, nil); err != nil && rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	calls := sim.Calls(0)
	if len(calls) <= 40 {
		t.Errorf("%d attempts, want repetitions", len(calls))
	}
	nonces := map[string]bool{}
	for _, call := range calls {
		if nonce := call.Params["SignatureNonce"]; nonces[nonce] || nonce == "" {
			t.Errorf("nonce %q was used before", nonce)
		} else {
			nonces[nonce] = true
		}
		if call.Code != "" && call.Code != "ServiceUnavailable" {
			t.Errorf("%s answered %s", call.Action, call.Code)
		}
	}
}
