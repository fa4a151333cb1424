package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

func read(ctx context.Context, client *gateway.Client) error {
	_, err := client.LoadBalancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Name: "web"})
	return err
}

func create(ctx context.Context, client *gateway.Client) error {
	_, err := client.LoadBalancers.CreateLoadBalancer(ctx, &slbv1.CreateLoadBalancerRequest{
		RequestId: "r-1", Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
		Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	})
	return err
}

// TestWhoMayCall: those who may not are refused before the cloud hears of it.
func TestWhoMayCall(t *testing.T) {
	w := newWorld(t)
	w.start()
	tests := []struct {
		token  string
		call   func(context.Context, *gateway.Client) error
		code   codes.Code
		reason rpcerr.Reason
		calls  int
	}{
		{token: "stranger", call: read, code: codes.Unauthenticated, reason: rpcerr.CallerUnauthenticated},
		{token: "elsewhere", call: read, code: codes.Unauthenticated, reason: rpcerr.CallerUnauthenticated},
		{token: "reader", call: create, code: codes.PermissionDenied, reason: rpcerr.CallerForbidden},
		{token: "reader", call: read, calls: 1},
		{token: "writer", call: create, calls: 1},
	}
	for _, tt := range tests {
		w.sim.ClearCalls()
		err := tt.call(t.Context(), w.dial(tt.token))
		e, _ := rpcerr.From(err)
		if tt.code == codes.OK && err != nil || tt.code != codes.OK && (e == nil || e.Code != tt.code || e.Reason != tt.reason) {
			t.Errorf("%s: got %v, want %s %s", tt.token, err, tt.code, tt.reason)
		}
		if got := len(w.sim.Calls(0)); got != tt.calls {
			t.Errorf("%s: %d calls to the cloud, want %d", tt.token, got, tt.calls)
		}
	}
	// The calls that were made waited in the names of those who asked for them, with the priority of what they asked for.
	_, metrics := w.get("/metrics")
	for _, who := range []string{
		`caller="system:serviceaccount:kube-system:writer",priority="user"`,
		`caller="system:serviceaccount:kube-system:reader",priority="background"`,
	} {
		if !strings.Contains(metrics, "cloudgateway_budget_calls_total{"+who+`,result="sent"} 1`) {
			t.Errorf("no call waited for the budget as %s", who)
		}
	}
}

// TestCallersLowerTheirPriority: the metadata of a call lower its priority, and never raise it above that of its method.
func TestCallersLowerTheirPriority(t *testing.T) {
	w := newWorld(t)
	w.start()
	client := w.dial("writer")
	get := func(p gateway.Priority) error {
		_, err := client.Networks.GetVpc(gateway.WithPriority(t.Context(), p), &vpcv1.GetVpcRequest{VpcId: "vpc-1"})
		return err
	}
	for _, p := range []gateway.Priority{gateway.Backend, gateway.User, gateway.Deletion, gateway.Background, "of a later version"} {
		if err := get(p); err != nil {
			t.Fatalf("priority %s: %v", p, err)
		}
	}
	_, metrics := w.get("/metrics")
	for priority, calls := range map[string]int{"backend": 0, "user": 3, "deletion": 1, "background": 1} {
		series := `cloudgateway_budget_calls_total{caller="system:serviceaccount:kube-system:writer",priority="` + priority + `",result="sent"}`
		want := fmt.Sprintf("%s %d\n", series, calls)
		if calls == 0 && strings.Contains(metrics, series) || calls > 0 && !strings.Contains(metrics, want) {
			t.Errorf("want %d calls of priority %s", calls, priority)
		}
	}
}

// TestRepetitionsAreReported: operators can distinguish a repeated write from the first one, and permission is asked for it as well.
func TestRepetitionsAreReported(t *testing.T) {
	w := newWorld(t)
	w.start()
	for _, client := range []*gateway.Client{w.dial("writer"), w.dial("writer")} {
		if err := create(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(t.Context(), w.dial("reader")); rpcerr.ReasonOf(err) != rpcerr.CallerForbidden {
		t.Errorf("without permission: %v", err)
	}
	if calls := w.sim.Calls(0); len(calls) != 1 {
		t.Errorf("%d calls to the cloud, want 1", len(calls))
	}
	var audits []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, `"audit"`) && strings.Contains(line, `"requestId":"r-1"`) {
			audits = append(audits, line)
		}
	}
	if len(audits) != 2 || strings.Contains(audits[0], "replayed") || !strings.Contains(audits[1], `"replayed":true`) {
		t.Errorf("the audit log has %q", audits)
	}
	_, metrics := w.get("/metrics")
	if want := `cloudgateway_requests_replayed_total{` +
		`method="/cloudgateway.slb.v1.LoadBalancerService/CreateLoadBalancer"} 1`; !strings.Contains(metrics, want) {
		t.Errorf("the metrics lack %s", want)
	}
}

