package gatewaytest

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// Words of NLB in short.
const (
	nlbProvisioning = nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_PROVISIONING
	nlbActive       = nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE
	nlbConfiguring  = nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CONFIGURING
	nlbFailed       = nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED
	nlbInternet     = nlbv1.AddressType_ADDRESS_TYPE_INTERNET
	nlbIntranet     = nlbv1.AddressType_ADDRESS_TYPE_INTRANET
	nlbDualStack    = nlbv1.IpVersion_IP_VERSION_DUAL_STACK
)

// defaultResourceGroup is the account's.
const defaultResourceGroup = "rg-acfmdefault"

// namePattern is that of the names of load balancers and server groups.
var namePattern = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // A constant.
	return regexp.MustCompile(`^\pL[\pL\pN._-]{1,127}$`)
})

// nlbBalancers serves NLB instances.
type nlbBalancers struct {
	nlbv1.UnimplementedLoadBalancerServiceServer

	f *Fake
}

// nlb finds an instance; f is locked.
func (f *Fake) nlb(id string) (*nlbv1.LoadBalancer, error) {
	if err := required("load_balancer_id", id); err != nil {
		return nil, err
	}
	lb, ok := f.NLB.LoadBalancers[id]
	if !ok {
		return nil, notFound(rpcerr.LoadBalancerNotFound, "network load balancer", id)
	}
	return completeNLB(lb), nil
}

// completeNLB fills in what a test has left out.
func completeNLB(lb *nlbv1.LoadBalancer) *nlbv1.LoadBalancer {
	lb.Status, lb.BusinessStatus = cmp.Or(lb.GetStatus(), nlbActive), cmp.Or(lb.GetBusinessStatus(),
		nlbv1.BusinessStatus_BUSINESS_STATUS_NORMAL)
	lb.AddressType, lb.IpVersion = cmp.Or(lb.GetAddressType(), nlbIntranet), cmp.Or(lb.GetIpVersion(), nlbv1.IpVersion_IP_VERSION_IPV4)
	lb.DnsName = cmp.Or(lb.GetDnsName(), lb.GetLoadBalancerId()+".cn-hangzhou.nlb.aliyuncs.com")
	lb.ResourceGroupId = cmp.Or(lb.GetResourceGroupId(), defaultResourceGroup)
	for _, p := range []**nlbv1.Protection{&lb.DeletionProtection, &lb.ModificationProtection} {
		if *p == nil || !(*p).GetEnabled() {
			*p = &nlbv1.Protection{}
		}
	}
	return lb
}

func (s *nlbBalancers) GetLoadBalancer(_ context.Context, req *nlbv1.GetLoadBalancerRequest) (*nlbv1.GetLoadBalancerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	lb, err := s.f.nlb(req.GetLoadBalancerId())
	if err != nil {
		return nil, err
	}
	return &nlbv1.GetLoadBalancerResponse{LoadBalancer: proto.CloneOf(lb)}, nil
}

func (s *nlbBalancers) ListLoadBalancers(_ context.Context, req *nlbv1.ListLoadBalancersRequest) (*nlbv1.ListLoadBalancersResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return &nlbv1.ListLoadBalancersResponse{LoadBalancers: sorted(s.f.NLB.LoadBalancers, func(lb *nlbv1.LoadBalancer) bool {
		completeNLB(lb)
		inZone := func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == req.GetZoneId() }
		return among(req.GetLoadBalancerIds(), lb.GetLoadBalancerId()) && among(req.GetNames(), lb.GetName()) &&
			hasTags(lb.GetTags(), req.GetTags()) &&
			among(req.GetVpcIds(), lb.GetVpcId()) && (req.GetZoneId() == "" || slices.ContainsFunc(lb.GetZoneMappings(), inZone)) &&
			match(req.GetAddressType(), lb.GetAddressType()) && match(req.GetIpVersion(), lb.GetIpVersion()) &&
			match(req.GetStatus(), lb.GetStatus()) &&
			match(req.GetBusinessStatus(), lb.GetBusinessStatus()) && match(req.GetResourceGroupId(), lb.GetResourceGroupId()) &&
			match(req.GetDnsName(), lb.GetDnsName())
	})}, nil
}

