package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// How much of a load balancer is shown in a list, and when it is the only one found.
const (
	balancersPerPage = 10

	listenersInList, serversInList = 6, 6
	listenersAlone, serversAlone   = 50, 200
)

// Health returns the health of a server of a running listener: normal, abnormal or unavailable.
type Health func(*state.LoadBalancer, *state.Listener, *state.Server) string

// balancersView is one page of load balancers.
type balancersView struct {
	Items []balancer
	Pager pager
}

// balancer is a load balancer with all that hangs on it.
type balancer struct {
	ID, Name, Address, AddressType, Spec, Network string

	Status    mark
	Health    mark // of all servers whose health is known
	Protected bool // against deletion
	Tags      []string

	Listeners []listener
	More      string // what there is beside these
}

// listener is a listener, or with no port the groups that no listener uses.
type listener struct {
	Port     int
	Protocol string
	Status   mark
	About    []string // what is worth knowing at a glance
	Rows     []row    // at least one
}

// row is a row of the table of a load balancer: one server of one group. A cell that spans several rows is set in the first.
type row struct {
	Group  *group
	Server *server // nil: Note says why there is none
	Note   string
}

// group is a vServer group, or the default servers of a load balancer.
type group struct {
	ID, Name, Route string // Route is the rule that leads here, if it isn't the listener itself
	Rows            int
}

// server is a server of a group.
type server struct {
	ID, Address, Description string
	Port, Weight             int
	Health                   mark
}

// mark is a state in a word, with what it means for a user.
type mark struct {
	Text string
	Kind string // good, busy, bad, off
}

