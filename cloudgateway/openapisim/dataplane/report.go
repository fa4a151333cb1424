package dataplane

import (
	"cmp"
	"net/netip"
	"slices"
)

// Listener is one socket as [Plane.Listeners] shows it.
type Listener struct {
	Address        netip.AddrPort `json:"address"`
	Protocol       string         `json:"protocol"`
	LoadBalancerID string         `json:"loadBalancerId"`
	Problem        string         `json:"problem,omitempty"` // why it is not open
	// ClientsHidden counts connections whose servers saw an address of the simulator's machine, because the client's is
	// one of another machine.
	ClientsHidden int64    `json:"clientsHidden,omitempty"`
	Servers       []Server `json:"servers"`
}

// Server is a server of a listener.
type Server struct {
	ServerID    string `json:"serverId"`
	Address     string `json:"address,omitempty"`
	Weight      int    `json:"weight"`
	Health      string `json:"health"`            // as in DescribeHealthStatus
	Problem     string `json:"problem,omitempty"` // why nothing can be sent there
	Connections int    `json:"connections"`       // at this moment; of HTTP: requests
}

// place is a socket and what became of it.
type place struct {
	socket  socket
	spec    *listener
	running running // nil if there is a problem
	problem string
}

// Listeners shows every socket that is or should be open, in the order of addresses, and where it forwards.
func (p *Plane) Listeners() []Listener {
	p.mu.Lock()
	shown := p.shown
	p.mu.Unlock()
	out := make([]Listener, 0, len(shown))
	for _, place := range shown {
		l := Listener{
			Address: place.socket.addr, Protocol: place.socket.protocol, LoadBalancerID: place.spec.loadBalancerID,
			Problem: place.problem, Servers: p.servers(place, &place.spec.pool),
		}
		if place.running != nil {
			l.ClientsHidden = place.running.clientsHidden()
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Listener) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out
}

func (p *Plane) servers(from place, group *pool) []Server {
	out := make([]Server, 0, len(group.targets))
	for _, t := range group.targets {
		s := Server{ServerID: t.id.server, Weight: t.weight, Problem: t.down, Health: standings(p.checks.standing).report(t)}
		if t.id.addr.IsValid() {
			s.Address = from.socket.reach(t.id).String()
		}
		if from.running != nil {
			s.Connections = from.running.connections(t.id)
		}
		out = append(out, s)
	}
	return out
}