func (s *nlbBalancers) ListZones(context.Context, *nlbv1.ListZonesRequest) (*nlbv1.ListZonesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return &nlbv1.ListZonesResponse{ZoneIds: slices.Clone(s.f.NLB.Zones)}, nil
}

func (s *nlbBalancers) CreateLoadBalancer(
	ctx context.Context, req *nlbv1.CreateLoadBalancerRequest,
) (*nlbv1.CreateLoadBalancerResponse, error) {
	id, err := s.f.writeNLB(ctx, nlbWrite{method: "nlb.CreateLoadBalancer", request: req,
		plan: func() (nlbChange, error) { return s.f.createNLB(req) }})
	if err != nil || req.GetValidateOnly() {
		return &nlbv1.CreateLoadBalancerResponse{}, err
	}
	made, err := s.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id})
	return &nlbv1.CreateLoadBalancerResponse{LoadBalancer: made.GetLoadBalancer()}, err
}

func (f *Fake) createNLB(req *nlbv1.CreateLoadBalancerRequest) (nlbChange, error) {
	err := firstError(requestID(req), nlbName(req.GetName()), required("vpc_id", req.GetVpcId()), tooManyTags(req.GetTags()),
		f.validZones(req.GetVpcId(), req.GetIpVersion(), req.GetZoneMappings()), f.groupsExist(req.GetSecurityGroupIds()))
	if err == nil && req.GetAddressType() == nlbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED {
		err = invalid("address_type", "is required")
	}
	if err != nil {
		return nlbChange{}, err
	}
	lb := &nlbv1.LoadBalancer{
		Name: req.GetName(), VpcId: req.GetVpcId(), AddressType: req.GetAddressType(), IpVersion: req.GetIpVersion(), Status: nlbProvisioning,
		SecurityGroupIds: slices.Clone(req.GetSecurityGroupIds()), BandwidthPackageId: req.GetBandwidthPackageId(), CrossZoneEnabled: true,
		DeletionProtection: proto.CloneOf(req.GetDeletionProtection()), ModificationProtection: proto.CloneOf(req.GetModificationProtection()),
		ResourceGroupId: req.GetResourceGroupId(), Tags: cloneAll(req.GetTags()), CreationTime: timestamppb.Now(),
	}
	if lb.GetIpVersion() == nlbDualStack {
		lb.Ipv6AddressType = nlbIntranet
	}
	return nlbChange{
		begin: func() string {
			lb.LoadBalancerId = f.nextID("nlb")
			f.setZones(completeNLB(lb), req.GetZoneMappings())
			f.NLB.LoadBalancers[lb.GetLoadBalancerId()] = lb
			return lb.GetLoadBalancerId()
		},
		finish: func(failed bool) {
			if lb.Status = nlbActive; failed {
				lb.Status = nlbFailed
			}
		},
	}, nil
}

// validZones checks the zones of an instance; f is locked.
func (f *Fake) validZones(vpc string, version nlbv1.IpVersion, zones []*nlbv1.ZoneMapping) error {
	const least, most = 2, 10
	if len(zones) < least || len(zones) > most {
		return invalid("zone_mappings", "has %d items, %d to %d are allowed", len(zones), least, most)
	}
	seen := map[string]bool{}
	for _, z := range zones {
		vswitch := f.VSwitches[z.GetVswitchId()]
		switch {
		case vswitch == nil || vswitch.GetVpcId() != vpc:
			return notFound(rpcerr.VSwitchNotFound, "vSwitch of "+vpc, z.GetVswitchId())
		case !slices.Contains(f.NLB.Zones, z.GetZoneId()):
			return refused(rpcerr.InvalidField.Code(), rpcerr.InvalidField, "instances can't be in the zone %q", z.GetZoneId())
		case vswitch.GetZoneId() != "" && vswitch.GetZoneId() != z.GetZoneId(), seen[z.GetZoneId()]:
			return refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "vSwitch %s is in the zone %q, or two are",
				z.GetVswitchId(), z.GetZoneId())
		case version == nlbDualStack && vswitch.GetIpv6CidrBlock() == "":
			return refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "vSwitch %s doesn't support IPv6", z.GetVswitchId())
		}
		seen[z.GetZoneId()] = true
	}
	return nil
}

// groupsExist checks that security groups exist; f is locked.
func (f *Fake) groupsExist(ids []string) error {
	for _, id := range ids {
		if _, err := f.securityGroup(id); err != nil {
			return err
		}
	}
	return nil
}

