package health

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const lb, tcp = "lb-1", slbv1.Protocol_PROTOCOL_TCP
	checktest.Run(t, nil, []checktest.Case{
		{Name: "of all listeners", Request: &slbv1.ListServerHealthRequest{LoadBalancerId: lb}},
		{Name: "of one listener", Request: &slbv1.ListServerHealthRequest{LoadBalancerId: lb, Port: 80, Protocol: tcp}},
		{Request: &slbv1.ListServerHealthRequest{Port: 65536, Protocol: 9}, Want: []string{
			"load_balancer_id: is required", "port: 65536 is out of range, must be 0 to 65535", "protocol: 9 is not known to this gateway",
		}},
		{Name: "of a port alone", Request: &slbv1.ListServerHealthRequest{LoadBalancerId: lb, Port: 80}, Want: []string{
			"protocol: is required with port",
		}},
	})
}
