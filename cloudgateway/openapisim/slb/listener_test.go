package slb

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newListener are the parameters that create a listener of each protocol on lb-1.
func newListener(protocol string) params {
	p := params{"LoadBalancerId": "lb-1", "ListenerPort": "1000", "VServerGroupId": "rsp-1", "Bandwidth": "-1"}
	switch protocol {
	case protoHTTP:
		return p.with("HealthCheck", off, "StickySession", off)
	case protoHTTPS:
		return p.with("HealthCheck", off, "StickySession", off, "ServerCertificateId", "cert-1")
	}
	return p
}

func action(verb, protocol string) string {
	suffix := "Listener"
	if verb != "Create" {
		suffix = "ListenerAttribute"
	}
	return verb + "LoadBalancer" + strings.ToUpper(protocol) + suffix
}

func TestCreateListener(t *testing.T) {
	t.Parallel()
	health := map[string]any{
		"HealthCheckInterval": 2.0, "HealthyThreshold": 3.0, "UnhealthyThreshold": 3.0, "HealthCheckConnectPort": -520.0,
		"Bandwidth": -1.0, "Scheduler": "wrr", "AclStatus": off, "VServerGroupId": "rsp-1", "Status": stopped, "ListenerPort": 1000.0,
	}
	seven := map[string]any{
		"HealthCheck": off, "StickySession": off, "IdleTimeout": 15.0, "RequestTimeout": 60.0, "Gzip": on, "XForwardedFor": on,
		"XForwardedFor_proto": off, "HealthCheckTimeout": 5.0,
	}
	for protocol, want := range map[string]map[string]any{
		protoTCP: {
			"HealthCheck": on, "PersistenceTimeout": 0.0, "EstablishedTimeout": 900.0, "HealthCheckConnectTimeout": 5.0,
			"ProxyProtocolV2Enabled": false, "ConnectionDrain": off, "HealthCheckType": protoTCP,
		},
		protoUDP:   {"HealthCheck": on, "HealthCheckConnectTimeout": 5.0},
		protoHTTP:  seven,
		protoHTTPS: {"ServerCertificateId": "cert-1", "EnableHttp2": on, "TLSCipherPolicy": "tls_cipher_policy_1_0", "Gzip": on},
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			c.call(action("Create", protocol), newListener(protocol))
			got := c.call(action("Describe", protocol), params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"})
			for _, members := range []map[string]any{health, want} {
				for name, value := range members {
					if diff := cmp.Diff(value, got[name]); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
			}
			listed := c.call("DescribeLoadBalancerListeners", params{"LoadBalancerId.1": "lb-1", "ListenerPort": "1000"})
			config := strings.ToUpper(protocol) + "ListenerConfig"
			for name := range want {
				inList := listed.at("Listeners.0." + config + "." + name)
				if fmt.Sprint(inList) != fmt.Sprint(got[name]) {
					t.Errorf("the list has %s %v, the attribute %v", name, inList, got[name])
				}
			}
		})
	}
}

// Whatever a parameter's range, the first value beyond it is refused and the last one within is shown.
func TestListenerParameters(t *testing.T) {
	t.Parallel()
	table := newTable()
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		for _, a := range table[protocol] {
			if a.use&both == 0 || (a.max == 0 && len(a.enum) == 0) || strings.HasPrefix(a.name, "Forward") || a.name == "ListenerForward" {
				continue
			}
			t.Run(protocol+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				good, bad := []string{fmt.Sprint(a.min), fmt.Sprint(a.max)}, []string{fmt.Sprint(a.max + 1), "x"}
				if len(a.enum) > 0 {
					good, bad = a.enum, []string{"nonsense"}
				}
				if a.open {
					bad = nil // another test has them
				}
				code := a.code
				if code == "" {
					code = "InvalidParameter"
				}
				more := params{"AclId": "acl-1", "AclType": "white", "StickySessionType": "insert", "CookieTimeout": "60", "Cookie": "c"}
				if protocolBit(protocol)&layer4 != 0 {
					more = params{"AclId": "acl-1", "AclType": "white"}
				}
				c := newCloud(t)
				for i, value := range good {
					p := newListener(protocol).with("ListenerPort", fmt.Sprint(1000+i))
					maps.Copy(p, more)
					if a.use&inCreate != 0 {
						p[a.name] = value
					}
					c.call(action("Create", protocol), p)
					key := params{"LoadBalancerId": "lb-1", "ListenerPort": p["ListenerPort"]}
					if a.use&inSet != 0 {
						c.call(action("Set", protocol), key.with(a.name, value))
					}
					if got := c.call(action("Describe", protocol), key)[a.name]; fmt.Sprint(got) != value {
						t.Errorf("set to %s, shown as %v", value, got)
					}
				}
				for _, value := range bad {
					code := code
					if value == "x" { // whatever its range, it is no number
						code = "InvalidParameter"
					}
					verb, p := "Create", newListener(protocol).with("ListenerPort", "2000", a.name, value)
					if a.use&inCreate == 0 {
						verb, p = "Set", params{"LoadBalancerId": "lb-1", "ListenerPort": "1000", a.name: value}
					}
					if got := c.code(action(verb, protocol), p); got != code {
						t.Errorf("%s with %s: got code %q, want %s", verb, value, got, code)
					}
				}
			})
		}
	}
}

