package listener

import (
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	key := func(protocol slbv1.Protocol) *slbv1.ListenerKey {
		return &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 65535, Protocol: protocol}
	}
	group := &slbv1.ListenerConfig{ServerGroupId: new("rsp-1")}
	noKey := []string{"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required"}
	const noTarget = "config.server_group_id: is required, unless config.forward_port or config.backend_server_port is set"
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.ListListenersRequest{LoadBalancerIds: []string{"lb-1"}}},
		{Name: "of all", Request: &slbv1.ListListenersRequest{}, Want: []string{"load_balancer_ids: at least 1 is required"}},
		{Request: &slbv1.ListListenersRequest{LoadBalancerIds: []string{"lb 1"}},
			Want: []string{`load_balancer_ids[0]: "lb 1" is not an id of the cloud`}},
		{Name: "with a server group", Request: &slbv1.CreateListenerRequest{Key: key(protoTCP), Config: group}},
		{Name: "of default servers", Request: &slbv1.CreateListenerRequest{Key: key(protoTCP),
			Config: &slbv1.ListenerConfig{BackendServerPort: new(int32(80))}}},
		{Name: "that redirects", Request: &slbv1.CreateListenerRequest{Key: key(protoHTTP),
			Config: &slbv1.ListenerConfig{ForwardPort: new(int32(443))}}},
		{Name: "with a certificate", Request: &slbv1.CreateListenerRequest{Key: key(protoHTTPS), Config: &slbv1.ListenerConfig{
			ServerGroupId: new("rsp-1"), ServerCertificateId: new("cert-1"),
		}}},
		{Name: "without a certificate", Request: &slbv1.CreateListenerRequest{Key: key(protoHTTPS), Config: group}, Want: []string{
			"config.server_certificate_id: is required for HTTPS",
		}},
		{Name: "of nothing", Request: &slbv1.CreateListenerRequest{}, Want: append([]string{noTarget}, noKey...)},
		{Name: "that redirects with a server group", Request: &slbv1.CreateListenerRequest{Key: key(protoHTTP), Config: &slbv1.ListenerConfig{
			ForwardPort: new(int32(443)), ServerGroupId: new("rsp-1"),
		}}, Want: []string{"config.server_group_id: a listener that redirects has no vServer group"}},
		{Name: "that redirects with default servers", Request: &slbv1.CreateListenerRequest{Key: key(protoHTTP), Config: &slbv1.ListenerConfig{
			ForwardPort: new(int32(443)), BackendServerPort: new(int32(80)),
		}}, Want: []string{"config.backend_server_port: a listener that redirects has no servers"}},
		{Name: "with two targets", Request: &slbv1.CreateListenerRequest{Key: key(protoTCP), Config: &slbv1.ListenerConfig{
			BackendServerPort: new(int32(8080)), ServerGroupId: new("rsp-1"), SynProxy: new(true), CaCertificateId: new("ca-1"),
		}}, Want: []string{
			"config.syn_proxy: can't be set at creation, update the listener afterwards",
			"config.ca_certificate_id: not supported by TCP listeners",
			"config.backend_server_port: is for the default server group, leave it out with config.server_group_id",
		}},
		{Name: "with wrong numbers", Request: &slbv1.CreateListenerRequest{
			Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 65536, Protocol: protoHTTP},
			Config: &slbv1.ListenerConfig{IdleTimeout: new(int32(61)), ServerGroupId: new("rsp-1")},
		}, Want: []string{
			"key.port: 65536 is out of range, must be 1 to 65535", "config.idle_timeout: 61 is out of range, must be 1 to 60",
		}},
		{Name: "with a scheduler of UDP", Request: &slbv1.CreateListenerRequest{Key: key(protoTCP), Config: &slbv1.ListenerConfig{
			ServerGroupId: new("rsp-1"), Scheduler: new("qch"),
		}}, Want: []string{`config.scheduler: "qch" is not one of wrr, rr, wlc, sch, tch`}},
		{Name: "of the scheduler", Request: &slbv1.UpdateListenerRequest{Key: key(protoUDP),
			Config: &slbv1.ListenerConfig{Scheduler: new("qch")}}},
		{Name: "of what can be set later", Request: &slbv1.UpdateListenerRequest{Key: key(protoTCP),
			Config: &slbv1.ListenerConfig{SynProxy: new(true)}}},
		{Name: "of a tag", Request: &slbv1.UpdateListenerRequest{Key: key(protoTCP), SetTags: []*commonv1.Tag{{Key: "a"}}}},
		{Name: "without a tag", Request: &slbv1.UpdateListenerRequest{Key: key(protoTCP), RemoveTagKeys: []string{"a"}}},
		{Name: "of one tag for another", Request: &slbv1.UpdateListenerRequest{
			Key: key(protoTCP), SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"b"},
		}},
		{Name: "of nothing", Request: &slbv1.UpdateListenerRequest{Key: key(protoTCP),
			Config: &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{}}}, Want: []string{
			"config: the request changes nothing; at least one attribute is required",
		}},
		{Name: "of what is fixed", Request: &slbv1.UpdateListenerRequest{Key: key(protoTCP), Config: &slbv1.ListenerConfig{
			BackendServerPort: new(int32(8080)), Http2: new(true),
		}}, Want: []string{
			"config.backend_server_port: can't be changed, delete the listener and create it anew", "config.http2: not supported by TCP listeners",
		}},
		{Request: &slbv1.UpdateListenerRequest{Config: group},
			Want: append([]string{"config.server_group_id: not supported by UNSPECIFIED listeners"}, noKey...)},
		{Request: &slbv1.DeleteListenerRequest{Key: key(protoTCP)}},
		{Request: &slbv1.DeleteListenerRequest{}, Want: noKey},
		{Request: &slbv1.StartListenerRequest{Key: key(protoTCP)}},
		{Request: &slbv1.StartListenerRequest{}, Want: noKey},
		{Request: &slbv1.StopListenerRequest{Key: key(protoTCP)}},
		{Request: &slbv1.StopListenerRequest{}, Want: noKey},
	})
}
