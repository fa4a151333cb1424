package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// How much of a load balancer is shown in a list, and when it is the only one found.
const (
	balancersPerPage = 10

	listenersInList, serversInList = 6, 6
	listenersAlone, serversAlone   = 50, 200
)

// Health says what the cloud knows of the health of a server of a running listener.
type Health = api.Health

// balancersView is one page of load balancers of both kinds.
type balancersView struct {
	Items []balancer
	Pager pager
}

// balancer is a load balancer with all that hangs on it.
type balancer struct {
	Kind, ID, Name, Address, AddressType, Spec string

	Network   []string // where it is; of an NLB the addresses of its zones
	Status    mark
	Health    mark // of all servers whose health is known
	Protected bool // against deletion
	Jobs      int  // that are running
	Tags      []string
	Services  []service // that it serves, by the names of its groups

	Listeners []listener
	More      string // what there is beside these
}

// listener is a listener, or with no port the groups that no listener uses.
type listener struct {
	Port     string
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

// group is a server group, or the default servers of a load balancer.
type group struct {
	ID, Name, Route string // Route is the rule that leads here, if it isn't the listener itself
	Status          mark   // only of those that change
	About           []string
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

// service is a Service of a Kubernetes cluster.
type service struct{ Namespace, Name string }

// serviceOf returns the Service that the name of a group is about, as the CCM writes it: k8s/PORT/NAME/NAMESPACE/CLUSTER of CLB,
// and k8s.PORT.PROTOCOL.NAME.NAMESPACE.CLUSTER of NLB.
func serviceOf(group string) (service, bool) {
	if p := strings.Split(group, "/"); len(p) == 5 && p[0] == "k8s" {
		return service{p[3], p[2]}, true
	}
	if p := strings.Split(group, "."); len(p) == 6 && p[0] == "k8s" {
		return service{p[4], p[3]}, true
	}
	return service{}, false
}

// candidate is a load balancer that may be shown.
type candidate struct {
	id      string
	created time.Time
	groups  []string // their names
	show    func(*builder) balancer
}

// viewBalancers finds load balancers, the youngest first. A load balancer is found by what hangs on it, too.
func viewBalancers(cloud *state.Cloud, health Health, q query) balancersView {
	found := slices.DeleteFunc(append(findCLBs(cloud, q), findNLBs(cloud, q)...), func(c candidate) bool {
		return q.Balancer != "" && c.id != q.Balancer || q.Service != service{} && !slices.Contains(services(c.groups), q.Service)
	})
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(a.id, b.id))
	})
	shown, pager := paginate(q, listBalancers, found, balancersPerPage)
	v := balancersView{Pager: pager}
	room := room{listenersInList, serversInList}
	if len(found) == 1 {
		room.listeners, room.servers = listenersAlone, serversAlone
	}
	for _, c := range shown {
		b := &builder{cloud: cloud, health: health, room: room}
		item := c.show(b)
		item.Services = services(c.groups)
		if b.checked > 0 {
			item.Health = mark{fmt.Sprintf("%d of %d healthy", b.healthy, b.checked), "good"}
			if b.healthy < b.checked {
				item.Health.Kind = "bad"
			}
		}
		v.Items = append(v.Items, item)
	}
	return v
}

// services returns the Services that groups are about, each once and in order.
func services(groups []string) []service {
	var out []service
	for _, name := range groups {
		if s, ok := serviceOf(name); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// room is how much of a load balancer is shown.
type room struct{ listeners, servers int }

// builder builds the view of one load balancer.
type builder struct {
	cloud  *state.Cloud
	health Health
	room   room

	healthy, checked int
}

func empty(s string) bool { return s == "" }

func tagTexts(tags []state.Tag) (out []string) {
	for _, t := range tags {
		out = append(out, strings.TrimSuffix(t.Key+"="+t.Value, "="))
	}
	return out
}

// rows shows the servers of a group.
func rows[S any](b *builder, g group, servers []S, show func(S) server) []row {
	rows := make([]row, 0, min(len(servers), b.room.servers)+1)
	for i, s := range servers {
		shown := show(s) // all are counted
		if i < b.room.servers {
			rows = append(rows, row{Server: &shown})
		}
	}
	switch more := len(servers) - len(rows); {
	case len(servers) == 0:
		rows = append(rows, row{Note: "no servers"})
	case more > 0:
		rows = append(rows, row{Note: fmt.Sprintf("and %d more", more)})
	}
	g.Rows = len(rows)
	rows[0].Group = &g
	return rows
}

// count counts a server whose health is known.
func (b *builder) count(word, kind string) mark {
	b.checked++
	if kind == "good" {
		b.healthy++
	}
	return mark{word, kind}
}

// address returns where a server is reached, which groups of instances don't say themselves.
func (b *builder) address(id, ip string) string {
	if ip != "" {
		return ip
	}
	if i := b.cloud.Instances[id]; i != nil && len(i.PrivateIPs) > 0 {
		return i.PrivateIPs[0]
	}
	if i := b.cloud.Interfaces[id]; i != nil {
		return i.PrimaryIP
	}
	return ""
}

// checks says how servers are checked.
func checks(kind, seconds, path string) string {
	return strings.TrimSpace(fmt.Sprintf("checks %s every %s s %s", kind, seconds, path))
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
	switch strings.ToLower(text) {
	case "active", "running", "available", "inuse":
		kind = "good"
	case "inactive", "stopped":
		kind = "off"
	case "locked", "createfailed":
		kind = "bad"
	}
	return mark{text, kind}
}
