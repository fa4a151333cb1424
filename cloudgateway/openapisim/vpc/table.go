package vpc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The types of route tables and of route entries.
const (
	system = "System"
	custom = "Custom"
)

// routerTypes are those that filters accept; there are no border routers.
func routerTypes() []string { return []string{"VRouter", "VBR"} }

func tableActions() []api.Action {
	return []api.Action{api.Read("DescribeRouteTableList", describeRouteTableList, tagFilterCodes(), append(listing.Params(maxPage),
		region(), api.Optional("VpcId"), api.Optional("RouterId"), api.Param{Name: "RouterType", Enum: routerTypes()},
		api.Optional("RouteTableId"), api.Optional("RouteTableName"),
		api.OneOf("RouteTableType", system, custom), tags.Param())...)}
}

type tableView struct {
	RouteTableID           string         `json:"RouteTableId"`
	RouteTableName         string         `json:"RouteTableName"`
	RouteTableType         string         `json:"RouteTableType"`
	VpcID                  string         `json:"VpcId"`
	RouterID               string         `json:"RouterId"`
	RouterType             string         `json:"RouterType"`
	AssociateType          string         `json:"AssociateType"`
	Status                 string         `json:"Status"`
	CreationTime           string         `json:"CreationTime"`
	Description            string         `json:"Description"`
	ResourceGroupID        string         `json:"ResourceGroupId"`
	OwnerID                int64          `json:"OwnerId"`
	RoutePropagationEnable bool           `json:"RoutePropagationEnable"`
	VSwitchIDs             vswitchIDs     `json:"VSwitchIds"`
	GatewayIDs             gatewayIDs     `json:"GatewayIds"`
	Tags                   tags.ShortList `json:"Tags"`
}

type gatewayIDs struct {
	GatewayIDs []string `json:"GatewayIds"`
}

func newTableView(c *api.Context, t *state.RouteTable) tableView {
	owner, _ := strconv.ParseInt(c.Account, 10, 64) // 0 if the account is no number
	v := tableView{
		RouteTableID: t.ID, RouteTableName: t.Name, RouteTableType: t.Type, VpcID: t.VpcID, RouterID: "vrt-" + state.Suffix(t.VpcID),
		RouterType: "VRouter", AssociateType: "VSwitch", Status: status(t.PendingUntil), CreationTime: creationTime, OwnerID: owner,
		Description: t.Description, RoutePropagationEnable: true, VSwitchIDs: vswitchIDs{[]string{}}, GatewayIDs: gatewayIDs{[]string{}}, Tags: tags.Shorts(t.Tags),
	}
	for _, vsw := range c.State.VSwitches {
		if vsw.RouteTableID == t.ID {
			v.VSwitchIDs.VSwitchID = append(v.VSwitchIDs.VSwitchID, vsw.ID)
		}
	}
	slices.Sort(v.VSwitchIDs.VSwitchID)
	return v
}

// tablesOf returns the route tables of a VPC, the system table first. All VPCs are meant by "".
func tablesOf(c *state.Cloud, vpcID string) []*state.RouteTable {
	var tables []*state.RouteTable
	for _, t := range c.RouteTables {
		if listing.Match(vpcID, t.VpcID) {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b *state.RouteTable) int {
		return cmp.Or(strings.Compare(a.VpcID, b.VpcID), strings.Compare(b.Type, a.Type), strings.Compare(a.ID, b.ID))
	})
	return tables
}

type describedTables struct {
	listing.Page
	RouterTableList struct {
		RouterTableListType []tableView `json:"RouterTableListType"`
	} `json:"RouterTableList"`
}

func describeRouteTableList(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	var matching []tableView
	for _, t := range tablesOf(c.State, c.Get("VpcId")) {
		v := newTableView(c, t)
		if listing.Match(c.Get("RouteTableId"), t.ID) && listing.Match(c.Get("RouterId"), v.RouterID) &&
			listing.Match(c.Get("RouterType"), v.RouterType) &&
			listing.Match(c.Get("RouteTableName"), t.Name) && listing.Match(c.Get("RouteTableType"), t.Type) && filter.Match(t.Tags) {
			matching = append(matching, v)
		}
	}
	var out describedTables
	page, numbers := listing.Numbered(c, matching)
	out.Page = numbers
	out.RouterTableList.RouterTableListType = append([]tableView{}, page...)
	return out, nil
}
