package clb

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// slbInstance is what the cloud calls a CLB that an EIP is bound to.
const slbInstance = "SlbInstance"

var (
	_ observe.BoundReader = Product{}
	_ plan.Binder         = Product{}
)

// Bound implements desired.Configurer.
func (Product) Bound(v desired.View) (b *model.Binding, isPublished bool) {
	b = v.Binding(v.Values.Text(annotation.EIPID), v.Values.On(annotation.EIPAllocate))
	return b, v.Values.Has(annotation.ExternalIPType) || v.Values.Has(annotation.EIPID) || v.Values.On(annotation.EIPAllocate)
}

// eip asks for an EIP for an intranet CLB.
func (b builder) eip() {
	v, w := b.Values, b.Binding
	if !w.IsAsked() {
		return
	}
	key := annotation.EIPAllocate
	if w.ID != "" {
		key = annotation.EIPID
	}
	switch {
	case w.ID != "" && w.Own:
		b.Misfit(annotation.EIPAllocate, "off, or remove annotation "+annotation.Prefix+annotation.EIPID)
	case b.Reuse.ID != "":
		b.Misfit(key, "it without annotation "+annotation.Prefix+annotation.ID+": bind an EIP to your CLB in the console")
	case v.Text(annotation.AddressType) != "intranet" || v.Text(annotation.IPVersion) == "ipv6":
		b.Misfit(key, "it together with annotation "+annotation.Prefix+annotation.AddressType+": intranet, and not with ip-version ipv6")
	}
	var asked wish
	asked.Bandwidth, _ = v.Number(annotation.EIPBandwidth)
	asked.ChargeType = chargeTypes()[v.Text(annotation.EIPChargeType)]
	if b.NoEIPs {
		asked.Forbidden = "no EIP is bound, because eips.enabled is off in the configuration; switch it on, or remove annotation " +
			annotation.Prefix + key
	}
	if b.DisablePublic {
		asked.Forbidden = "no EIP is bound, as public load balancers are disabled in this cluster; remove annotation " + annotation.Prefix + key
	}
	w.Config = asked
}

// chargeTypes are the values of the annotation.
func chargeTypes() map[string]int32 {
	return map[string]int32{
		"PayByTraffic":   int32(vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC),
		"PayByBandwidth": int32(vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH),
	}
}

// otherEIP says that the EIP that was allocated isn't as is asked now.
func otherEIP(v annotation.Values, there model.Observed) (warnings []string) {
	found, isThere := wantedEIP(there, &model.Binding{Own: v.On(annotation.EIPAllocate)})
	if !isThere {
		return nil
	}
	e := eipOf(found)
	differs := func(key, have string) {
		warnings = append(warnings, fmt.Sprintf("annotation %s%s has no effect: EIP %s is allocated with %s; change it in the console, or "+
			"release it by annotation %s: off before", annotation.Prefix, key, found.ID, have, annotation.EIPAllocate))
	}
	if n, asked := v.Number(annotation.EIPBandwidth); asked && n != e.Bandwidth {
		differs(annotation.EIPBandwidth, fmt.Sprintf("%d Mbit/s", e.Bandwidth))
	}
	for name, number := range chargeTypes() {
		if asked := v.Text(annotation.EIPChargeType); asked != "" && asked != name && number == e.ChargeType {
			differs(annotation.EIPChargeType, name)
		}
	}
	return warnings
}

// FindBound implements observe.BoundReader.
func (p Product) FindBound(ctx context.Context, mark observe.Mark, loadBalancer string, w *model.Binding) (
	[]model.Bound, error) {
	var requests []*vpcv1.ListEipsRequest
	if len(w.Users) > 0 {
		requests = append(requests, &vpcv1.ListEipsRequest{AllocationIds: w.Users})
	}
	if w.Made {
		requests = append(requests, &vpcv1.ListEipsRequest{Tags: listTags(mark)})
	}
	if w.IsAsked() && loadBalancer != "" {
		requests = append(requests, &vpcv1.ListEipsRequest{AssociatedInstanceType: slbInstance, AssociatedInstanceId: loadBalancer})
	}
	var found []model.Bound
	for _, request := range requests {
		answer, err := p.Gateway.Eips.ListEips(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("look for the EIP: %w", err)
		}
		for _, e := range answer.GetEips() {
			// A filter of the cloud is no proof.
			if one := presentEIP(mark, e); one.Ours || len(request.GetTags()) == 0 {
				found = append(found, one)
			}
		}
	}
	slices.SortFunc(found, func(a, b model.Bound) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(found, func(a, b model.Bound) bool { return a.ID == b.ID }), nil
}

// presentEIP is an EIP, by its marks. One that somebody has renamed is that person's.
func presentEIP(mark observe.Mark, e *vpcv1.Eip) model.Bound {
	marked := slices.ContainsFunc(e.GetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == ownership.TagService })
	return model.Bound{
		ID: e.GetAllocationId(), To: e.GetInstanceId(),
		Ours:   mark.Made(listPrefix, e.GetName(), e.GetTags()),
		Others: marked && !mark.On(e.GetTags()),
		Config: eip{Type: e.GetInstanceType(), Bandwidth: e.GetBandwidthMbps(), ChargeType: int32(e.GetInternetChargeType())},
	}
}

// callEIP makes the call of an action about an EIP. The request id of an allocation is new each time: after a lost answer the EIP is found
// by its tags, while a repeated id could be answered with one that was released since.
func (p Product) callEIP(ctx context.Context, w apply.Work, now model.Observed, action plan.Action) (plan.Result, error) {
	var err error
	switch a := action.(type) {
	case AllocateEIP:
		mark := observe.Mark{DefaultName: ownership.DefaultName(w.Life.UID), ClusterID: w.Life.ClusterID}
		request := &vpcv1.AllocateEipRequest{
			RequestId: "eip-" + rand.Text(), Name: listPrefix + mark.DefaultName, Tags: listTags(mark),
			BandwidthMbps: a.EIP.Bandwidth, InternetChargeType: vpcv1.InternetChargeType(a.EIP.ChargeType),
		}
		if spec, ok := a.Spec.(*slbv1.CreateLoadBalancerRequest); ok {
			request.ResourceGroupId = spec.GetResourceGroupId()
		}
		answer, err := p.Gateway.Eips.AllocateEip(ctx, request)
		if err != nil {
			return plan.Result{}, err
		}
		made := presentEIP(mark, answer.GetEip())
		made.Ours = true
		return plan.Result{Bound: &made}, nil
	case BindEIP:
		_, err = p.Gateway.Eips.AssociateEip(ctx, &vpcv1.AssociateEipRequest{
			AllocationId: a.Resolve(now), InstanceId: now.InstanceID, InstanceType: slbInstance,
		})
	case UnbindEIP:
		_, err = p.Gateway.Eips.UnassociateEip(ctx, &vpcv1.UnassociateEipRequest{AllocationId: a.ID, InstanceId: now.InstanceID})
	case ReleaseEIP:
		_, err = p.Gateway.Eips.ReleaseEip(ctx, &vpcv1.ReleaseEipRequest{AllocationId: a.ID})
	}
	return plan.Result{}, err
}
