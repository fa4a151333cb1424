package inprocess_test

import (
	"testing"
	"testing/synctest"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// TestDial: calls reach the simulated cloud through the gateway's own checks, and days pass in no time.
func TestDial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim, err := openapisim.New(openapisim.Config{SmallWorld: true, LimitsOff: true})
		if err != nil {
			t.Fatal(err)
		}
		balancers := slbv1.NewLoadBalancerServiceClient(inprocess.Dial(t, sim, "vpc-test"))
		create := &slbv1.CreateLoadBalancerRequest{RequestId: "r-1", Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET}
		made, err := balancers.CreateLoadBalancer(t.Context(), create)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(48 * time.Hour)
		get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: made.GetLoadBalancer().GetLoadBalancerId()}
		if got, err := balancers.GetLoadBalancer(t.Context(), get); err != nil || got.GetLoadBalancer().GetName() != "web" {
			t.Errorf("got %v, %v", got, err)
		}
		if calls := sim.Calls(0); len(calls) == 0 || calls[0].Action != "CreateLoadBalancer" {
			t.Errorf("the cloud was called: %v", calls)
		}
		_, err = balancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{})
		if reason := rpcerr.ReasonOf(err); reason != rpcerr.InvalidField {
			t.Errorf("a request without its id: %v", err)
		}
	})
}
