package loadbalancer

import (
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListLoadBalancersRequest) {
			c.Text("name", r.GetName(), 0, 128)
			if strings.Contains(r.GetName(), ",") {
				c.Addf("name", "%q contains a comma, which the cloud takes for a list", check.Shorten(r.GetName()))
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.CreateLoadBalancerRequest) {
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
			if r.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && r.GetSpec() == "" {
				c.Addf("spec", "is required for PayBySpec")
			}
		}),
	}
}
