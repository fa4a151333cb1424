package slb

import (
	"fmt"
	"testing"
)

// change is a call that changes what a load balancer does, and the code by which the load balancer refuses it while it applies
// another change.
type change struct {
	action string
	params params
	busy   string
}

// changes are all such calls, valid ones for a new cloud.
func changes(t *testing.T) []change {
	t.Helper()
	c := newCloud(t) // the ids in it are those in any other
	lb, group := params{"LoadBalancerId": "lb-1"}, params{"VServerGroupId": "rsp-empty"}
	listener, rule, domain := lb.with("ListenerPort", "80"), params{"RuleId": c.ruleID()}, params{"DomainExtensionId": c.domainID()}
	one, two := `[{"ServerId":"i-3","Port":"1"}]`, `[{"ServerId":"i-1","Port":"30080"}]`
	all := []change{
		{"StartLoadBalancerListener", listener, "ServiceIsConfiguring"},
		{"StopLoadBalancerListener", listener, "ServiceIsConfiguring"},
		{"DeleteLoadBalancerListener", listener, "ServiceIsConfiguring"},
		{"SetListenerAccessControlStatus", listener.with("AccessControlStatus", "close"), "ServiceIsConfiguring"},
		{"CreateRules", lb.with("ListenerPort", "81", "RuleList", `[{"RuleName":"n","Url":"/n","VServerGroupId":"rsp-1"}]`),
			"OperationFailed.ListenerStatusNotSupport"},
		{"SetRule", rule.with("RuleName", "n"), "OperationFailed.ListenerStatusNotSupport"},
		{"DeleteRules", params{"RuleIds": fmt.Sprintf("[%q]", c.ruleID())}, "OperationFailed.ListenerStatusNotSupport"},
		{"CreateVServerGroup", lb, "VServerGroupProcessing"},
		{"CreateMasterSlaveServerGroup", lb, "VServerGroupProcessing"},
		{"DeleteVServerGroup", group, "VServerGroupProcessing"},
		{"AddVServerGroupBackendServers", group.with("BackendServers", one), "VServerGroupProcessing"},
		{"RemoveVServerGroupBackendServers", group.with("BackendServers", one), "VServerGroupProcessing"},
		{"ModifyVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "OldBackendServers": two,
			"NewBackendServers": one}, "VServerGroupProcessing"},
		{"SetVServerGroupAttribute", group.with("VServerGroupName", "n"), "VServerGroupProcessing"},
		{"AddBackendServers", lb.with("BackendServers", one), "BackendServer.configuring"},
		{"SetBackendServers", lb, "BackendServer.configuring"},
		{"RemoveBackendServers", lb.with("BackendServers", one), "BackendServer.configuring"},
		{"CreateDomainExtension", lb.with("ListenerPort", "443", "Domain", "x.example.com", "ServerCertificateId", "cert-1"),
			"DomainExtensionProcessing"},
		{"SetDomainExtensionAttribute", domain.with("ServerCertificateId", "cert-1"), "DomainExtensionProcessing"},
		{"DeleteDomainExtension", domain, "DomainExtensionProcessing"},
	}
	for protocol, port := range map[string]string{protoTCP: "80", protoUDP: "53", protoHTTP: "81", protoHTTPS: "443"} {
		all = append(all,
			change{action("Create", protocol), newListener(protocol), "ServiceIsConfiguring"},
			change{action("Set", protocol), lb.with("ListenerPort", port), "ServiceIsConfiguring"})
	}
	return all
}

