package slb

import (
	"strconv"
	"strings"
	"testing"
)

// listenerTest is a condition that listeners of several protocols share: what is sent besides the parameters of newListener, and
// the code.
type listenerTest struct {
	name string
	on   protocols
	more params
	want string
}

// listenerTests are the conditions of creations and changes.
func listenerTests() []listenerTest {
	acl := func(id string) params { return params{"AclStatus": on, "AclType": "black", "AclId": id} }
	long := strings.Repeat("x", 65)
	return []listenerTest{
		{"unknown load balancer", every, params{"LoadBalancerId": "lb-x"}, "InvalidLoadBalancerId.NotFound"},
		{"access list of IPv6", every, acl("acl-6"), "IpVersionConflict"},
		{"access list without id", every, params{"AclStatus": on, "AclType": "black"}, "MissingParameter"},
		{"access list without type", every, params{"AclStatus": on, "AclId": "acl-2"}, "MissingParameter"},
		{"access list that is used up", every, acl("acl-1"), "AclListenerOverLimit"},
		{"unknown access list", every, acl("acl-x"), "AclNotExist"},
		{"port 65536", layer4, params{"ListenerPort": "65536"}, "InvalidParam.ListenerPort"},
		{"port 0 in layer 7", layer7, params{"ListenerPort": "0"}, "InvalidParameter"},
		{"bandwidth", every, params{"Bandwidth": "0"}, "InvalidParameter"},
		{"scheduler", every, params{"Scheduler": "x"}, "InvalidParameter"},
		{"unknown group", layer4, params{"VServerGroupId": "rsp-x"}, "ResourceNotFound.VServerGroup"},
		{"unknown group in layer 7", layer7, params{"VServerGroupId": "rsp-x"}, "InvalidParameter.VServerGroupId"},
		{"request", onUDP, params{"healthCheckReq": long}, "InvalidParamLength.HealthCheckReq"},
		{"expectation", onUDP, params{"healthCheckExp": long}, "InvalidParamLength.HealthCheckExp"},
		{"idle timeout", layer7, params{"IdleTimeout": "61"}, "InvalidParameter.IdleTimeout"},
		{"request timeout", layer7, params{"RequestTimeout": "181"}, "InvalidParameter.RequestTimeout"},
		{"sticky without type", layer7, params{"StickySession": on}, "MissingParameter"},
		{"unknown certificate", onHTTPS, params{"ServerCertificateId": "x"}, "CertificateNotExist"},
		{"unknown CA", onHTTPS, params{"CACertificateId": "x"}, "CACertificateId.NotFound"},
	}
}

// What a creation refuses, a change refuses, too.
func TestListenersThatAreRefused(t *testing.T) {
	t.Parallel()
	creations := append(listenerTests(),
		listenerTest{"exists", onTCP, params{"ListenerPort": "80"}, "ListenerAlreadyExists"},
		listenerTest{"exists", onUDP, params{"ListenerPort": "53"}, "ListenerAlreadyExists"},
		listenerTest{"exists", onHTTP, params{"ListenerPort": "81"}, "ListenerAlreadyExists"},
		listenerTest{"exists", onHTTPS, params{"ListenerPort": "443"}, "ListenerAlreadyExists"},
		listenerTest{"port of HTTP", onTCP | onHTTPS, params{"ListenerPort": "81"}, "InvalidParameter.ListenerPortConflict"},
		listenerTest{"port of TCP", onHTTP, params{"ListenerPort": "80"}, "InvalidParameter.ListenerPortConflict"},
		listenerTest{"no group", every, params{"VServerGroupId": ""}, "MissingParameter"},
		listenerTest{"one too many", every, params{}, "ListenerNumberOverLimit"},
	)
	updates := append(listenerTests(),
		listenerTest{"group missing", layer4, params{"VServerGroup": on, "VServerGroupId": ""}, "MissingParam.VServerGroupId"},
		listenerTest{"group missing in layer 7", layer7, params{"VServerGroup": on, "VServerGroupId": ""}, "InvalidParameter.VServerGroupId"},
		listenerTest{"dry run", every, params{"DryRun": "true"}, "DryRunOperation"},
	)
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		for verb, tests := range map[string][]listenerTest{"Create": creations, "Set": updates} {
			for _, tt := range tests {
				if tt.on&protocolBit(protocol) == 0 {
					continue
				}
				t.Run(action(verb, protocol)+"/"+tt.name, func(t *testing.T) {
					t.Parallel()
					c := newCloud(t)
					p := newListener(protocol)
					for name, value := range tt.more {
						p = p.with(name, value)
					}
					if verb == "Set" {
						c.call(action("Create", protocol), newListener(protocol))
					}
					c.settings.Quotas.ListenersPerAcl = 1
					if tt.want == "ListenerNumberOverLimit" {
						c.settings.Quotas.Listeners = len(c.state.LoadBalancers["lb-1"].Listeners)
					}
					if got := c.code(action(verb, protocol), p); got != tt.want {
						t.Errorf("got code %q, want %s", got, tt.want)
					}
				})
			}
		}
	}
}

// A seeded listener may lack what a creation requires; a change has to bring it.
func TestSetSeededListener(t *testing.T) {
	t.Parallel()
	for protocol, port := range map[string]int{protoHTTP: 81, protoHTTPS: 443} {
		c := newCloud(t)
		clear(c.listener(protocol, port).Attributes)
		key := params{"LoadBalancerId": "lb-1", "ListenerPort": strconv.Itoa(port)}
		if got := c.code(action("Set", protocol), key); got != "MissingParameter" {
			t.Errorf("%s without health check: got code %q, want MissingParameter", protocol, got)
		}
		if key = key.with("HealthCheck", off); protocol == protoHTTPS {
			if got := c.code(action("Set", protocol), key); got != "MissingParam.ServerCertificates" {
				t.Errorf("without certificate: got code %q, want MissingParam.ServerCertificates", got)
			}
			key = key.with("ServerCertificateId", "cert-1")
		}
		c.call(action("Set", protocol), key)
	}
}
