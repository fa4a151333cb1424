package network

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.GetVpcRequest) { c.ID("vpc_id", r.GetVpcId()) }),
		check.Of(func(c *check.Request, r *vpcv1.ListVpcsRequest) {
			c.IDs("vpc_ids", r.GetVpcIds())
			c.Name(r.GetName(), 0)
		}),
	}
}
