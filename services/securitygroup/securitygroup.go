package securitygroup

import (
	"fmt"
	"net/netip"
	"slices"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

// Traffic is what comes from a network to ports of one protocol, TCP or UDP.
type Traffic struct {
	Source      netip.Prefix
	Protocol    string
	First, Last int32
}

func (t Traffic) String() string {
	ports := fmt.Sprintf("%d/%d", t.First, t.Last)
	return t.Protocol + " " + ports + " from " + t.Source.String()
}

// allProtocols is the protocol of a rule for any.
const allProtocols = "ALL"

// Drops gives an example of traffic that the groups of one network interface drop for certain, and whether there is any.
// The rules of all groups count together: of those about the same traffic, the ones with the least number, and of these
// one that drops. What no rule is about is dropped. Where the other side of a rule is a group or a prefix list, nobody
// knows here what it is about: such a rule is taken to let everything in, and to drop nothing.
func Drops(groups []*ecsv1.SecurityGroup, t Traffic) (netip.AddrPort, bool) {
	var rules []ingress
	for _, group := range groups {
		for _, rule := range group.GetRules() {
			if in, ok := ingressOf(rule, t.Protocol); ok {
				rules = append(rules, in)
			}
		}
	}
	// Between two borders of rules all traffic has the same fate, so that one example of each part is enough.
	addresses, ports := []netip.Addr{t.Source.Masked().Addr()}, []int32{t.First}
	for _, rule := range rules {
		if rule.network.IsValid() {
			addresses = append(addresses, rule.network.Masked().Addr(), last(rule.network).Next())
		}
		ports = append(ports, rule.first, rule.last+1)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	slices.Sort(ports)
	for _, address := range slices.Compact(addresses) {
		if !t.Source.Contains(address) {
			continue
		}
		for _, port := range slices.Compact(slices.Clone(ports)) {
			if port >= t.First && port <= t.Last && dropped(rules, address, port) {
				return netip.AddrPortFrom(address, uint16(port)), true
			}
		}
	}
	return netip.AddrPort{}, false
}

// ingress is a rule about incoming traffic of the protocol in question.
type ingress struct {
	network     netip.Prefix // invalid: nobody knows
	first, last int32
	priority    int32
	drops       bool
}

func ingressOf(rule *ecsv1.SecurityGroupRule, protocol string) (ingress, bool) {
	if rule.GetDirection() != ecsv1.Direction_DIRECTION_INGRESS ||
		rule.GetIpProtocol() != protocol && rule.GetIpProtocol() != allProtocols {
		return ingress{}, false
	}
	in := ingress{
		first: rule.GetStartPort(), last: rule.GetEndPort(), priority: rule.GetPriority(),
		drops: rule.GetPolicy() == ecsv1.RulePolicy_RULE_POLICY_DROP,
	}
	if in.last == 0 {
		in.first, in.last = 0, 65535
	}
	if rule.GetCidr() != "" {
		var err error
		if in.network, err = netip.ParsePrefix(rule.GetCidr()); err != nil {
			return ingress{}, false // Of no family that there is.
		}
	}
	return in, in.network.IsValid() || !in.drops
}

func dropped(rules []ingress, address netip.Addr, port int32) bool {
	drops, best := true, int32(0)
	for _, rule := range rules {
		if rule.network.IsValid() && !rule.network.Contains(address) || port < rule.first || port > rule.last {
			continue
		}
		if !rule.network.IsValid() { // It may be about this traffic.
			return false
		}
		if best == 0 || rule.priority < best || rule.priority == best && rule.drops {
			drops, best = rule.drops, rule.priority
		}
	}
	return drops
}

// last is the last address of a network.
func last(network netip.Prefix) netip.Addr {
	bytes := network.Masked().Addr().AsSlice()
	for i := network.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}
