package nlb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// createInstance makes an NLB and records it. The request id is that of the life of the Service's NLB, whatever zones
// are chosen; one whose job has failed is used up.
func (p Product) createInstance(ctx context.Context, w apply.Work, a CreateInstance) (plan.Result, error) {
	id, err := w.Life.RequestID(a.Spec)
	if err != nil {
		return plan.Result{}, err
	}
	lb, err := p.create(ctx, id, a.Spec)
	again := rpcerr.ReasonOf(err) == rpcerr.JobFailed
	if again {
		lb, err = p.createAgain(ctx, w.Life, a.Spec)
	}
	if err != nil {
		return plan.Result{}, err
	}
	if w.Created != nil {
		if err := w.Created(ctx, lb.GetLoadBalancerId()); err != nil {
			return plan.Result{}, err
		}
	}
	if again && a.Spec.GetDeletionProtection().GetEnabled() {
		if lb, err = p.protect(ctx, lb, a.Spec.GetDeletionProtection()); err != nil {
			return plan.Result{Instance: Balancer{lb}}, err
		}
	}
	return plan.Result{Instance: Balancer{lb}}, nil
}

// tagUnprotected is on an NLB that is to be protected against deletion and isn't yet. If the process dies before it is,
// the next one knows.
const tagUnprotected = "kubernetes.protection.pending"

// protect gives an NLB the protection that it was made without, and returns it as it is then.
func (p Product) protect(ctx context.Context, lb *nlbv1.LoadBalancer, wanted *nlbv1.Protection) (*nlbv1.LoadBalancer, error) {
	_, err := p.Gateway.NetworkLoadBalancers.UpdateLoadBalancer(ctx, &nlbv1.UpdateLoadBalancerRequest{
		LoadBalancerId: lb.GetLoadBalancerId(), DeletionProtection: wanted, RemoveTagKeys: []string{tagUnprotected},
	})
	if err != nil {
		return lb, err
	}
	lb = proto.CloneOf(lb)
	lb.DeletionProtection = wanted
	lb.Tags = slices.DeleteFunc(lb.GetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == tagUnprotected })
	return lb, nil
}

// createAgain makes an NLB after one could not be made. The cloud keeps that one, which can't be changed any more: if
// it is protected it can be deleted only by hand. So the protection of the next one comes when it is there.
func (p Product) createAgain(ctx context.Context, life apply.Life, spec *nlbv1.CreateLoadBalancerRequest) (*nlbv1.LoadBalancer, error) {
	failed, err := p.clearFailed(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("delete what could not be made: %w", err)
	}
	spec = proto.CloneOf(spec)
	if spec.GetDeletionProtection().GetEnabled() {
		spec.DeletionProtection = nil
		spec.Tags = append(spec.Tags, &commonv1.Tag{Key: tagUnprotected, Value: "true"})
	}
	id := requestID("lb-") // What had failed was deleted by a process that died then.
	if life.Replaces = strings.Join(failed, ","); len(failed) > 0 {
		if id, err = life.RequestID(spec); err != nil {
			return nil, err
		}
	}
	return p.create(ctx, id, spec)
}

// clearFailed deletes the NLBs of a Service that could not be made, as far as that goes, and returns their ids.
func (p Product) clearFailed(ctx context.Context, spec *nlbv1.CreateLoadBalancerRequest) ([]string, error) {
	mark := spec.GetTags()[0] // The first is that of the Service; see ownMarks.
	answer, err := p.Gateway.NetworkLoadBalancers.ListLoadBalancers(ctx, &nlbv1.ListLoadBalancersRequest{
		Tags: []*commonv1.Tag{mark}, Status: nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED,
	})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, lb := range answer.GetLoadBalancers() {
		id := lb.GetLoadBalancerId()
		ids = append(ids, id)
		_, err := p.Gateway.NetworkLoadBalancers.DeleteLoadBalancer(ctx, &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: id})
		if err != nil && rpcerr.ReasonOf(err) != rpcerr.DeleteProtected {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// create makes the call, in other vSwitches of the same zones while those that were the controller's choice have no free address.
func (p Product) create(ctx context.Context, id string, spec *nlbv1.CreateLoadBalancerRequest) (*nlbv1.LoadBalancer, error) {
	request := proto.CloneOf(spec)
	request.RequestId = id
	var choices []*vpcv1.VSwitch
	if len(spec.GetZoneMappings()) == 0 {
		var err error
		if choices, err = p.vSwitches(ctx, zonesAge); err != nil {
			return nil, err
		}
		if request.ZoneMappings, err = firstOfZones(choices); err != nil {
			return nil, err
		}
	}
	answer, err := p.Gateway.NetworkLoadBalancers.CreateLoadBalancer(ctx, request)
	if rpcerr.ReasonOf(err) != rpcerr.NoFreeAddress || choices == nil {
		return answer.GetLoadBalancer(), err
	}
	choices, readErr := p.vSwitches(ctx, 0)
	if readErr != nil {
		return nil, readErr
	}
	roomy := slices.DeleteFunc(choices, func(v *vpcv1.VSwitch) bool { return v.GetAvailableIpCount() == 0 })
	zones, zonesErr := firstOfZones(roomy)
	if zonesErr != nil || slices.EqualFunc(zones, request.GetZoneMappings(), func(a, b *nlbv1.ZoneMapping) bool { return proto.Equal(a, b) }) {
		return nil, err
	}
	request.ZoneMappings = zones
	if request.RequestId, err = (apply.Life{UID: id}).RequestID(request); err != nil { // The first is used up.
		return nil, err
	}
	answer, err = p.Gateway.NetworkLoadBalancers.CreateLoadBalancer(ctx, request)
	return answer.GetLoadBalancer(), err
}

// zonesAge is how long vSwitches are known to be in their zones: many Services may be created at once.
const zonesAge = time.Minute

// vSwitches are those of the configuration, in its order, as they were up to maxAge ago.
func (p Product) vSwitches(ctx context.Context, maxAge time.Duration) ([]*vpcv1.VSwitch, error) {
	answer, err := p.Gateway.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{
		VswitchIds: p.VSwitchIDs, MaxAge: durationpb.New(maxAge),
	})
	if err != nil {
		return nil, fmt.Errorf("look for the zones of the configured vSwitches: %w", err)
	}
	list := answer.GetVswitches()
	slices.SortFunc(list, func(a, b *vpcv1.VSwitch) int {
		return slices.Index(p.VSwitchIDs, a.GetVswitchId()) - slices.Index(p.VSwitchIDs, b.GetVswitchId())
	})
	return list, nil
}

// firstOfZones is the first vSwitch of each zone, ordered by zone.
func firstOfZones(list []*vpcv1.VSwitch) ([]*nlbv1.ZoneMapping, error) {
	var zones []*nlbv1.ZoneMapping
	for _, v := range list {
		if !slices.ContainsFunc(zones, func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == v.GetZoneId() }) {
			zones = append(zones, &nlbv1.ZoneMapping{ZoneId: v.GetZoneId(), VswitchId: v.GetVswitchId()})
		}
	}
	if len(zones) < leastZones {
		return nil, rpcerr.Invalidf("vswitchIDs",
			"the configured vSwitches with free addresses are in %d zones, and an NLB needs two; add a vSwitch of another zone, "+
				"or set annotation zone-maps", len(zones))
	}
	slices.SortFunc(zones, func(a, b *nlbv1.ZoneMapping) int { return strings.Compare(a.GetZoneId(), b.GetZoneId()) })
	return zones, nil
}
