package dataplane

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// access says which clients a listener lets in.
type access struct {
	rules  []accessRule // the first one whose block has the client decides
	others bool         // whether clients of no rule are let in
	// ends reports that connections end whose client is not let in any more. Security groups do that: sessions stay
	// only if a change of the rules means the same for them. Of access lists no document speaks; there only new
	// connections are looked at.
	ends bool
}

type accessRule struct {
	from   netip.Prefix
	admits bool
}

// admits reports whether a client may connect.
func (a access) admits(client netip.Addr) bool {
	for _, r := range a.rules {
		if r.from.Contains(client) {
			return r.admits
		}
	}
	return a.others
}

// everybody is the access of a listener that nothing restricts.
func everybody() access { return access{others: true} }

// accessOf returns what the access lists of a listener of CLB let in. A list without entries, and one that is not
// there, restricts nothing (help page "Access control" of CLB: the listener then forwards all requests, white list or
// black).
func accessOf(c *state.Cloud, l *state.Listener) access {
	a := attributes(l.Attributes)
	if !a.on("AclStatus", false) {
		return everybody()
	}
	white := a["AclType"] == "white"
	var out access
	for _, id := range l.AclIDs {
		list := c.Acls[id]
		if list == nil {
			continue
		}
		for _, entry := range list.Entries {
			if from, ok := blockOf(entry.Entry); ok {
				out.rules = append(out.rules, accessRule{from: from, admits: white})
			}
		}
	}
	out.others = !white || len(out.rules) == 0
	return out
}

// managedPriority is that of the rule by which the cloud itself lets everybody into a Network Load Balancer that has
// joined security groups (help page "Configure security groups for NLB": without a rule that drops, all requests are
// accepted).
const managedPriority = 100

// nlbAccess returns what the security groups of a Network Load Balancer let in at a port of a listener. Rules apply in the order
// of their priorities, those that drop before those that accept.
func nlbAccess(c *state.Cloud, lb *state.NLB, protocol string, port int) access {
	type ranked struct {
		accessRule
		priority int
	}
	var all []ranked
	for _, id := range lb.SecurityGroupIDs {
		g := c.SecurityGroups[id]
		if g == nil {
			continue
		}
		for _, r := range g.Rules {
			if r.Direction == "egress" || !appliesTo(r, protocol, port) {
				continue
			}
			priority := number(r.Priority, 1)
			for _, from := range peersOf(c, r) {
				all = append(all, ranked{accessRule{from: from, admits: !strings.EqualFold(r.Policy, "drop")}, priority})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(rank(a.admits), rank(b.admits)))
	})
	out := access{others: true, ends: true} // the managed rule comes last: no other has a greater number, and those that drop go first
	for _, r := range all {
		if r.priority <= managedPriority {
			out.rules = append(out.rules, r.accessRule)
		}
	}
	return out
}

func rank(admits bool) int {
	if admits {
		return 1
	}
	return 0
}

// appliesTo reports whether a rule speaks of a port of a protocol.
func appliesTo(r state.SecurityRule, protocol string, port int) bool {
	switch strings.ToUpper(r.IPProtocol) {
	case "ALL", "":
		return true
	case "UDP":
		if protocol != "UDP" {
			return false
		}
	case "TCP":
		if protocol == "UDP" {
			return false
		}
	default:
		return false // ICMP, GRE
	}
	low, high, _ := strings.Cut(r.PortRange, "/")
	first := number(low, -1)
	return first < 0 || first <= port && port <= number(high, first)
}

// peersOf returns the blocks that a rule speaks of: its own, those of its prefix list, or the addresses of the members of its group.
func peersOf(c *state.Cloud, r state.SecurityRule) (out []netip.Prefix) {
	for _, text := range []string{r.SourceCidr, r.Ipv6SourceCidr} {
		if p, ok := blockOf(text); ok {
			out = append(out, p)
		}
	}
	if list := c.RulePrefixLists[r.PrefixListID]; list != nil {
		for _, entry := range list.Entries {
			if p, ok := blockOf(entry.Cidr); ok {
				out = append(out, p)
			}
		}
	}
	if r.GroupID == "" {
		return out
	}
	add := func(groups, addresses []string) {
		if !slices.Contains(groups, r.GroupID) {
			return
		}
		for _, text := range addresses {
			if p, ok := blockOf(text); ok {
				out = append(out, p)
			}
		}
	}
	for _, i := range c.Instances {
		add(i.SecurityGroupIDs, i.PrivateIPs)
	}
	for _, i := range c.Interfaces {
		add(i.SecurityGroupIDs, slices.Concat(i.PrivateIPs, i.Ipv6Addresses))
	}
	return out
}

// blockOf reads a block or an address.
func blockOf(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

func number(text string, fallback int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return fallback
}
