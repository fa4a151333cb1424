package ecs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// The types of security groups.
const (
	normalGroup     = "normal"
	enterpriseGroup = "enterprise"
)

func groupActions() []api.Action {
	id := api.Required("SecurityGroupId")
	return []api.Action{
		api.Read("DescribeSecurityGroups", describeGroups,
			api.Words("InvalidParameter.SecurityGroupType InValidParameter.NextToken InvalidParameter DryRunOperation"),
			append(listing.Params(50),
				groupRegion(), api.Optional("SecurityGroupId"), api.Param{Name: "SecurityGroupIds", Kind: api.JSON},
				api.Optional("SecurityGroupName"), api.Optional("SecurityGroupType"), api.Optional("VpcId"), tags.Param(),
				api.Optional("ResourceGroupId"),
				api.OneOf("NetworkType", "vpc", "classic"), api.Flag("IsQueryEcsCount"), api.Flag("ServiceManaged"),
				api.Optional("NextToken"), api.Number("MaxResults", 1, maxResults),
				api.Flag("DryRun"))...),
		api.Write("CreateSecurityGroup", clienttoken.Once("ecs/CreateSecurityGroup", clienttoken.Show("SecurityGroupId"), createGroup),
			api.Words(`InvalidVpcId.NotFound IncorrectVpcStatus InvalidSecurityGroupName.Malformed
				InvalidSecurityGroupDiscription.Malformed InvalidParams.GroupType InvalidParams.VpcIdGroupType
				InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey QuotaExceed.SecurityGroup
				QuotaExceed.Tags IdempotentParameterMismatch`), region(), api.Optional("SecurityGroupName"),
			api.Optional("Description"), api.Optional("VpcId"), api.Optional("SecurityGroupType"),
			api.Optional("ClientToken"), tags.Uncounted(), api.Optional("ResourceGroupId")),
		api.Write("DeleteSecurityGroup", deleteGroup, api.Words("InvalidSecurityGroup.NotFound DependencyViolation"),
			groupRegion(), id),
		api.Write("ModifySecurityGroupAttribute", api.On(groupByID, modifyGroup),
			api.Words(`InvalidSecurityGroupId.NotFound InvalidSecurityGroupName.Malformed
				InvalidSecurityGroupDiscription.Malformed`), region(), id, api.Optional("SecurityGroupName"),
			api.Optional("Description")),
		api.Write("ModifySecurityGroupPolicy", api.On(groupByID, modifyGroupPolicy),
			api.Words("InvalidSecurityGroupId.NotFound InvalidOperation.InvalidSecurityGroupType"), region(), id,
			api.Param{Name: "InnerAccessPolicy", Required: true, Enum: []string{"Accept", "Drop"}}, api.Optional("ClientToken")),
	}
}

// modifyGroupPolicy says whether members of a group reach each other. In enterprise groups they never do without rules.
func modifyGroupPolicy(c *api.Context, g *state.SecurityGroup) (any, *api.Error) {
	if groupType(g) == enterpriseGroup {
		return nil, forbidden("InvalidOperation.InvalidSecurityGroupType", "The policy of an enterprise security group can't be changed.")
	}
	c.SetText("InnerAccessPolicy", &g.InnerAccess)
	return nil, nil
}

