package loadbalancer

import (
	"fmt"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.GetLoadBalancerRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			check.Enum(c, "view", r.GetView(), slbv1.View_name, false)
			c.IDs("server_group_ids", r.GetServerGroupIds())
			if prefixes := r.GetServerGroupNamePrefixes(); c.Items("server_group_name_prefixes", len(prefixes), check.MaxItems) {
				for i, prefix := range prefixes {
					c.Text(fmt.Sprintf("server_group_name_prefixes[%d]", i), prefix, 1, 80)
				}
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.ListLoadBalancersRequest) {
			if strings.Contains(r.GetName(), ",") {
				c.Addf("name", "%q contains a comma, which the cloud takes for a list", check.Shorten(r.GetName()))
			}
			c.IDs("load_balancer_ids", r.GetLoadBalancerIds())
			c.OptionalAddress("address", r.GetAddress())
			check.Enum(c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
			check.Enum(c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
			c.OptionalID("vpc_id", r.GetVpcId())
			c.OptionalID("vswitch_id", r.GetVswitchId())
			c.OptionalID("master_zone_id", r.GetMasterZoneId())
			c.OptionalID("slave_zone_id", r.GetSlaveZoneId())
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
			c.OptionalID("server_id", r.GetServerId())
			c.OptionalAddress("server_address", r.GetServerAddress())
			c.OneOf("status", r.GetStatus(), "active", "inactive", "locked")
			check.Enum(c, "internet_charge_type", r.GetInternetChargeType(), slbv1.InternetChargeType_name, false)
			if !filtered(r) {
				c.Addf("tags", "at least one filter is required, e.g. tags, name or load_balancer_ids")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.ListAvailableZonesRequest) {
			check.Enum(c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
			check.Enum(c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
		}),
		check.Of(func(c *check.Request, r *slbv1.CreateLoadBalancerRequest) {
			c.RequestID(r.GetRequestId())
			c.Text("name", r.GetName(), 0, 80)
			check.Enum(c, "address_type", r.GetAddressType(), slbv1.AddressType_name, false)
			check.Enum(c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
			c.OptionalAddress("address", r.GetAddress())
			c.OptionalID("vpc_id", r.GetVpcId())
			c.OptionalID("vswitch_id", r.GetVswitchId())
			c.OptionalID("master_zone_id", r.GetMasterZoneId())
			c.OptionalID("slave_zone_id", r.GetSlaveZoneId())
			c.OptionalID("spec", r.GetSpec())
			switch r.GetAddressType() {
			case slbv1.AddressType_ADDRESS_TYPE_INTRANET:
				if r.GetVswitchId() == "" {
					c.Addf("vswitch_id", "is required for an intranet instance")
				}
			case slbv1.AddressType_ADDRESS_TYPE_INTERNET:
				if r.GetVswitchId() != "" {
					c.Addf("vswitch_id", "is for intranet instances only")
				}
			case slbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED:
			}
			check.Enum(c, "instance_charge_type", r.GetInstanceChargeType(), slbv1.InstanceChargeType_name, false)
			if r.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && r.GetSpec() == "" {
				c.Addf("spec", "is required for PayBySpec")
			}
			check.Enum(c, "internet_charge_type", r.GetInternetChargeType(), slbv1.InternetChargeType_name, false)
			bandwidth(c, "bandwidth_mbps", r.GetBandwidthMbps())
			protection(c, r.GetModificationProtection())
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateLoadBalancerRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			if r.Name != nil {
				c.Text("name", r.GetName(), 1, 80)
			}
			if r.InstanceChargeType != nil {
				check.Enum(c, "instance_charge_type", r.GetInstanceChargeType(), slbv1.InstanceChargeType_name, true)
			}
			if r.Spec != nil {
				c.ID("spec", r.GetSpec())
			}
			if spec := r.GetInternetSpec(); spec != nil {
				check.Enum(c, "internet_spec.charge_type", spec.GetChargeType(), slbv1.InternetChargeType_name, false)
				bandwidth(c, "internet_spec.bandwidth_mbps", spec.GetBandwidthMbps())
				if spec.GetChargeType() == slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_UNSPECIFIED && spec.GetBandwidthMbps() == 0 {
					c.Addf("internet_spec", "one of charge_type and bandwidth_mbps is required")
				}
			}
			protection(c, r.GetModificationProtection())
			if r.ResourceGroupId != nil {
				c.ID("resource_group_id", r.GetResourceGroupId())
			}
			if r.Name == nil && r.InstanceChargeType == nil && r.Spec == nil && r.GetInternetSpec() == nil && r.DeleteProtection == nil &&
				r.GetModificationProtection() == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 &&
				r.ResourceGroupId == nil && r.Active == nil {
				c.Addf("name", "the request changes nothing; at least one attribute is required")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteLoadBalancerRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
		}),
	}
}

func bandwidth(c *check.Request, field string, value int32) {
	const most = 5120
	c.Number(field, value, 0, most)
}

func protection(c *check.Request, p *slbv1.ModificationProtection) {
	switch {
	case p.GetEnabled():
		c.Text("modification_protection.reason", p.GetReason(), 0, 80)
	case p.GetReason() != "":
		c.Addf("modification_protection.reason", "needs modification_protection.enabled")
	}
}

// filtered reports whether a listing has a filter that this gateway knows.
func filtered(r *slbv1.ListLoadBalancersRequest) bool {
	return len(r.GetLoadBalancerIds()) > 0 || len(r.GetTags()) > 0 || len(filterParams(r)) > 0
}
