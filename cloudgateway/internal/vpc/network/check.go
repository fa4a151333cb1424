package network

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/eip"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.GetVpcRequest) { c.ID("vpc_id", r.GetVpcId()) }),
		check.Of(func(c *check.Request, r *vpcv1.ListVpcsRequest) {
			c.IDs("vpc_ids", r.GetVpcIds())
			c.Name(r.GetName(), 0)
		}),
		check.Of(func(c *check.Request, r *vpcv1.ListVSwitchesRequest) {
			c.OptionalID("vpc_id", r.GetVpcId())
			c.IDs("vswitch_ids", r.GetVswitchIds())
			c.OptionalID("zone_id", r.GetZoneId())
			c.Name(r.GetName(), 0)
			if r.GetVpcId() == "" && len(r.GetVswitchIds()) == 0 && r.GetZoneId() == "" && r.GetName() == "" && len(r.GetTags()) == 0 {
				c.Addf("vpc_id", "one of vpc_id, vswitch_ids, zone_id, name and tags is required")
			}
		}),
		check.Of(func(c *check.Request, r *vpcv1.ListEipsRequest) {
			c.OptionalID("associated_instance_id", r.GetAssociatedInstanceId())
			if r.GetAssociatedInstanceType() == "" {
				c.Addf("associated_instance_type", `is required, e.g. "SlbInstance"`)
			}
			c.OneOf("associated_instance_type", r.GetAssociatedInstanceType(), eip.InstanceTypes()...)
		}),
	}
}