func TestCreateListenerRefuses(t *testing.T) {
	t.Parallel()
	four, http, https := newListener(protoTCP), newListener(protoHTTP), newListener(protoHTTPS)
	for name, tests := range map[string][]codeTest{
		action("Create", protoTCP): {
			{"port of HTTPS", four.with("ListenerPort", "443"), "InvalidParameter.ListenerPortConflict"},
			{"port of UDP", four.with("ListenerPort", "53"), ""},
			{"no bandwidth", four.with("Bandwidth", ""), "MissingParameter"},
			{"default group", four.with("VServerGroupId", "", "BackendServerPort", "8080"), ""},
			{"same port as the backend, from terraform", four.with("VServerGroupId", "", "BackendServerPort", "-520",
				"HealthCheckConnectPort", "-520"), ""},
			{"bad backend port", four.with("VServerGroupId", "", "BackendServerPort", "0"), "InvalidParameter"},
			{"group of another load balancer", four.with("VServerGroupId", "rsp-vpc"), "ResourceNotFound.VServerGroup"},
			{"master and slave group", four.with("VServerGroupId", "", "MasterSlaveServerGroupId", "x"), "InvalidParameter"},
			{"two ACLs", four.with("AclStatus", on, "AclType", "white", "AclId", "acl-1,acl-2"), ""},
			{"health check URI", four.with("HealthCheckType", protoHTTP, "HealthCheckURI", "x"), "InvalidParameter"},
			{"health check codes", four.with("HealthCheckHttpCode", "http_2xx,http_1xx"), "InvalidParameter"},
			{"interval in small letters", four.with("healthCheckInterval", "51"), "InvalidParameter"},
			{"long description", four.with("Description", strings.Repeat("x", 257)), "InvalidParameter"},
		},
		action("Create", protoUDP): {
			{"reserved port", newListener(protoUDP).with("ListenerPort", "4789"), "OperationDenied.SpecialListenerPortNotAllowed"},
			{"port of TCP", newListener(protoUDP).with("ListenerPort", "80"), ""},
		},
		action("Create", protoHTTP): {
			{"no health check", http.with("HealthCheck", ""), "MissingParameter"},
			{"sticky without type", http.with("StickySession", on), "MissingParameter"},
			{"insert without timeout", http.with("StickySession", on, "StickySessionType", "insert"), "MissingParameter"},
			{"server without cookie", http.with("StickySession", on, "StickySessionType", "server"), "MissingParameter"},
			{"cookie", http.with("StickySession", on, "StickySessionType", "server", "Cookie", "a;b"), "InvalidParameter"},
			{"forward to nothing", http.with("ListenerForward", on, "ForwardPort", "444"), "InvalidParameter"},
			{"forward to 443 by default", http.with("ListenerForward", on), ""},
			{"forward code", http.with("ListenerForward", on, "ForwardCode", "404"), "InvalidParameter.ForwardCode"},
		},
		action("Create", protoHTTPS): {
			{"no certificate", https.with("ServerCertificateId", ""), "MissingParam.ServerCertificates"},
			{"CA as certificate", https.with("ServerCertificateId", "ca-1"), "CertificateNotExist"},
			{"TLS policy", https.with("TLSCipherPolicy", "x"), "InvalidTLSPolicyId.NotExist"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCodes(t, name, tests)
		})
	}
}

// The listeners of a load balancer that pays by bandwidth share it.
func TestListenerBandwidth(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	key := params{"LoadBalancerId": "lb-old"}
	c.call("ModifyLoadBalancerInternetSpec", key.with("InternetChargeType", payByBandwidth, "Bandwidth", "10"))
	p := key.with("VServerGroupId", "rsp-old", "ListenerPort", "80", "Bandwidth", "6")
	c.call(action("Create", protoTCP), p)
	if got := c.code(action("Create", protoTCP), p.with("ListenerPort", "81")); got != "InvalidParameter" {
		t.Errorf("12 of 10 Mbit/s: got code %q, want InvalidParameter", got)
	}
	c.call(action("Create", protoTCP), p.with("ListenerPort", "81", "Bandwidth", "4"))
	c.call(action("Set", protoTCP), key.with("ListenerPort", "80", "Bandwidth", "5"))
	if got := c.code("ModifyLoadBalancerInternetSpec", key.with("Bandwidth", "8")); got != "InvalidParameter.Bandwidth" {
		t.Errorf("less than the listeners have: got code %q, want InvalidParameter.Bandwidth", got)
	}
}

