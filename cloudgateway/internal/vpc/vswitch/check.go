package vswitch

import (
	"net/netip"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	const lastSubnet = 255
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.GetVSwitchRequest) { c.ID("vswitch_id", r.GetVswitchId()) }),
		check.Of(func(c *check.Request, r *vpcv1.ListVSwitchesRequest) {
			c.OptionalID("vpc_id", r.GetVpcId())
			c.IDs("vswitch_ids", r.GetVswitchIds())
			c.OptionalID("zone_id", r.GetZoneId())
			c.Name(r.GetName(), 0)
			if r.GetVpcId() == "" && len(r.GetVswitchIds()) == 0 && r.GetZoneId() == "" && r.GetName() == "" && len(r.GetTags()) == 0 {
				c.Addf("vpc_id", "one of vpc_id, vswitch_ids, zone_id, name and tags is required")
			}
		}),
		check.Of(func(c *check.Request, r *vpcv1.CreateVSwitchRequest) {
			c.RequestID(r.GetRequestId())
			c.ID("vpc_id", r.GetVpcId())
			c.ID("zone_id", r.GetZoneId())
			subnet(c, "cidr_block", r.GetCidrBlock())
			c.Number("ipv6_subnet", r.GetIpv6Subnet(), 0, lastSubnet)
			c.Name(r.GetName(), 0)
			c.Description(r.GetDescription(), 0)
		}),
		check.Of(func(c *check.Request, r *vpcv1.DeleteVSwitchRequest) {
			c.ID("vpc_id", r.GetVpcId())
			c.ID("vswitch_id", r.GetVswitchId())
		}),
	}
}

// subnet checks the IPv4 range of a vSwitch.
func subnet(c *check.Request, field, value string) {
	const widest, narrowest = 16, 29
	c.Network(field, value)
	prefix, err := netip.ParsePrefix(value)
	if err == nil && (!prefix.Addr().Is4() || prefix.Bits() < widest || prefix.Bits() > narrowest) {
		c.Addf(field, "%q must be an IPv4 range with a mask of %d to %d bits", value, widest, narrowest)
	}
}