// setZones gives an instance its zones. One in which it is keeps its addresses.
func (f *Fake) setZones(lb *nlbv1.LoadBalancer, wanted []*nlbv1.ZoneMapping) {
	var zones []*nlbv1.ZoneMapping
	for _, w := range wanted {
		i := slices.IndexFunc(lb.GetZoneMappings(), func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == w.GetZoneId() })
		if i >= 0 {
			zones = append(zones, lb.GetZoneMappings()[i])
			continue
		}
		zone := proto.CloneOf(w)
		zone.NetworkInterfaceId = f.nextID("eni-nlb")
		if zone.GetPrivateIpv4Address() == "" {
			zone.PrivateIpv4Address = f.nextAddress(false, false)
		}
		if lb.GetIpVersion() == nlbDualStack {
			zone.Ipv6Address = f.nextAddress(true, true)
		}
		zones = append(zones, zone)
	}
	lb.ZoneMappings = zones
	f.setAddresses(lb, wanted)
}

// setAddresses gives the zones of an instance public addresses, or takes them away, as its address type is.
func (f *Fake) setAddresses(lb *nlbv1.LoadBalancer, wanted []*nlbv1.ZoneMapping) {
	for _, z := range lb.GetZoneMappings() {
		if lb.GetAddressType() == nlbIntranet {
			z.AllocationId, z.PublicIpv4Address = "", ""
			continue
		}
		for _, w := range wanted {
			if w.GetZoneId() == z.GetZoneId() && w.GetAllocationId() != "" {
				z.AllocationId, z.PublicIpv4Address = w.GetAllocationId(), f.Eips[w.GetAllocationId()].GetIpAddress()
			}
		}
		if z.GetAllocationId() == "" {
			z.AllocationId, z.PublicIpv4Address = f.nextID("eip-nlb"), f.nextAddress(true, false)
		}
	}
}

func (s *nlbBalancers) UpdateLoadBalancer(
	ctx context.Context, req *nlbv1.UpdateLoadBalancerRequest,
) (*nlbv1.UpdateLoadBalancerResponse, error) {
	_, err := s.f.writeNLB(ctx, nlbWrite{
		method: "nlb.UpdateLoadBalancer", resource: req.GetLoadBalancerId(), request: req,
		plan: func() (nlbChange, error) { return s.f.updateNLB(req) },
	})
	return &nlbv1.UpdateLoadBalancerResponse{}, err
}

func (f *Fake) updateNLB(req *nlbv1.UpdateLoadBalancerRequest) (nlbChange, error) {
	lb, err := f.usableNLB(req.GetLoadBalancerId())
	if err == nil && req.Name != nil {
		err = firstError(required("name", req.GetName()), nlbName(req.GetName()))
	}
	if err == nil && req.GetZoneMappings() != nil {
		err = f.validZones(lb.GetVpcId(), lb.GetIpVersion(), req.GetZoneMappings().GetZoneMappings())
	}
	if err == nil {
		err = f.groupsExist(req.GetSecurityGroups().GetSecurityGroupIds())
	}
	if err == nil && req.GetShiftedZones() != nil {
		err = validShift(lb, req)
	}
	if err == nil && req.Ipv6AddressType != nil && lb.GetIpVersion() != nlbDualStack {
		err = refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "%s has no IPv6 addresses", lb.GetLoadBalancerId())
	}
	if err == nil && req.GetBandwidthPackageId() != "" && cmp.Or(req.GetAddressType(), lb.GetAddressType()) == nlbIntranet {
		err = refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "%s has no public addresses", lb.GetLoadBalancerId())
	}
	if err != nil {
		return nlbChange{}, err
	}
	change := nlbChange{change: func() { f.changeNLB(lb, req) }}
	if req.AddressType != nil || req.GetZoneMappings() != nil {
		change.begin = func() string { lb.Status = nlbConfiguring; return "" }
		change.finish = func(bool) { lb.Status = nlbActive }
	}
	return change, nil
}

