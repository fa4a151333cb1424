package gatewaytest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// loadBalancers serves CLB instances.
type loadBalancers struct {
	slbv1.UnimplementedLoadBalancerServiceServer

	f *Fake
}

// loadBalancer finds an instance; f is locked.
func (f *Fake) loadBalancer(id string) (*slbv1.LoadBalancer, error) {
	if err := required("load_balancer_id", id); err != nil {
		return nil, err
	}
	lb, ok := f.LoadBalancers[id]
	if !ok {
		return nil, notFound(rpcerr.LoadBalancerNotFound, "load balancer", id)
	}
	return lb, nil
}

func (s *loadBalancers) GetLoadBalancer(_ context.Context, req *slbv1.GetLoadBalancerRequest,
) (*slbv1.GetLoadBalancerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	stored, err := s.f.loadBalancer(req.GetLoadBalancerId())
	if err != nil {
		return nil, err
	}
	lb := s.f.present(stored)
	if req.GetView() == slbv1.View_VIEW_FULL {
		lb.Listeners = s.f.listenersOf(req.GetLoadBalancerId())
		for _, group := range s.f.groupsOf(req.GetLoadBalancerId()) {
			lb.ServerGroups = append(lb.ServerGroups, group.message(selected(req, group)))
		}
	}
	return &slbv1.GetLoadBalancerResponse{LoadBalancer: lb}, nil
}

// selected reports whether the request wants the group's servers.
func selected(req *slbv1.GetLoadBalancerRequest, group *ServerGroup) bool {
	if len(req.GetServerGroupNamePrefixes()) == 0 && len(req.GetServerGroupIds()) == 0 {
		return true
	}
	return slices.Contains(req.GetServerGroupIds(), group.ID) ||
		slices.ContainsFunc(req.GetServerGroupNamePrefixes(), func(p string) bool { return strings.HasPrefix(group.Name, p) })
}

// present gives what the cloud would answer for an instance; f is locked.
func (f *Fake) present(lb *slbv1.LoadBalancer) *slbv1.LoadBalancer {
	shown := proto.CloneOf(lb)
	if shown.GetStatus() == "" {
		shown.Status = "inactive"
		for key, l := range f.Listeners {
			if key.LoadBalancerID == lb.GetLoadBalancerId() && l.GetStatus() == statusRunning {
				shown.Status = "active"
			}
		}
	}
	return shown
}

func (s *loadBalancers) ListLoadBalancers(_ context.Context, req *slbv1.ListLoadBalancersRequest,
) (*slbv1.ListLoadBalancersResponse, error) {
	if len(req.GetTags()) == 0 && req.GetName() == "" && len(req.GetLoadBalancerIds()) == 0 {
		return nil, invalid("tags", "at least one filter is required: tags, name or load_balancer_ids")
	}
	s.f.enter()
	defer s.f.leave()
	found := sorted(s.f.LoadBalancers, func(lb *slbv1.LoadBalancer) bool {
		return (req.GetName() == "" || lb.GetName() == req.GetName()) &&
			(len(req.GetLoadBalancerIds()) == 0 || slices.Contains(req.GetLoadBalancerIds(), lb.GetLoadBalancerId())) &&
			hasTags(lb.GetTags(), req.GetTags())
	})
	for i := range found {
		found[i] = s.f.present(found[i])
	}
	return &slbv1.ListLoadBalancersResponse{LoadBalancers: found}, nil
}

// hasTags reports whether all wanted tags are there.
func hasTags(tags, wanted []*commonv1.Tag) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(tags, func(t *commonv1.Tag) bool { return proto.Equal(t, w) }) {
			return false
		}
	}
	return true
}

func (s *loadBalancers) CreateLoadBalancer(_ context.Context, req *slbv1.CreateLoadBalancerRequest,
) (*slbv1.CreateLoadBalancerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*slbv1.CreateLoadBalancerResponse); ok {
		return proto.CloneOf(response), nil
	}
	if err := s.f.validCreation(req); err != nil {
		return nil, err
	}
	id := s.f.nextID("lb")
	lb := &slbv1.LoadBalancer{
		LoadBalancerId: id, Name: req.GetName(), Address: req.GetAddress(), AddressType: req.GetAddressType(),
		IpVersion: req.GetIpVersion(), NetworkType: "classic", PrimaryZoneId: req.GetPrimaryZoneId(), StandbyZoneId: req.GetStandbyZoneId(),
		Spec: req.GetSpec(), InstanceChargeType: req.GetInstanceChargeType(), InternetChargeType: req.GetInternetChargeType(),
		BandwidthMbps: req.GetBandwidthMbps(), DeleteProtection: req.GetDeleteProtection(),
		ModificationProtection: req.GetModificationProtection(), ResourceGroupId: req.GetResourceGroupId(), Tags: req.GetTags(),
	}
	if lb.GetName() == "" {
		lb.Name = "auto_named_" + id
	}
	if lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED {
		lb.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTERNET
	}
	if lb.GetIpVersion() == slbv1.IpVersion_IP_VERSION_UNSPECIFIED {
		lb.IpVersion = slbv1.IpVersion_IP_VERSION_IPV4
	}
	if lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTRANET {
		lb.NetworkType, lb.VswitchId = "vpc", req.GetVswitchId()
		lb.VpcId = s.f.VSwitches[req.GetVswitchId()].GetVpcId()
	}
	if lb.GetAddress() == "" {
		lb.Address = s.f.nextAddress(lb.GetAddressType() != slbv1.AddressType_ADDRESS_TYPE_INTRANET,
			lb.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6)
	}
	s.f.LoadBalancers[id] = proto.CloneOf(lb)
	response := &slbv1.CreateLoadBalancerResponse{LoadBalancer: s.f.present(lb)}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// validCreation checks what the gateway and the cloud check; f is locked.
