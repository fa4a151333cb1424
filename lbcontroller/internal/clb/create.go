package clb

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// groupRequestID is new each time: after a lost answer the group is looked up by name instead, while a repeated id could be
// answered with a group that has been deleted since.
func groupRequestID() string { return "sg-" + rand.Text() }

// extensionRequestID is new each time, as that of a group: after a lost answer the listener's extensions are read.
func extensionRequestID() string { return "de-" + rand.Text() }

// createInstance buys the instance, in another vSwitch if the first has no free address, and records it.
func (p Product) createInstance(ctx context.Context, w apply.Work, a CreateInstance) (plan.Result, error) {
	lb, err := p.buy(ctx, w.Life, a.Spec)
	if err != nil && rpcerr.ReasonOf(err) == rpcerr.NoFreeAddress && a.AnyVSwitch {
		other, lookErr := p.roomyVSwitch(ctx, a.Spec.GetVswitchId())
		if lookErr != nil {
			return plan.Result{}, lookErr
		}
		if other != "" {
			spec := proto.CloneOf(a.Spec)
			spec.VswitchId = other
			lb, err = p.buy(ctx, w.Life, spec)
		}
	}
	if err != nil {
		return plan.Result{}, err
	}
	if w.Created != nil {
		if err := w.Created(ctx, lb.GetLoadBalancerId()); err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{Instance: lb}, nil
}

func (p Product) buy(ctx context.Context, life apply.Life, spec *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	request := proto.CloneOf(spec)
	id, err := life.RequestID(spec)
	if err != nil {
		return nil, err
	}
	request.RequestId = id
	answer, err := p.Gateway.LoadBalancers.CreateLoadBalancer(ctx, request)
	if err != nil {
		return nil, err
	}
	return answer.GetLoadBalancer(), nil
}

// roomyVSwitch returns a configured vSwitch with a free address, or "".
func (p Product) roomyVSwitch(ctx context.Context, full string) (string, error) {
	answer, err := p.Gateway.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{VswitchIds: p.VSwitchIDs})
	if err != nil {
		return "", fmt.Errorf("look for a vSwitch with free addresses: %w", err)
	}
	free := map[string]bool{}
	for _, v := range answer.GetVswitches() {
		free[v.GetVswitchId()] = v.GetAvailableIpCount() > 0
	}
	i := slices.IndexFunc(p.VSwitchIDs, func(id string) bool { return id != full && free[id] })
	if i < 0 {
		return "", nil
	}
	return p.VSwitchIDs[i], nil
}
