package dataplane

import (
	"net/netip"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// derive returns what the data plane should do for a cloud. It keeps nothing of the cloud.
func derive(c *state.Cloud) *world {
	w := &world{listeners: map[socket]*listener{}, servers: map[reportKey]target{}, probes: map[probe]bool{}}
	external := map[string][]string{} // addresses of EIPs, by load balancer
	for _, eip := range c.Eips {
		if eip.InstanceID != "" && eip.Status == "InUse" {
			external[eip.InstanceID] = append(external[eip.InstanceID], eip.Address)
		}
		w.expect(eip.BusyUntil)
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
	return w
}

// expect notes a moment at which the state changes by itself.
func (w *world) expect(t time.Time) {
	if !t.IsZero() && (w.due.IsZero() || t.Before(w.due)) {
		w.due = t
	}
}

func (w *world) add(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener, addresses []string) {
	spec := newListener(c, lb, l)
	d := deriver{cloud: c, world: w, listener: spec}
	a := attributes(l.Attributes)
	if spec.redirect == nil {
		spec.pool = d.pool("", a, servers(c, lb, l))
		for _, r := range l.Rules {
			var group []*state.Server
			if g := c.ServerGroups[r.ServerGroupID]; g != nil {
				group = g.Servers
			}
			spec.rules = append(spec.rules, rule{domain: r.Domain, url: r.URL, pool: d.pool(r.ID, a.ofRule(r), group)})
		}
	}
	for _, text := range addresses {
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.IsLoopback() {
			continue // nobody could reach it, or it isn't ours to listen on
		}
		s := socket{addr: netip.AddrPortFrom(addr, uint16(l.Port)), protocol: l.Protocol}
		if l.Protocol == protoHTTP || l.Protocol == protoHTTPS {
			s.idle = a.seconds("IdleTimeout", 15)
		}
		here := *spec
		here.address = addr
		w.listeners[s] = &here
	}
}

func newListener(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener) *listener {
	a := attributes(l.Attributes)
	spec := &listener{
		loadBalancerID: lb.ID, port: l.Port, protocol: l.Protocol,
		access: newAccess(c, l), headers: a.headers(), proxyProtocol: a.on("ProxyProtocolV2Enabled", false),
		established: a.seconds("EstablishedTimeout", 900), request: a.seconds("RequestTimeout", 60),
	}
	if a.on("ConnectionDrain", false) {
		spec.drain = a.seconds("ConnectionDrainTimeout", 300)
	}
	if a.on("ListenerForward", false) {
		spec.redirect = &redirect{port: a.port("ForwardPort", 443), code: a.number("ForwardCode", 302)}
	}
	if l.Protocol == protoHTTPS {
		spec.tls = &tlsSettings{
			certificate: pemOf(c, a["ServerCertificateId"]), clientCA: pemOf(c, a["CACertificateId"]),
			policy: a.text("TLSCipherPolicy", "tls_cipher_policy_1_0"), http2: a.on("EnableHttp2", true), domains: map[string]string{},
		}
		for _, d := range l.Domains {
			spec.tls.domains[d.Domain] = pemOf(c, d.CertificateID)
		}
	}
	return spec
}

func pemOf(c *state.Cloud, id string) string {
	if cert := c.Certificates[id]; cert != nil {
		return cert.PEM
	}
	return ""
}

// servers returns those of the group of a listener, or the default ones of its load balancer, which have no port of their own.
func servers(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener) []*state.Server {
	a := attributes(l.Attributes)
	if id := a["VServerGroupId"]; id != "" {
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

func (d deriver) pool(id string, a attributes, group []*state.Server) pool {
	p := pool{id: id, scheduler: a.text("Scheduler", "wrr"), sticky: a.sticky()}
	if d.listener.protocol == protoTCP {
		p.persistence = a.seconds("PersistenceTimeout", 0)
	}
	for _, s := range group {
		t := d.target(a, s)
		p.targets = append(p.targets, t)
		if !t.down && t.probe.kind != "" {
			d.world.probes[t.probe] = true
		}
		key := reportKey{
			loadBalancerID: d.listener.loadBalancerID, port: d.listener.port, protocol: d.listener.protocol,
			kind: s.Type, serverID: s.ServerID, serverIP: s.ServerIP, serverPort: s.Port,
		}
		if _, ok := d.world.servers[key]; !ok { // the listener's own check tells more than that of a rule
			d.world.servers[key] = t
		}
	}
	return p
}

func (d deriver) target(a attributes, s *state.Server) target {
	addr, ok := addressOf(d.cloud, s)
	id := targetID{server: s.ServerID, addr: netip.AddrPortFrom(addr, uint16(s.Port))}
	return target{id: id, weight: s.Weight, probe: a.probe(d.listener.protocol, id), down: !ok || !addr.IsLoopback()}
}

// addressOf returns where a server is reached, and whether anything there can answer: its instance runs and nobody marked it
// as failed.
func addressOf(c *state.Cloud, s *state.Server) (netip.Addr, bool) {
	id, text := s.ServerID, s.ServerIP
	if eni := c.Interfaces[id]; eni != nil {
		id = eni.InstanceID
		if text == "" {
			text = eni.PrimaryIP
		}
	}
	instance := c.Instances[id]
	if instance == nil || instance.Status != "Running" || (instance.Healthy != nil && !*instance.Healthy) {
		return netip.Addr{}, false
	}
	if text == "" && len(instance.PrivateIPs) > 0 {
		text = instance.PrivateIPs[0]
	}
	addr, err := netip.ParseAddr(text)
	return addr, err == nil
}

func withPort(addr netip.AddrPort, port int) netip.AddrPort {
	return netip.AddrPortFrom(addr.Addr(), uint16(port))
}
