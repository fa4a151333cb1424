// Package loadbalancer serves LoadBalancerService of NLB.
package loadbalancer

import (
	"context"
	"slices"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
)

// kind describes NLB instances.
func kind(observe func(*nlbv1.LoadBalancer)) cloud.Kind[nlbv1.LoadBalancer] {
	const vpcsPerCall = 10
	return cloud.Kind[nlbv1.LoadBalancer]{
		Name: "network load balancer", Cache: "nlbs", NotFound: rpcerr.LoadBalancerNotFound, IDs: "load_balancer_ids",
		Listing: cloud.Listing[*nlbv1.LoadBalancer]{
			Action: "ListLoadBalancers", Items: "LoadBalancers", Decode: decode, ID: (*nlbv1.LoadBalancer).GetLoadBalancerId,
			MaxResults: nlb.PageSize,
		},
		Filters: map[string]cloud.Filter{
			"load_balancer_ids": cloud.Indexed("LoadBalancerIds", nlb.IDsPerCall),
			"names":             cloud.Indexed("LoadBalancerNames", nlb.IDsPerCall),
			"vpc_ids":           cloud.Indexed("VpcIds", vpcsPerCall),
			"ip_version":        cloud.Param("AddressIpVersion"),
			"status":            cloud.Param("LoadBalancerStatus"),
			"business_status":   cloud.Param("LoadBalancerBusinessStatus"),
			"dns_name":          cloud.Param("DNSName"),
		},
		Observe:   observe,
		Gathering: cloud.Gathering{Parallel: nlb.ParallelReads},
	}
}

// Service implements nlbv1.LoadBalancerServiceServer.
type Service struct {
	nlbv1.UnimplementedLoadBalancerServiceServer

	product   *nlb.Product
	balancers *cloud.Collection[nlbv1.LoadBalancer]
	zones     *batch.Reader[string, []string] // one entry
}

// New makes a Service.
func New(p *nlb.Product) *Service {
	s := &Service{product: p, balancers: cloud.NewCollection(p.API, p.Shared, kind(p.ObserveBalancer)),
		zones: cloud.NewCache[[]string](p.Shared, "nlb_zones")}
	p.Balancers.OnWrite(s.balancers.Forget)
	return s
}

// Owner is how the scopes of callers see instances.
func (s *Service) Owner() cloud.Owner { return s.balancers }

// GetLoadBalancer reads one instance.
func (s *Service) GetLoadBalancer(ctx context.Context, r *nlbv1.GetLoadBalancerRequest) (*nlbv1.GetLoadBalancerResponse, error) {
	found, err := s.balancers.Get(ctx, r.GetLoadBalancerId(), r.GetMaxAge())
	return cloud.Answer(&nlbv1.GetLoadBalancerResponse{LoadBalancer: found}, err)
}

// ListLoadBalancers reads every instance that matches, ordered by id.
func (s *Service) ListLoadBalancers(ctx context.Context, r *nlbv1.ListLoadBalancersRequest) (*nlbv1.ListLoadBalancersResponse, error) {
	found, err := s.balancers.List(ctx, r)
	return cloud.Answer(&nlbv1.ListLoadBalancersResponse{LoadBalancers: found}, err)
}

// ListZones reads the zones of the region.
func (s *Service) ListZones(ctx context.Context, r *nlbv1.ListZonesRequest) (*nlbv1.ListZonesResponse, error) {
	found, err := s.zones.Do(ctx, "", r.GetMaxAge().AsDuration(), func(ctx context.Context) (zones []string, err error) {
		err = s.product.Read(ctx, "DescribeZones", cloud.Params{}, &cloud.Fields{"Zones": cloud.Texts(&zones, "ZoneId")})
		return cloud.Sorted(zones), err
	})
	return cloud.Answer(&nlbv1.ListZonesResponse{ZoneIds: found}, err)
}

// CreateLoadBalancer makes an instance.
func (s *Service) CreateLoadBalancer(
	ctx context.Context, r *nlbv1.CreateLoadBalancerRequest,
) (*nlbv1.CreateLoadBalancerResponse, error) {
	id := ""
	defer func() { s.product.Balancers.Forget(id) }()
	err := s.product.Writer("CreateLoadBalancer", r).Do(ctx, "CreateLoadBalancer", "", createParams(r), cloud.Fields{"LoadbalancerId": &id})
	if err != nil || r.GetValidateOnly() {
		return cloud.Answer(&nlbv1.CreateLoadBalancerResponse{}, err)
	}
	made, err := s.balancers.Get(ctx, id, nil)
	return cloud.Answer(&nlbv1.CreateLoadBalancerResponse{LoadBalancer: made}, err)
}

