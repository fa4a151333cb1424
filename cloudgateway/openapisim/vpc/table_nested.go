package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// nestedActions show tables together with what is in them.
func nestedActions() []api.Action {
	return []api.Action{
		api.Read("DescribeRouteTables", describeRouteTables, api.Words("InvalidVRouterId.NotFound"),
			append(listing.Params(maxPage),
				api.Optional("RegionId"), api.Optional("VRouterId"), api.Optional("RouterId"), api.Optional("RouteTableId"),
				api.Optional("RouteTableName"), api.Param{Name: "RouterType", Enum: routerTypes()},
				api.OneOf("Type", system, custom), api.Optional("ResourceGroupId"))...),
		api.Read("GetVpcRouteEntrySummary", getRouteEntrySummary,
			api.Words("InvalidVpcId.NotFound InvalidRouteTableId.NotFound"), region(), api.Required("VpcId"),
			api.Optional("RouteTableId"),
			api.Param{Name: "RouteEntryType", Required: true, Enum: []string{"All", system, custom, "BGP", "CEN", "ECR"}}),
	}
}

func describeRouteTables(c *api.Context) (any, *api.Error) {
	router := c.Get("VRouterId")
	matching := slices.DeleteFunc(tablesOf(c.State, ""), func(t *state.RouteTable) bool { return !listing.Match(router, routerOf(t)) })
	if router != "" && len(matching) == 0 {
		return nil, api.BadRequest("InvalidVRouterId.NotFound", "Specified virtual router does not exist.")
	}
	matching = slices.DeleteFunc(matching, func(t *state.RouteTable) bool {
		return !matchTable(c, t) || !listing.Match(c.Get("Type"), t.Type) || !listing.Match(c.Get("ResourceGroupId"), tableGroup(c, t))
	})
	return listing.Answer(c, matching, "RouteTables", "RouteTable", func(t *state.RouteTable) api.Object {
		return api.Object{
			"RouteTableId", t.ID, "RouteTableType", t.Type, "VRouterId", routerOf(t), "Status", status(t.PendingUntil),
			"CreationTime", creationTime(t.Created), "ResourceGroupId", tableGroup(c, t),
			"VSwitchIds", vswitchIDs(c, func(vsw *state.VSwitch) bool { return vsw.RouteTableID == t.ID }),
			"RouteEntrys", api.Object{"RouteEntry", api.Objects(t.Entries, func(e *state.RouteEntry) api.Object { return newEntryView(t, e) })},
		}
	})
}

func getRouteEntrySummary(c *api.Context) (any, *api.Error) {
	tableID, kind := c.Get("RouteTableId"), c.Get("RouteEntryType")
	if c.State.Vpcs[c.Get("VpcId")] == nil {
		return nil, vpcNotFound()
	}
	if table := c.State.RouteTables[tableID]; tableID != "" && (table == nil || table.VpcID != c.Get("VpcId")) {
		return nil, tableNotFound()
	}
	kinds := []string{kind}
	if kind == "All" {
		kinds = []string{custom, system, "BGP", "CEN", "ECR"}
	}
	tables := slices.DeleteFunc(tablesOf(c.State, c.Get("VpcId")), func(t *state.RouteTable) bool { return !listing.Match(tableID, t.ID) })
	return api.Object{"RouteEntrySummarys", api.Objects(tables, func(t *state.RouteTable) api.Object { // flat in the cloud, too
		return api.Object{"RouteTableId", t.ID, "EntrySummarys", api.Objects(kinds, func(kind string) api.Object {
			entries := slices.DeleteFunc(slices.Clone(t.Entries), func(e *state.RouteEntry) bool { return e.Type != kind })
			return api.Object{"RouteEntryType", kind, "Count", len(entries)}
		})}
	})}, nil
}
