package slb

import (
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// CheckListenerKey checks the field key of a request.
func CheckListenerKey(c *check.Request, key *slbv1.ListenerKey) {
	c.ID("key.load_balancer_id", key.GetLoadBalancerId())
	c.Port("key.port", key.GetPort())
	check.Enum(c, "key.protocol", key.GetProtocol(), slbv1.Protocol_name, true)
}
