package console

import (
	"cmp"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// findCLBs finds load balancers of SLB.
func findCLBs(cloud *state.Cloud, q query) []candidate {
	groups := make(map[string][]*state.ServerGroup, len(cloud.LoadBalancers))
	for _, g := range cloud.ServerGroups {
		groups[g.LoadBalancerID] = append(groups[g.LoadBalancerID], g)
	}
	found := make([]candidate, 0, len(cloud.LoadBalancers))
	servers := remembered(q.Search) // the same ones are behind many load balancers
	for _, lb := range cloud.LoadBalancers {
		if !findsCLB(q, lb, groups[lb.ID], servers) {
			continue
		}
		c := candidate{id: lb.ID, created: lb.Created, show: func(b *builder) balancer { return b.clb(lb, groups[lb.ID]) }}
		for _, g := range groups[lb.ID] {
			c.groups = append(c.groups, g.Name)
		}
		found = append(found, c)
	}
	return found
}

func findsCLB(q query, lb *state.LoadBalancer, groups []*state.ServerGroup, server func(string) bool) bool {
	if q.finds(lb.ID, lb.Name, lb.Address) || q.findsTag(lb.Tags) {
		return true
	}
	for _, g := range groups {
		if q.finds(g.ID, g.Name) || findsServer(server, g.Servers) {
			return true
		}
	}
	return findsServer(server, lb.DefaultServers)
}

func findsServer(found func(string) bool, servers []*state.Server) bool {
	return slices.ContainsFunc(servers, func(s *state.Server) bool { return found(s.ServerID) || s.ServerIP != "" && found(s.ServerIP) })
}

func (b *builder) clb(lb *state.LoadBalancer, groups []*state.ServerGroup) balancer {
	out := balancer{
		Kind: "CLB", ID: lb.ID, Name: lb.Name, Address: lb.Address, AddressType: lb.AddressType, Spec: lb.Spec,
		Network: slices.DeleteFunc([]string{lb.VpcID, lb.VSwitchID}, empty), Status: status(lb.Status), Protected: lb.DeleteProtection == "on",
		Tags: tagTexts(lb.Tags),
	}
	ports := slices.Clone(lb.Listeners)
	slices.SortFunc(ports, func(x, y *state.Listener) int {
		return cmp.Or(cmp.Compare(x.Port, y.Port), cmp.Compare(x.Protocol, y.Protocol))
	})
	used := map[string]bool{}
	for i, l := range ports {
		for _, id := range groupsOf(l) {
			used[id] = true
		}
		if i < b.room.listeners {
			out.Listeners = append(out.Listeners, b.clbListener(lb, l))
		}
	}
	idle, moreGroups := b.idle(lb, groups, used)
	if len(idle.Rows) > 0 {
		out.Listeners = append(out.Listeners, idle)
	}
	out.More = more(len(ports)-b.room.listeners, moreGroups)
	return out
}

// groupsOf returns the groups that a listener and its rules send traffic to.
func groupsOf(l *state.Listener) []string {
	ids := []string{l.Group()}
	for _, r := range l.Rules {
		ids = append(ids, r.ServerGroupID)
	}
	return slices.DeleteFunc(ids, empty)
}

func (b *builder) clbListener(lb *state.LoadBalancer, l *state.Listener) listener {
	out := listener{Port: strconv.Itoa(l.Port), Protocol: l.Protocol, Status: status(l.Status), About: about(l)}
	switch id := l.Group(); {
	case l.Attributes["ListenerForward"] == "on":
		out.Rows = append(out.Rows, row{Group: &group{Rows: 1}, Note: "redirects to port " + l.Attributes["ForwardPort"]})
	case id != "":
		out.Rows = append(out.Rows, b.clbGroup(lb, l, id, "")...)
	default:
		servers := slices.Clone(lb.DefaultServers)
		port, err := strconv.Atoi(l.Attributes["BackendServerPort"])
		if err != nil || port <= 0 {
			port = l.Port
		}
		for i, s := range servers {
			copied := *s
			copied.Port = port
			servers[i] = &copied
		}
		out.Rows = append(out.Rows, b.clbServers(lb, l, group{Name: "default servers"}, servers)...)
	}
	for _, r := range l.Rules {
		out.Rows = append(out.Rows, b.clbGroup(lb, l, r.ServerGroupID, r.Domain+r.URL)...)
	}
	return out
}

// about says what a listener does beyond forwarding.
func about(l *state.Listener) []string {
	a := l.Attributes
	var out []string
	if a["Scheduler"] != "" {
		out = append(out, a["Scheduler"])
	}
	if a["StickySession"] == "on" || a["PersistenceTimeout"] != "" && a["PersistenceTimeout"] != "0" {
		out = append(out, "sticky")
	}
	if a["ProxyProtocolV2Enabled"] == "true" {
		out = append(out, "PROXY v2")
	}
	if a["AclStatus"] == "on" {
		out = append(out, a["AclType"]+" list")
	}
	if (a["HealthCheck"] == "on" || a["HealthCheckSwitch"] == "on") && a["HealthCheckInterval"] != "" {
		out = append(out, checks(cmp.Or(a["HealthCheckType"], l.Protocol), a["HealthCheckInterval"], a["HealthCheckURI"]))
	}
	return out
}

func (b *builder) clbGroup(lb *state.LoadBalancer, l *state.Listener, id, route string) []row {
	g := b.cloud.ServerGroups[id]
	if g == nil {
		g = &state.ServerGroup{ID: id, Name: "does not exist"}
	}
	return b.clbServers(lb, l, group{ID: id, Name: g.Name, Route: route}, g.Servers)
}

// clbServers shows the servers of a group; l is nil if no listener uses it. Only running listeners check.
func (b *builder) clbServers(lb *state.LoadBalancer, l *state.Listener, g group, servers []*state.Server) []row {
	return rows(b, g, servers, func(s *state.Server) server {
		health := mark{"not checked", "off"}
		if l != nil && (l.Status == "running" || l.Status == "configuring") {
			switch word := b.health.CLB(lb, l, s); word {
			case "normal":
				health = b.count(word, "good")
			case "abnormal":
				health = b.count(word, "bad")
			default:
				health.Text = word
			}
		}
		return server{
			ID: s.ServerID, Address: b.address(s.ServerID, s.ServerIP), Description: s.Description, Port: s.Port, Weight: s.Weight, Health: health,
		}
	})
}

// idle returns the groups that no listener uses, and how many more there are of them.
func (b *builder) idle(lb *state.LoadBalancer, groups []*state.ServerGroup, used map[string]bool) (out listener, more int) {
	slices.SortFunc(groups, func(x, y *state.ServerGroup) int { return cmp.Compare(x.ID, y.ID) })
	for _, g := range groups {
		switch {
		case used[g.ID]:
		case len(out.Rows) >= b.room.servers:
			more++
		default:
			out.Rows = append(out.Rows, b.clbServers(lb, nil, group{ID: g.ID, Name: g.Name}, g.Servers)...)
		}
	}
	return out, more
}
