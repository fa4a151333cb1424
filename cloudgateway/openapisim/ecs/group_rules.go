package ecs

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// ruleParams describe one rule without Permissions.N.
func ruleParams(d direction) []api.Param {
	var params []api.Param
	for _, name := range []string{
		"IpProtocol", "PortRange", "SourcePortRange", "Policy", "Priority", "NicType", "SourceCidrIp", "DestCidrIp", "Ipv6SourceCidrIp",
		"Ipv6DestCidrIp", d.codes + "GroupId", d.codes + "PrefixListId", "Description",
		d.codes + "GroupOwnerAccount", d.codes + "GroupOwnerId",
	} {
		params = append(params, api.Param{Name: name})
	}
	return params
}

// ruleCodes are what can be wrong with a rule.
func ruleCodes(d direction) []string {
	return []string{
		"InvalidSecurityGroupId.NotFound", "MissingParameter", "MissingParameter." + d.codes, "InvalidIpProtocol.ValueNotSupported",
		"InvalidPortRange.Malformed", "InvalidSourcePortRange.Malformed", "InvalidPolicy.Malformed", "InvalidPriority.Malformed",
		"InvalidPriority.ValueNotSupported", "InvalidSecurityGroupDiscription.Malformed",
		"InvalidParam.Ipv4ProtocolConflictWithIpv6Address", "InvalidParam.Ipv6ProtocolConflictWithIpv4Address",
		"InvalidNicType.ValueNotSupported", sourceCidrCode(d), "InvalidDestCidrIp.Malformed",
		"InvalidParam.Ipv6SourceCidrIp", "InvalidParam.Ipv6DestCidrIp", "Invalid" + d.codes + "GroupId.NotFound",
		"InvalidPrefixListId.NotFound", "IdempotentParameterMismatch",
	}
}

func ruleActions() []api.Action {
	id := api.Required("SecurityGroupId")
	actions := []api.Action{api.Read("DescribeSecurityGroupAttribute", api.On(groupByID, describeGroup),
		api.Words("InvalidSecurityGroupId.NotFound InvalidParamter"), groupRegion(),
		id, api.OneOf("Direction", "ingress", "egress", "all"), api.Optional("NicType"), api.Optional("NextToken"),
		api.Number("MaxResults", 1, maxRules))}
	for suffix, d := range map[string]direction{"": ingress(), "Egress": egress()} {
		common := append(ruleParams(d), region(), id, api.Optional("ClientToken"), api.Param{Name: "Permissions", Kind: api.Structs})
		revoking := append(slices.Clone(common), api.Param{Name: "SecurityGroupRuleId", Kind: api.Strings, Max: rulesPerCall})
		codes := ruleCodes(d)
		actions = append(actions,
			api.Write("AuthorizeSecurityGroup"+suffix, func(c *api.Context) (any, *api.Error) {
				return nil, once(c, "AuthorizeSecurityGroup"+suffix, d, authorize)
			},
				append(slices.Clone(codes), "InvalidParam.Permissions", "InvalidParam.DuplicatePermissions", "AuthorizationLimitExceed",
					"InvalidGroupParameter.OperationDenied"),
				common...),
			api.Write("RevokeSecurityGroup"+suffix,
				func(c *api.Context) (any, *api.Error) { return nil, once(c, "RevokeSecurityGroup"+suffix, d, revoke) },
				append(slices.Clone(codes), "InvalidParam.Permissions", "InvalidParam.DuplicatePermissions",
					"InvalidSecurityGroupRule.RuleNotExist", "InvalidSecurityGroupRuleId.NotFound", "InvalidParam.SecurityGroupRuleIdRepeated"),
				revoking...),
		)
	}
	slices.SortFunc(actions, func(a, b api.Action) int { return strings.Compare(a.Name, b.Name) })
	return actions
}

// change adds or removes rules.
type change func(*api.Context, *state.SecurityGroup, direction) *api.Error

// once changes a group, unless a call with the same token has done it.
func once(c *api.Context, action string, d direction, change change) *api.Error {
	operation := "ecs/" + action
	if id, err := clienttoken.Recall(c, operation); id != "" || err != nil {
		return err
	}
	g, err := groupByID(c)
	if err != nil {
		return err
	}
	if err := change(c, g, d); err != nil {
		return err
	}
	clienttoken.Remember(c, operation, g.ID)
	return nil
}

