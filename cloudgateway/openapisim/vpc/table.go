package vpc

import (
	"cmp"
	"slices"
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
func routerTypes() []string { return []string{virtualRouter, "VBR"} }

const virtualRouter = "VRouter"

func tableActions() []api.Action {
	return []api.Action{api.Read("DescribeRouteTableList", describeRouteTableList, tagFilterCodes(), append(listing.Params(maxPage),
		region(), api.Optional("VpcId"), api.Optional("RouterId"), api.Param{Name: "RouterType", Enum: routerTypes()},
		api.Optional("RouteTableId"), api.Optional("RouteTableName"), api.Optional("ResourceGroupId"),
		api.OneOf("RouteTableType", system, custom), tags.Param())...)}
}

func newTableView(c *api.Context, t *state.RouteTable) api.Object {
	return api.Object{
		"RouteTableId", t.ID, "RouteTableName", t.Name, "RouteTableType", t.Type, "VpcId", t.VpcID, "RouterId", routerOf(t),
		"RouterType", virtualRouter, "AssociateType", associateType(t), "Status", status(t.PendingUntil), "CreationTime",
		creationTime(t.Created),
		"Description", t.Description, "ResourceGroupId", tableGroup(c, t), "OwnerId", owner(c), "RoutePropagationEnable", !t.PropagationOff,
		"VSwitchIds", vswitchIDs(c, func(vsw *state.VSwitch) bool { return vsw.RouteTableID == t.ID }),
		"GatewayIds", api.Object{"GatewayIds", gatewaysOfTable(c.State, t.ID)}, "Tags", tags.Shorts(t.Tags),
	}
}

// The things that a table can be for.
const (
	ofVSwitches = "VSwitch"
	ofGateways  = "Gateway"
)

func associateType(t *state.RouteTable) string {
	if t.OfGateway {
		return ofGateways
	}
	return ofVSwitches
}

func tableGroup(c *api.Context, t *state.RouteTable) string {
	return cmp.Or(t.ResourceGroupID, groupOfVpc(c, t.VpcID))
}

func routerOf(t *state.RouteTable) string { return "vrt-" + state.Suffix(t.VpcID) }

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

func describeRouteTableList(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	matching := slices.DeleteFunc(tablesOf(c.State, c.Get("VpcId")), func(t *state.RouteTable) bool {
		return !matchTable(c, t) || !listing.Match(c.Get("RouteTableType"), t.Type) ||
			!listing.Match(c.Get("ResourceGroupId"), tableGroup(c, t)) || !filter.Match(t.Tags)
	})
	return listing.Answer(c, matching, "RouterTableList", "RouterTableListType",
		func(t *state.RouteTable) api.Object { return newTableView(c, t) })
}

// matchTable reports whether a table passes the filters that both lists of tables have.
func matchTable(c *api.Context, t *state.RouteTable) bool {
	return listing.Match(c.Get("RouteTableId"), t.ID) && listing.Match(c.Get("RouterId"), routerOf(t)) &&
		listing.Match(c.Get("RouterType"), virtualRouter) && listing.Match(c.Get("RouteTableName"), t.Name)
}
