package health

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.ListServerHealthRequest) {
			c.ID("load_balancer_id", r.GetLoadBalancerId())
			if r.GetPort() != 0 {
				c.Port("port", r.GetPort())
			}
			check.Enum(c, "protocol", r.GetProtocol(), slbv1.Protocol_name, false)
			if r.GetPort() != 0 && r.GetProtocol() == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
				c.Addf("protocol", "is required with port, since TCP and UDP may share one")
			}
		}),
	}
}
