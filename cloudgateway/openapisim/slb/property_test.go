package slb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Random sequences of valid and invalid calls, at random moments, never break what always holds.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{cloud: newCloud(rt), rt: rt}
		m.saw = func(string, string) {} // what luck provokes, no test provokes
		if rapid.Bool().Draw(rt, "slow") {
			m.settings = api.DefaultSettings()
		}
		m.settings.ServersPerCall = 3
		m.settings.Quotas.Listeners = 8
		m.settings.Quotas.Servers = 5
		m.settings.Quotas.LoadBalancers = len(m.state.LoadBalancers) + 3
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			m.step()
			m.check()
		}
	})
}

// machine makes random calls.
type machine struct {
	*cloud
	rt *rapid.T
}

func (m *machine) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(m.rt, label)
}

func (m *machine) balancer() string {
	return m.pick("load balancer", append(slices.Sorted(maps.Keys(m.state.LoadBalancers)), "lb-x")...)
}

func (m *machine) group() string {
	return m.pick("group", append(slices.Sorted(maps.Keys(m.state.ServerGroups)), "rsp-x")...)
}

func (m *machine) port() string { return m.pick("port", "80", "53", "443", "81", "8080", "82", "0") }

func (m *machine) servers() string {
	text := "["
	for i := range rapid.IntRange(0, 4).Draw(m.rt, "servers") {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"ServerId":%q,"Port":%d,"Type":%q,"Weight":%d}`, m.pick("server", "i-1", "i-2", "i-3", "i-sick",
			"i-far", "i-x", "eni-1"),
			rapid.IntRange(1, 2).Draw(m.rt, "server port"), m.pick("type", "ecs", "ecs", "eni"), rapid.IntRange(0, 101).Draw(m.rt, "weight"))
	}
	return text + "]"
}

func (m *machine) step() {
	if rapid.IntRange(0, 3).Draw(m.rt, "wait") == 0 {
		m.now = m.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(m.rt, "ms")) * time.Millisecond)
	}
	listener := params{"LoadBalancerId": m.balancer(), "ListenerPort": m.port()}
	protocol := m.pick("protocol", protoTCP, protoUDP, protoHTTP, protoHTTPS)
	group := params{"VServerGroupId": m.group()}
	switch m.pick("action", "lb", "lb-", "group", "group-", "add", "remove", "modify", "set", "listen", "forward",
		"retarget", "start", "stop", "unlisten", "rule", "rules-", "vanish", "read") {
	case "lb":
		m.code("CreateLoadBalancer", params{"InstanceChargeType": payByCLCU, "VSwitchId": m.pick("vSwitch", "vsw-1",
			"vsw-small", "vsw-x"), "ClientToken": m.pick("token", "a", "b", "c")})
	case "lb-":
		m.code("DeleteLoadBalancer", params{"LoadBalancerId": m.balancer()})
	case "group":
		m.code("CreateVServerGroup", params{"LoadBalancerId": m.balancer(), "BackendServers": m.servers()})
	case "group-":
		m.code("DeleteVServerGroup", group)
	case "add":
		m.code("AddVServerGroupBackendServers", group.with("BackendServers", m.servers()))
	case "remove":
		m.code("RemoveVServerGroupBackendServers", group.with("BackendServers", m.servers()))
	case "modify":
		m.code("ModifyVServerGroupBackendServers", group.with("OldBackendServers", m.servers(), "NewBackendServers", m.servers()))
	case "set":
		m.code("SetVServerGroupAttribute", group.with("BackendServers", m.servers()))
	case "listen":
		p := listener.with("VServerGroupId", group["VServerGroupId"], "Bandwidth", "-1")
		if protocolBit(protocol)&layer7 != 0 {
			p["HealthCheck"] = on
		}
		if protocol == protoHTTPS {
			p["ServerCertificateId"] = m.pick("certificate", "cert-1", "cert-x")
		}
		m.code(action("Create", protocol), p)
	case "forward":
		m.code(action("Create", protoHTTP), listener.with("ListenerForward", on, "ForwardPort", m.port()))
	case "retarget":
		m.code(action("Set", protocol), listener.with("VServerGroup", on, "VServerGroupId", group["VServerGroupId"]))
	case "start":
		m.code("StartLoadBalancerListener", listener)
	case "stop":
		m.code("StopLoadBalancerListener", listener)
	case "unlisten":
		m.code("DeleteLoadBalancerListener", listener)
	case "rule":
		rule := fmt.Sprintf(`[{"RuleName":"n","Domain":"%d.example.com","VServerGroupId":%q}]`,
			rapid.IntRange(0, 3).Draw(m.rt, "domain"), group["VServerGroupId"])
		m.code("CreateRules", listener.with("RuleList", rule))
	case "rules-":
		for _, lb := range m.state.LoadBalancers {
			for _, l := range lb.Listeners {
				for _, r := range l.Rules {
					m.code("DeleteRules", params{"RuleIds": fmt.Sprintf("[%q]", r.ID)})
					return
				}
			}
		}
	case "vanish":
		delete(m.state.Instances, m.pick("instance", "i-2", "i-3"))
	case "read":
		m.code("DescribeLoadBalancers", params{})
		m.code("DescribeLoadBalancerListeners", params{})
		m.code("DescribeHealthStatus", params{"LoadBalancerId": m.balancer()})
	}
}

func (m *machine) check() {
	m.rt.Helper()
	addresses := map[string]string{}
	for id, lb := range m.state.LoadBalancers {
		if lb.ID != id {
			m.rt.Fatalf("the load balancer %s is filed under %s", lb.ID, id)
		}
		if other := addresses[lb.Address]; other != "" {
			m.rt.Fatalf("%s and %s have the address %s", id, other, lb.Address)
		}
		addresses[lb.Address] = id
		if len(lb.Listeners) > m.settings.Quotas.Listeners {
			m.rt.Fatalf("%s has %d listeners", id, len(lb.Listeners))
		}
		m.checkListeners(id)
	}
	if err := m.state.CheckCounts(); err != nil {
		m.rt.Fatal(err)
	}
	for id, g := range m.state.ServerGroups {
		if m.state.LoadBalancers[g.LoadBalancerID] == nil {
			m.rt.Fatalf("the group %s outlives its load balancer", id)
		}
		if checkDuplicates("", g.Servers) != nil {
			m.rt.Fatalf("the group %s has a server twice: %v", id, m.backends(id))
		}
		for _, s := range g.Servers {
			if s.Weight < 0 || s.Weight > 100 {
				m.rt.Fatalf("a server of %s has the weight %d", id, s.Weight)
			}
		}
	}
}

func (m *machine) checkListeners(lbID string) {
	m.rt.Helper()
	lb, ports := m.state.LoadBalancers[lbID], map[string]bool{}
	for _, l := range lb.Listeners {
		family := "tcp/"
		if l.Protocol == protoUDP {
			family = "udp/"
		}
		if port := family + strconv.Itoa(l.Port); ports[port] {
			m.rt.Fatalf("%s has the port %s twice", lbID, port)
		} else {
			ports[port] = true
		}
		if !slices.Contains([]string{starting, running, configuring, stopped}, l.Status) || l.SettleAt.IsZero() != (l.SettleTo == "") {
			m.rt.Fatalf("%s:%d is %s until %v, then %q", lbID, l.Port, l.Status, l.SettleAt, l.SettleTo)
		}
		ids := []string{l.Attributes["VServerGroupId"]}
		for _, r := range l.Rules {
			ids = append(ids, r.ServerGroupID)
		}
		for _, id := range ids {
			if g := m.state.ServerGroups[id]; id != "" && (g == nil || g.LoadBalancerID != lbID) {
				m.rt.Fatalf("%s:%d uses the group %s, which is not there", lbID, l.Port, id)
			}
		}
		if port := forwardPort(l); port != 0 && len(listenersAt(lb, port, protoHTTPS)) != 1 {
			m.rt.Fatalf("%s:%d redirects to %d, which is not there", lbID, l.Port, port)
		}
	}
}

// Ids are never handed out twice.
func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	ctx := c.context(nil)
	seen := map[string]bool{}
	for range 10_000 {
		id := ctx.NewID("lb-bp1")
		if seen[id] || len(id) != len("lb-bp1")+16 {
			t.Fatalf("the id %s came twice or has a wrong length", id)
		}
		seen[id] = true
	}
}
