package dataplane

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unique"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// derive returns what the data plane should do for a cloud. It keeps nothing of the cloud.
func derive(c *state.Cloud, reach Ranges) *world {
	w := &world{reach: reach, listeners: map[socket]*listener{}, byKey: map[listenerKey]*listener{}, probes: map[probe]bool{}}
	external := map[string][]string{} // addresses of EIPs, by load balancer
	for _, eip := range c.Eips {
		if eip.InstanceID != "" && eip.Status == "InUse" {
			external[eip.InstanceID] = append(external[eip.InstanceID], eip.Address)
		}
		w.expect(eip.BusyUntil)
	}
	for _, v := range c.Vanishing {
		w.expect(v.At)
	}
	for _, lb := range c.LoadBalancers {
		w.expect(lb.ActiveAt)
		for _, l := range lb.Listeners {
			w.expect(l.SettleAt)
			if lb.Status == "active" && (l.Status == "running" || l.Status == "configuring") {
				w.add(c, lb, l, append([]string{lb.Address}, external[lb.ID]...))
			}
		}
	}
	w.addNLBs(c)
	return w
}

// expect records a moment at which the state changes by itself.
func (w *world) expect(t time.Time) {
	if !t.IsZero() && (w.due.IsZero() || t.Before(w.due)) {
		w.due = t
	}
}

func (w *world) add(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener, addresses []string) {
	spec := newListener(c, lb, l)
	d := deriver{cloud: c, world: w, listener: spec}
	a := attributes(l.Attributes)
	spec.pool = d.pool(a, servers(c, lb, l))
	spec.routes = d.routes(l)
	idle := time.Duration(0)
	if l.Protocol == protoHTTP || l.Protocol == protoHTTPS {
		idle = a.seconds("IdleTimeout", 15)
	}
	w.listen(spec, addresses, idle)
}

// listen lets a listener listen at those of some addresses that are ours.
func (w *world) listen(spec *listener, addresses []string, idle time.Duration) {
	w.byKey[listenerKey{spec.loadBalancerID, spec.port, spec.protocol}] = spec
	for _, text := range addresses {
		addr, err := netip.ParseAddr(text)
		if err != nil || !w.reach.carries(addr) {
			continue // no client could reach it, or it isn't ours to listen on
		}
		s := socket{addr: netip.AddrPortFrom(addr, uint16(spec.port)), protocol: spec.protocol, idle: idle}
		w.listeners[s] = spec
	}
}

func newListener(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener) *listener {
	a := attributes(l.Attributes)
	spec := &listener{
		loadBalancerID: lb.ID, port: l.Port, protocol: l.Protocol, access: accessOf(c, l),
		headers:     a.headers(),
		established: a.seconds("EstablishedTimeout", 900), request: a.seconds("RequestTimeout", 60),
	}
	if a.on("ConnectionDrain", false) {
		spec.drain = a.seconds("ConnectionDrainTimeout", 300)
	}
	spec.proxyProtocol = a.on("ProxyProtocolV2Enabled", false)
	switch {
	case l.Protocol == protoHTTPS:
		var versions []string
		if own := c.CipherPolicies[a["TLSCipherPolicy"]]; own != nil {
			versions = own.TLSVersions
		}
		spec.tls = terms{alpn: []string{"h2", "http/1.1"}, oldest: oldestVersion(a["TLSCipherPolicy"], versions)}
		if !a.on("EnableHttp2", true) {
			spec.tls.alpn = spec.tls.alpn[1:]
		}
		spec.tls.certificates = pemsOf(c, a["ServerCertificateId"])
		for _, domain := range l.Domains {
			spec.tls.certificates = append(spec.tls.certificates, pemsOf(c, domain.CertificateID)...)
		}
	case a.on("ListenerForward", false):
		spec.redirect = redirect{port: a.port("ForwardPort", 443), code: a.number("ForwardCode", http.StatusFound)}
	}
	return spec
}

// pemsOf returns the certificates of ids that there are.
func pemsOf(c *state.Cloud, ids ...string) []string {
	var out []string
	for _, id := range ids {
		if cert := c.Certificates[id]; cert != nil {
			out = append(out, cert.PEM)
		}
	}
	return out
}

