package health

import (
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// decode reads a server in the answer to DescribeHealthStatus.
func decode(item []byte) (*slbv1.ServerHealth, error) {
	h := &slbv1.ServerHealth{Listener: &slbv1.ListenerKey{}, Type: slbv1.ServerType_SERVER_TYPE_ECS}
	err := cloud.Decode(item, cloud.Fields{
		"ListenerPort":       cloud.Required(&h.Listener.Port),
		"Protocol":           cloud.Via(&h.Listener.Protocol, cloud.Named),
		"ServerId":           &h.ServerId,
		"ServerIp":           cloud.Via(&h.ServerIp, slb.Address),
		"Type":               cloud.Via(&h.Type, slb.ServerType),
		"Port":               cloud.Required(&h.Port),
		"ServerHealthStatus": &h.Status,
	})
	if err != nil {
		return nil, fmt.Errorf("decode health of server %s: %w", h.GetServerId(), err)
	}
	return h, nil
}
