package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one group in the answer to DescribeSecurityGroups.
func decode(item []byte) (*ecsv1.SecurityGroup, error) {
	g := &ecsv1.SecurityGroup{}
	return g, cloud.Decode(item, cloud.Fields{
		"SecurityGroupId":   cloud.Required(&g.SecurityGroupId),
		"SecurityGroupName": &g.Name,
		"Description":       &g.Description,
		"SecurityGroupType": cloud.Via(&g.Type, cloud.Named),
		"VpcId":             &g.VpcId,
		"ResourceGroupId":   &g.ResourceGroupId,
		"ServiceManaged":    &g.ServiceManaged,
		"CreationTime":      cloud.Via(&g.CreationTime, cloud.Time),
		"Tags":              cloud.TagsInto(&g.Tags),
	})
}

// typeWord is the cloud's word for a type, e.g. "normal".
func typeWord(t ecsv1.SecurityGroupType) string { return strings.ToLower(cloud.Word(t)) }

// direction is one of traffic, with the words that differ between the two.
type direction struct {
	is     ecsv1.Direction
	suffix string // of actions
	peer   string // begins the parameters that name the other side
}

func directions() []direction {
	return []direction{{ecsv1.Direction_DIRECTION_INGRESS, "", "Source"}, {ecsv1.Direction_DIRECTION_EGRESS, "Egress", "Dest"}}
}

// of are those of some rules that are of the direction.
func (d direction) of(rules []*ecsv1.SecurityGroupRule) (of []*ecsv1.SecurityGroupRule) {
	for _, r := range rules {
		if r.GetDirection() == d.is {
			of = append(of, r)
		}
	}
	return of
}

// params encode rules of the direction.
func (d direction) params(rules []*ecsv1.SecurityGroupRule) cloud.Params {
	p := cloud.Params{}
	for i, r := range rules {
		add := func(name, value string) { p.With(fmt.Sprintf("Permissions.%d.%s", i+1, name), value) }
		add("Policy", cloud.Word(r.GetPolicy()))
		add("Priority", strconv.Itoa(int(r.GetPriority())))
		add("IpProtocol", r.GetIpProtocol())
		add("PortRange", ports(r))
		add(d.peer+"GroupId", r.GetPeerSecurityGroupId())
		add(d.peer+"PrefixListId", r.GetPrefixListId())
		add("Description", r.GetDescription())
		if strings.Contains(r.GetCidr(), ":") {
			add("Ipv6"+d.peer+"CidrIp", r.GetCidr())
		} else {
			add(d.peer+"CidrIp", r.GetCidr())
		}
	}
	return p
}

// ports is the range of ports as the cloud writes it; rules without ports have "-1/-1".
func ports(r *ecsv1.SecurityGroupRule) string {
	if r.GetStartPort() == 0 {
		return "-1/-1"
	}
	return fmt.Sprintf("%d/%d", r.GetStartPort(), r.GetEndPort())
}

// decodeRule reads one rule in the answer to DescribeSecurityGroupAttribute.
func decodeRule(item []byte) (*ecsv1.SecurityGroupRule, error) {
	r := &ecsv1.SecurityGroupRule{}
	var portRange, source, dest, six, sixDest, group, list string
	err := cloud.Decode(item, cloud.Fields{
		"SecurityGroupRuleId": &r.RuleId,
		"Direction":           cloud.Via(&r.Direction, cloud.Named),
		"Policy":              cloud.Via(&r.Policy, cloud.Named),
		"Priority":            &r.Priority,
		"IpProtocol":          cloud.Via(&r.IpProtocol, protocol),
		"PortRange":           &portRange,
		"SourceCidrIp":        &source,
		"DestCidrIp":          &dest,
		"Ipv6SourceCidrIp":    &six,
		"Ipv6DestCidrIp":      &sixDest,
		"SourceGroupId":       &r.PeerSecurityGroupId,
		"DestGroupId":         &group,
		"SourcePrefixListId":  &r.PrefixListId,
		"DestPrefixListId":    &list,
		"Description":         &r.Description,
	})
	first, last, _ := strings.Cut(portRange, "/")
	r.StartPort, r.EndPort = port(first), port(last)
	if r.GetDirection() == ecsv1.Direction_DIRECTION_EGRESS {
		source, six, r.PeerSecurityGroupId, r.PrefixListId = dest, sixDest, group, list
	}
	r.Cidr = network(cmp.Or(source, six))
	return r, err
}

// protocol is the name of a protocol; the cloud uses small letters, too.
func protocol(word string) string {
	return strings.Replace(strings.ToUpper(word), "ICMPV6", "ICMPv6", 1)
}

// port is a port of a range; 0: none.
func port(text string) int32 {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0 // "-1"
	}
	return int32(n)
}

// network is a network as callers write it. The cloud writes a single address without a mask.
func network(text string) string {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()).String()
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String()
	}
	return text
}

// key tells a rule from others.
type key struct {
	direction             ecsv1.Direction
	priority              int32
	protocol              string
	start, end            int32
	cidr, group, prefixes string
	policy                ecsv1.RulePolicy
}

func keyOf(r *ecsv1.SecurityGroupRule) key {
	return key{
		r.GetDirection(), r.GetPriority(), r.GetIpProtocol(), r.GetStartPort(), r.GetEndPort(), r.GetCidr(),
		r.GetPeerSecurityGroupId(), r.GetPrefixListId(),
		r.GetPolicy(),
	}
}

func compare(x, y *ecsv1.SecurityGroupRule) int {
	a, b := keyOf(x), keyOf(y)
	return cmp.Or(
		cmp.Compare(a.direction, b.direction), cmp.Compare(a.priority, b.priority), cmp.Compare(a.protocol, b.protocol),
		cmp.Compare(a.start, b.start),
		cmp.Compare(a.end, b.end), cmp.Compare(a.cidr, b.cidr), cmp.Compare(a.group, b.group), cmp.Compare(a.prefixes, b.prefixes),
		cmp.Compare(a.policy, b.policy),
	)
}

func ids(rules []*ecsv1.SecurityGroupRule) []string {
	list := make([]string, len(rules))
	for i, r := range rules {
		list[i] = r.GetRuleId()
	}
	return list
}
