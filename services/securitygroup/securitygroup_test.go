package securitygroup

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

const (
	in, out      = ecsv1.Direction_DIRECTION_INGRESS, ecsv1.Direction_DIRECTION_EGRESS
	accept, drop = ecsv1.RulePolicy_RULE_POLICY_ACCEPT, ecsv1.RulePolicy_RULE_POLICY_DROP
)

func rule(policy ecsv1.RulePolicy, priority int32, protocol string, first, last int32, cidr string) *ecsv1.SecurityGroupRule {
	return &ecsv1.SecurityGroupRule{
		Direction: in, Policy: policy, Priority: priority, IpProtocol: protocol, StartPort: first, EndPort: last, Cidr: cidr,
	}
}

func TestDrops(t *testing.T) {
	checks := Traffic{Source: netip.MustParsePrefix("100.64.0.0/10"), Protocol: "TCP", First: 30000, Last: 32767}
	list := func(rules ...*ecsv1.SecurityGroupRule) []*ecsv1.SecurityGroup {
		return []*ecsv1.SecurityGroup{{Rules: rules}}
	}
	byPrefix := rule(accept, 1, "TCP", 1, 65535, "")
	byPrefix.PrefixListId = "pl-1"
	droppedPrefix := rule(drop, 1, "ALL", 0, 0, "")
	droppedPrefix.PrefixListId = "pl-1"
	outgoing := rule(accept, 1, "ALL", 0, 0, "0.0.0.0/0")
	outgoing.Direction = out
	firstPorts := rule(accept, 1, "TCP", 1, 31000, "0.0.0.0/0")
	all := rule(accept, 100, "ALL", 0, 0, "0.0.0.0/0")
	for name, tt := range map[string]struct {
		groups []*ecsv1.SecurityGroup
		want   string // the example, "" if nothing is dropped
	}{
		"no group at all":        {nil, "100.64.0.0:30000"},
		"no rule":                {list(), "100.64.0.0:30000"},
		"everything":             {list(all), ""},
		"exactly this":           {list(rule(accept, 1, "TCP", 30000, 32767, "100.64.0.0/10")), ""},
		"another protocol":       {list(rule(accept, 1, "UDP", 30000, 32767, "100.64.0.0/10")), "100.64.0.0:30000"},
		"outgoing":               {list(outgoing), "100.64.0.0:30000"},
		"a part of the ports":    {list(rule(accept, 1, "TCP", 30000, 31000, "0.0.0.0/0")), "100.64.0.0:31001"},
		"a part of the network":  {list(rule(accept, 1, "TCP", 1, 65535, "100.64.0.0/11")), "100.96.0.0:30000"},
		"the private networks":   {list(rule(accept, 1, "ALL", 0, 0, "10.0.0.0/8")), "100.64.0.0:30000"},
		"IPv6":                   {list(rule(accept, 1, "ALL", 0, 0, "::/0")), "100.64.0.0:30000"},
		"dropped before":         {list(all, rule(drop, 1, "TCP", 31000, 31000, "100.64.1.0/24")), "100.64.1.0:31000"},
		"dropped at the same":    {list(all, rule(drop, 100, "ALL", 0, 0, "0.0.0.0/0")), "100.64.0.0:30000"},
		"dropped after":          {list(rule(accept, 99, "ALL", 0, 0, "0.0.0.0/0"), rule(drop, 100, "ALL", 0, 0, "0.0.0.0/0")), ""},
		"two groups add up":      {append(list(firstPorts), list(rule(accept, 1, "TCP", 31001, 65535, "0.0.0.0/0"))...), ""},
		"another group drops":    {append(list(all), list(rule(drop, 1, "TCP", 1, 65535, "0.0.0.0/0"))...), "100.64.0.0:30000"},
		"perhaps a prefix list":  {list(byPrefix), ""},
		"perhaps dropped":        {list(all, droppedPrefix), ""},
		"the last port and more": {list(rule(accept, 1, "TCP", 30000, 65535, "100.64.0.0/10")), ""},
	} {
		got, is := Drops(tt.groups, checks)
		if is != (tt.want != "") || is && got.String() != tt.want {
			t.Errorf("%s: drops %v (%t), want %q", name, got, is, tt.want)
		}
	}
}

// TestDropsIsWhatEachPacketMeets compares Drops with a look at every packet, in a small world of 16 addresses and 10 ports.
func TestDropsIsWhatEachPacketMeets(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	network := func() netip.Prefix {
		bits := 28 + random.IntN(5)
		address := netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(16))})
		return netip.PrefixFrom(address, bits).Masked()
	}
	for range 3000 {
		var groups []*ecsv1.SecurityGroup
		var rules []*ecsv1.SecurityGroupRule
		for range random.IntN(3) {
			group := &ecsv1.SecurityGroup{}
			for range random.IntN(4) {
				first := int32(1 + random.IntN(10))
				policy := []ecsv1.RulePolicy{accept, accept, drop}[random.IntN(3)]
				protocol := []string{"TCP", "UDP", "ALL"}[random.IntN(3)]
				made := rule(policy, int32(1+random.IntN(3)), protocol, first, first+int32(random.IntN(8)), network().String())
				group.Rules = append(group.Rules, made)
			}
			groups, rules = append(groups, group), append(rules, group.GetRules()...)
		}
		first := int32(1 + random.IntN(10))
		asked := Traffic{Source: network(), Protocol: "TCP", First: first, Last: first + int32(random.IntN(4))}
		want := false
		for address := asked.Source.Addr(); asked.Source.Contains(address); address = address.Next() {
			for port := asked.First; port <= asked.Last; port++ {
				want = want || packetDropped(rules, address, port)
			}
		}
		example, is := Drops(groups, asked)
		if is != want || is && !packetDropped(rules, example.Addr(), int32(example.Port())) {
			t.Fatalf("seed %d: %v of %v: dropped is %t, example %v (%t)", seed, asked, groups, want, example, is)
		}
	}
}

// packetDropped goes through the rules in the order of the cloud: by number, those that drop first.
func packetDropped(rules []*ecsv1.SecurityGroupRule, address netip.Addr, port int32) bool {
	for priority := int32(1); priority <= 3; priority++ {
		for _, policy := range []ecsv1.RulePolicy{drop, accept} {
			for _, r := range rules {
				if r.GetPriority() == priority && r.GetPolicy() == policy && r.GetIpProtocol() != "UDP" &&
					netip.MustParsePrefix(r.GetCidr()).Contains(address) && r.GetStartPort() <= port && port <= r.GetEndPort() {
					return policy == drop
				}
			}
		}
	}
	return true
}
