package vpc

import (
	"net/netip"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func vswitchActions() []api.Action {
	return []api.Action{
		api.Read("DescribeVSwitches", describeVSwitches, tagFilterCodes("InvalidVSwitchIdNumber.NotSupported", dryRun),
			append(listing.Params(maxPage),
				api.Optional("RegionId"), api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("VSwitchName"),
				api.Optional("ZoneId"), api.Optional("RouteTableId"), api.Optional("ResourceGroupId"), api.Flag("IsDefault"),
				api.Flag("EnableIpv6"), api.Optional("VSwitchOwnerId"), api.Flag("DryRun"), tags.Param())...),
		api.Read("DescribeVSwitchAttributes", describeVSwitchAttributes, []string{dryRun}, api.Optional("RegionId"),
			api.Required("VSwitchId"), api.Flag("DryRun")),
	}
}

func newVSwitchView(c *api.Context, v *state.VSwitch) api.Object {
	table := c.State.RouteTables[v.RouteTableID]
	if table == nil {
		table = &state.RouteTable{}
	}
	return api.Object{
		"VSwitchId", v.ID, "VSwitchName", v.Name, "VpcId", v.VpcID, "ZoneId", v.ZoneID, "CidrBlock", v.CidrBlock,
		"Ipv6CidrBlock", v.Ipv6Cidr, "EnabledIpv6", v.Ipv6Cidr != "", "Status", status(v.PendingUntil),
		"CreationTime", creationTime(v.Created), "Description", v.Description, "ResourceGroupId", groupOfVpc(c, v.VpcID), "OwnerId", owner(c),
		"IsDefault", v.Default, "AvailableIpAddressCount", availableAddresses(c.State, v),
		"RouteTable", api.Object{"RouteTableId", table.ID, "RouteTableType", table.Type}, "Tags", tags.Shorts(v.Tags),
	}
}

// reservedAddresses of every vSwitch are kept by the cloud: the first one and the last three.
const reservedAddresses = 4

// availableAddresses leaves out addresses of another block: a network interface of a vSwitch may have those of pods.
func availableAddresses(c *state.Cloud, v *state.VSwitch) int64 {
	prefix, err := netip.ParsePrefix(v.CidrBlock)
	if err != nil || !prefix.Addr().Is4() {
		return 0
	}
	used := 0
	for ip := range subnet.Used(c, v) {
		if addr, err := netip.ParseAddr(ip); err == nil && subnet.Usable(prefix, addr) {
			used++
		}
	}
	return max(int64(1)<<(32-prefix.Bits())-reservedAddresses-int64(used), 0)
}

func describeVSwitches(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	ids := listing.CommaList(c.Get("VSwitchId"))
	if len(ids) > 20 {
		return nil, api.NotFound("InvalidVSwitchIdNumber.NotSupported", "The number of VSwitchIds exceeds 20.")
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	matching := listing.Find(c.State.VSwitches, func(v *state.VSwitch) bool {
		return listing.Among(ids, v.ID) && listing.Match(c.Get("VpcId"), v.VpcID) && listing.Match(c.Get("ZoneId"), v.ZoneID) &&
			listing.Match(c.Get("VSwitchName"), v.Name) && listing.Match(c.Get("RouteTableId"), v.RouteTableID) &&
			listing.Match(c.Get("ResourceGroupId"), groupOfVpc(c, v.VpcID)) && filter.Match(v.Tags) &&
			c.MatchFlag("IsDefault", v.Default) && c.MatchFlag("EnableIpv6", v.Ipv6Cidr != "") &&
			listing.Match(c.Get("VSwitchOwnerId"), strconv.FormatInt(owner(c), 10))
	})
	return listing.Answer(c, matching, "VSwitches", "VSwitch", func(v *state.VSwitch) api.Object { return newVSwitchView(c, v) })
}

// describeVSwitchAttributes answers with an empty VSwitchId for one that is not there. The documented code,
// InvalidVSwitchId.NotFound with status 400, can't be what the cloud answers: the Terraform provider waits for the end of a
// vSwitch until this call answers with status 404 or without an id, and takes every other error for a failure.
func describeVSwitchAttributes(c *api.Context) (any, *api.Error) {
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	v := c.State.VSwitches[c.Get("VSwitchId")]
	if v == nil {
		gone := newVSwitchView(c, &state.VSwitch{})
		for name, value := range map[string]any{"CreationTime": "", "ResourceGroupId": "", "OwnerId": 0, "Status": ""} {
			gone.Set(name, value)
		}
		return gone, nil
	}
	return newVSwitchView(c, v), nil
}