// UpdateLoadBalancer changes what is present in the request.
func (s *Service) UpdateLoadBalancer(
	ctx context.Context, r *nlbv1.UpdateLoadBalancerRequest,
) (*nlbv1.UpdateLoadBalancerResponse, error) {
	id := r.GetLoadBalancerId()
	err := nlb.Serially(ctx, s.product.Balancers, id, r, func(ctx context.Context) error {
		return s.update(ctx, s.product.Writer("UpdateLoadBalancer", r), r)
	})
	return cloud.Answer(&nlbv1.UpdateLoadBalancerResponse{}, err)
}

// update makes the calls of an update, one after the other: first those that say who may connect, so that an attribute that the cloud
// refuses, such as a name, holds none of them back.
func (s *Service) update(ctx context.Context, w *nlb.Writer, r *nlbv1.UpdateLoadBalancerRequest) error {
	id := r.GetLoadBalancerId()
	var calls []call
	if r.AddressType != nil || r.GetZoneMappings() != nil || r.Ipv6AddressType != nil || r.GetSecurityGroups() != nil ||
		r.BandwidthPackageId != nil || r.GetShiftedZones() != nil {
		there, err := s.balancers.Look(ctx, id)
		if err != nil {
			return err
		}
		if there == nil {
			return s.balancers.NotFound(id)
		}
		shifting, err := shifts(r, there)
		if err != nil {
			return err
		}
		calls = append(differences(r, there), shifting...)
	}
	calls = append(calls,
		call{"UpdateLoadBalancerProtection", protectionParams(r.GetDeletionProtection(), r.GetModificationProtection())},
		call{"UpdateLoadBalancerAttribute", cloud.Params{}.With("LoadBalancerName", r.GetName()).Number("Cps",
			r.Cps).Bool("CrossZoneEnabled", r.CrossZoneEnabled)})
	for _, c := range calls {
		if len(c.params) == 0 {
			continue
		}
		if err := w.Do(ctx, c.action, "", c.params.With("LoadBalancerId", id), nil); err != nil {
			return err
		}
	}
	if err := w.Move(ctx, "loadbalancer", id, r.ResourceGroupId); err != nil {
		return err
	}
	return w.ChangeTags(ctx, "loadbalancer", id, rpcerr.LoadBalancerNotFound, r)
}

// call is one call of an update. Without parameters there is nothing to be changed.
type call struct {
	action string
	params cloud.Params
}

// differences are the calls that make an instance as a request wants it in what the cloud refuses to set to what it is. What takes it off
// the internet comes first, then the security groups, and then what opens it, so that at no time anybody can connect whom neither the
// instance as it is lets in nor the one that is wanted.
func differences(r *nlbv1.UpdateLoadBalancerRequest, there *nlbv1.LoadBalancer) []call {
	const internet = nlbv1.AddressType_ADDRESS_TYPE_INTERNET
	var closing, opening []call
	zones := r.GetZoneMappings().GetZoneMappings()
	if r.AddressType != nil && r.GetAddressType() != there.GetAddressType() {
		c := call{"UpdateLoadBalancerAddressTypeConfig",
			zoneParams(cloud.Params{"AddressType": cloud.Word(r.GetAddressType())}, withAddresses(zones, there))}
		if r.GetAddressType() == internet {
			opening = append(opening, c)
		} else {
			closing = append(closing, c)
		}
	}
	if r.GetZoneMappings() != nil && !sameZones(zones, there.GetZoneMappings()) {
		opening = append(opening, call{"UpdateLoadBalancerZones", zoneParams(cloud.Params{}, zones)})
	}
	if r.Ipv6AddressType != nil && r.GetIpv6AddressType() != there.GetIpv6AddressType() {
		params := cloud.Params{"LoadBalancerId": there.GetLoadBalancerId()}
		if r.GetIpv6AddressType() == internet {
			opening = append(opening, call{"EnableLoadBalancerIpv6Internet", params})
		} else {
			closing = append(closing, call{"DisableLoadBalancerIpv6Internet", params})
		}
	}
	if has := there.GetBandwidthPackageId(); r.BandwidthPackageId != nil && r.GetBandwidthPackageId() != has {
		opening = append(opening, call{"DetachCommonBandwidthPackageFromLoadBalancer", cloud.Params{}.With("BandwidthPackageId", has)},
			call{"AttachCommonBandwidthPackageToLoadBalancer", cloud.Params{}.With("BandwidthPackageId", r.GetBandwidthPackageId())})
	}
	if r.GetSecurityGroups() == nil {
		return slices.Concat(closing, opening)
	}
	wanted, has := r.GetSecurityGroups().GetSecurityGroupIds(), there.GetSecurityGroupIds()
	// It is never without a group in between, unless it is to have none: then everybody can connect, which comes last.
	join := call{"LoadBalancerJoinSecurityGroup", cloud.Params{}.List("SecurityGroupIds", without(wanted, has))}
	leave := call{"LoadBalancerLeaveSecurityGroup", cloud.Params{}.List("SecurityGroupIds", without(has, wanted))}
	if len(wanted) == 0 {
		return slices.Concat(closing, opening, []call{leave})
	}
	return slices.Concat(closing, []call{join, leave}, opening)
}

