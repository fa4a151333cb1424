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
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/vswitch"
)

// createInstance makes an NLB and records it. The request id is that of the life of the Service's NLB, whatever zones
// are chosen; one whose job has failed is used up.
func (p Product) createInstance(ctx context.Context, w apply.Work, a CreateInstance) (plan.Result, error) {
	id, err := w.Life.RequestID(a.Spec)
	if err != nil {
		return plan.Result{}, err
	}
	lb, err := p.create(ctx, id, w, a)
	again := rpcerr.ReasonOf(err) == rpcerr.JobFailed
	if again {
		lb, err = p.createAgain(ctx, w, a)
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
			return plan.Result{Instance: Balancer{LoadBalancer: lb}}, err
		}
	}
	return plan.Result{Instance: Balancer{LoadBalancer: lb}}, nil
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
func (p Product) createAgain(ctx context.Context, w apply.Work, a CreateInstance) (*nlbv1.LoadBalancer, error) {
	failed, err := p.clearFailed(ctx, a.Spec)
	if err != nil {
		return nil, fmt.Errorf("delete what could not be made: %w", err)
	}
	spec := proto.CloneOf(a.Spec)
	if spec.GetDeletionProtection().GetEnabled() && len(spec.GetTags()) < desired.MaxTags { // Else there is no room for the tag.
		spec.DeletionProtection = nil
		spec.Tags = append(spec.Tags, &commonv1.Tag{Key: tagUnprotected, Value: "true"})
	}
	id := requestID("lb-") // What had failed was deleted by a process that died then.
	life := w.Life
	if life.Replaces = strings.Join(failed, ","); len(failed) > 0 {
		if id, err = life.RequestID(spec); err != nil {
			return nil, err
		}
	}
	a.Spec = spec
	return p.create(ctx, id, w, a)
}