func TestSetListener(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "80"}
	testCodes(t, action("Set", protoTCP), []codeTest{
		{"as the existing CCM sends it", key.with("VServerGroup", on, "VServerGroupId", "rsp-empty", "Scheduler", "rr",
			"Description", "d", "Bandwidth", "-1"), ""},
		{"default group without port", key.with("VServerGroup", off), "InvalidParameter"},
		{"master and slave group", key.with("MasterSlaveServerGroup", on), "MissingParameter"},
	})
	t.Run("keeps what was not sent", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		before := c.call(action("Describe", protoTCP), key)
		c.call(action("Set", protoTCP), key.with("Scheduler", "rr"))
		want := before
		want["Scheduler"] = "rr"
		if diff := cmp.Diff(want, c.call(action("Describe", protoTCP), key)); diff != "" {
			t.Errorf("after the change (-want +got):\n%s", diff)
		}
	})
	t.Run("between the groups", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		p := newListener(protoTCP).with("VServerGroupId", "", "BackendServerPort", "8080")
		c.call(action("Create", protoTCP), p)
		key := params{"LoadBalancerId": "lb-1", "ListenerPort": "1000"}
		c.call(action("Set", protoTCP), key.with("VServerGroup", on, "VServerGroupId", "rsp-1"))
		if got := c.listener(protoTCP, 1000).Attributes["VServerGroupId"]; got != "rsp-1" {
			t.Errorf("the group is %q, want rsp-1", got)
		}
		c.call(action("Set", protoTCP), key.with("VServerGroup", off))
		if got := c.listener(protoTCP, 1000).Attributes["VServerGroupId"]; got != "" {
			t.Errorf("the group is %q, want none", got)
		}
	})
	t.Run("a redirect stays one", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		key := params{"LoadBalancerId": "lb-1", "ListenerPort": "8080"}
		if got := c.code(action("Set", protoHTTP), key.with("VServerGroup", on, "VServerGroupId", "rsp-1")); got != "Operation.NotAllowed" {
			t.Errorf("set: got code %q, want Operation.NotAllowed", got)
		}
		got := c.call(action("Describe", protoHTTP), key)
		want := map[string]any{"ListenerForward": on, "ForwardPort": 443.0, "ForwardCode": 302.0}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %v, want %v", name, got[name], value)
			}
		}
		for _, name := range []string{"Bandwidth", "VServerGroupId", "HealthCheck", "Gzip", "StickySession", "IdleTimeout", "RequestTimeout"} {
			if value, ok := got[name]; ok {
				t.Errorf("%s is %v; a redirect has none", name, value)
			}
		}
	})
}

func TestListenerStates(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "80"}
	for name, tests := range map[string][]codeTest{
		"StartLoadBalancerListener": {
			{"running already", key, ""},
			{"wrong protocol", key.with("ListenerProtocol", protoUDP), "ResourceNotFound.Listener"},
		},
		"StopLoadBalancerListener": {
			{"ok", key.with("ListenerProtocol", protoTCP), ""},
		},
		"DeleteLoadBalancerListener": {
			{"ok", key, ""},
			{"redirect", key.with("ListenerPort", "8080"), ""},
			{"target of a redirect", key.with("ListenerPort", "443"), "ListenerForwardExist"},
		},
		"SetListenerAccessControlStatus": {
			{"ok", key.with("AccessControlStatus", "close"), ""},
		},
		"DescribeListenerAccessControlAttribute": {
			{"ok", key, ""},
			{"unknown load balancer", key.with("LoadBalancerId", "lb-x"), "InvalidLoadBalancerId.NotFound"},
			{"wrong protocol", key.with("ListenerProtocol", protoUDP), "ResourceNotFound.Listener"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCodes(t, name, tests)
		})
	}
	t.Run("the older white list is shown", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		shown := func() string {
			return c.call("DescribeListenerAccessControlAttribute", key).text("AccessControlStatus")
		}
		before := shown()
		c.call("SetListenerAccessControlStatus", key.with("AccessControlStatus", "open_white_list"))
		if after := shown(); before != "close" || after != "open_white_list" {
			t.Errorf("the white list was %q, then %q; want close, then open_white_list", before, after)
		}
	})
	t.Run("start without its group", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.listener(protoTCP, 80).Status = stopped
		delete(c.state.ServerGroups, "rsp-1")
		if got := c.code("StartLoadBalancerListener", key); got != "InvalidParameter" {
			t.Errorf("got code %q, want InvalidParameter", got)
		}
	})
	t.Run("the last listener", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		for _, port := range []string{"8080", "443", "81", "80", "53"} {
			c.call("DeleteLoadBalancerListener", key.with("ListenerPort", port))
		}
		if got := c.state.LoadBalancers["lb-1"].Status; got != inactive {
			t.Fatalf("without listeners the load balancer is %s, want inactive", got)
		}
		c.call(action("Create", protoTCP), newListener(protoTCP))
		c.call("StartLoadBalancerListener", key.with("ListenerPort", "1000"))
		if got := c.state.LoadBalancers["lb-1"].Status; got != active {
			t.Fatalf("with a running listener the load balancer is %s, want active", got)
		}
	})
}
