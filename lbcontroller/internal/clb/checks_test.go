package clb_test

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

func TestCheckedPort(t *testing.T) {
	t.Parallel()
	listener := func(protocol model.Protocol, check *slbv1.HealthCheck) model.Listener {
		return model.Listener{Key: model.ListenerKey{Protocol: protocol, Port: 80}, Config: &slbv1.ListenerConfig{HealthCheck: check}}
	}
	byDefault := listener(model.HTTP, nil)
	byDefault.Defaults = &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{ConnectPort: new(int32(8081))}}
	for name, tt := range map[string]struct {
		listener model.Listener
		port     int32
		ok       bool
	}{
		"nothing is asked for": {listener(model.TCP, nil), 0, true},
		"a port":               {listener(model.TCP, &slbv1.HealthCheck{ConnectPort: new(int32(10256))}), 10256, true},
		"that of the servers":  {listener(model.TCP, &slbv1.HealthCheck{ConnectPort: new(int32(-520))}), 0, true},
		"a port for a new one": {byDefault, 8081, true},
		"switched off":         {listener(model.HTTP, &slbv1.HealthCheck{Enabled: new(false)}), 0, false},
		"by UDP":               {listener(model.UDP, nil), 0, false},
	} {
		port, ok := clb.Product{}.CheckedPort(tt.listener, model.Group{})
		if port != tt.port || ok != tt.ok {
			t.Errorf("%s: port %d, %t, want %d, %t", name, port, ok, tt.port, tt.ok)
		}
	}
}
