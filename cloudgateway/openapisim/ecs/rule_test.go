package ecs_test

import (
	"fmt"
	"slices"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

// ruleAction is an action on rules. Authorize is the one that adds rules of its direction, peer how that calls the other side.
type ruleAction struct{ name, authorize, peer string }

func ruleActions() []ruleAction {
	const in, out = "AuthorizeSecurityGroup", "AuthorizeSecurityGroupEgress"
	return []ruleAction{
		{in, in, "Source"}, {out, out, "Dest"}, {"RevokeSecurityGroup", in, "Source"}, {"RevokeSecurityGroupEgress", out, "Dest"},
	}
}

// params are a rule with changes.
func (a ruleAction) params(changes ...string) []string {
	return append([]string{"SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", a.peer + "CidrIp", "10.0.0.0/8"}, changes...)
}

// list are n rules, all the same.
func (a ruleAction) list(n int) []string {
	params := []string{"SecurityGroupId", "sg-1"}
	for i := range n {
		prefix := fmt.Sprintf("Permissions.%d.", i+1)
		params = append(params, prefix+"IpProtocol", "all", prefix+a.peer+"CidrIp", "10.0.0.0/8")
	}
	return params
}

// refusals are what every action on rules refuses, whatever its direction.
func (a ruleAction) refusals() []refusal {
	rule, peer := a.params, a.peer
	return []refusal{
		{"group", nil, a.name, rule("SecurityGroupId", "sg-none"), "InvalidSecurityGroupId.NotFound"},
		{"no protocol", nil, a.name, rule("IpProtocol", ""), "MissingParameter"},
		{"protocol", nil, a.name, rule("IpProtocol", "sctp"), "InvalidIpProtocol.ValueNotSupported"},
		{"no ports", nil, a.name, rule("PortRange", ""), "MissingParameter"},
		{"ports", nil, a.name, rule("PortRange", "90/80"), "InvalidPortRange.Malformed"},
		{"ports of all", nil, a.name, rule("IpProtocol", "all"), "InvalidPortRange.Malformed"},
		{"source ports", nil, a.name, rule("SourcePortRange", "x"), "InvalidSourcePortRange.Malformed"},
		{"policy", nil, a.name, rule("Policy", "maybe"), "InvalidPolicy.Malformed"},
		{"priority", nil, a.name, rule("Priority", "101"), "InvalidPriority.ValueNotSupported"},
		{"priority in letters", nil, a.name, rule("Priority", "high"), "InvalidPriority.Malformed"},
		{"network card", nil, a.name, rule("NicType", "x"), "InvalidNicType.ValueNotSupported"},
		{"description", nil, a.name, rule("Description", "http://x"), "InvalidSecurityGroupDiscription.Malformed"},
		{
			"source", nil, a.name, rule("SourceCidrIp", "10.0.0.0/40"),
			map[string]string{"Source": "InvalidSourceCidrIp.Malformed", "Dest": "InvalidParam.SourceCidrIp"}[peer],
		},
		{"destination", nil, a.name, rule("DestCidrIp", "2408::/32"), "InvalidDestCidrIp.Malformed"},
		{"IPv6 source", nil, a.name, rule("Ipv6SourceCidrIp", "10.0.0.0/8"), "InvalidParam.Ipv6SourceCidrIp"},
		{"IPv6 destination", nil, a.name, rule("Ipv6DestCidrIp", "x"), "InvalidParam.Ipv6DestCidrIp"},
		{
			"ICMP of IPv6", nil, a.name, rule("IpProtocol", "icmp", "PortRange", "", "Ipv6SourceCidrIp", "2408::/32"),
			"InvalidParam.Ipv4ProtocolConflictWithIpv6Address",
		},
		{
			"ICMPv6 of IPv4", nil, a.name, rule("IpProtocol", "icmpv6", "PortRange", ""),
			"InvalidParam.Ipv6ProtocolConflictWithIpv4Address",
		},
		{"no other side", nil, a.name, rule(peer+"CidrIp", ""), "MissingParameter." + peer},
		{"group on the other side", nil, a.name, rule(peer+"GroupId", "sg-none"), "Invalid" + peer + "GroupId.NotFound"},
		{"group of another account", nil, a.name, rule(peer+"GroupId", "sg-2", peer+"GroupOwnerId", "1000000000000002"),
			"Invalid" + peer + "GroupId.NotFound"},
		{"group of an account by its name", nil, a.name, rule(peer+"GroupId", "sg-2", peer+"GroupOwnerAccount", "other@example.com"),
			"Invalid" + peer + "GroupId.NotFound"},
		{"prefix list", nil, a.name, rule(peer+"PrefixListId", "pl-1"), "InvalidPrefixListId.NotFound"},
		{"token", func(c *apitest.Caller) {
			c.Must(a.authorize, rule()...)
			c.Must(a.name, rule("ClientToken", "t")...)
		}, a.name, rule("ClientToken", "t", "Priority", "2"), "IdempotentParameterMismatch"},
	}
}

// Adding and removing rules, in or out, refuse the same things.
func TestSecurityRuleRefusals(t *testing.T) {
	t.Parallel()
	var tests []refusal
	for _, a := range ruleActions() {
		rule, peer := a.params, a.peer
		tests = append(append(tests, a.refusals()...),
			refusal{"too many", nil, a.name, a.list(101), "InvalidParam.Permissions"},
			refusal{"twice", nil, a.name, a.list(2), "InvalidParam.DuplicatePermissions"},
		)
		if a.name == a.authorize {
			tests = append(tests,
				refusal{"quota", func(c *apitest.Caller) { c.Settings.Quotas.SecurityRules = 0 }, a.name, rule(), "AuthorizationLimitExceed"},
				refusal{"a group, for an advanced one", func(c *apitest.Caller) { c.Cloud.SecurityGroups["sg-1"].Type = "enterprise" }, a.name,
					rule(peer+"GroupId", "sg-2"), "InvalidGroupParameter.OperationDenied"})
			continue
		}
		byID := func(ids ...string) []string {
			params := []string{"SecurityGroupId", "sg-1"}
			for i, id := range ids {
				params = append(params, fmt.Sprintf("SecurityGroupRuleId.%d", i+1), id)
			}
			return params
		}
		tests = append(tests,
			refusal{"unknown rule", nil, a.name, rule(), "InvalidSecurityGroupRule.RuleNotExist"},
			refusal{"unknown id", nil, a.name, byID("sgr-none"), "InvalidSecurityGroupRuleId.NotFound"},
			refusal{"id of the other way", func(c *apitest.Caller) {
				c.Must("AuthorizeSecurityGroup", ruleActions()[0].params()...)
				c.Must("AuthorizeSecurityGroupEgress", ruleActions()[1].params()...)
				for i := range c.Cloud.SecurityGroups["sg-1"].Rules {
					r := &c.Cloud.SecurityGroups["sg-1"].Rules[i]
					r.ID = "sgr-" + r.Direction
				}
			}, a.name, byID("sgr-ingress", "sgr-egress"), "InvalidSecurityGroupRuleId.NotFound"},
			refusal{"id twice", func(c *apitest.Caller) {
				c.Must(a.authorize, rule()...)
				c.Cloud.SecurityGroups["sg-1"].Rules[0].ID = "sgr-1"
			}, a.name, byID("sgr-1", "sgr-1"), "InvalidParam.SecurityGroupRuleIdRepeated"},
			refusal{"one of two unknown", func(c *apitest.Caller) { c.Must(a.authorize, a.list(1)...) }, a.name,
				append(slices.Clone(a.list(1)), "Permissions.2.IpProtocol", "gre", "Permissions.2."+peer+"CidrIp", "10.0.0.1"),
				"InvalidSecurityGroupRule.RuleNotExist"},
		)
	}
	testRefusals(t, append(tests,
		refusal{"unknown group", nil, "DescribeSecurityGroupAttribute", []string{"SecurityGroupId", "sg-none"},
			"InvalidSecurityGroupId.NotFound"},
		refusal{"token", nil, "DescribeSecurityGroupAttribute", []string{"SecurityGroupId", "sg-1", "NextToken", "x"}, "InvalidParamter"},
		refusal{"no region", nil, "DescribeSecurityGroupAttribute", []string{"SecurityGroupId", "sg-1", "RegionId", ""},
			"MissingParameter.RegionId"},
	))
}