// One load balancer applies one change at a time.
func TestBusyLoadBalancer(t *testing.T) {
	t.Parallel()
	tests := append(changes(t), // these are no changes of what it does, or of another one
		change{"SetLoadBalancerName", params{"LoadBalancerId": "lb-1", "LoadBalancerName": "n"}, ""},
		change{"TagResources", params{"ResourceType": "instance", "ResourceId.1": "lb-1", "Tag.1.Key": "k"}, ""},
		change{"DescribeLoadBalancerAttribute", params{"LoadBalancerId": "lb-1"}, ""},
		change{"CreateVServerGroup", params{"LoadBalancerId": "lb-vpc"}, ""},
	)
	for _, tt := range tests {
		t.Run(tt.action, func(t *testing.T) {
			t.Parallel()
			c := slowCloud(t)
			c.call("CreateVServerGroup", params{"LoadBalancerId": "lb-1"})
			if got := c.code(tt.action, tt.params); got != tt.busy {
				t.Errorf("while busy: got code %q, want %q", got, tt.busy)
			}
			c.pass(c.settings.BusyAfterWrite)
			c.call(tt.action, tt.params)
		})
	}
}

// A locked load balancer, whose bills are not paid, accepts no change at all.
func TestLockedLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, tt := range changes(t) {
		t.Run(tt.action, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			c.state.LoadBalancers["lb-1"].Status = locked
			if got := c.code(tt.action, tt.params); got != "LbStatusNotSupport" {
				t.Errorf("got code %q, want LbStatusNotSupport", got)
			}
		})
	}
}

// Access control lists are busy, too.
func TestBusyAccessControlList(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"AddAccessControlListEntry", "RemoveAccessControlListEntry"} {
		c := slowCloud(t)
		entry := params{"AclId": "acl-1", "AclEntrys": `[{"entry":"11.0.0.0/8"}]`}
		c.call("AddAccessControlListEntry", entry.with("AclEntrys", `[{"entry":"12.0.0.0/8"}]`))
		if got := c.code(action, entry); got != "AclEntryProcessing" {
			t.Errorf("%s at once: got code %q, want AclEntryProcessing", action, got)
		}
		c.pass(c.settings.AclBusyAfterWrite)
		c.call(action, entry)
	}
}

// What names a resource that does not exist is refused, whatever the action.
func TestUnknownListener(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "82"}
	calls := map[string]params{
		"StartLoadBalancerListener": key, "StopLoadBalancerListener": key, "DeleteLoadBalancerListener": key,
		"DescribeHealthStatus": key, "DescribeListenerAccessControlAttribute": key,
		"SetListenerAccessControlStatus": key.with("AccessControlStatus", "close"),
		"CreateRules":                    key.with("RuleList", "[]"), "DescribeRules": key,
		"CreateDomainExtension": key.with("Domain", "x.example.com"), "DescribeDomainExtensions": key,
	}
	for _, protocol := range []string{protoTCP, protoUDP, protoHTTP, protoHTTPS} {
		calls[action("Set", protocol)], calls[action("Describe", protocol)] = key, key
	}
	for name, p := range calls {
		want := "ResourceNotFound.Listener"
		if name == "CreateRules" {
			want = "ListenerNotFound"
		}
		testCodes(t, name, []codeTest{
			{"unknown load balancer", p.with("LoadBalancerId", "lb-x"), "InvalidLoadBalancerId.NotFound"},
			{"unknown listener", p, want},
		})
	}
}

// A port that a UDP listener shares with another one needs the protocol.
func TestAmbiguousPort(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "81"}
	for name, p := range map[string]params{
		"StartLoadBalancerListener": key, "StopLoadBalancerListener": key, "DeleteLoadBalancerListener": key,
		"DescribeHealthStatus": key, "DescribeListenerAccessControlAttribute": key,
		"SetListenerAccessControlStatus": key.with("AccessControlStatus", "close"),
		"CreateRules":                    key.with("RuleList", `[{"RuleName":"n","Url":"/n","VServerGroupId":"rsp-1"}]`), "DescribeRules": key,
	} {
		c := newCloud(t)
		c.call(action("Create", protoUDP), newListener(protoUDP).with("ListenerPort", "81"))
		if got := c.code(name, p); got != "TooManyListeners" {
			t.Errorf("%s: got code %q, want TooManyListeners", name, got)
		}
		c.call(name, p.with("ListenerProtocol", protoHTTP))
	}
}
