package health

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// answer is a server in the answer to DescribeHealthStatus.
type answer struct {
	ListenerPort       json.RawMessage
	Protocol           string
	ServerID           string `json:"ServerId"`
	ServerIP           string `json:"ServerIp"`
	Type               string
	Port               json.RawMessage
	ServerHealthStatus string
}

func (a answer) decode(loadBalancerID string) (*slbv1.ServerHealth, error) {
	listener, err := strconv.ParseInt(slb.LooseText(a.ListenerPort), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode health of server %s: listener port %q is not a number", a.ServerID, slb.LooseText(a.ListenerPort))
	}
	port, err := strconv.ParseInt(slb.LooseText(a.Port), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode health of server %s: port %q is not a number", a.ServerID, slb.LooseText(a.Port))
	}
	return &slbv1.ServerHealth{
		Listener: &slbv1.ListenerKey{
			LoadBalancerId: loadBalancerID, Port: int32(listener),
			Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(a.Protocol)]),
		},
		Type: slb.ServerType(a.Type), ServerId: a.ServerID, ServerIp: a.ServerIP, Port: int32(port),
		Status: a.ServerHealthStatus,
	}, nil
}
