package vpc

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// creationTime is shown for resources whose real one the state doesn't keep.
const creationTime = "2024-01-01T00:00:00Z"

func networkActions() []api.Action {
	return []api.Action{
		api.Read("DescribeVpcs", describeVpcs, tagFilterCodes("InvalidVpcIdNumber.NotSupported"),
			append(listing.Params(maxPage), region(), api.Optional("VpcId"), api.Optional("VpcName"), tags.Param())...),
		api.Read("DescribeVpcAttribute", describeVpcAttribute, api.Words("InvalidVpcId.NotFound"), region(),
			api.Required("VpcId")),
	}
}

// vpcView is what both descriptions of a VPC have.
type vpcView struct {
	VpcID               string         `json:"VpcId"`
	VpcName             string         `json:"VpcName"`
	Status              string         `json:"Status"`
	CreationTime        string         `json:"CreationTime"`
	RegionID            string         `json:"RegionId"`
	OwnerID             int64          `json:"OwnerId"`
	CidrBlock           string         `json:"CidrBlock"`
	IPv6CidrBlock       string         `json:"Ipv6CidrBlock"`
	EnabledIPv6         bool           `json:"EnabledIpv6"`
	VRouterID           string         `json:"VRouterId"`
	Description         string         `json:"Description"`
	ResourceGroupID     string         `json:"ResourceGroupId"`
	IsDefault           bool           `json:"IsDefault"`
	VSwitchIDs          vswitchIDs     `json:"VSwitchIds"`
	SecondaryCidrBlocks secondaryCidrs `json:"SecondaryCidrBlocks"`
	UserCidrs           userCidrs      `json:"UserCidrs"`
	IPv6CidrBlocks      ipv6Cidrs      `json:"Ipv6CidrBlocks"`
	Tags                tags.ShortList `json:"Tags"`
}

type vswitchIDs struct {
	VSwitchID []string `json:"VSwitchId"`
}

type secondaryCidrs struct {
	SecondaryCidrBlock []string `json:"SecondaryCidrBlock"`
}

type userCidrs struct {
	UserCidr []string `json:"UserCidr"`
}

type ipv6Cidrs struct {
	IPv6CidrBlock []ipv6Cidr `json:"Ipv6CidrBlock"`
}

type ipv6Cidr struct {
	IPv6Isp       string `json:"Ipv6Isp"`
	IPv6CidrBlock string `json:"Ipv6CidrBlock"`
}

// listedVpc has what only DescribeVpcs shows.
type listedVpc struct {
	vpcView
	CenStatus      string         `json:"CenStatus"`
	NatGatewayIDs  natGatewayIDs  `json:"NatGatewayIds"`
	RouterTableIDs routerTableIDs `json:"RouterTableIds"`
}

// The inner names of these two lists are as the cloud has them.
type natGatewayIDs struct {
	NatGatewayIDs []string `json:"NatGatewayIds"`
}

type routerTableIDs struct {
	RouterTableIDs []string `json:"RouterTableIds"`
}

func newVpcView(c *api.Context, v *state.Vpc) vpcView {
	owner, _ := strconv.ParseInt(c.Account, 10, 64) // 0 if the account is no number
	view := vpcView{
		VpcID: v.ID, VpcName: v.Name, Status: status(v.PendingUntil), CreationTime: creationTime, RegionID: c.Region, OwnerID: owner,
		CidrBlock: v.CidrBlock, EnabledIPv6: len(v.Ipv6Cidrs) > 0, VRouterID: "vrt-" + state.Suffix(v.ID),
		Description:         v.Description,
		VSwitchIDs:          vswitchIDs{VSwitchID: []string{}},
		SecondaryCidrBlocks: secondaryCidrs{SecondaryCidrBlock: append([]string{}, v.SecondaryCidrs...)},
		UserCidrs:           userCidrs{UserCidr: []string{}},
		IPv6CidrBlocks:      ipv6Cidrs{IPv6CidrBlock: []ipv6Cidr{}},
		Tags:                tags.Shorts(v.Tags),
	}
	for _, id := range slices.Sorted(maps.Keys(c.State.VSwitches)) {
		if c.State.VSwitches[id].VpcID == v.ID {
			view.VSwitchIDs.VSwitchID = append(view.VSwitchIDs.VSwitchID, id)
		}
	}
	for _, cidr := range v.Ipv6Cidrs {
		view.IPv6CidrBlock = cmp.Or(view.IPv6CidrBlock, cidr)
		view.IPv6CidrBlocks.IPv6CidrBlock = append(view.IPv6CidrBlocks.IPv6CidrBlock, ipv6Cidr{IPv6Isp: "BGP", IPv6CidrBlock: cidr})
	}
	return view
}

type describedVpcs struct {
	listing.Page
	Vpcs struct {
		Vpc []listedVpc `json:"Vpc"`
	} `json:"Vpcs"`
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
	var matching []*state.Vpc
	for _, id := range slices.Sorted(maps.Keys(c.State.Vpcs)) {
		v := c.State.Vpcs[id]
		if listing.Among(ids, id) && listing.Match(c.Get("VpcName"), v.Name) && filter.Match(v.Tags) {
			matching = append(matching, v)
		}
	}
	var out describedVpcs
	matching, out.Page = listing.Numbered(c, matching)
	out.Vpcs.Vpc = make([]listedVpc, 0, len(matching))
	for _, v := range matching {
		view := listedVpc{
			vpcView: newVpcView(c, v), CenStatus: "Detached",
			NatGatewayIDs: natGatewayIDs{[]string{}}, RouterTableIDs: routerTableIDs{[]string{}},
		}
		for _, table := range tablesOf(c.State, v.ID) {
			view.RouterTableIDs.RouterTableIDs = append(view.RouterTableIDs.RouterTableIDs, table.ID)
		}
		out.Vpcs.Vpc = append(out.Vpcs.Vpc, view)
	}
	return out, nil
}

// describedVpc has what only DescribeVpcAttribute shows.
type describedVpc struct {
	vpcView
	ClassicLinkEnabled bool              `json:"ClassicLinkEnabled"`
	AssociatedCens     map[string][]any  `json:"AssociatedCens"`
	CloudResources     cloudResourceList `json:"CloudResources"`
}

type cloudResourceList struct {
	CloudResourceSetType []cloudResource `json:"CloudResourceSetType"`
}

type cloudResource struct {
	ResourceType  string `json:"ResourceType"`
	ResourceCount int    `json:"ResourceCount"`
}

func describeVpcAttribute(c *api.Context) (any, *api.Error) {
	v := c.State.Vpcs[c.Get("VpcId")]
	if v == nil {
		return nil, vpcNotFound()
	}
	view := newVpcView(c, v)
	return describedVpc{
		vpcView: view, AssociatedCens: map[string][]any{"AssociatedCen": {}},
		CloudResources: cloudResourceList{CloudResourceSetType: []cloudResource{
			{ResourceType: "VRouter", ResourceCount: 1},
			{ResourceType: "VSwitch", ResourceCount: len(view.VSwitchIDs.VSwitchID)},
			{ResourceType: "RouteTable", ResourceCount: len(tablesOf(c.State, v.ID))},
		}},
	}, nil
}
