package loadbalancer

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// CreateLoadBalancer buys an instance. The request id is the cloud's ClientToken, so it may be sent again.
func (s *Service) CreateLoadBalancer(
	ctx context.Context, r *slbv1.CreateLoadBalancerRequest,
) (*slbv1.CreateLoadBalancerResponse, error) {
	defer s.lists.Clear()
	lb, answer := created(r)
	err := s.product.Set(ctx, "CreateLoadBalancer", createParams(r), answer)
	if lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED {
		lb.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTERNET
		if lb.GetVswitchId() != "" {
			lb.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTRANET
		}
	}
	return cloud.Answer(&slbv1.CreateLoadBalancerResponse{LoadBalancer: lb}, err)
}

// UpdateLoadBalancer changes the attributes that are present, one call each, in the order of their field numbers.
func (s *Service) UpdateLoadBalancer(
	ctx context.Context, r *slbv1.UpdateLoadBalancerRequest,
) (*slbv1.UpdateLoadBalancerResponse, error) {
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, _ *slb.Writer) error {
		for _, u := range updates(r) {
			if err := s.update(ctx, r.GetLoadBalancerId(), u); err != nil {
				return cloud.As(rpcerr.LoadBalancerNotFound, err)
			}
		}
		return nil
	})
	return cloud.Answer(&slbv1.UpdateLoadBalancerResponse{}, err)
}

// update is one call of UpdateLoadBalancer.
type update struct {
	action string
	params cloud.Params
	// done reports whether an instance is as it shall be; nil: the cloud does not mind being told again.
	done func(*slbv1.LoadBalancer) bool
}

// update makes a change. If the cloud refuses to make what is already, the change is done: an attempt whose answer was lost may have
// made it, of this gateway or of the one before.
func (s *Service) update(ctx context.Context, id string, u update) error {
	err := s.product.Set(ctx, u.action, u.params, nil)
	if u.done == nil || rpcerr.ReasonOf(err) != rpcerr.InvalidState {
		return err
	}
	found, readErr := s.fetch(ctx, []string{id})
	if lb := found[id]; readErr == nil && lb != nil && u.done(lb) {
		return nil
	}
	return err
}

func updates(r *slbv1.UpdateLoadBalancerRequest) []update {
	var list []update
	add := func(action string, params cloud.Params) { list = append(list, update{action: action, params: params}) }
	instance := func() cloud.Params { return cloud.Params{"LoadBalancerId": r.GetLoadBalancerId()} }
	if r.Name != nil {
		add("SetLoadBalancerName", instance().With("LoadBalancerName", r.GetName()))
	}
	if r.InstanceChargeType != nil {
		list = append(list, update{
			action: "ModifyLoadBalancerInstanceChargeType",
			params: instance().With("InstanceChargeType", instanceChargeTypes()[r.GetInstanceChargeType()]),
			done:   func(lb *slbv1.LoadBalancer) bool { return lb.GetInstanceChargeType() == r.GetInstanceChargeType() },
		})
	}
	if r.Spec != nil {
		list = append(list, update{
			action: "ModifyLoadBalancerInstanceSpec", params: instance().With("LoadBalancerSpec", r.GetSpec()),
			done: func(lb *slbv1.LoadBalancer) bool { return lb.GetSpec() == r.GetSpec() },
		})
	}
	if spec := r.GetInternetSpec(); spec != nil {
		add("ModifyLoadBalancerInternetSpec", instance().
			With("InternetChargeType", internetChargeTypes()[spec.GetChargeType()]).
			Int("Bandwidth", int(spec.GetBandwidthMbps())))
	}
	if r.DeleteProtection != nil {
		add("SetLoadBalancerDeleteProtection", instance().With("DeleteProtection", word(r.GetDeleteProtection(), "on", "off")))
	}
	if protection := r.GetModificationProtection(); protection != nil {
		add("SetLoadBalancerModificationProtection", instance().Merge(protectionParams(protection)))
	}
	for _, call := range cloud.TagCalls(openapi.SLB, "instance", r.GetLoadBalancerId(), r.GetSetTags(), r.GetRemoveTagKeys()) {
		add(call.Action, call.Params)
	}
	if r.ResourceGroupId != nil {
		list = append(list, update{
			action: "MoveResourceGroup",
			params: cloud.Params{
				"ResourceType": "loadbalancer", "ResourceId": r.GetLoadBalancerId(), "NewResourceGroupId": r.GetResourceGroupId(),
			},
			done: func(lb *slbv1.LoadBalancer) bool { return lb.GetResourceGroupId() == r.GetResourceGroupId() },
		})
	}
	if r.Active != nil {
		add("SetLoadBalancerStatus", instance().With("LoadBalancerStatus", word(r.GetActive(), "active", "inactive")))
	}
	return list
}

// DeleteLoadBalancer releases an instance with all that belongs to it.
func (s *Service) DeleteLoadBalancer(
	ctx context.Context, r *slbv1.DeleteLoadBalancerRequest,
) (*slbv1.DeleteLoadBalancerResponse, error) {
	id := r.GetLoadBalancerId()
	defer s.groups.Forget() // Its groups go with it, whichever they are.
	err := s.product.Exclusively(ctx, id, func(ctx context.Context, _ *slb.Writer) error {
		err := s.product.Set(ctx, "DeleteLoadBalancer", cloud.Params{"LoadBalancerId": id}, nil)
		return cloud.Unless(err, rpcerr.LoadBalancerNotFound)
	})
	return cloud.Answer(&slbv1.DeleteLoadBalancerResponse{}, err)
}
