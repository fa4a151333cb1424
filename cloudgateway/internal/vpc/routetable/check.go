package routetable

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.ListRouteTablesRequest) { c.ID("vpc_id", r.GetVpcId()) }),
		check.Of(func(c *check.Request, r *vpcv1.CreateRouteTableRequest) {
			c.RequestID(r.GetRequestId())
			c.ID("vpc_id", r.GetVpcId())
			c.Name(r.GetName(), 0)
			c.Description(r.GetDescription(), 0)
		}),
		check.Of(func(c *check.Request, r *vpcv1.DeleteRouteTableRequest) {
			c.ID("vpc_id", r.GetVpcId())
			c.ID("route_table_id", r.GetRouteTableId())
		}),
		check.Of(func(c *check.Request, r *vpcv1.AssociateRouteTableRequest) { checkBond(c, r) }),
		check.Of(func(c *check.Request, r *vpcv1.UnassociateRouteTableRequest) { checkBond(c, r) }),
	}
}

func checkBond(c *check.Request, r bond) {
	c.ID("vpc_id", r.GetVpcId())
	c.ID("route_table_id", r.GetRouteTableId())
	c.ID("vswitch_id", r.GetVswitchId())
}
