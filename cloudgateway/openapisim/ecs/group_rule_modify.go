package ecs

import (
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func modifyRuleActions() []api.Action {
	var actions []api.Action
	for name, d := range map[string]direction{"ModifySecurityGroupRule": ingress(), "ModifySecurityGroupEgressRule": egress()} {
		actions = append(actions, api.Write(name, func(c *api.Context) (any, *api.Error) { return nil, once(c, name, d, modifyRule) },
			append(ruleCodes(d),
				"InvalidSecurityGroupRuleId.NotFound", "InvalidSecurityGroupRule.RuleNotExist", "InvalidSecurityGroupRule.RuleExist"),
			append(ruleParams(d), region(), api.Required("SecurityGroupId"), api.Optional("SecurityGroupRuleId"),
				api.Optional("ClientToken"))...))
	}
	slices.SortFunc(actions, func(a, b api.Action) int { return strings.Compare(a.Name, b.Name) })
	return actions
}

// modifyRule changes what the call names of the rule with an id. Without an id the parameters are the rule, of which only the
// description can be changed.
func modifyRule(c *api.Context, g *state.SecurityGroup, d direction) *api.Error {
	id := c.Get("SecurityGroupRuleId")
	if id == "" {
		return describeRule(c, g, d)
	}
	at := slices.IndexFunc(g.Rules, func(r state.SecurityRule) bool { return r.ID == id && r.Direction == d.name })
	if at < 0 {
		return api.NotFound("InvalidSecurityGroupRuleId.NotFound", "The specified SecurityGroupRuleId %s does not exist.", id)
	}
	changed, err := newRule(c, g, d, changedMembers(c, g.Rules[at], d))
	if err != nil {
		return err
	}
	for n, other := range g.Rules {
		if n != at && sameRule(changed, other) {
			return api.BadRequest("InvalidSecurityGroupRule.RuleExist", "The specified rule already exists.")
		}
	}
	changed.ID, changed.Created = g.Rules[at].ID, g.Rules[at].Created
	g.Rules = slices.Clone(g.Rules)
	g.Rules[at] = changed
	return nil
}

func describeRule(c *api.Context, g *state.SecurityGroup, d direction) *api.Error {
	wanted, err := newRule(c, g, d, givenMembers(c, d))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(g.Rules, func(r state.SecurityRule) bool { return sameRule(wanted, r) })
	if at < 0 {
		return api.BadRequest("InvalidSecurityGroupRule.RuleNotExist", "The specified rule does not exist.")
	}
	g.Rules = slices.Clone(g.Rules)
	g.Rules[at].Description = wanted.Description
	return nil
}

// changedMembers are the members of a rule as [newRule] reads them, with those that the call names. A rule has one other side:
// a call that names a new one replaces the old one.
func changedMembers(c *api.Context, r state.SecurityRule, d direction) map[string]string {
	members := map[string]string{
		"ipprotocol": r.IPProtocol, "portrange": r.PortRange, "sourceportrange": r.SourcePortRange, "policy": r.Policy, "priority": r.Priority,
		"nictype": r.NicType, "description": r.Description, "sourcecidrip": r.SourceCidr, "destcidrip": r.DestCidr,
		"ipv6sourcecidrip": r.Ipv6SourceCidr, "ipv6destcidrip": r.Ipv6DestCidr, d.peer + "groupid": r.GroupID, d.peer +
			"prefixlistid": r.PrefixListID,
	}
	given := givenMembers(c, d)
	sides := []string{d.peer + "cidrip", "ipv6" + d.peer + "cidrip", d.peer + "groupid", d.peer + "prefixlistid"}
	if slices.ContainsFunc(sides, func(side string) bool { return given[side] != "" }) {
		for _, side := range sides {
			delete(members, side)
		}
	}
	for name, value := range given {
		if value != "" {
			members[name] = value
		}
	}
	return members
}