// viewBalancers finds load balancers, the youngest first. A load balancer is found by what hangs on it, too.
func viewBalancers(cloud *state.Cloud, health Health, q query) balancersView {
	groups := groupsByBalancer(cloud)
	found := make([]*state.LoadBalancer, 0, len(cloud.LoadBalancers))
	servers := remembered(q.Search) // the same ones are behind many load balancers
	for _, lb := range cloud.LoadBalancers {
		if findsBalancer(q, lb, groups[lb.ID], servers) {
			found = append(found, lb)
		}
	}
	slices.SortFunc(found, func(a, b *state.LoadBalancer) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	shown, pager := paginate(q, listBalancers, found, balancersPerPage)
	v := balancersView{Pager: pager}
	room := room{listenersInList, serversInList}
	if len(found) == 1 {
		room.listeners, room.servers = listenersAlone, serversAlone
	}
	for _, lb := range shown {
		b := builder{cloud: cloud, health: health, lb: lb, groups: groups[lb.ID], room: room}
		v.Items = append(v.Items, b.balancer())
	}
	return v
}

func groupsByBalancer(cloud *state.Cloud) map[string][]*state.ServerGroup {
	groups := make(map[string][]*state.ServerGroup, len(cloud.LoadBalancers))
	for _, g := range cloud.ServerGroups {
		groups[g.LoadBalancerID] = append(groups[g.LoadBalancerID], g)
	}
	return groups
}

func findsBalancer(q query, lb *state.LoadBalancer, groups []*state.ServerGroup, server func(string) bool) bool {
	if q.finds(lb.ID, lb.Name, lb.Address) {
		return true
	}
	for _, tag := range lb.Tags {
		if q.finds(tag.Key, tag.Value) {
			return true
		}
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

// room is how much of a load balancer is shown.
type room struct{ listeners, servers int }

// builder builds the view of one load balancer.
type builder struct {
	cloud  *state.Cloud
	health Health
	lb     *state.LoadBalancer
	groups []*state.ServerGroup
	room   room

	healthy, checked int
}

func (b *builder) balancer() balancer {
	lb := b.lb
	out := balancer{
		ID: lb.ID, Name: lb.Name, Address: lb.Address, AddressType: lb.AddressType, Spec: lb.Spec,
		Network: strings.Join(slices.DeleteFunc([]string{lb.VpcID, lb.VSwitchID}, empty), " "),
		Status:  status(lb.Status), Protected: lb.DeleteProtection == "on",
	}
	for _, t := range lb.Tags {
		out.Tags = append(out.Tags, strings.TrimSuffix(t.Key+"="+t.Value, "="))
	}
	ports := slices.Clone(lb.Listeners)
	slices.SortFunc(ports, func(x, y *state.Listener) int {
		return cmp.Or(cmp.Compare(x.Port, y.Port), cmp.Compare(x.Protocol, y.Protocol))
	})
	used := map[string]bool{}
	for _, l := range ports {
		for _, id := range groupsOf(l) {
			used[id] = true
		}
	}
	shown := ports[:min(len(ports), b.room.listeners)]
	for _, l := range shown {
		out.Listeners = append(out.Listeners, b.listener(l))
	}
	idle, moreGroups := b.idle(used)
	if len(idle.Rows) > 0 {
		out.Listeners = append(out.Listeners, idle)
	}
	out.More = more(len(ports)-len(shown), moreGroups)
	if b.checked > 0 {
		out.Health = mark{fmt.Sprintf("%d of %d healthy", b.healthy, b.checked), "good"}
		if b.healthy < b.checked {
			out.Health.Kind = "bad"
		}
	}
	return out
}

func empty(s string) bool { return s == "" }

// groupsOf returns the groups that a listener and its rules send traffic to.
func groupsOf(l *state.Listener) []string {
	ids := []string{l.Attributes["VServerGroupId"]}
	for _, r := range l.Rules {
		ids = append(ids, r.ServerGroupID)
	}
	return slices.DeleteFunc(ids, empty)
}

func (b *builder) listener(l *state.Listener) listener {
	out := listener{Port: l.Port, Protocol: l.Protocol, Status: status(l.Status), About: about(l)}
	switch id := l.Attributes["VServerGroupId"]; {
	case l.Attributes["ListenerForward"] == "on":
		out.Rows = append(out.Rows, row{Group: &group{Rows: 1}, Note: "redirects to port " + l.Attributes["ForwardPort"]})
	case id != "":
		out.Rows = append(out.Rows, b.rows(l, b.group(id), b.servers(id))...)
	default:
		servers := slices.Clone(b.lb.DefaultServers)
		port, err := strconv.Atoi(l.Attributes["BackendServerPort"])
		if err != nil || port <= 0 {
			port = l.Port
		}
		for i, s := range servers {
			copied := *s
			copied.Port = port
			servers[i] = &copied
		}
		out.Rows = append(out.Rows, b.rows(l, group{Name: "default servers"}, servers)...)
	}
	for _, r := range l.Rules {
		g := b.group(r.ServerGroupID)
		g.Route = r.Domain + r.URL
		out.Rows = append(out.Rows, b.rows(l, g, b.servers(r.ServerGroupID))...)
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
	return out
}

func (b *builder) group(id string) group {
	if g := b.cloud.ServerGroups[id]; g != nil {
		return group{ID: id, Name: g.Name}
	}
	return group{ID: id, Name: "does not exist"}
}

func (b *builder) servers(id string) []*state.Server {
	if g := b.cloud.ServerGroups[id]; g != nil {
		return g.Servers
	}
	return nil
}

// rows shows the servers of a group; l is nil if no listener uses it.
func (b *builder) rows(l *state.Listener, g group, servers []*state.Server) []row {
	shown := servers[:min(len(servers), b.room.servers)]
	rows := make([]row, 0, len(shown)+1)
	for i, s := range servers {
		health := b.check(l, s)
		if i < len(shown) {
			rows = append(rows, row{Server: &server{
				ID: s.ServerID, Address: b.address(s), Description: s.Description, Port: s.Port, Weight: s.Weight, Health: health,
			}})
		}
	}
	switch more := len(servers) - len(shown); {
	case len(servers) == 0:
		rows = append(rows, row{Note: "no servers"})
	case more > 0:
		rows = append(rows, row{Note: fmt.Sprintf("and %d more", more)})
	}
	g.Rows = len(rows)
	rows[0].Group = &g
	return rows
}

// check returns the health of a server and counts it. Only running listeners check.
func (b *builder) check(l *state.Listener, s *state.Server) mark {
	if l == nil || l.Status != "running" && l.Status != "configuring" {
		return mark{"not checked", "off"}
	}
	switch word := b.health(b.lb, l, s); word {
	case "normal":
		b.healthy++
		b.checked++
		return mark{word, "good"}
	case "abnormal":
		b.checked++
		return mark{word, "bad"}
	default:
		return mark{word, "off"}
	}
}

// address returns where a server is reached, which groups of instances don't say themselves.
func (b *builder) address(s *state.Server) string {
	if s.ServerIP != "" {
		return s.ServerIP
	}
	if i := b.cloud.Instances[s.ServerID]; i != nil && len(i.PrivateIPs) > 0 {
		return i.PrivateIPs[0]
	}
	if i := b.cloud.Interfaces[s.ServerID]; i != nil {
		return i.PrimaryIP
	}
	return ""
}

// idle returns the groups that no listener uses, and how many more there are of them.
func (b *builder) idle(used map[string]bool) (out listener, more int) {
	slices.SortFunc(b.groups, func(x, y *state.ServerGroup) int { return cmp.Compare(x.ID, y.ID) })
	for _, g := range b.groups {
		switch {
		case used[g.ID]:
		case len(out.Rows) >= b.room.servers:
			more++
		default:
			out.Rows = append(out.Rows, b.rows(nil, group{ID: g.ID, Name: g.Name}, g.Servers)...)
		}
	}
	return out, more
}

// more says what isn't shown.
func more(listeners, groups int) string {
	var parts []string
	if listeners > 0 {
		parts = append(parts, count(listeners)+" more listeners")
	}
	if groups > 0 {
		parts = append(parts, count(groups)+" more groups without a listener")
	}
	if len(parts) == 0 {
		return ""
	}
	return "and " + strings.Join(parts, ", ")
}

// status puts the states of all kinds of resources in order. A state that isn't known here is in between.
func status(text string) mark {
	kind := "busy"
	switch text {
	case "active", "running", "Available", "InUse", "Running", "Active":
		kind = "good"
	case "inactive", "stopped", "Stopped":
		kind = "off"
	case "locked", "CreateFailed":
		kind = "bad"
	}
	return mark{text, kind}
}
