package vpc

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func vswitchActions() []api.Action {
	return []api.Action{
		api.Read("DescribeVSwitches", describeVSwitches, tagFilterCodes("InvalidVSwitchIdNumber.NotSupported"),
			append(listing.Params(maxPage),
				api.Optional("RegionId"), api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("VSwitchName"),
				api.Optional("ZoneId"), api.Optional("RouteTableId"), tags.Param())...),
		api.Read("DescribeVSwitchAttributes", describeVSwitchAttributes, nil, api.Optional("RegionId"),
			api.Required("VSwitchId")),
	}
}

type vswitchView struct {
	VSwitchID               string         `json:"VSwitchId"`
	VSwitchName             string         `json:"VSwitchName"`
	VpcID                   string         `json:"VpcId"`
	ZoneID                  string         `json:"ZoneId"`
	CidrBlock               string         `json:"CidrBlock"`
	IPv6CidrBlock           string         `json:"Ipv6CidrBlock"`
	EnabledIPv6             bool           `json:"EnabledIpv6"`
	Status                  string         `json:"Status"`
	CreationTime            string         `json:"CreationTime"`
	Description             string         `json:"Description"`
	ResourceGroupID         string         `json:"ResourceGroupId"`
	OwnerID                 int64          `json:"OwnerId"`
	IsDefault               bool           `json:"IsDefault"`
	AvailableIPAddressCount int64          `json:"AvailableIpAddressCount"`
	RouteTable              boundTable     `json:"RouteTable"`
	Tags                    tags.ShortList `json:"Tags"`
}

type boundTable struct {
	RouteTableID   string `json:"RouteTableId"`
	RouteTableType string `json:"RouteTableType"`
}

func newVSwitchView(c *api.Context, v *state.VSwitch) vswitchView {
	owner, _ := strconv.ParseInt(c.Account, 10, 64) // 0 if the account is no number
	view := vswitchView{
		VSwitchID: v.ID, VSwitchName: v.Name, VpcID: v.VpcID, ZoneID: v.ZoneID, CidrBlock: v.CidrBlock, Status: status(v.PendingUntil),
		IPv6CidrBlock: v.Ipv6Cidr, EnabledIPv6: v.Ipv6Cidr != "", Description: v.Description,
		CreationTime: creationTime, OwnerID: owner, AvailableIPAddressCount: availableAddresses(c.State, v), Tags: tags.Shorts(v.Tags),
	}
	if table := c.State.RouteTables[v.RouteTableID]; table != nil {
		view.RouteTable = boundTable{RouteTableID: table.ID, RouteTableType: table.Type}
	}
	return view
}

// reservedAddresses of every vSwitch are kept by the cloud: the first one and the last three.
const reservedAddresses = 4

func availableAddresses(c *state.Cloud, v *state.VSwitch) int64 {
	prefix, err := netip.ParsePrefix(v.CidrBlock)
	if err != nil || !prefix.Addr().Is4() {
		return 0
	}
	used := 0
	for ip := range subnet.Used(c, v) {
		if addr, err := netip.ParseAddr(ip); err == nil && addr.Is4() {
			used++
		}
	}
	return max(int64(1)<<(32-prefix.Bits())-reservedAddresses-int64(used), 0)
}

type describedVSwitches struct {
	listing.Page
	VSwitches struct {
		VSwitch []vswitchView `json:"VSwitch"`
	} `json:"VSwitches"`
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
	var matching []*state.VSwitch
	for _, id := range slices.Sorted(maps.Keys(c.State.VSwitches)) {
		v := c.State.VSwitches[id]
		if listing.Among(ids, id) && listing.Match(c.Get("VpcId"), v.VpcID) && listing.Match(c.Get("ZoneId"), v.ZoneID) &&
			listing.Match(c.Get("VSwitchName"), v.Name) && listing.Match(c.Get("RouteTableId"), v.RouteTableID) && filter.Match(v.Tags) {
			matching = append(matching, v)
		}
	}
	var out describedVSwitches
	matching, out.Page = listing.Numbered(c, matching)
	out.VSwitches.VSwitch = make([]vswitchView, 0, len(matching))
	for _, v := range matching {
		out.VSwitches.VSwitch = append(out.VSwitches.VSwitch, newVSwitchView(c, v))
	}
	return out, nil
}

// describeVSwitchAttributes answers with an empty VSwitchId for one that is not there. The documented code,
// InvalidVSwitchId.NotFound with status 400, can't be what the cloud answers: the Terraform provider waits for the end of a
// vSwitch until this call answers with status 404 or without an id, and takes every other error for a failure.
func describeVSwitchAttributes(c *api.Context) (any, *api.Error) {
	if v := c.State.VSwitches[c.Get("VSwitchId")]; v != nil {
		return newVSwitchView(c, v), nil
	}
	return vswitchView{Tags: tags.Shorts(nil)}, nil
}
