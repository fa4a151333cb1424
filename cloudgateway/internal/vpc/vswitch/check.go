package vswitch

import (
	"net/netip"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	const widest, narrowest = 16, 29
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.CreateVSwitchRequest) {
			prefix, err := netip.ParsePrefix(r.GetCidrBlock())
			if err == nil && (!prefix.Addr().Is4() || prefix.Bits() < widest || prefix.Bits() > narrowest) {
				c.Addf("cidr_block", "%q must be an IPv4 range with a mask of %d to %d bits", r.GetCidrBlock(), widest, narrowest)
			}
		}),
	}
}
