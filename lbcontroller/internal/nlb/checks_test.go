package nlb_test

import (
	"testing"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

func TestCheckedPort(t *testing.T) {
	t.Parallel()
	byUDP, byTCP := nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP.Enum(), nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP.Enum()
	for name, tt := range map[string]struct {
		protocol model.Protocol
		check    *nlbv1.HealthCheck
		port     int32
		ok       bool
	}{
		"nothing is asked for": {model.TCP, nil, 0, true},
		"a port":               {model.TCPSSL, &nlbv1.HealthCheck{ConnectPort: new(int32(10256))}, 10256, true},
		"switched off":         {model.TCP, &nlbv1.HealthCheck{Enabled: new(false)}, 0, false},
		"a UDP port":           {model.UDP, nil, 0, false},
		"a UDP port by TCP":    {model.UDP, &nlbv1.HealthCheck{Type: byTCP}, 0, true},
		"a TCP port by UDP":    {model.TCP, &nlbv1.HealthCheck{Type: byUDP}, 0, false},
	} {
		listener := model.Listener{Key: model.ListenerKey{Protocol: tt.protocol, Port: 80}}
		group := model.Group{Config: &nlbv1.CreateServerGroupRequest{HealthCheck: tt.check}}
		port, ok := nlb.Product{}.CheckedPort(listener, group)
		if port != tt.port || ok != tt.ok {
			t.Errorf("%s: port %d, %t, want %d, %t", name, port, ok, tt.port, tt.ok)
		}
	}
}