// authorize adds rules. Those that are there already are not added again, and that is no error.
func authorize(c *api.Context, g *state.SecurityGroup, d direction) *api.Error {
	rules, err := newRules(c, g, d)
	if err != nil {
		if err.Code == "MissingParameter" {
			err.Status = http.StatusForbidden // unlike everywhere else
		}
		return err
	}
	named := func(r state.SecurityRule) bool { return r.GroupID != "" }
	if groupType(g) == enterpriseGroup && slices.ContainsFunc(rules, named) {
		return forbidden("InvalidGroupParameter.OperationDenied", "The rules of an advanced security group can't name another group.")
	}
	rules = slices.DeleteFunc(rules, func(r state.SecurityRule) bool {
		return slices.ContainsFunc(g.Rules, func(old state.SecurityRule) bool { return sameRule(r, old) })
	})
	if quota := c.Settings.Quotas.SecurityRules; len(g.Rules)+len(rules) > quota {
		return forbidden("AuthorizationLimitExceed", "A security group can have %d rules.", quota)
	}
	for _, r := range rules {
		r.ID = c.NewID("sgr-bp1")
		g.Rules = append(g.Rules, r)
	}
	return nil
}

// revoke removes all named rules or none.
func revoke(c *api.Context, g *state.SecurityGroup, d direction) *api.Error {
	remaining := slices.Clone(g.Rules)
	remove := func(which func(state.SecurityRule) bool) bool {
		i := slices.IndexFunc(remaining, which)
		if i >= 0 {
			remaining = slices.Delete(remaining, i, i+1)
		}
		return i >= 0
	}
	ids := c.List("SecurityGroupRuleId")
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return api.BadRequest("InvalidParam.SecurityGroupRuleIdRepeated", "The SecurityGroupRuleId %s is given twice.", id)
		}
		if !remove(func(r state.SecurityRule) bool { return r.ID == id && r.Direction == d.name }) {
			return api.NotFound("InvalidSecurityGroupRuleId.NotFound", "The specified SecurityGroupRuleId %s does not exist.", id)
		}
	}
	if len(ids) == 0 {
		rules, err := newRules(c, g, d)
		if err != nil {
			return err
		}
		for _, wanted := range rules {
			if !remove(func(r state.SecurityRule) bool { return sameRule(wanted, r) }) {
				return api.BadRequest("InvalidSecurityGroupRule.RuleNotExist", "The specified rule does not exist.")
			}
		}
	}
	g.Rules = remaining
	return nil
}

func newPermission(r state.SecurityRule) api.Object {
	source, dest, from, to := r.GroupID, "", r.PrefixListID, ""
	if r.Direction == egress().name {
		source, dest, from, to = dest, source, to, from
	}
	return api.Object{
		"SecurityGroupRuleId", r.ID, "Direction", r.Direction, "IpProtocol", r.IPProtocol, "PortRange", r.PortRange,
		"SourcePortRange", r.SourcePortRange, "Policy", r.Policy, "Priority", r.Priority, "NicType", r.NicType,
		"SourceCidrIp", r.SourceCidr, "DestCidrIp", r.DestCidr, "Ipv6SourceCidrIp", r.Ipv6SourceCidr,
		"Ipv6DestCidrIp", r.Ipv6DestCidr, "SourceGroupId", source, "DestGroupId", dest, "SourcePrefixListId", from,
		"DestPrefixListId", to, "Description", r.Description,
		"CreateTime", r.Created.UTC().Format(time.RFC3339),
	}
}

// innerAccess says whether the members of a group reach each other: those of enterprise groups don't.
func innerAccess(g *state.SecurityGroup) string {
	if groupType(g) == enterpriseGroup {
		return "Drop"
	}
	return cmp.Or(g.InnerAccess, "Accept")
}

// maxRules is the greatest page of rules, and the one of calls that ask for none.
const maxRules = 1000

func describeGroup(c *api.Context, g *state.SecurityGroup) (any, *api.Error) {
	kind := c.Get("NicType")
	if !nicType(kind) { // Terraform's provider sends "<nil>" for rules that name none, and finds them
		kind = ""
	}
	way := strings.TrimPrefix(cmp.Or(c.Get("Direction"), "all"), "all")
	rules := slices.DeleteFunc(slices.Clone(g.Rules), func(r state.SecurityRule) bool {
		return !listing.Match(way, r.Direction) || !listing.Match(kind, r.NicType)
	})
	slices.SortFunc(rules, func(a, b state.SecurityRule) int { return strings.Compare(a.ID, b.ID) })
	page, next, ok := listing.After(rules, func(r state.SecurityRule) string { return r.ID }, c.Get("NextToken"),
		c.Int("MaxResults", maxRules))
	if !ok {
		return nil, api.BadRequest("InvalidParamter", "The specified NextToken is not valid.")
	}
	return api.Object{
		"SecurityGroupId", g.ID, "SecurityGroupName", g.Name, "Description", g.Description, "VpcId", g.VpcID,
		"RegionId", c.Region, "InnerAccessPolicy", innerAccess(g), "NextToken", next,
		"Permissions", api.Object{"Permission", api.Objects(page, newPermission)},
	}, nil
}
