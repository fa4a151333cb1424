package vpc

import (
	"cmp"
	"strconv"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// creationTime shows when something was made. A seed doesn't have to say.
func creationTime(created time.Time) string {
	if created.IsZero() {
		return "2024-01-01T00:00:00Z"
	}
	return created.UTC().Format(time.RFC3339)
}

// resourceGroup shows a resource group: nothing is in none.
func resourceGroup(id string) string { return cmp.Or(id, state.DefaultResourceGroup) }

// groupOfVpc is the resource group of a VPC, which what is in it shares.
func groupOfVpc(c *api.Context, id string) string {
	if v := c.State.Vpcs[id]; v != nil {
		return resourceGroup(v.ResourceGroupID)
	}
	return state.DefaultResourceGroup
}

func networkActions() []api.Action {
	return []api.Action{
		api.Read("DescribeVpcs", describeVpcs, tagFilterCodes("InvalidVpcIdNumber.NotSupported", dryRun),
			append(listing.Params(maxPage), region(), api.Optional("VpcId"), api.Optional("VpcName"),
				api.Optional("ResourceGroupId"), api.Flag("IsDefault"), api.Flag("EnableIpv6"), api.Optional("VpcOwnerId"),
				api.Flag("DryRun"), api.Optional("DhcpOptionsSetId"), tags.Param())...),
		api.Read("DescribeVpcAttribute", api.On(vpcByID, describeVpcAttribute), []string{"InvalidVpcId.NotFound", dryRun}, region(),
			api.Required("VpcId"), api.Flag("IsDefault"), api.Flag("DryRun")),
	}
}

func newVpcView(c *api.Context, v *state.Vpc) api.Object {
	ipv6, dnsHostname, dhcpSet, dhcp := "", "DISABLED", "", ""
	if v.DNSHostname {
		dnsHostname = "ENABLED"
	}
	if len(v.Ipv6Cidrs) > 0 {
		ipv6 = v.Ipv6Cidrs[0]
	}
	if s, a := dhcpOf(c.State, v.ID); s != nil {
		dhcpSet, dhcp = s.ID, dhcpStatus(a)
	}
	return api.Object{
		"VpcId", v.ID, "VpcName", v.Name, "Status", status(v.PendingUntil), "CreationTime", creationTime(v.Created),
		"RegionId", c.Region, "OwnerId", owner(c), "CidrBlock", v.CidrBlock, "Ipv6CidrBlock", ipv6,
		"EnabledIpv6", len(v.Ipv6Cidrs) > 0, "VRouterId", "vrt-" + state.Suffix(v.ID), "Description", v.Description,
		"ResourceGroupId", resourceGroup(v.ResourceGroupID), "IsDefault", v.Default,
		"VSwitchIds", vswitchIDs(c, func(vsw *state.VSwitch) bool { return vsw.VpcID == v.ID }),
		"SecondaryCidrBlocks", api.Object{"SecondaryCidrBlock", v.SecondaryCidrs}, "UserCidrs", api.Object{"UserCidr",
			v.UserCidrs}, "DnsHostnameStatus", dnsHostname, "DhcpOptionsSetId", dhcpSet, "DhcpOptionsSetStatus", dhcp,
		"Ipv6CidrBlocks", api.Object{"Ipv6CidrBlock", api.Objects(v.Ipv6Cidrs, func(cidr string) api.Object {
			return api.Object{"Ipv6Isp", cmp.Or(v.Ipv6Isps[cidr], line), "Ipv6CidrBlock", cidr}
		})},
		"Tags", tags.Shorts(v.Tags),
	}
}

// owner is the account as a number; 0 if it is none.
func owner(c *api.Context) int64 {
	id, _ := strconv.ParseInt(c.Account, 10, 64)
	return id
}

// vswitchIDs shows the ids of the vSwitches that match.
func vswitchIDs(c *api.Context, match func(*state.VSwitch) bool) api.Object {
	var ids []string
	for _, vsw := range listing.Find(c.State.VSwitches, match) {
		ids = append(ids, vsw.ID)
	}
	return api.Object{"VSwitchId", ids}
}

func describeVpcs(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	ids := listing.CommaList(c.Get("VpcId"))
	if len(ids) > 20 {
		return nil, api.BadRequest("InvalidVpcIdNumber.NotSupported", "The number of VpcIds exceeds 20.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	matching := listing.Find(c.State.Vpcs, func(v *state.Vpc) bool {
		return listing.Among(ids, v.ID) && listing.Match(c.Get("VpcName"), v.Name) &&
			listing.Match(c.Get("ResourceGroupId"), resourceGroup(v.ResourceGroupID)) && filter.Match(v.Tags) &&
			c.MatchFlag("IsDefault", v.Default) && c.MatchFlag("EnableIpv6", len(v.Ipv6Cidrs) > 0) &&
			hasDhcp(c, v.ID) && listing.Match(c.Get("VpcOwnerId"), strconv.FormatInt(owner(c), 10))
	})
	return listing.Answer(c, matching, "Vpcs", "Vpc", func(v *state.Vpc) api.Object {
		var tables []string
		for _, table := range tablesOf(c.State, v.ID) {
			tables = append(tables, table.ID)
		}
		// The inner names of the last two are as the cloud has them.
		return append(newVpcView(c, v), "CenStatus", "Detached", "NatGatewayIds", api.Object{"NatGatewayIds", natIDs(c.State, v.ID)},
			"RouterTableIds", api.Object{"RouterTableIds", tables})
	})
}

func natIDs(c *state.Cloud, vpcID string) []string {
	var ids []string
	for _, n := range natsOf(c, vpcID) {
		ids = append(ids, n.ID)
	}
	return ids
}

func describeVpcAttribute(c *api.Context, v *state.Vpc) (any, *api.Error) {
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	resource := func(kind string, count int) api.Object {
		return api.Object{"ResourceType", kind, "ResourceCount", count}
	}
	return append(newVpcView(c, v), "ClassicLinkEnabled", v.ClassicLink, "AssociatedCens", api.Object{"AssociatedCen", []string{}},
		"CloudResources", api.Object{"CloudResourceSetType", []api.Object{
			resource("VRouter", 1), resource("VSwitch", len(vswitchesOf(c.State, v.ID))), resource("RouteTable", len(tablesOf(c.State, v.ID))),
			resource("NatGateway", len(natsOf(c.State, v.ID))),
		}}), nil
}
