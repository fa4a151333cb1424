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
				api.OneOf("Type", system, custom))...),
		api.Read("GetVpcRouteEntrySummary", getRouteEntrySummary,
			api.Words("InvalidVpcId.NotFound InvalidRouteTableId.NotFound"), region(), api.Required("VpcId"),
			api.Optional("RouteTableId"),
			api.Param{Name: "RouteEntryType", Required: true, Enum: []string{"All", system, custom, "BGP", "CEN", "ECR"}}),
	}
}

type nestedTable struct {
	RouteTableID    string        `json:"RouteTableId"`
	RouteTableType  string        `json:"RouteTableType"`
	VRouterID       string        `json:"VRouterId"`
	Status          string        `json:"Status"`
	CreationTime    string        `json:"CreationTime"`
	ResourceGroupID string        `json:"ResourceGroupId"`
	VSwitchIDs      vswitchIDs    `json:"VSwitchIds"`
	RouteEntrys     nestedEntries `json:"RouteEntrys"`
}

type nestedEntries struct {
	RouteEntry []entryView `json:"RouteEntry"`
}

type describedNested struct {
	listing.Page
	RouteTables struct {
		RouteTable []nestedTable `json:"RouteTable"`
	} `json:"RouteTables"`
}

func describeRouteTables(c *api.Context) (any, *api.Error) {
	router := c.Get("VRouterId")
	var matching []nestedTable
	known := router == ""
	for _, t := range tablesOf(c.State, "") {
		v := newTableView(c, t)
		known = known || v.RouterID == router
		if listing.Match(router, v.RouterID) && listing.Match(c.Get("RouterId"), v.RouterID) &&
			listing.Match(c.Get("RouteTableId"), t.ID) && listing.Match(c.Get("RouteTableName"), t.Name) &&
			listing.Match(c.Get("RouterType"), v.RouterType) && listing.Match(c.Get("Type"), t.Type) {
			matching = append(matching, newNestedTable(t, v))
		}
	}
	if !known {
		return nil, api.BadRequest("InvalidVRouterId.NotFound", "Specified virtual router does not exist.")
	}
	var out describedNested
	page, numbers := listing.Numbered(c, matching)
	out.Page = numbers
	out.RouteTables.RouteTable = append([]nestedTable{}, page...)
	return out, nil
}

func newNestedTable(t *state.RouteTable, v tableView) nestedTable {
	out := nestedTable{
		RouteTableID: t.ID, RouteTableType: t.Type, VRouterID: v.RouterID, Status: v.Status, CreationTime: v.CreationTime,
		VSwitchIDs: v.VSwitchIDs, RouteEntrys: nestedEntries{RouteEntry: make([]entryView, 0, len(t.Entries))},
	}
	for _, e := range t.Entries {
		out.RouteEntrys.RouteEntry = append(out.RouteEntrys.RouteEntry, newEntryView(t, e))
	}
	return out
}

// Both lists are flat in the cloud, too.
type entrySummaries struct {
	RouteEntrySummarys []tableSummary `json:"RouteEntrySummarys"`
}

type tableSummary struct {
	RouteTableID  string         `json:"RouteTableId"`
	EntrySummarys []entrySummary `json:"EntrySummarys"`
}

type entrySummary struct {
	RouteEntryType string `json:"RouteEntryType"`
	Count          int    `json:"Count"`
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
	out := entrySummaries{RouteEntrySummarys: []tableSummary{}}
	for _, table := range tablesOf(c.State, c.Get("VpcId")) {
		if !listing.Match(tableID, table.ID) {
			continue
		}
		summary := tableSummary{RouteTableID: table.ID, EntrySummarys: []entrySummary{}}
		for _, kind := range kinds {
			entries := slices.DeleteFunc(slices.Clone(table.Entries), func(e *state.RouteEntry) bool { return e.Type != kind })
			summary.EntrySummarys = append(summary.EntrySummarys, entrySummary{RouteEntryType: kind, Count: len(entries)})
		}
		out.RouteEntrySummarys = append(out.RouteEntrySummarys, summary)
	}
	return out, nil
}