// routes are the forwarding rules of a listener in the order in which they are looked at: those of a domain first, and of two with
// the same domain the one of the longer path (help page "Forwarding rules" of CLB).
func (d deriver) routes(l *state.Listener) []route {
	out := make([]route, 0, len(l.Rules))
	for _, r := range l.Rules {
		a := attributes(l.Attributes)
		if r.Attributes["ListenerSync"] == "off" {
			a = r.Attributes
		}
		var group []*state.Server
		if g := d.cloud.ServerGroups[r.ServerGroupID]; g != nil {
			group = g.Servers
		}
		out = append(out, route{domain: strings.ToLower(r.Domain), path: r.URL, pool: d.pool(a, group)})
	}
	slices.SortStableFunc(out, func(a, b route) int {
		return cmp.Or(cmp.Compare(breadth(a.domain), breadth(b.domain)), cmp.Compare(len(b.path), len(a.path)))
	})
	return out
}

// breadth ranks domains: one name, names below one, any.
func breadth(domain string) int {
	switch {
	case domain == "":
		return 2
	case strings.HasPrefix(domain, "*."):
		return 1
	}
	return 0
}

// servers returns those of the group of a listener, or the default ones of its load balancer, which have no port of their own.
func servers(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener) []*state.Server {
	a := attributes(l.Attributes)
	if id := l.Group(); id != "" {
		if g := c.ServerGroups[id]; g != nil {
			return g.Servers
		}
		return nil
	}
	out := make([]*state.Server, 0, len(lb.DefaultServers))
	for _, s := range lb.DefaultServers {
		copied := *s
		copied.Port = a.port("BackendServerPort", l.Port)
		out = append(out, &copied)
	}
	return out
}

// deriver makes the pools of a listener.
type deriver struct {
	cloud    *state.Cloud
	world    *world
	listener *listener
}

func (d deriver) pool(a attributes, group []*state.Server) pool {
	p := pool{
		scheduler: a.text("Scheduler", "wrr"), persistence: a.seconds("PersistenceTimeout", 0), sticky: a.sticky(),
		targets: make([]target, 0, len(group)),
	}
	c := a.checkup(d.listener.protocol)
	how := unique.Make(c)
	for _, s := range group {
		addr, down := addressOf(d.cloud, s, d.world.reach)
		t := target{
			id:     targetID{server: s.ServerID, addr: netip.AddrPortFrom(addr, uint16(s.Port))},
			key:    serverKey{kind: s.Type, serverID: s.ServerID, serverIP: s.ServerIP, port: s.Port},
			weight: s.Weight, down: down, standby: s.Standby,
		}
		if port := cmp.Or(c.port, s.Port); c.kind != "" && port != 0 {
			t.probe = probe{addr: netip.AddrPortFrom(addr, uint16(port)), how: how}
			if down == "" {
				d.world.probes[t.probe] = true
			}
		}
		p.targets = append(p.targets, t)
	}
	return p
}

// addressOf returns where a server is reached, or why it can't be.
func addressOf(c *state.Cloud, s *state.Server, reach Ranges) (addr netip.Addr, down string) {
	if s.Type == "ip" {
		return addressOfIP(s, reach)
	}
	id, text := s.ServerID, s.ServerIP
	if eni := c.Interfaces[id]; eni != nil {
		if id = eni.InstanceID; id == "" {
			return addr, "the network interface is attached to no instance"
		}
		if text == "" {
			text = eni.PrimaryIP
		}
	}
	instance := c.Instances[id]
	switch {
	case instance == nil:
		return addr, "the server does not exist"
	case instance.Status != "Running":
		return addr, "the instance is " + instance.Status
	case instance.Healthy != nil && !*instance.Healthy:
		return addr, "the instance is marked as unhealthy"
	case text == "" && len(instance.PrivateIPs) > 0:
		text = instance.PrivateIPs[0]
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return addr, "the server has no address"
	case !reach.reaches(addr):
		return addr, "the address is neither on loopback nor permitted; seed the instance with privateIps in 127.0.0.0/8 or permit its range"
	}
	return addr, ""
}
