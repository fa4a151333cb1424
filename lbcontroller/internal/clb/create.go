package clb

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// groupRequestID is new each time: after a lost answer the group is looked up by name instead, while a repeated id could be
// answered with a group that has been deleted since.
func groupRequestID() string { return "sg-" + rand.Text() }

// extensionRequestID is new each time, as that of a group: after a lost answer the listener's extensions are read.
func extensionRequestID() string { return "de-" + rand.Text() }

// createInstance buys the instance and records it.
func (p Product) createInstance(ctx context.Context, w apply.Work, a CreateInstance) (plan.Result, error) {
	lb, err := p.place(ctx, w.Life, a)
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

// place buys the instance. A vSwitch that is the controller's choice is looked for if none is configured, and another one if the first
// has no free address.
func (p Product) place(ctx context.Context, life apply.Life, a CreateInstance) (*slbv1.LoadBalancer, error) {
	spec := a.Spec
	if a.AnyVSwitch && spec.GetVswitchId() == "" {
		var err error
		if spec, err = p.placed(ctx, life, a, "", vswitch.Age); err != nil {
			return nil, err
		}
	}
	lb, err := p.buy(ctx, life, spec)
	if !a.AnyVSwitch || rpcerr.ReasonOf(err) != rpcerr.NoFreeAddress {
		return lb, err
	}
	if spec, err = p.placed(ctx, life, a, spec.GetVswitchId(), 0); err != nil {
		return nil, err
	}
	return p.buy(ctx, life, spec)
}

// placed returns the request with a vSwitch that has a free address, by a list that is up to maxAge old. Among those that are found it is
// always the same for a Service, so that a repeated creation is the same request.
func (p Product) placed(ctx context.Context, life apply.Life, a CreateInstance, full string, maxAge time.Duration) (
	*slbv1.CreateLoadBalancerRequest, error) {
	list, err := vswitch.List(ctx, p.Gateway, a.Spec.GetVpcId(), maxAge)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(v *vpcv1.VSwitch) bool { return v.GetVswitchId() == full })
	search := vswitch.Search{Configured: p.VSwitchIDs, ClusterID: a.ClusterID, Nodes: a.Nodes, Address: a.Spec.GetAddress()}
	configured, found := search.Of(list), search.Found(list)
	spec := proto.CloneOf(a.Spec)
	switch {
	case len(configured) > 0:
		spec.VswitchId = configured[0].GetVswitchId()
	case len(found) > 0:
		slices.SortFunc(found, func(a, b *vpcv1.VSwitch) int { return strings.Compare(a.GetVswitchId(), b.GetVswitchId()) })
		spec.VswitchId = found[choice(life.UID, len(found))].GetVswitchId()
	default:
		return nil, rpcerr.Errorf(rpcerr.NoFreeAddress, "no vSwitch has a free address: neither those of vswitchIDs in the configuration, "+
			"nor those with the tag %s or else those of the nodes", vswitch.Tag)
	}
	return spec, nil
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
