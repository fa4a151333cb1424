package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func deleteEntryActions() []api.Action {
	return []api.Action{
		api.Write("DeleteRouteEntry", api.On2(namedEntry, deleteRouteEntry),
			api.Words(`InvalidRouteTableId.NotFound InvalidRouteEntry.NotFound InvalidRouteEntryId.NotFound
				InvalidCidrBlock.Malformed OperationDenied IncorrectRouteEntryStatus TaskConflict MissingParameter
				DryRunOperation`), api.Optional("RegionId"), api.Optional("RouteEntryId"), api.Optional("RouteTableId"),
			api.Optional("DestinationCidrBlock"), api.Optional("NextHopId"), api.Flag("DryRun")),
		{
			Name: "DeleteRouteEntries", Mutating: true, Handle: deleteRouteEntries,
			Codes: []string{"MissingParameter", "InvalidParameter", "TaskConflict", "DryRunOperation"},
			ItemCodes: []string{
				"InvalidRouteTable.NotFound", "VPC_ROUTER_ENTRY_NOT_EXIST", "OperationDenied", "VPC_ROUTE_ENTRY_STATUS_ERROR",
			},
			Params: []api.Param{region(), {Name: "RouteEntries", Kind: api.Structs, Required: true}, api.Flag("DryRun")},
		},
	}
}

func deleteRouteEntry(c *api.Context, table *state.RouteTable, entry *state.RouteEntry) (any, *api.Error) {
	switch {
	case entry.Type != custom:
		return nil, api.BadRequest("OperationDenied", "The system route entry can't be deleted.")
	case c.True("DryRun"):
		return nil, api.DryRun()
	case entry.Status != available:
		return nil, api.BadRequest("IncorrectRouteEntryStatus", "The current status of the route entry does not support this operation.")
	case busy(c.State, table.VpcID):
		return nil, taskConflict()
	}
	removeEntry(c, table, entry)
	return nil, nil
}

// namedEntry finds the entry by its id, or by table, destination and next hop.
func namedEntry(c *api.Context) (*state.RouteTable, *state.RouteEntry, *api.Error) {
	if id := c.Get("RouteEntryId"); id != "" {
		for _, table := range tablesOf(c.State, "") {
			if e := findEntry(table, id, "", ""); e != nil {
				return table, e, nil
			}
		}
		return nil, nil, api.BadRequest("InvalidRouteEntryId.NotFound", "The specified RouteEntryId does not exist.")
	}
	if !c.Has("RouteTableId") || !c.Has("DestinationCidrBlock") {
		return nil, nil, api.BadRequest("MissingParameter",
			"The input parameter \"RouteEntryId\" that is mandatory for processing this request is not supplied.")
	}
	table := c.State.RouteTables[c.Get("RouteTableId")]
	if table == nil {
		return nil, nil, tableNotFound()
	}
	prefix, err := parseCidr(c.Get("DestinationCidrBlock"))
	if err != nil {
		return nil, nil, err
	}
	if e := findEntry(table, "", prefix.String(), c.Get("NextHopId")); e != nil {
		return table, e, nil
	}
	return nil, nil, api.BadRequest("InvalidRouteEntry.NotFound", "The specified route entry does not exist.")
}

// findEntry returns the entry that has all that is given.
func findEntry(table *state.RouteTable, id, cidr, nextHopID string) *state.RouteEntry {
	i := slices.IndexFunc(table.Entries, func(e *state.RouteEntry) bool {
		return listing.Match(id, e.ID) && listing.Match(cidr, e.Cidr) && listing.Match(nextHopID, e.NextHopID)
	})
	if i < 0 {
		return nil
	}
	return table.Entries[i]
}

func deleteRouteEntries(c *api.Context) (any, *api.Error) {
	items, err := batchItems(c, "routetableid")
	if err != nil {
		return nil, err
	}
	for n, item := range items {
		if item["routeentryid"] == "" && item["dstcidrblock"] == "" {
			return nil, api.BadRequest("MissingParameter",
				"The input parameter \"RouteEntries.%d.RouteEntryId\" that is mandatory for processing this request is not supplied.", n+1)
		}
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	for _, item := range items {
		if table := c.State.RouteTables[item["routetableid"]]; table != nil && busy(c.State, table.VpcID) {
			return nil, taskConflict()
		}
	}
	var out batch
	for _, item := range items {
		deleteBatchItem(c, item, &out)
	}
	return out.answer(), nil
}

func deleteBatchItem(c *api.Context, item map[string]string, out *batch) {
	fail := func(code, message string) {
		out.fail(item["dstcidrblock"], item["nexthop"], item["routeentryid"], code, message)
	}
	if err := c.ItemFault(item); err != nil {
		fail(err.Code, err.Message)
		return
	}
	table := c.State.RouteTables[item["routetableid"]]
	if table == nil {
		fail("InvalidRouteTable.NotFound", "The specified RouteTableId does not exist.")
		return
	}
	cidr := item["dstcidrblock"]
	if prefix, err := parseCidr(cidr); err == nil {
		cidr = prefix.String()
	}
	entry := findEntry(table, item["routeentryid"], cidr, item["nexthop"])
	switch {
	case entry == nil:
		fail("VPC_ROUTER_ENTRY_NOT_EXIST", "The specified route entry does not exist.")
	case entry.Type != custom:
		fail("OperationDenied", "The system route entry can't be deleted.")
	case entry.Status == deleting: // named twice in this batch
		fail("VPC_ROUTE_ENTRY_STATUS_ERROR", "The current status of the route entry does not support this operation.")
	default:
		removeEntry(c, table, entry)
		out.succeeded++
	}
}

func removeEntry(c *api.Context, table *state.RouteTable, entry *state.RouteEntry) {
	if d := c.Settings.RouteDeleting; d > 0 {
		entry.Status, entry.BusyUntil = deleting, c.Now.Add(d)
		return
	}
	table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool { return e == entry })
}