// shifts are the calls, one for each zone, that take zones out of the DNS name of an instance and put others back, which come first: one
// stays in it. They come after a change of the zones, of which those that stay are as they were.
func shifts(r *nlbv1.UpdateLoadBalancerRequest, there *nlbv1.LoadBalancer) ([]call, error) {
	if r.GetShiftedZones() == nil {
		return nil, nil
	}
	zones := there.GetZoneMappings()
	if r.GetZoneMappings() != nil {
		zones = r.GetZoneMappings().GetZoneMappings()
	}
	isShifted := map[string]bool{}
	for _, z := range there.GetZoneMappings() {
		isShifted[z.GetZoneId()] = z.GetShifted()
	}
	unknown := slices.Clone(r.GetShiftedZones().GetZoneIds())
	var back, out []call
	for _, z := range zones {
		wanted := slices.Contains(unknown, z.GetZoneId())
		unknown = slices.DeleteFunc(unknown, func(id string) bool { return id == z.GetZoneId() })
		params := zoneParams(cloud.Params{}, []*nlbv1.ZoneMapping{{ZoneId: z.GetZoneId(), VswitchId: z.GetVswitchId()}})
		switch {
		case wanted && !isShifted[z.GetZoneId()]:
			out = append(out, call{"StartShiftLoadBalancerZones", params})
		case !wanted && isShifted[z.GetZoneId()]:
			back = append(back, call{"CancelShiftLoadBalancerZones", params})
		}
	}
	if len(unknown) > 0 {
		return nil, rpcerr.Invalidf("shifted_zones", "%s has no zone %s", there.GetLoadBalancerId(), unknown[0])
	}
	return append(back, out...), nil
}

// withAddresses are the zones of an instance with the EIPs that a request has for them.
func withAddresses(zones []*nlbv1.ZoneMapping, there *nlbv1.LoadBalancer) []*nlbv1.ZoneMapping {
	var list []*nlbv1.ZoneMapping
	for _, z := range zones {
		if slices.ContainsFunc(there.GetZoneMappings(), func(t *nlbv1.ZoneMapping) bool { return t.GetZoneId() == z.GetZoneId() }) {
			list = append(list, z)
		}
	}
	return list
}

// sameZones reports whether an instance is in the wanted zones, by the wanted vSwitches and with the wanted addresses.
func sameZones(wanted, there []*nlbv1.ZoneMapping) bool {
	if len(wanted) != len(there) {
		return false
	}
	return !slices.ContainsFunc(wanted, func(w *nlbv1.ZoneMapping) bool {
		return !slices.ContainsFunc(there, func(t *nlbv1.ZoneMapping) bool {
			return w.GetZoneId() == t.GetZoneId() && w.GetVswitchId() == t.GetVswitchId() &&
				(w.GetAllocationId() == "" || w.GetAllocationId() == t.GetAllocationId()) &&
				(w.GetPrivateIpv4Address() == "" || w.GetPrivateIpv4Address() == t.GetPrivateIpv4Address())
		})
	})
}

// without gives those of a list that another has not.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// DeleteLoadBalancer deletes an instance with its listeners.
func (s *Service) DeleteLoadBalancer(
	ctx context.Context, r *nlbv1.DeleteLoadBalancerRequest,
) (*nlbv1.DeleteLoadBalancerResponse, error) {
	id := r.GetLoadBalancerId()
	err := nlb.Serially(ctx, s.product.Balancers, id, r, func(ctx context.Context) error {
		return s.product.Writer("DeleteLoadBalancer", r).Do(ctx, "DeleteLoadBalancer", "", cloud.Params{"LoadBalancerId": id}, nil)
	})
	return cloud.Answer(&nlbv1.DeleteLoadBalancerResponse{}, cloud.Unless(err, rpcerr.LoadBalancerNotFound))
}
