package listener

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

const (
	protoTCP   = slbv1.Protocol_PROTOCOL_TCP
	protoUDP   = slbv1.Protocol_PROTOCOL_UDP
	protoHTTP  = slbv1.Protocol_PROTOCOL_HTTP
	protoHTTPS = slbv1.Protocol_PROTOCOL_HTTPS
)

// violations are those of a configuration; their fields are relative to it.
func violations(t *testing.T, cfg *slbv1.ListenerConfig, protocol slbv1.Protocol, creating bool) []rpcerr.FieldViolation {
	t.Helper()
	var c check.Request
	checkConfig(&c, protocol, cfg, creating)
	e, ok := rpcerr.From(c.Err())
	if !ok {
		return nil
	}
	for i, v := range e.Fields {
		e.Fields[i].Field = strings.TrimPrefix(v.Field, "config.")
	}
	return e.Fields
}

func TestListenerParams(t *testing.T) {
	tests := []struct {
		name     string
		protocol slbv1.Protocol
		creating bool
		cfg      *slbv1.ListenerConfig
		want     map[string]string
	}{
		{
			name: "layer 4 creation spells the interval with a small letter", protocol: protoTCP, creating: true,
			cfg: &slbv1.ListenerConfig{
				ServerGroupId: new("rsp-1"), ConnectionDrain: new(true), ProxyProtocolV2: new(true),
				HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(3), Timeout: proto.Int32(5)},
			},
			want: map[string]string{
				"VServerGroupId": "rsp-1", "Bandwidth": "-1", "ConnectionDrain": "on", "ProxyProtocolV2Enabled": "true",
				"HealthCheckSwitch": "on", "healthCheckInterval": "3", "HealthCheckConnectTimeout": "5",
			},
		},
		{
			name: "a layer 4 change spells it with a capital and switches the group", protocol: protoUDP,
			cfg: &slbv1.ListenerConfig{
				ServerGroupId: new("rsp-1"), HealthCheck: &slbv1.HealthCheck{Interval: proto.Int32(3)},
			},
			want: map[string]string{"VServerGroup": "on", "VServerGroupId": "rsp-1", "HealthCheckInterval": "3"},
		},
		{
			name: "the texts of UDP probes begin with a small letter everywhere", protocol: protoUDP,
			cfg:  &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{Request: new("ping"), Response: new("pong")}},
			want: map[string]string{"healthCheckReq": "ping", "healthCheckExp": "pong"},
		},
		{
			name: "booleans in three ways", protocol: protoTCP,
			cfg:  &slbv1.ListenerConfig{SynProxy: new(false), ConnectionDrain: new(false), ProxyProtocolV2: new(false)},
			want: map[string]string{"SynProxy": "disable", "ConnectionDrain": "off", "ProxyProtocolV2Enabled": "false"},
		},
		{
			name: "a listener of the default server group", protocol: protoTCP, creating: true,
			cfg:  &slbv1.ListenerConfig{BackendServerPort: proto.Int32(8080)},
			want: map[string]string{"BackendServerPort": "8080", "Bandwidth": "-1"},
		},
		{
			name: "layer 7 creation sends what the cloud requires", protocol: protoHTTP, creating: true,
			cfg:  &slbv1.ListenerConfig{ServerGroupId: new("rsp-1"), Description: new("")},
			want: map[string]string{"VServerGroupId": "rsp-1", "HealthCheck": "off", "StickySession": "off"},
		},
		{
			name: "a redirect", protocol: protoHTTP, creating: true,
			cfg: &slbv1.ListenerConfig{ForwardPort: proto.Int32(443)},
			want: map[string]string{
				"ListenerForward": "on", "ForwardPort": "443", "HealthCheck": "off", "StickySession": "off",
			},
		},
		{
			name: "HTTPS", protocol: protoHTTPS, creating: true,
			cfg: &slbv1.ListenerConfig{
				ServerGroupId: new("rsp-1"), ServerCertificateId: new("cert-1"), Http2: new(false),
				AclIds: []string{"acl-1", "acl-2"}, AclEnabled: new(true), AclType: new("black"),
				HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Timeout: proto.Int32(9)},
			},
			want: map[string]string{
				"VServerGroupId": "rsp-1", "ServerCertificateId": "cert-1", "EnableHttp2": "off", "AclId": "acl-1,acl-2",
				"AclStatus": "on", "AclType": "black", "Bandwidth": "-1", "StickySession": "off", "HealthCheck": "on",
				"HealthCheckTimeout": "9",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if wrong := violations(t, tt.cfg, tt.protocol, tt.creating); len(wrong) > 0 {
				t.Fatalf("refused: %v", wrong)
			}
			if diff := cmp.Diff(tt.want, configParams(tt.cfg, tt.protocol, tt.creating)); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigViolations(t *testing.T) {
	tests := []struct {
		name     string
		protocol slbv1.Protocol
		creating bool
		cfg      *slbv1.ListenerConfig
		want     []rpcerr.FieldViolation
	}{
		{name: "nothing set", protocol: protoTCP, cfg: &slbv1.ListenerConfig{}},
		{
			name: "wrong protocol", protocol: protoUDP, cfg: &slbv1.ListenerConfig{PersistenceTimeout: proto.Int32(5), Cookie: new("c")},
			want: []rpcerr.FieldViolation{
				{Field: "persistence_timeout", Description: "not supported by UDP listeners"},
				{Field: "cookie", Description: "not supported by UDP listeners"},
			},
		},
		{
			name: "all at once", protocol: protoTCP, creating: true,
			cfg: &slbv1.ListenerConfig{
				Scheduler: new("qch"), BandwidthMbps: proto.Int32(0), EstablishedTimeout: proto.Int32(9),
				HealthCheck: &slbv1.HealthCheck{ConnectPort: proto.Int32(-520), HealthyThreshold: proto.Int32(11)},
			},
			want: []rpcerr.FieldViolation{
				{Field: "scheduler", Description: `"qch" is not one of wrr, rr, wlc, sch, tch`},
				{Field: "bandwidth_mbps", Description: "0 is out of range, must be 1 to 5120 or -1"},
				{Field: "established_timeout", Description: "9 is out of range, must be 10 to 900"},
				{Field: "health_check.healthy_threshold", Description: "11 is out of range, must be 2 to 10"},
			},
		},
		{
			name: "what can't be changed", protocol: protoHTTP,
			cfg: &slbv1.ListenerConfig{ForwardPort: proto.Int32(443), Description: new("")},
			want: []rpcerr.FieldViolation{
				{Field: "description", Description: "can't be set to nothing, the cloud has no call for it"},
				{Field: "forward_port", Description: "can't be changed, delete the listener and create it anew"},
			},
		},
		{
			name: "an id that would become two", protocol: protoTCP, cfg: &slbv1.ListenerConfig{AclIds: []string{"acl-1,acl-2"}},
			want: []rpcerr.FieldViolation{{Field: "acl_ids", Description: `"acl-1,acl-2" is not an id`}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, violations(t, tt.cfg, tt.protocol, tt.creating)); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListenerDecode(t *testing.T) {
	tests := []struct {
		name, answer string
		want         *slbv1.Listener
	}{
		{
			name: "TCP",
			answer: `{"LoadBalancerId":"lb-1","ListenerPort":80,"ListenerProtocol":"tcp","Status":"running","Bandwidth":-1,
				"Description":"k8s","VServerGroupId":"rsp-1","Scheduler":"rr","AclStatus":"off","AclIds":[],"AclId":"",
				"TCPListenerConfig":{"HealthCheckInterval":4,"HealthCheckSwitch":"on","PersistenceTimeout":0,"ConnectionDrain":"off",
				"ConnectionDrainTimeout":0,"ProxyProtocolV2Enabled":"false","HealthCheckConnectPort":0,"HealthCheckURI":null}}`,
			want: &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: protoTCP}, Status: "running",
				Config: &slbv1.ListenerConfig{
					Description: new("k8s"), ServerGroupId: new("rsp-1"), Scheduler: new("rr"),
					BandwidthMbps: proto.Int32(-1), AclEnabled: new(false), PersistenceTimeout: proto.Int32(0),
					ConnectionDrain: new(false), ProxyProtocolV2: new(false),
					HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(4)},
				},
			},
		},
		{
			name: "booleans and numbers as the cloud pleases",
			answer: `{"LoadBalancerId":"lb-1","ListenerPort":"53","ListenerProtocol":"UDP","Status":"stopped","AclId":"acl-1,acl-2",
				"BackendServerPort":-520,"Tags":[{"TagKey":"team","TagValue":"dns"}],
				"UDPListenerConfig":{"HealthCheck":"on","ProxyProtocolV2Enabled":true,"HealthCheckInterval":"5","HealthCheckReq":"ping"}}`,
			want: &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 53, Protocol: protoUDP}, Status: "stopped",
				Config: &slbv1.ListenerConfig{
					AclIds: []string{"acl-1", "acl-2"}, ProxyProtocolV2: new(true), BackendServerPort: proto.Int32(-520),
					HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(5), Request: new("ping")},
				},
				Tags: []*commonv1.Tag{{Key: "team", Value: "dns"}},
			},
		},
		{
			name: "a port that is no redirect, and a certificate in a list",
			answer: `{"LoadBalancerId":"lb-1","ListenerPort":443,"ListenerProtocol":"https","AclIds":["acl-1"],
				"HTTPSListenerConfig":{"EnableHttp2":"on","ServerCertificates":[{"ServerCertificateId":"cert-1"}]}}`,
			want: &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 443, Protocol: protoHTTPS},
				Config: &slbv1.ListenerConfig{
					Http2: new(true), ServerCertificateId: new("cert-1"), AclIds: []string{"acl-1"},
				},
			},
		},
		{
			name: "no redirect",
			answer: `{"LoadBalancerId":"lb-1","ListenerPort":80,"ListenerProtocol":"http",` +
				`"HTTPListenerConfig":{"ForwardPort":443,"ListenerForward":"off"}}`,
			want: &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: protoHTTP}, Config: &slbv1.ListenerConfig{},
			},
		},
		{
			name:   "a protocol of the future",
			answer: `{"LoadBalancerId":"lb-1","ListenerPort":80,"ListenerProtocol":"tcps","Description":"x","TCPSListenerConfig":{}}`,
			want: &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80}, UnknownProtocol: "TCPS",
				Config: &slbv1.ListenerConfig{Description: new("x")},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("listener (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzListenerDecode(f *testing.F) {
	f.Add([]byte(`{"LoadBalancerId":"lb-1","ListenerPort":80,"ListenerProtocol":"tcp","TCPListenerConfig":{"HealthCheckInterval":4}}`))
	f.Add([]byte(`{"ListenerPort":"x","ListenerProtocol":null,"HTTPListenerConfig":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := decode(data); err == nil && l.GetConfig() == nil {
			t.Error("a listener without a configuration")
		}
	})
}
