package ecs

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// direction is the way of the traffic that a rule is about, with the words that differ between the two.
type direction struct {
	name  string // as in Direction
	peer  string // "source" or "dest": the prefix of the parameters that name the other side, in lower case
	codes string // "Source" or "Dest", as in error codes
}

func ingress() direction { return direction{name: "ingress", peer: "source", codes: "Source"} }

func egress() direction { return direction{name: "egress", peer: "dest", codes: "Dest"} }

// rulesPerCall is the number of Permissions in one call.
const rulesPerCall = 100

// newRules reads the rules of a call: Permissions.N, or the one that the parameters without a number describe.
func newRules(c *api.Context, g *state.SecurityGroup, d direction) ([]state.SecurityRule, *api.Error) {
	items := c.Items("Permissions")
	if len(items) > rulesPerCall {
		return nil, api.BadRequest("InvalidParam.Permissions", "The number of Permissions exceeds %d.", rulesPerCall)
	}
	if len(items) == 0 {
		items = append(items, givenMembers(c, d))
	}
	var rules []state.SecurityRule
	for _, item := range items {
		r, err := newRule(c, g, d, item)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(rules, func(other state.SecurityRule) bool { return sameRule(r, other) }) {
			return nil, api.BadRequest("InvalidParam.DuplicatePermissions", "The Permissions contain a rule twice.")
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// givenMembers are the members of the rule that the parameters without a number describe, by name in lower case.
func givenMembers(c *api.Context, d direction) map[string]string {
	members := map[string]string{}
	for _, p := range ruleParams(d) {
		members[strings.ToLower(p.Name)] = c.Get(p.Name)
	}
	return members
}

// newRule checks a rule, whose members are in lower case, and completes it.
func newRule(c *api.Context, g *state.SecurityGroup, d direction, item map[string]string) (state.SecurityRule, *api.Error) {
	r := state.SecurityRule{
		Direction: d.name, IPProtocol: strings.ToUpper(item["ipprotocol"]), PortRange: item["portrange"],
		SourcePortRange: item["sourceportrange"],
		Priority:        cmp.Or(item["priority"], "1"), NicType: cmp.Or(item["nictype"], "internet"), SourceCidr: item["sourcecidrip"],
		DestCidr: item["destcidrip"], Ipv6SourceCidr: item["ipv6sourcecidrip"], Ipv6DestCidr: item["ipv6destcidrip"],
		GroupID: item[d.peer+"groupid"], PrefixListID: item[d.peer+"prefixlistid"], Description: item["description"], Created: c.Now,
	}
	if !nicType(r.NicType) {
		return r, nicTypeNotSupported()
	}
	if g.VpcID != "" {
		r.NicType = "intranet" // there is no other one in a VPC
	}
	switch strings.ToLower(cmp.Or(item["policy"], "accept")) {
	case "accept":
		r.Policy = "Accept"
	case "drop":
		r.Policy = "Drop"
	default:
		return r, api.BadRequest("InvalidPolicy.Malformed", "The specified parameter \"Policy\" is not valid.")
	}
	switch priority, err := strconv.Atoi(r.Priority); {
	case err != nil:
		return r, api.BadRequest("InvalidPriority.Malformed", "The specified parameter \"Priority\" is not valid.")
	case priority < 1 || priority > 100:
		return r, api.BadRequest("InvalidPriority.ValueNotSupported", "The specified Priority must be in 1 to 100.")
	}
	if utf8.RuneCountInString(r.Description) > 512 || link(r.Description) {
		return r, malformedDescription()
	}
	if err := checkPorts(&r); err != nil {
		return r, err
	}
	if err := checkOwner(c, r, d, item); err != nil {
		return r, err
	}
	return r, checkPeer(c.State, r, d)
}

// checkOwner refuses the groups of other accounts, of which there are none: an account is known by its number alone. The owner of a
// group is nothing to a rule that names none.
func checkOwner(c *api.Context, r state.SecurityRule, d direction, item map[string]string) *api.Error {
	account, id := item[d.peer+"groupowneraccount"], item[d.peer+"groupownerid"]
	if r.GroupID == "" || account == "" && (id == "" || id == c.Account) {
		return nil
	}
	return peerNotFound(d)
}

func peerNotFound(d direction) *api.Error {
	return api.NotFound("Invalid"+d.codes+"GroupId.NotFound", "The specified group on the other side does not exist.")
}

func checkPorts(r *state.SecurityRule) *api.Error {
	ported := r.IPProtocol == "TCP" || r.IPProtocol == "UDP"
	switch {
	case r.IPProtocol == "":
		return api.Missing("IpProtocol")
	case !ported && !slices.Contains([]string{"ICMP", "ICMPV6", "GRE", "ALL"}, r.IPProtocol):
		return api.BadRequest("InvalidIpProtocol.ValueNotSupported", "The specified IpProtocol does not exist.")
	case r.PortRange == "" && ported:
		return api.Missing("PortRange")
	}
	r.PortRange = cmp.Or(r.PortRange, "-1/-1")
	if ported && !portRange(r.PortRange) || !ported && r.PortRange != "-1/-1" {
		return api.BadRequest("InvalidPortRange.Malformed", "The specified parameter \"PortRange\" is not valid.")
	}
	if r.SourcePortRange != "" && !portRange(r.SourcePortRange) {
		return api.BadRequest("InvalidSourcePortRange.Malformed", "The specified parameter \"SourcePortRange\" is not valid.")
	}
	return nil
}

// portRange reports whether text is a range such as 80/90.
func portRange(text string) bool {
	low, high, _ := strings.Cut(text, "/")
	from, errFrom := strconv.Atoi(low)
	to, errTo := strconv.Atoi(high)
	return errFrom == nil && errTo == nil && from >= 1 && from <= to && to <= 65535
}

// checkPeer checks the two sides of a rule; that of the group itself may stay open.
func checkPeer(c *state.Cloud, r state.SecurityRule, d direction) *api.Error {
	cidr, ipv6 := r.SourceCidr, r.Ipv6SourceCidr
	if d == egress() {
		cidr, ipv6 = r.DestCidr, r.Ipv6DestCidr
	}
	ipv4s, ipv6s := r.SourceCidr+r.DestCidr != "", r.Ipv6SourceCidr+r.Ipv6DestCidr != ""
	switch {
	case cidr == "" && ipv6 == "" && r.GroupID == "" && r.PrefixListID == "":
		return api.BadRequest("MissingParameter."+d.codes, "The input parameter that names the other side is not supplied.")
	case !block(r.SourceCidr, false):
		return api.BadRequest(sourceCidrCode(d), "The specified parameter \"SourceCidrIp\" is not valid.")
	case !block(r.DestCidr, false):
		return api.BadRequest("InvalidDestCidrIp.Malformed", "The specified parameter \"DestCidrIp\" is not valid.")
	case !block(r.Ipv6SourceCidr, true):
		return api.BadRequest("InvalidParam.Ipv6SourceCidrIp", "The specified parameter \"Ipv6SourceCidrIp\" is not valid.")
	case !block(r.Ipv6DestCidr, true):
		return api.BadRequest("InvalidParam.Ipv6DestCidrIp", "The specified parameter \"Ipv6DestCidrIp\" is not valid.")
	case r.IPProtocol == "ICMP" && ipv6s:
		return api.BadRequest("InvalidParam.Ipv4ProtocolConflictWithIpv6Address", "ICMP does not go with IPv6 addresses.")
	case r.IPProtocol == "ICMPV6" && ipv4s:
		return api.BadRequest("InvalidParam.Ipv6ProtocolConflictWithIpv4Address", "ICMPv6 does not go with IPv4 addresses.")
	case r.GroupID != "" && c.SecurityGroups[r.GroupID] == nil:
		return peerNotFound(d)
	case r.PrefixListID != "" && c.RulePrefixLists[r.PrefixListID] == nil:
		return prefixListNotFound()
	}
	return nil
}

// sourceCidrCode differs between the directions; that of destinations does not.
func sourceCidrCode(d direction) string {
	if d == egress() {
		return "InvalidParam.SourceCidrIp"
	}
	return "InvalidSourceCidrIp.Malformed"
}

func nicType(text string) bool { return text == "internet" || text == "intranet" }

func nicTypeNotSupported() *api.Error {
	return api.BadRequest("InvalidNicType.ValueNotSupported", "The specified NicType does not exist.")
}

// block reports whether text is nothing, an address, or a block of addresses of the family.
func block(text string, ipv6 bool) bool {
	if text == "" {
		return true
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Is6() == ipv6
	}
	prefix, err := netip.ParsePrefix(text)
	return err == nil && prefix.Addr().Is6() == ipv6
}

// sameRule reports whether two rules do the same; ids and descriptions don't count.
func sameRule(a, b state.SecurityRule) bool {
	a.ID, a.Description, a.Created = b.ID, b.Description, b.Created
	return a == b
}
