package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestRefusedSinceItIsSoAlready: the cloud refuses to set some attributes to the value that they have. A repeated update
// succeeds then; a refusal for another reason stays one.
func TestRefusedSinceItIsSoAlready(t *testing.T) {
	const look, charge, spec = "DescribeLoadBalancers", "ModifyLoadBalancerInstanceChargeType", "ModifyLoadBalancerInstanceSpec"
	clcu := slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU
	tests := []struct {
		name    string
		request *slbv1.UpdateLoadBalancerRequest
		refusal string // of a call, by a fault; empty: what the simulated cloud says
		want    rpcerr.Reason
		calls   []string
	}{
		{
			name: "specification that it does not have", request: &slbv1.UpdateLoadBalancerRequest{Spec: new("slb.s3.large")},
			refusal: "ModifySpecNotAllowed", want: rpcerr.InvalidState, calls: []string{spec, look},
		},
		{
			name: "specification that it has", request: &slbv1.UpdateLoadBalancerRequest{Spec: new("slb.s1.small")},
			refusal: "ModifySpecNotAllowed", calls: []string{spec, look},
		},
		{name: "charge type", request: &slbv1.UpdateLoadBalancerRequest{InstanceChargeType: &clcu}, calls: []string{charge}},
		{name: "charge type again", request: &slbv1.UpdateLoadBalancerRequest{InstanceChargeType: &clcu}, calls: []string{charge, look}},
		{
			name:    "charge type there and back",
			request: &slbv1.UpdateLoadBalancerRequest{InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC.Enum()},
			want:    rpcerr.InvalidState, calls: []string{charge, look},
		},
	}
	w := newWorld(t)
	lb := w.createBalancer(t, "lb-1")
	for _, tt := range tests {
		if tt.refusal != "" {
			w.strike(t, fault.Rule{Action: spec, Times: 1, Error: &fault.Error{Status: 400, Code: tt.refusal, Message: "It is not allowed."}})
		}
		w.forget()
		tt.request.LoadBalancerId = lb
		_, err := w.LoadBalancers.UpdateLoadBalancer(t.Context(), tt.request)
		if got := rpcerr.ReasonOf(err); got != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if diff := cmp.Diff(tt.calls, w.actions(true)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", tt.name, diff)
		}
	}
}
