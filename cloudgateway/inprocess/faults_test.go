package inprocess_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestFaults: calls fail on demand, without an effect or with one, and are recorded.
func TestFaults(t *testing.T) {
	t.Parallel()
	cloud := inprocess.New(t, "vpc-test", &state.Cloud{LoadBalancers: map[string]*state.LoadBalancer{"lb-0": {}}})
	busy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, Message: "busy"}
	cloud.Fail("GetLoadBalancer", 2, busy)
	balancers := cloud.Client().LoadBalancers
	get := func() error {
		_, err := balancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-0"})
		return err
	}
	for i, want := range []rpcerr.Reason{rpcerr.ResourceBusy, rpcerr.ResourceBusy, ""} {
		if err := get(); rpcerr.ReasonOf(err) != want {
			t.Errorf("call %d: %v, want %q", i, err, want)
		}
	}
	cloud.Interpose(func(seq int, method string, _ proto.Message) gatewaytest.Fault {
		if seq == 1 && method == "GetLoadBalancer" {
			return gatewaytest.Fault{Before: busy}
		}
		return gatewaytest.Fault{}
	})
	for i, want := range []rpcerr.Reason{"", rpcerr.ResourceBusy, ""} {
		if err := get(); rpcerr.ReasonOf(err) != want {
			t.Errorf("interposed call %d: %v, want %q", i, err, want)
		}
	}
	cloud.FailAfter("CreateLoadBalancer", 1, busy)
	_, err := balancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{RequestId: "r-1", Name: "web",
		AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET})
	made := 0
	cloud.Look(func(c *state.Cloud) { made = len(c.LoadBalancers) })
	if rpcerr.ReasonOf(err) != rpcerr.ResourceBusy || made != 2 {
		t.Errorf("a lost answer: %v, and there are %d load balancers", err, made)
	}
	if writes := cloud.Writes(); len(writes) != 1 || writes[0].Method != "CreateLoadBalancer" || writes[0].Err == nil {
		t.Errorf("Writes = %v", writes)
	}
	cloud.ResetCalls()
	if calls := cloud.Calls(); len(calls) != 0 {
		t.Errorf("Calls after ResetCalls = %v", calls)
	}
}