func (f *Fake) validCreation(req *slbv1.CreateLoadBalancerRequest) error {
	const maxName, maxBandwidth = 80, 5120
	if len(req.GetName()) > maxName {
		return invalid("name", "has %d characters, at most %d are allowed", len(req.GetName()), maxName)
	}
	if err := tooManyTags(req.GetTags()); err != nil {
		return err
	}
	if b := req.GetBandwidthMbps(); b < 0 || b > maxBandwidth {
		return invalid("bandwidth_mbps", "%d is not in 0 to %d", b, maxBandwidth)
	}
	if req.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && req.GetSpec() == "" {
		return invalid("spec", "is required for PayBySpec")
	}
	if req.GetAddressType() != slbv1.AddressType_ADDRESS_TYPE_INTRANET {
		return nil
	}
	if err := required("vswitch_id", req.GetVswitchId()); err != nil {
		return err
	}
	if _, ok := f.VSwitches[req.GetVswitchId()]; !ok {
		return notFound(rpcerr.VSwitchNotFound, "vSwitch", req.GetVswitchId())
	}
	return nil
}

// nextAddress hands out 47.0.0.1, … for public and 10.0.0.1, … for private instances; f is locked.
func (f *Fake) nextAddress(public, six bool) string {
	network := "10"
	if public {
		network = "47"
	}
	f.ids[network]++
	n := f.ids[network]
	if six {
		return fmt.Sprintf("2408:%s::%x", network, n)
	}
	return fmt.Sprintf("%s.%d.%d.%d", network, n>>16&255, n>>8&255, n&255)
}

func (s *loadBalancers) UpdateLoadBalancer(_ context.Context, req *slbv1.UpdateLoadBalancerRequest,
) (*slbv1.UpdateLoadBalancerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	lb, err := s.f.loadBalancer(req.GetLoadBalancerId())
	if err != nil {
		return nil, err
	}
	if req.InstanceChargeType != nil && req.GetInstanceChargeType() != lb.GetInstanceChargeType() {
		if lb.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU {
			return nil, refused(codes.FailedPrecondition, rpcerr.InvalidState, "PayByCLCU cannot be changed back")
		}
		lb.InstanceChargeType, lb.Spec = req.GetInstanceChargeType(), ""
	}
	if req.Name != nil {
		lb.Name = req.GetName()
	}
	if req.Spec != nil {
		lb.Spec = req.GetSpec()
	}
	if internet := req.GetInternetSpec(); internet != nil {
		lb.InternetChargeType = internet.GetChargeType()
		if internet.GetBandwidthMbps() != 0 {
			lb.BandwidthMbps = internet.GetBandwidthMbps()
		}
	}
	if req.DeleteProtection != nil {
		lb.DeleteProtection = req.GetDeleteProtection()
	}
	if protection := req.GetModificationProtection(); protection != nil {
		lb.ModificationProtection = proto.CloneOf(protection)
	}
	lb.Tags = retagged(lb.GetTags(), req)
	return &slbv1.UpdateLoadBalancerResponse{}, nil
}

// retagged are tags after a request that changes them.
func retagged(tags []*commonv1.Tag, req interface {
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
},
) []*commonv1.Tag {
	for _, tag := range req.GetSetTags() {
		tags = append(withoutTag(tags, tag.GetKey()), proto.CloneOf(tag))
	}
	for _, key := range req.GetRemoveTagKeys() {
		tags = withoutTag(tags, key)
	}
	return tags
}

func withoutTag(tags []*commonv1.Tag, key string) []*commonv1.Tag {
	return slices.DeleteFunc(tags, func(t *commonv1.Tag) bool { return t.GetKey() == key })
}

func (s *loadBalancers) DeleteLoadBalancer(_ context.Context, req *slbv1.DeleteLoadBalancerRequest,
) (*slbv1.DeleteLoadBalancerResponse, error) {
	if err := required("load_balancer_id", req.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	id := req.GetLoadBalancerId()
	if s.f.LoadBalancers[id].GetDeleteProtection() {
		return nil, refused(codes.FailedPrecondition, rpcerr.DeleteProtected, "delete protection of %s is on", id)
	}
	delete(s.f.LoadBalancers, id)
	for key := range s.f.Listeners {
		if key.LoadBalancerID == id {
			delete(s.f.Listeners, key)
		}
	}
	s.f.dropExtensions(func(l ListenerKey) bool { return l.LoadBalancerID == id })
	for groupID, group := range s.f.ServerGroups {
		if group.LoadBalancerID == id {
			delete(s.f.ServerGroups, groupID)
		}
	}
	delete(s.f.DefaultGroups, id)
	for _, e := range s.f.Eips {
		if e.GetInstanceId() == id {
			e.InstanceId, e.InstanceType, e.Status = "", "", "Available"
		}
	}
	return &slbv1.DeleteLoadBalancerResponse{}, nil
}
