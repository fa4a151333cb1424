package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// findNLBs finds Network Load Balancers.
func findNLBs(cloud *state.Cloud, q query) []candidate {
	listeners := map[string][]*state.NLBListener{}
	for _, l := range cloud.NLBListeners {
		listeners[l.NLBID] = append(listeners[l.NLBID], l)
	}
	var found []candidate
	for id, lb := range cloud.NLBs {
		c := candidate{id: id, created: lb.Created, show: func(b *builder) balancer { return b.nlb(lb, listeners[id]) }}
		finds := q.finds(id, lb.Name, lb.DNSName) || q.findsTag(lb.Tags)
		for _, z := range lb.Zones {
			finds = finds || q.finds(z.PrivateIP, z.PublicIP, z.Ipv6Address)
		}
		for _, l := range listeners[id] {
			finds = finds || q.finds(l.ID, l.Description, l.ServerGroupID)
			if g := cloud.NLBServerGroups[l.ServerGroupID]; g != nil {
				c.groups = append(c.groups, g.Name)
				finds = finds || q.finds(g.Name) ||
					slices.ContainsFunc(g.Servers, func(s *state.NLBServer) bool { return q.finds(s.ServerID, s.ServerIP) })
			}
		}
		if finds {
			found = append(found, c)
		}
	}
	return found
}

func (b *builder) nlb(lb *state.NLB, listeners []*state.NLBListener) balancer {
	out := balancer{
		Kind: "NLB", ID: lb.ID, Name: lb.Name, Address: lb.DNSName, AddressType: lb.AddressType, Status: status(lb.Status),
		Protected: lb.Deletion.On, Tags: tagTexts(lb.Tags),
	}
	for _, z := range lb.Zones {
		addresses := slices.DeleteFunc([]string{z.ZoneID, z.PrivateIP, z.PublicIP, z.Ipv6Address}, empty)
		out.Network = append(out.Network, strings.Join(addresses, " "))
	}
	for _, id := range b.cloud.NLBRunningJobs {
		if j := b.cloud.NLBJobs[id]; j != nil && j.NLBID == lb.ID {
			out.Jobs++
		}
	}
	slices.SortFunc(listeners, func(x, y *state.NLBListener) int {
		return cmp.Or(cmp.Compare(x.Port+x.StartPort, y.Port+y.StartPort), cmp.Compare(x.Protocol, y.Protocol))
	})
	for _, l := range listeners[:min(len(listeners), b.room.listeners)] {
		out.Listeners = append(out.Listeners, b.nlbListener(l))
	}
	out.More = more(len(listeners)-b.room.listeners, 0)
	return out
}

func (b *builder) nlbListener(l *state.NLBListener) listener {
	out := listener{Port: strconv.Itoa(l.Port), Protocol: l.Protocol, Status: status(l.Status)}
	if l.Port == 0 {
		out.Port = fmt.Sprint(l.StartPort, "–", l.EndPort)
	}
	if l.ProxyProtocol {
		out.About = append(out.About, "PROXY v2")
	}
	g := b.cloud.NLBServerGroups[l.ServerGroupID]
	if g == nil {
		g = &state.NLBServerGroup{ID: l.ServerGroupID, Name: "does not exist", Status: "Available"}
	}
	shown := group{ID: g.ID, Name: g.Name}
	if s := status(g.Status); s.Kind != "good" {
		shown.Status = s
	}
	if g.Scheduler != "" {
		shown.About = append(shown.About, g.Scheduler)
	}
	if h := g.HealthCheck; h.Type != "" && !h.Off {
		shown.About = append(shown.About, checks(h.Type, strconv.Itoa(h.Interval), h.URL))
	}
	out.Rows = rows(b, shown, g.Servers, func(s *state.NLBServer) server {
		return server{
			ID: s.ServerID, Address: b.address(s.ServerID, s.ServerIP), Description: s.Description, Port: s.Port, Weight: s.Weight,
			Health: b.nlbHealth(l, g, s),
		}
	})
	return out
}

// nlbHealth returns what is known of a server: that it is on its way, why it isn't healthy, or that it is.
func (b *builder) nlbHealth(l *state.NLBListener, g *state.NLBServerGroup, s *state.NLBServer) mark {
	if s.Status != "" && s.Status != "Available" {
		return mark{s.Status, "busy"}
	}
	if g.HealthCheck.Off || l.Status != "Running" && l.Status != "Configuring" {
		return mark{"not checked", "off"}
	}
	switch word := b.health.NLB(l, g, s); word {
	case "":
		return b.count("Normal", "good")
	case "Unhealthy":
		return b.count(word, "bad")
	default:
		return mark{word, "off"}
	}
}