// clearFailed deletes the NLBs of a Service that could not be made, as far as that goes, and returns their ids.
func (p Product) clearFailed(ctx context.Context, spec *nlbv1.CreateLoadBalancerRequest) ([]string, error) {
	marks := spec.GetTags()[:2] // Those of the Service and of the cluster; see ownMarks.
	answer, err := p.Gateway.NetworkLoadBalancers.ListLoadBalancers(ctx, &nlbv1.ListLoadBalancersRequest{
		Tags: marks, Status: nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED,
	})
	if err != nil {
		return nil, err
	}
	own := observe.Mark{DefaultName: marks[0].GetValue(), ClusterID: marks[1].GetValue()}
	var ids []string
	for _, lb := range answer.GetLoadBalancers() {
		id := lb.GetLoadBalancerId()
		if !own.On(lb.GetTags()) || lb.GetStatus() != nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED {
			continue // A filter of the cloud is no proof.
		}
		ids = append(ids, id)
		_, err := p.Gateway.NetworkLoadBalancers.DeleteLoadBalancer(ctx, &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: id})
		if err != nil && rpcerr.ReasonOf(err) != rpcerr.DeleteProtected {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// create makes the call. Zones that are the controller's choice are looked for, and once more if a vSwitch has no free address.
func (p Product) create(ctx context.Context, id string, w apply.Work, a CreateInstance) (*nlbv1.LoadBalancer, error) {
	request := proto.CloneOf(a.Spec)
	request.RequestId = id
	if len(request.GetZoneMappings()) > 0 {
		answer, err := p.Gateway.NetworkLoadBalancers.CreateLoadBalancer(ctx, request)
		return answer.GetLoadBalancer(), err
	}
	zones, without, err := p.zonesFor(ctx, a, vswitch.Age)
	if err != nil {
		return nil, err
	}
	request.ZoneMappings = zones
	answer, err := p.Gateway.NetworkLoadBalancers.CreateLoadBalancer(ctx, request)
	if rpcerr.ReasonOf(err) == rpcerr.NoFreeAddress {
		var lookErr error
		if zones, without, lookErr = p.zonesFor(ctx, a, 0); lookErr != nil {
			return nil, lookErr
		}
		if slices.EqualFunc(zones, request.GetZoneMappings(), func(a, b *nlbv1.ZoneMapping) bool { return proto.Equal(a, b) }) {
			return nil, err
		}
		request.ZoneMappings = zones
		if request.RequestId, err = (apply.Life{UID: id}).RequestID(request); err != nil { // The first is used up.
			return nil, err
		}
		answer, err = p.Gateway.NetworkLoadBalancers.CreateLoadBalancer(ctx, request)
	}
	if err == nil && len(without) > 0 && w.Tell != nil {
		w.Tell(fmt.Sprintf("load balancer %s leaves zones out in which the cloud offers no NLBs: %s",
			answer.GetLoadBalancer().GetLoadBalancerId(), strings.Join(without, ", ")))
	}
	return answer.GetLoadBalancer(), err
}

// zonesAge is how old the list of zones that have NLBs may be.
const zonesAge = 24 * time.Hour

// zonesFor is one vSwitch with free addresses in each zone that has NLBs, ordered by zone, by a list that is up to maxAge old: those of the
// configuration, and others only if these are not in two zones. without are the zones that would have been taken and have no NLBs.
func (p Product) zonesFor(ctx context.Context, a CreateInstance, maxAge time.Duration) (
	zones []*nlbv1.ZoneMapping, without []string, err error,
) {
	list, err := vswitch.List(ctx, p.Gateway, a.Spec.GetVpcId(), maxAge)
	if err != nil {
		return nil, nil, err
	}
	offered := p.offered(ctx, zonesAge)
	search := vswitch.Search{Configured: p.VSwitchIDs, ClusterID: a.ClusterID, Nodes: a.Nodes,
		IPv6: a.Spec.GetIpVersion() == nlbv1.IpVersion_IP_VERSION_DUAL_STACK}
	zones, without = split(firstOfZones(search.Of(list)), offered)
	if len(zones) < leastZones {
		zones, without = split(firstOfZones(search.All(list)), offered)
	}
	if len(zones) < leastZones {
		var but string
		if len(without) > 0 {
			but = "; zones in which the cloud offers no NLBs are left out: " + strings.Join(without, ", ")
		}
		what := "with free addresses"
		if search.IPv6 {
			what += ", and with an IPv6 range for ip-version DualStack,"
		}
		return nil, nil, rpcerr.Errorf(rpcerr.NoFreeAddress, "the vSwitches %s are in %d zones, and an NLB needs two: those of "+
			"vswitchIDs in the configuration, and those with the tag %s or else those of the nodes%s", what, len(zones), vswitch.Tag, but)
	}
	return zones, without, nil
}

// offered are the zones that have NLBs, by a list of that age; none if that isn't known, as with a gateway of before. The zones are
// those of the vSwitches then, and the cloud refuses what it can't do.
func (p Product) offered(ctx context.Context, maxAge time.Duration) []string {
	answer, err := p.Gateway.NetworkLoadBalancers.ListZones(ctx, &nlbv1.ListZonesRequest{MaxAge: durationpb.New(maxAge)})
	if err != nil {
		return nil
	}
	return answer.GetZoneIds()
}

// split takes zones out that aren't among those that have NLBs, unless nothing is known of these.
func split(zones []*nlbv1.ZoneMapping, offered []string) (with []*nlbv1.ZoneMapping, without []string) {
	for _, z := range zones {
		if len(offered) > 0 && !slices.Contains(offered, z.GetZoneId()) {
			without = append(without, z.GetZoneId())
		} else {
			with = append(with, z)
		}
	}
	return with, without
}

// firstOfZones is the first vSwitch of each zone, ordered by zone.
func firstOfZones(list []*vpcv1.VSwitch) []*nlbv1.ZoneMapping {
	var zones []*nlbv1.ZoneMapping
	for _, v := range list {
		if !slices.ContainsFunc(zones, func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == v.GetZoneId() }) {
			zones = append(zones, &nlbv1.ZoneMapping{ZoneId: v.GetZoneId(), VswitchId: v.GetVswitchId()})
		}
	}
	slices.SortFunc(zones, func(a, b *nlbv1.ZoneMapping) int { return strings.Compare(a.GetZoneId(), b.GetZoneId()) })
	return zones
}