// TestStopFinishesTheCallsUnderWay: a caller whose change is being made gets its answer.
func TestStopFinishesTheCallsUnderWay(t *testing.T) {
	w := newWorld(t)
	w.start()
	client := w.dial("writer")
	if err := w.sim.SetFaults(fault.Rule{
		Action: "CreateLoadBalancer", When: fault.After, Latency: api.Duration(500 * time.Millisecond),
	}); err != nil {
		t.Fatal(err)
	}
	created := make(chan error, 1)
	go func() { created <- create(t.Context(), client) }()
	until(t, "the cloud is at it", func() bool { return len(w.sim.Calls(0)) > 0 })
	if err := w.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-created; err != nil {
		t.Errorf("the call under way: %v", err)
	}
}

// TestNoSecretIsShown: neither the logs at any level nor metrics or errors hold a secret of the cloud or of a caller.
func TestNoSecretIsShown(t *testing.T) {
	w := newWorld(t)
	w.start()
	client := w.dial("writer")
	if err := w.sim.SetFaults(
		fault.Rule{Product: "slb", Drop: true, Times: 2},
		fault.Rule{Product: "vpc", Error: &fault.Error{Status: 400, Code: "SignatureDoesNotMatch",
			Message: "server string to sign is:GET&%2F&AccessKeyId%3D" + openapisim.DefaultAccessKeyID +
				"%26Signature=x&secret=" + openapisim.DefaultAccessKeySecret}},
	); err != nil {
		t.Fatal(err)
	}
	if err := create(t.Context(), client); err != nil {
		t.Errorf("create: %v", err)
	}
	_, err := client.Networks.GetVpc(t.Context(), &vpcv1.GetVpcRequest{VpcId: "vpc-1"})
	if err == nil {
		t.Fatal("no error")
	}
	_, metrics := w.get("/metrics")
	if !strings.Contains(metrics, "cloudgateway_") || !strings.Contains(metrics, "grpc_server_handled_total") {
		t.Error("the metrics of the gateway are missing")
	}
	if !strings.Contains(w.log.String(), `"audit"`) {
		t.Error("the audit log is missing")
	}
	for place, text := range map[string]string{
		"log": w.log.String(), "metrics": metrics, "error": err.Error(), "status with its details": status.Convert(err).Proto().String(),
	} {
		for _, secret := range []string{openapisim.DefaultAccessKeySecret, "Signature=", "gateway-token", "Bearer "} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s holds %q", place, secret)
			}
		}
	}
}

// TestLeaseHasItsOwnClient: callers and strangers, for whom the API server is asked, do not make the renewal of the Lease wait.
func TestLeaseHasItsOwnClient(t *testing.T) {
	w := newWorld(t)
	w.elect()
	w.start()
	if err := read(t.Context(), w.dial("reader")); err != nil {
		t.Fatal(err)
	}
	seen := 0
	w.agents.Range(func(path, agent any) bool {
		lease, own := strings.Contains(path.(string), "/leases"), strings.Contains(agent.(string), "leader-election")
		if seen++; lease != own {
			t.Errorf("%s is asked by %q", path, agent)
		}
		return true
	})
	if seen < 3 {
		t.Errorf("%d kinds of requests, want those of the Lease and the reviews", seen)
	}
	if !strings.Contains(w.log.String(), "in clear text") {
		t.Error("nothing warns of a scheme without encryption")
	}
}

// TestPlainHTTPIsWarnedAbout: whoever sends secrets in clear text reads so at the start.
func TestPlainHTTPIsWarnedAbout(t *testing.T) {
	w := newWorld(t)
	w.start()
	if log := w.log.String(); !strings.Contains(log,
		`"level":"WARN","msg":"scheme is HTTP: identity tokens, security tokens and private keys`) {
		t.Errorf("log:\n%s", log)
	}
}
