package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type loadBalancers struct {
	slbv1.UnimplementedLoadBalancerServiceServer

	slb *slb.Client
}

func (s *loadBalancers) GetLoadBalancer(
	ctx context.Context, r *slbv1.GetLoadBalancerRequest,
) (*slbv1.GetLoadBalancerResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	enum(&c, "view", r.GetView(), slbv1.View_name, false)
	c.ids("server_group_ids", r.GetServerGroupIds())
	if prefixes := r.GetServerGroupNamePrefixes(); c.items("server_group_name_prefixes", len(prefixes), maxItems) {
		for i, prefix := range prefixes {
			c.text(fmt.Sprintf("server_group_name_prefixes[%d]", i), prefix, 1, 80)
		}
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	lb, err := s.slb.GetLoadBalancer(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.GetLoadBalancerResponse{LoadBalancer: lb}, nil
}

func (s *loadBalancers) ListLoadBalancers(
	ctx context.Context, r *slbv1.ListLoadBalancersRequest,
) (*slbv1.ListLoadBalancersResponse, error) {
	var c check
	c.tags("tags", r.GetTags())
	if strings.Contains(r.GetName(), ",") {
		c.addf("name", "%q contains a comma, which the cloud takes for a list", shorten(r.GetName()))
	}
	c.ids("load_balancer_ids", r.GetLoadBalancerIds())
	c.optionalAddress("address", r.GetAddress())
	enum(&c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
	enum(&c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
	c.optionalID("vpc_id", r.GetVpcId())
	c.optionalID("vswitch_id", r.GetVswitchId())
	c.optionalID("master_zone_id", r.GetMasterZoneId())
	c.optionalID("slave_zone_id", r.GetSlaveZoneId())
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.optionalID("server_id", r.GetServerId())
	c.optionalAddress("server_address", r.GetServerAddress())
	c.oneOf("status", r.GetStatus(), "active", "inactive", "locked")
	enum(&c, "internet_charge_type", r.GetInternetChargeType(), slbv1.InternetChargeType_name, false)
	if !slb.Filtered(r) {
		c.addf("tags", "at least one filter is required, e.g. tags, name or load_balancer_ids")
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.slb.ListLoadBalancers(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ListLoadBalancersResponse{LoadBalancers: list}, nil
}

func (s *loadBalancers) ListAvailableZones(
	ctx context.Context, r *slbv1.ListAvailableZonesRequest,
) (*slbv1.ListAvailableZonesResponse, error) {
	var c check
	enum(&c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
	enum(&c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	pairs, err := s.slb.ListAvailableZones(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ListAvailableZonesResponse{ZonePairs: pairs}, nil
}

func (s *loadBalancers) CreateLoadBalancer(
	ctx context.Context, r *slbv1.CreateLoadBalancerRequest,
) (*slbv1.CreateLoadBalancerResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.text("name", r.GetName(), 0, 80)
	enum(&c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
	enum(&c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
	c.optionalAddress("address", r.GetAddress())
	c.optionalID("vpc_id", r.GetVpcId())
	c.optionalID("vswitch_id", r.GetVswitchId())
	c.optionalID("master_zone_id", r.GetMasterZoneId())
	c.optionalID("slave_zone_id", r.GetSlaveZoneId())
	c.optionalID("spec", r.GetSpec())
	switch r.GetAddressType() {
	case slbv1.AddressType_ADDRESS_TYPE_INTRANET:
		if r.GetVswitchId() == "" {
			c.addf("vswitch_id", "is required for an intranet instance")
		}
	case slbv1.AddressType_ADDRESS_TYPE_INTERNET:
		if r.GetVswitchId() != "" {
			c.addf("vswitch_id", "is for intranet instances only")
		}
	case slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED:
	}
	enum(&c, "instance_charge_type", r.GetInstanceChargeType(), slbv1.InstanceChargeType_name, false)
	if r.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && r.GetSpec() == "" {
		c.addf("spec", "is required for PayBySpec")
	}
	enum(&c, "internet_charge_type", r.GetInternetChargeType(), slbv1.InternetChargeType_name, false)
	c.bandwidth("bandwidth_mbps", r.GetBandwidthMbps())
	c.protection(r.GetModificationProtection())
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	lb, err := s.slb.CreateLoadBalancer(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateLoadBalancerResponse{LoadBalancer: lb}, nil
}

func (c *check) bandwidth(field string, value int32) {
	const most = 5120
	c.number(field, value, 0, most)
}

func (c *check) protection(p *slbv1.ModificationProtection) {
	switch {
	case p.GetEnabled():
		c.text("modification_protection.reason", p.GetReason(), 0, 80)
	case p.GetReason() != "":
		c.addf("modification_protection.reason", "needs modification_protection.enabled")
	}
}

func (s *loadBalancers) UpdateLoadBalancer(
	ctx context.Context, r *slbv1.UpdateLoadBalancerRequest,
) (*slbv1.UpdateLoadBalancerResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	if r.Name != nil {
		c.text("name", r.GetName(), 1, 80)
	}
	if r.InstanceChargeType != nil {
		enum(&c, "instance_charge_type", r.GetInstanceChargeType(), slbv1.InstanceChargeType_name, true)
	}
	if r.Spec != nil {
		c.id("spec", r.GetSpec())
	}
	if spec := r.GetInternetSpec(); spec != nil {
		enum(&c, "internet_spec.charge_type", spec.GetChargeType(), slbv1.InternetChargeType_name, false)
		c.bandwidth("internet_spec.bandwidth_mbps", spec.GetBandwidthMbps())
		if spec.GetChargeType() == slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_UNSPECIFIED && spec.GetBandwidthMbps() == 0 {
			c.addf("internet_spec", "one of charge_type and bandwidth_mbps is required")
		}
	}
	c.protection(r.GetModificationProtection())
	c.optionalRequestID(r.GetRequestId())
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if r.ResourceGroupId != nil {
		c.id("resource_group_id", r.GetResourceGroupId())
	}
	if r.Name == nil && r.InstanceChargeType == nil && r.Spec == nil && r.GetInternetSpec() == nil && r.DeleteProtection == nil &&
		r.GetModificationProtection() == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 &&
		r.ResourceGroupId == nil && r.Active == nil {
		c.addf("name", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.UpdateLoadBalancer(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateLoadBalancerResponse{}, nil
}

// tagChanges checks the fields set_tags and remove_tag_keys.
func (c *check) tagChanges(set []*commonv1.Tag, keys []string) {
	const most, longest = 20, 64
	c.tags("set_tags", set)
	if !c.items("remove_tag_keys", len(keys), most) {
		return
	}
	for _, key := range keys {
		c.text("remove_tag_keys", key, 1, longest)
	}
	for _, t := range set[:min(most, len(set))] {
		if slices.Contains(keys, t.GetKey()) {
			c.addf("remove_tag_keys", "%q is also in set_tags", t.GetKey())
		}
	}
}

func (s *loadBalancers) DeleteLoadBalancer(
	ctx context.Context, r *slbv1.DeleteLoadBalancerRequest,
) (*slbv1.DeleteLoadBalancerResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.DeleteLoadBalancer(ctx, r.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	return &slbv1.DeleteLoadBalancerResponse{}, nil
}
