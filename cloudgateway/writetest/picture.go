package writetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Picture describes what the cloud holds, without what differs from run to run.
func Picture(c *state.Cloud) []string {
	var lines []string
	for _, g := range c.ServerGroups {
		lines = append(lines, fmt.Sprintf("group %s %q %v", g.Name, servers(g.Servers), sorted(g.Tags)))
	}
	for _, lb := range c.LoadBalancers {
		lines = append(lines, fmt.Sprintf("lb %s %s %v %s %s %s",
			lb.Name, lb.Spec, sorted(lb.Tags), lb.DeleteProtection, lb.ResourceGroupID, lb.Status))
		lines = append(lines, fmt.Sprintf("default group of %s %q", lb.Name, servers(lb.DefaultServers)))
		for _, l := range lb.Listeners {
			attributes := maps.Clone(l.Attributes)
			if g := c.ServerGroups[attributes["VServerGroupId"]]; g != nil {
				attributes["VServerGroupId"] = g.Name
			}
			lines = append(lines, fmt.Sprintf("listener %s %d/%s %s %v %v", lb.Name, l.Port, l.Protocol, l.Status, attributes, sorted(l.Tags)))
			lines = append(lines, extras(c, lb, l)...)
		}
	}
	for _, acl := range c.Acls {
		var entries []string
		for _, e := range acl.Entries {
			entries = append(entries, e.Entry+" "+e.Comment)
		}
		slices.Sort(entries)
		lines = append(lines, fmt.Sprintf("acl %s %s %v %s %q", acl.Name, acl.IPVersion, sorted(acl.Tags), acl.ResourceGroupID, entries))
	}
	for _, cert := range c.Certificates {
		lines = append(lines, fmt.Sprintf("certificate %s of %s, CA %t, %v %s", cert.Name, cert.CommonName, cert.CA,
			sorted(cert.Tags), cert.ResourceGroupID))
	}
	for _, cert := range c.UserCertificates {
		lines = append(lines, fmt.Sprintf("user certificate %s %s", cert.Name, cert.ResourceGroupID))
	}
	for _, table := range c.RouteTables {
		lines = append(lines, fmt.Sprintf("route table %s %s %v", table.Type, table.Name, sorted(table.Tags)))
		for _, e := range table.Entries {
			lines = append(lines, fmt.Sprintf("route %s %v %s %s", e.Cidr, e.Hops(), e.Status, e.Description))
		}
	}
	for _, v := range c.VSwitches {
		table := "system"
		if t := c.RouteTables[v.RouteTableID]; t != nil && t.Type == "Custom" {
			table = t.Name
		}
		lines = append(lines, fmt.Sprintf("vswitch %s %s %s %v of table %s", v.Name, v.ZoneID, v.CidrBlock, sorted(v.Tags), table))
	}
	for _, e := range c.Eips {
		lines = append(lines, fmt.Sprintf("eip %s %s Mbit/s %s %s %v %s", e.Name, e.Bandwidth, e.Description, e.Status,
			sorted(e.Tags), e.InstanceID))
	}
	for _, i := range c.Instances {
		lines = append(lines, fmt.Sprintf("instance %s %s %q %q %v %t", i.ID, i.Status, i.Name, i.Description, sorted(i.Tags),
			i.DeletionProtection))
	}
	for _, n := range c.Interfaces {
		lines = append(lines, fmt.Sprintf("interface of %s %q %q %v %t %s %d %d", n.InstanceID, n.Name, n.Description, sorted(n.Tags),
			n.SourceDestCheck, n.Status, len(n.PrivateIPs), len(n.Ipv6Addresses)))
	}
	for _, g := range c.SecurityGroups {
		lines = append(lines, fmt.Sprintf("security group %s %q in %s %v %q", g.Name, g.Description, g.VpcID, sorted(g.Tags), rulesOf(g)))
	}
	lines = append(lines, networkPicture(c)...)
	slices.Sort(lines)
	return lines
}

// networkPicture describes what the cloud holds of NLB.
func networkPicture(c *state.Cloud) []string {
	var lines []string
	for _, lb := range c.NLBs {
		var zones []string
		for _, z := range lb.Zones {
			zones = append(zones, fmt.Sprintf("%s %s %s %t", z.ZoneID, z.VSwitchID, z.Status, z.PublicIP != ""))
		}
		slices.Sort(zones)
		lines = append(lines, fmt.Sprintf("nlb %s %s %s %s %q %v %s %t %d %t %t %s %v", lb.Name, lb.Status, lb.AddressType,
			lb.Ipv6AddressType, zones,
			lb.SecurityGroupIDs, lb.BandwidthPackageID, lb.CrossZoneOff, lb.Cps, lb.Deletion.On, lb.Modification.On,
			lb.ResourceGroupID, sorted(lb.Tags)))
	}
	for _, l := range c.NLBListeners {
		lines = append(lines, fmt.Sprintf("nlb listener %d/%s %s %s %d %t %q %v %v", l.Port, l.Protocol, l.Status,
			l.Description, l.IdleTimeout, l.ProxyProtocol,
			l.CertificateIDs, l.Additional, sorted(l.Tags)))
	}
	for _, g := range c.NLBServerGroups {
		var servers []string
		for _, s := range g.Servers {
			servers = append(servers, fmt.Sprintf("%s %s:%d*%d %s %s", s.Type, s.ServerID, s.Port, s.Weight, s.Description, s.Status))
		}
		lines = append(lines, fmt.Sprintf("nlb group %s %s %s %t %d %d %s %v %q", g.Name, g.Status, g.Scheduler, g.Drain, g.DrainTimeout,
			g.HealthCheck.Interval, g.ResourceGroupID, sorted(g.Tags), servers))
	}
	return lines
}

func sorted(tags []state.Tag) []state.Tag {
	return slices.SortedFunc(slices.Values(tags), func(a, b state.Tag) int { return strings.Compare(a.Key, b.Key) })
}

// extras describes the forwarding rules and the domain extensions of a listener.
func extras(c *state.Cloud, lb *state.LoadBalancer, l *state.Listener) []string {
	var lines []string
	for _, r := range l.Rules {
		group := r.ServerGroupID
		if g := c.ServerGroups[group]; g != nil {
			group = g.Name
		}
		lines = append(lines, fmt.Sprintf("rule %s %d %s %s%s %s %v", lb.Name, l.Port, r.Name, r.Domain, r.URL, group, r.Attributes))
	}
	for _, d := range l.Domains {
		lines = append(lines, fmt.Sprintf("domain extension %s %d %s %s", lb.Name, l.Port, d.Domain, d.CertificateID))
	}
	return lines
}

func rulesOf(g *state.SecurityGroup) (texts []string) {
	for _, r := range g.Rules {
		texts = append(texts, fmt.Sprint(r.Direction, r.Policy, r.Priority, r.IPProtocol, r.PortRange, r.SourceCidr,
			r.DestCidr, r.Ipv6SourceCidr, r.Description))
	}
	slices.Sort(texts)
	return texts
}

func servers(list []*state.Server) (texts []string) {
	for _, s := range list {
		texts = append(texts, fmt.Sprintf("%s %s:%d*%d %s", s.Type, s.ServerID, s.Port, s.Weight, s.Description))
	}
	slices.Sort(texts)
	return texts
}
