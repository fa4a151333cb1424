package nlb_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Quotas are settings; here they are such that one more is too many.
func TestQuotas(t *testing.T) {
	t.Parallel()
	const code = "QuotaExceeded.QuotaInsufficient"
	for action, limit := range map[string]func(*api.Quotas){
		"CreateLoadBalancer":                          func(q *api.Quotas) { q.NLBs = len(newCloud().NLBs) },
		"CreateListener":                              func(q *api.Quotas) { q.NLBListeners = 6 },
		"CreateServerGroup":                           func(q *api.Quotas) { q.NLBServerGroups = len(newCloud().NLBServerGroups) },
		"AddServersToServerGroup":                     func(q *api.Quotas) { q.NLBServers = 2 },
		"AssociateAdditionalCertificatesWithListener": func(q *api.Quotas) { q.NLBCertificates = 2 },
		"TagResources":                                func(q *api.Quotas) { q.Tags = 0 },
	} {
		c := newCaller(t)
		limit(&c.Settings.Quotas)
		if _, got := c.Call(action, valid()[action]...); got != code {
			t.Errorf("%s: %q", action, got)
		}
	}
	c := newCaller(t)
	c.Settings.Quotas.NLBListenersPerGroup = 1
	if _, got := c.Call("UpdateListenerAttribute", "ListenerId", "lsn-tls@443", "ServerGroupId", "sgp-tls"); got != "" {
		t.Errorf("the group that the listener has: %q", got)
	}
	for _, params := range [][]string{{"ListenerId", "lsn-1@80", "ServerGroupId", "sgp-free"},
		{"ListenerId", "lsn-off@81", "ServerGroupId", "sgp-free"}} {
		_, got := c.Call("UpdateListenerAttribute", params...)
		if want := map[string]string{"lsn-off@81": code}[params[1]]; got != want {
			t.Errorf("%v: %q, want %q", params, got, want)
		}
	}
	// A server is in few groups only, and a load balancer has few different servers.
	c = newCaller(t)
	c.Settings.Quotas.NLBGroupsPerServer = 1
	if _, got := c.Call("AddServersToServerGroup", server("sgp-empty", "Ecs", "i-1", "80")...); got != code {
		t.Errorf("a server in a third group: %q", got)
	}
	c = newCaller(t)
	c.Settings.Quotas.NLBServers = 3
	c.Must("AddServersToServerGroup", server("sgp-udp", "Ecs", "i-3", "53")...)
	if _, got := c.Call("AddServersToServerGroup", server("sgp-udp", "Eni", "eni-1", "53")...); got != code {
		t.Errorf("a fourth server of a load balancer: %q", got)
	}
	c.Must("AddServersToServerGroup", server("sgp-udp", "Ecs", "i-1", "54")...) // it is there already, at another port
}

// Where every job locks its load balancer, whatever overlaps is refused.
func TestJobsLock(t *testing.T) {
	t.Parallel()
	for action, params := range valid() {
		codes, _ := codesOf(action)
		if !codes["Conflict.Lock"] {
			continue
		}
		c := newCaller(t)
		c.Settings.NLBJobsLock = true
		params = with(params, "LoadBalancerId", "nlb-joining")
		for i, name := range params {
			switch name {
			case "ListenerId":
				params[i+1] = "lsn-locked@80"
			case "ServerGroupId":
				params[i+1] = "sgp-busy"
			case "AddressType":
				params[i+1] = "Internet"
			}
		}
		switch action {
		case "EnableLoadBalancerIpv6Internet", "DisableLoadBalancerIpv6Internet":
			lb := c.Cloud.NLBs["nlb-joining"]
			lb.AddressIPVersion, lb.Ipv6AddressType = "DualStack", "Internet"
		}
		if action == "CreateListener" || action == "UpdateListenerAttribute" {
			params = with(params, "ServerGroupId", "sgp-1")
		}
		if _, code := c.Call(action, params...); code != "Conflict.Lock" {
			t.Errorf("%s: %q", action, code)
		}
	}
}