func describeGroups(c *api.Context) (any, *api.Error) {
	ids := listing.CommaList(c.Get("SecurityGroupId"))
	if c.Has("SecurityGroupIds") {
		var list []string
		if json.Unmarshal([]byte(c.Get("SecurityGroupIds")), &list) != nil || len(list) > c.Settings.IDsPerCall {
			return nil, api.Invalid("SecurityGroupIds")
		}
		ids = append(ids, list...)
	}
	if kind := c.Get("SecurityGroupType"); kind != "" && kind != normalGroup && kind != enterpriseGroup {
		return nil, api.BadRequest("InvalidParameter.SecurityGroupType", "The specified SecurityGroupType is not valid.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	filter := tags.FilterOf(c)
	matching := listing.Find(c.State.SecurityGroups, func(g *state.SecurityGroup) bool {
		network := "vpc"
		if g.VpcID == "" {
			network = "classic"
		}
		return listing.Among(ids, g.ID) && listing.Match(c.Get("SecurityGroupName"), g.Name) && listing.Match(c.Get("VpcId"), g.VpcID) &&
			listing.Match(c.Get("SecurityGroupType"), groupType(g)) && c.MatchFlag("ServiceManaged", false) && // no service has groups here
			listing.Match(c.Get("ResourceGroupId"), cmp.Or(g.ResourceGroupID, state.DefaultResourceGroup)) &&
			listing.Match(c.Get("NetworkType"), network) && filter.Match(g.Tags)
	})
	groups, answer, ok := page(c, matching, func(g *state.SecurityGroup) string { return g.ID }, c.Int("MaxResults", minResults))
	if !ok {
		return nil, api.BadRequest("InValidParameter.NextToken", "The specified NextToken is not valid.")
	}
	return append(answer, "RegionId", c.Region, "SecurityGroups", api.Object{
		"SecurityGroup", api.Objects(groups, func(g *state.SecurityGroup) api.Object { return newGroupView(c, g) }),
	}), nil
}

// instancesPerGroup is how many instances a group of the normal type can have.
const instancesPerGroup = 2000

func newGroupView(c *api.Context, g *state.SecurityGroup) api.Object {
	count, left := 0, 0
	if c.True("IsQueryEcsCount") {
		for _, i := range c.State.Instances {
			if slices.Contains(i.SecurityGroupIDs, g.ID) {
				count++
			}
		}
		left = instancesPerGroup - count
	}
	return api.Object{
		"SecurityGroupId", g.ID, "SecurityGroupName", g.Name, "SecurityGroupType", groupType(g),
		"Description", g.Description, "VpcId", g.VpcID, "CreationTime", groupCreated(g),
		"ResourceGroupId", cmp.Or(g.ResourceGroupID, state.DefaultResourceGroup), "EcsCount", count, "AvailableInstanceAmount",
		left, "RuleCount", len(g.Rules),
		"ServiceManaged", false, "Tags", tags.Longs(g.Tags),
	}
}

// groupCreated shows when a group was made. A seed doesn't have to say.
func groupCreated(g *state.SecurityGroup) string {
	if g.Created.IsZero() {
		return "2026-01-01T00:00:00Z"
	}
	return g.Created.UTC().Format(time.RFC3339)
}

func groupType(g *state.SecurityGroup) string { return cmp.Or(g.Type, normalGroup) }

func createGroup(c *api.Context) (string, *api.Error) {
	if err := checkGroupTexts(c); err != nil {
		return "", err
	}
	kind, network := cmp.Or(c.Get("SecurityGroupType"), normalGroup), c.State.Vpcs[c.Get("VpcId")]
	switch {
	case kind != normalGroup && kind != enterpriseGroup:
		return "", api.BadRequest("InvalidParams.GroupType", "The specified SecurityGroupType is not valid.")
	case kind == enterpriseGroup && !c.Has("VpcId"):
		return "", api.BadRequest("InvalidParams.VpcIdGroupType", "An enterprise security group must be in a VPC.")
	case c.Has("VpcId") && network == nil:
		return "", api.NotFound("InvalidVpcId.NotFound", "Specified VPC does not exist.")
	case network != nil && c.Now.Before(network.PendingUntil):
		return "", forbidden("IncorrectVpcStatus", "Current VPC status does not support this operation.")
	}
	g := &state.SecurityGroup{
		Name: c.Get("SecurityGroupName"), Description: c.Get("Description"), VpcID: c.Get("VpcId"), Type: kind, Created: c.Now,
		Tags: tags.FilterOf(c), ResourceGroupID: c.Get("ResourceGroupId"),
	}
	if err := tagCodes().CheckNew(g.Tags); err != nil {
		return "", err
	}
	if quota := c.Settings.Quotas.Tags; len(g.Tags) > quota {
		return "", forbidden("QuotaExceed.Tags", "A resource can have %d tags.", quota)
	}
	if quota := c.Settings.Quotas.SecurityGroups; len(c.State.SecurityGroups) >= quota {
		return "", forbidden("QuotaExceed.SecurityGroup", "Security group quota exceeded: a region can have %d.", quota)
	}
	if g.VpcID == "" { // new groups are no more of the classic network
		g.VpcID = vpc.EnsureDefault(c).ID
	}
	g.ID = c.NewID("sg-bp1")
	c.State.SecurityGroups[g.ID] = g
	return g.ID, nil
}

func checkGroupTexts(c *api.Context) *api.Error {
	name, description := c.Get("SecurityGroupName"), c.Get("Description")
	first, _ := utf8.DecodeRuneInString(name)
	size := utf8.RuneCountInString(name)
	switch {
	case name != "" && (size < 2 || size > 128 || !unicode.IsLetter(first) || link(name)):
		return api.BadRequest("InvalidSecurityGroupName.Malformed", "The specified SecurityGroupName is not valid.")
	case utf8.RuneCountInString(description) > 256 || link(description):
		return malformedDescription()
	}
	return nil
}

func link(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// malformedDescription is the error of groups and rules; the code is misspelt as in the cloud.
func malformedDescription() *api.Error {
	return api.BadRequest("InvalidSecurityGroupDiscription.Malformed", "The specified Description is not valid.")
}

func deleteGroup(c *api.Context) (any, *api.Error) {
	id := c.Get("SecurityGroupId")
	if c.State.SecurityGroups[id] == nil {
		return nil, api.NotFound("InvalidSecurityGroup.NotFound", "The specified SecurityGroup does not exist.")
	}
	if user := groupUser(c.State, id); user != "" {
		return nil, forbidden("DependencyViolation", "The security group is still used by %s.", user)
	}
	delete(c.State.SecurityGroups, id)
	return nil, nil
}

// groupUser is something that is in a group, or a group whose rules name it, or "".
func groupUser(c *state.Cloud, id string) string {
	for _, i := range c.Instances {
		if slices.Contains(i.SecurityGroupIDs, id) {
			return i.ID
		}
	}
	for _, eni := range c.Interfaces {
		if slices.Contains(eni.SecurityGroupIDs, id) {
			return eni.ID
		}
	}
	for _, lb := range c.NLBs {
		if slices.Contains(lb.SecurityGroupIDs, id) {
			return lb.ID
		}
	}
	for _, g := range c.SecurityGroups {
		if g.ID != id && slices.ContainsFunc(g.Rules, func(r state.SecurityRule) bool { return r.GroupID == id }) {
			return g.ID
		}
	}
	return ""
}

func modifyGroup(c *api.Context, g *state.SecurityGroup) (any, *api.Error) {
	if err := checkGroupTexts(c); err != nil {
		return nil, err
	}
	c.SetText("SecurityGroupName", &g.Name)
	c.SetText("Description", &g.Description)
	return nil, nil
}

func groupByID(c *api.Context) (*state.SecurityGroup, *api.Error) {
	return api.Named(c, c.State.SecurityGroups, "SecurityGroupId", groupNotFound)
}

func groupNotFound() *api.Error {
	return api.NotFound("InvalidSecurityGroupId.NotFound", "The specified SecurityGroupId does not exist.")
}
