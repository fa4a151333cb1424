package dataplane

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// mostPorts is how many ports of a range a listener opens at each address: each is a socket of the process.
const mostPorts = 1000

// addNLBs adds the listeners of Network Load Balancers, which forward as those of CLB do.
func (w *world) addNLBs(c *state.Cloud) {
	for _, id := range c.NLBRunningJobs {
		if j := c.NLBJobs[id]; j != nil {
			w.expect(j.EndsAt)
		}
	}
	for _, l := range c.NLBListeners {
		lb, g := c.NLBs[l.NLBID], c.NLBServerGroups[l.ServerGroupID]
		forwards := cmp.Or(l.Port, l.StartPort) != 0 && (l.Status == "Running" || l.Status == "Configuring")
		if lb == nil || g == nil || !forwards || lb.Status == "Provisioning" || lb.Status == "CreateFailed" {
			continue
		}
		shared := w.nlbListener(c, l, g)
		for n, z := range lb.Zones {
			if z.Status == "Active" {
				w.addZone(c, lb, l, n, shared)
			}
		}
	}
}

// addZone lets a listener listen at the addresses of a zone, at its port or at each port of its range.
func (w *world) addZone(c *state.Cloud, lb *state.NLB, l *state.NLBListener, zone int, shared *listener) {
	z := lb.Zones[zone]
	here := *shared
	here.limits = nlbLimits(lb, l, zone)
	first, last := cmp.Or(l.Port, l.StartPort), cmp.Or(l.Port, l.EndPort)
	if last-first >= mostPorts {
		here.problem = fmt.Sprintf("it has a range of %d ports, and the simulator opens up to %d", last-first+1, mostPorts)
		last = first
	}
	for port := first; port <= last; port++ {
		spec := here
		spec.port, spec.access = port, nlbAccess(c, lb, l.Protocol, port)
		w.listen(&spec, []string{z.PrivateIP, z.PublicIP, z.Ipv6Address}, 0)
	}
}

// nlbLimits are those of a listener and of its load balancer, which hold in each zone (CreateListener, UpdateLoadBalancerAttribute: Cps).
func nlbLimits(lb *state.NLB, l *state.NLBListener, zone int) (out []limit) {
	for _, of := range []struct {
		id  string
		cps int
	}{{l.ID, l.Cps}, {lb.ID, lb.Cps}} {
		if of.cps > 0 {
			out = append(out, limit{of: metered{of.id, zone}, most: of.cps})
		}
	}
	return out
}

// nlbListener is what the ports and zones of a listener share.
func (w *world) nlbListener(c *state.Cloud, l *state.NLBListener, g *state.NLBServerGroup) *listener {
	spec := &listener{
		loadBalancerID: l.NLBID, protocol: strings.ToLower(l.Protocol), established: time.Duration(l.IdleTimeout) * time.Second,
	}
	spec.proxyProtocol, spec.ownAddress = l.ProxyProtocol, g.ClientIPOff
	if lb := c.NLBs[l.NLBID]; l.ProxyV2.VpcID {
		spec.proxyVpc = lb.VpcID
	}
	if l.Protocol == "TCPSSL" {
		var pems []string
		ids := slices.Clone(l.CertificateIDs)
		for _, further := range l.Additional {
			ids = append(ids, further.ID)
		}
		spec.protocol, spec.ownAddress = protoTLS, true // who ends TLS can't pass the client's connection on
		for _, id := range ids {
			if cert := c.UserCertificate(id); cert != nil {
				pems = append(pems, cert.PEM)
			}
		}
		var versions []string
		if own := c.NLBSecurityPolicies[l.SecurityPolicyID]; own != nil {
			versions = own.TLSVersions
		}
		spec.tls = terms{certificates: pems, oldest: oldestVersion(l.SecurityPolicyID, versions)}
		if l.Alpn {
			spec.tls.alpn = alpn(l.AlpnPolicy)
		}
	}
	if g.Drain {
		spec.drain = time.Duration(g.DrainTimeout) * time.Second
	}
	servers := make([]*state.Server, 0, len(g.Servers))
	for _, s := range g.Servers {
		if s.Status != "Removing" {
			servers = append(servers, &state.Server{Type: strings.ToLower(s.Type), ServerID: s.ServerID, ServerIP: s.ServerIP,
				Port: s.Port, Weight: s.Weight})
		}
	}
	a := nlbAttributes(g)
	checked := &listener{protocol: protoTCP} // the servers of UDP are checked by TCP, unless the group says else
	if g.HealthCheck.Type == "UDP" {
		checked.protocol = protoUDP
	}
	spec.pool = deriver{cloud: c, world: w, listener: checked}.pool(a, servers)
	return spec
}

// alpn is what a policy offers, in the order of preference (CreateListener of NLB, AlpnPolicy); nil for any other policy.
func alpn(policy string) []string {
	switch policy {
	case "HTTP1Only":
		return []string{"http/1.1", "http/1.0"}
	case "HTTP2Only":
		return []string{"h2"}
	case "HTTP2Optional":
		return []string{"http/1.1", "http/1.0", "h2"}
	case "HTTP2Preferred":
		return []string{"h2", "http/1.1", "http/1.0"}
	}
	return nil
}

// nlbAttributes are the settings of a group by the names that they have at listeners of CLB.
func nlbAttributes(g *state.NLBServerGroup) attributes {
	h := g.HealthCheck
	a := attributes{
		"Scheduler": strings.ToLower(g.Scheduler), "HealthCheckType": strings.ToLower(h.Type),
		"HealthCheckConnectPort": strconv.Itoa(h.ConnectPort),
		"HealthyThreshold":       strconv.Itoa(h.HealthyThreshold), "UnhealthyThreshold": strconv.Itoa(h.UnhealthyThreshold),
		"HealthCheckConnectTimeout": strconv.Itoa(h.ConnectTimeout), "HealthCheckInterval": strconv.Itoa(h.Interval),
		"HealthCheckReq": h.Request, "HealthCheckExp": h.Response,
		"HealthCheckURI": h.URL, "HealthCheckHttpCode": strings.Join(h.HTTPCodes, ","), "HealthCheckMethod": strings.ToLower(h.Method),
	}
	if h.Domain != "$SERVER_IP" {
		a["HealthCheckDomain"] = h.Domain
	}
	if h.Off {
		a["HealthCheckSwitch"] = "off"
	}
	return a
}

// addressOfIP returns where a server that is an address is reached, or why it can't be.
func addressOfIP(s *state.Server, reach Ranges) (addr netip.Addr, down string) {
	addr, err := netip.ParseAddr(s.ServerIP)
	if err != nil || !reach.reaches(addr) {
		return addr, "the address is neither on loopback nor permitted"
	}
	return addr, ""
}