// validShift checks that an instance is, or will be, in the zones that are to be taken out of its name, and that one is left.
func validShift(lb *nlbv1.LoadBalancer, req *nlbv1.UpdateLoadBalancerRequest) error {
	zones, left := lb.GetZoneMappings(), req.GetShiftedZones().GetZoneIds()
	if req.GetZoneMappings() != nil {
		zones = req.GetZoneMappings().GetZoneMappings()
	}
	active := 0
	for _, z := range zones {
		without := slices.DeleteFunc(slices.Clone(left), func(id string) bool { return id == z.GetZoneId() })
		if len(without) == len(left) {
			active++
		}
		left = without
	}
	switch {
	case len(left) > 0:
		return invalid("shifted_zones", "%s has no zone %s", lb.GetLoadBalancerId(), left[0])
	case active == 0:
		return refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "one zone of %s has to stay", lb.GetLoadBalancerId())
	default:
		return nil
	}
}

// usableNLB finds an instance that can be changed.
func (f *Fake) usableNLB(id string) (*nlbv1.LoadBalancer, error) {
	lb, err := f.nlb(id)
	if err == nil && lb.GetStatus() == nlbFailed {
		err = refused(rpcerr.ResourceBusy.Code(), rpcerr.ResourceBusy, "%s could not be made", id)
	}
	return lb, err
}

func (f *Fake) changeNLB(lb *nlbv1.LoadBalancer, req *nlbv1.UpdateLoadBalancerRequest) {
	set(&lb.Name, req.Name)
	set(&lb.Cps, req.Cps)
	set(&lb.CrossZoneEnabled, req.CrossZoneEnabled)
	set(&lb.Ipv6AddressType, req.Ipv6AddressType)
	set(&lb.BandwidthPackageId, req.BandwidthPackageId)
	set(&lb.ResourceGroupId, req.ResourceGroupId)
	if p := req.GetDeletionProtection(); p != nil {
		lb.DeletionProtection = proto.CloneOf(p)
	}
	if p := req.GetModificationProtection(); p != nil {
		lb.ModificationProtection = proto.CloneOf(p)
	}
	if req.AddressType != nil {
		lb.AddressType = req.GetAddressType()
		f.setAddresses(lb, req.GetZoneMappings().GetZoneMappings())
	}
	if lb.GetAddressType() == nlbIntranet {
		lb.BandwidthPackageId = ""
	}
	if zones := req.GetZoneMappings(); zones != nil {
		f.setZones(lb, zones.GetZoneMappings())
	}
	if req.GetShiftedZones() != nil {
		for _, z := range lb.GetZoneMappings() {
			z.Shifted = slices.Contains(req.GetShiftedZones().GetZoneIds(), z.GetZoneId())
		}
	}
	if groups := req.GetSecurityGroups(); groups != nil {
		lb.SecurityGroupIds = slices.Clone(groups.GetSecurityGroupIds())
	}
	lb.Tags = retagged(lb.GetTags(), req)
	completeNLB(lb)
}

func (s *nlbBalancers) DeleteLoadBalancer(
	ctx context.Context, req *nlbv1.DeleteLoadBalancerRequest,
) (*nlbv1.DeleteLoadBalancerResponse, error) {
	_, err := s.f.writeNLB(ctx, nlbWrite{
		method: "nlb.DeleteLoadBalancer", resource: req.GetLoadBalancerId(), request: req,
		plan: func() (nlbChange, error) { return s.f.deleteNLB(req.GetLoadBalancerId()) },
	})
	return &nlbv1.DeleteLoadBalancerResponse{}, unless(err, rpcerr.LoadBalancerNotFound)
}

func (f *Fake) deleteNLB(id string) (nlbChange, error) {
	lb, err := f.nlb(id)
	if err == nil && lb.GetDeletionProtection().GetEnabled() {
		err = refused(rpcerr.DeleteProtected.Code(), rpcerr.DeleteProtected, "deletion protection of %s is on", id)
	}
	if err != nil {
		return nlbChange{}, err
	}
	before := lb.GetStatus()
	return nlbChange{
		begin: func() string { lb.Status = nlbConfiguring; return "" },
		finish: func(failed bool) {
			if lb.Status = before; failed {
				return
			}
			delete(f.NLB.LoadBalancers, id)
			for _, listener := range idsOf(f.NLB.Listeners) {
				if f.NLB.Listeners[listener].GetLoadBalancerId() == id {
					f.dropNLBListener(listener)
				}
			}
		},
	}, nil
}
