package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func modifyEntryActions() []api.Action {
	return []api.Action{api.Write("ModifyRouteEntry", modifyRouteEntry,
		api.Words(`MissingParam.RouteEntryId InvalidRouteEntryId.NotFound InvalidRouteEntry.NotFound
			InvalidRouteTable.NotFound InvalidCidrBlock.Malformed OperationDenied.ModifyManagedRouteEntry
			InvalidRouteEntryName.Malformed MissingParam.NewNextHopId MissingParam.NewNextHopType
			OperationDenied.NextHopExist InvalidNextHop.NotFound IllegealParam.NextHopType
			UnsupportedFeature.ModifyRouteEntryNextHop IncorrectInstanceStatus InvalidParameter
			IncorrectRouteEntryStatus TaskConflict DryRunOperation`), region(), api.Optional("RouteEntryId"),
		api.Optional("RouteTableId"), api.Optional("DestinationCidrBlock"), api.Optional("RouteEntryName"),
		api.Optional("Description"), api.Optional("NewNextHopId"), api.Optional("NewNextHopType"), api.Flag("DryRun"))}
}

func modifyRouteEntry(c *api.Context) (any, *api.Error) {
	if !c.Has("RouteEntryId") && (!c.Has("RouteTableId") || !c.Has("DestinationCidrBlock")) {
		return nil, api.BadRequest("MissingParam.RouteEntryId", "The input parameter \"RouteEntryId\" is not supplied.")
	}
	if !c.Has("RouteEntryId") && c.State.RouteTables[c.Get("RouteTableId")] == nil {
		return nil, api.BadRequest("InvalidRouteTable.NotFound", "The specified RouteTableId does not exist.")
	}
	table, entry, err := namedEntry(c)
	if err != nil {
		return nil, err
	}
	switch {
	case entry.Type != custom:
		return nil, api.BadRequest("OperationDenied.ModifyManagedRouteEntry", "The system route entry can't be modified.")
	case !validName(c.Get("RouteEntryName")):
		return nil, malformed("InvalidRouteEntryName.Malformed", "RouteEntryName")
	case !validDescription(c.Get("Description")):
		return nil, api.Invalid("Description")
	}
	moved := c.Has("NewNextHopId") || c.Has("NewNextHopType")
	if moved {
		if err := checkMove(c, table, entry); err != nil {
			return nil, err
		}
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	c.SetText("RouteEntryName", &entry.Name)
	c.SetText("Description", &entry.Description)
	if moved {
		entry.NextHopID, entry.NextHopType = c.Get("NewNextHopId"), c.Get("NewNextHopType")
		if d := c.Settings.RoutePending; d > 0 {
			entry.Status, entry.BusyUntil = modifying, c.Now.Add(d)
		}
	}
	return nil, nil
}

// checkMove checks whether an entry can get the new next hop, which is a write of the route and no mere renaming.
func checkMove(c *api.Context, table *state.RouteTable, entry *state.RouteEntry) *api.Error {
	id, kind := c.Get("NewNextHopId"), c.Get("NewNextHopType")
	switch {
	case id == "":
		return api.BadRequest("MissingParam.NewNextHopId", "The input parameter \"NewNextHopId\" is not supplied.")
	case kind == "":
		return api.BadRequest("MissingParam.NewNextHopType", "The input parameter \"NewNextHopType\" is not supplied.")
	case len(entry.NextHops) > 0:
		return api.BadRequest("UnsupportedFeature.ModifyRouteEntryNextHop", "The route entry has several next hops.")
	case id == entry.NextHopID && kind == entry.NextHopType:
		return api.BadRequest("OperationDenied.NextHopExist", "The route entry has this next hop already.")
	case !slices.Contains(nextHopTypes(), kind): // the code is misspelt as in the cloud
		return api.BadRequest("IllegealParam.NextHopType", "The specified next hop type %q does not exist.", kind)
	}
	if err := checkNextHop(c.State, table.VpcID, kind, id); err != nil {
		return err
	}
	switch {
	case entry.Status != available:
		return api.BadRequest("IncorrectRouteEntryStatus", "The current status of the route entry does not support this operation.")
	case busy(c.State, table.VpcID):
		return taskConflict()
	}
	return nil
}
