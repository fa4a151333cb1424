package vpc

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func tableWriteActions() []api.Action {
	binding := []api.Param{region(), api.Required("RouteTableId"), api.Required("VSwitchId"), api.Optional("ClientToken")}
	bindingCodes := []string{
		"InvalidRouteTableId.NotFound", "InvalidVSwitchId.NotFound", "IncorrectVSwitchStatus", "IdempotentParameterMismatch",
	}
	return []api.Action{
		api.Write("CreateRouteTable", clienttoken.Once("vpc/CreateRouteTable", clienttoken.Show("RouteTableId"),
			api.On(settledVpc, createRouteTable)),
			newTagCodes("InvalidVpcId.NotFound", "IncorrectVpcStatus", "InvalidParameter.RouteTableName.Malformed",
				"InvalidParameter.Description.Malformed", "QuotaExceeded.RouteTable", "IdempotentParameterMismatch"),
			region(), api.Required("VpcId"), api.Optional("RouteTableName"), api.Optional("Description"),
			api.OneOf("AssociateType", ofVSwitches, ofGateways), api.Flag("RoutePropagationEnable"), api.Optional("ClientToken"), tags.Param()),
		api.Write("DeleteRouteTable", api.On(tableByID, deleteRouteTable),
			api.Words(`InvalidRouteTableId.NotFound IncorrectRouteTableType IncorrectRouteTableStatus
				DependencyViolation.RouteEntry`), region(),
			api.Param{Name: "RouteTableId", Required: true, Missing: missing("MissingParam.RouteTableId", "RouteTableId")}),
		api.Write("AssociateRouteTable", clienttoken.Once("vpc/AssociateRouteTable", nil, api.On2(bound, associateRouteTable)), append([]string{
			"Forbidden.NotInSameVpc", "OperationDenied.SwitchToSystemRouteTable", "Forbidden.VSwitchAlreadyAssociatedRouteTable",
			"IncorrectStatus.RouteTable",
		}, bindingCodes...), binding...),
		api.Write("UnassociateRouteTable", clienttoken.Once("vpc/UnassociateRouteTable", nil, api.On2(bound, unassociateRouteTable)),
			append([]string{"OperationUnsupported.SystemRouteTable", "OperationFailed.VSwitchNotAssociate"}, bindingCodes...),
			binding...),
	}
}

func createRouteTable(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if err := checkTableTexts(c); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	existing := 0
	for _, table := range tablesOf(c.State, v.ID) {
		if table.Type == custom {
			existing++
		}
	}
	if quota := c.Settings.Quotas.RouteTables; existing >= quota {
		return "", api.BadRequest("QuotaExceeded.RouteTable", "Route table quota exceeded: a VPC can have %d custom ones.", quota)
	}
	table := &state.RouteTable{
		VpcID: v.ID, Type: custom, Name: c.Get("RouteTableName"), Description: c.Get("Description"), Tags: labels,
		PendingUntil: pendingUntil(c), Created: c.Now, OfGateway: c.Get("AssociateType") == ofGateways,
		PropagationOff: c.Has("RoutePropagationEnable") && !c.True("RoutePropagationEnable"),
	}
	addTable(c, table)
	return table.ID, nil
}

func checkTableTexts(c *api.Context) *api.Error {
	switch {
	case !validName(c.Get("RouteTableName")):
		return malformed("InvalidParameter.RouteTableName.Malformed", "RouteTableName")
	case !validDescription(c.Get("Description")):
		return malformed("InvalidParameter.Description.Malformed", "Description")
	}
	return nil
}

// addTable gives a table its id and the entries that the cloud makes.
func addTable(c *api.Context, table *state.RouteTable) {
	table.ID = c.NewID("vtb-bp1")
	c.State.RouteTables[table.ID] = table
	addSystemEntry(c, table, cloudServices)
	var subnets []string
	for _, v := range vswitchesOf(c.State, table.VpcID) {
		subnets = append(subnets, v.CidrBlock)
	}
	slices.Sort(subnets)
	for _, cidr := range subnets {
		addSystemEntry(c, table, cidr)
	}
}

func addSystemEntry(c *api.Context, table *state.RouteTable, cidr string) {
	table.Entries = append(table.Entries,
		&state.RouteEntry{ID: c.NewID("rte-bp1"), Cidr: cidr, NextHopType: "local", Type: system, Status: available})
}

// systemTable returns the system route table of a VPC, or nil.
func systemTable(c *state.Cloud, vpcID string) *state.RouteTable {
	for _, table := range c.RouteTables {
		if table.VpcID == vpcID && table.Type == system {
			return table
		}
	}
	return nil
}

// tableByID returns the route table of the parameter RouteTableId.
func tableByID(c *api.Context) (*state.RouteTable, *api.Error) {
	return api.Named(c, c.State.RouteTables, "RouteTableId", tableNotFound)
}

func deleteRouteTable(c *api.Context, table *state.RouteTable) (any, *api.Error) {
	switch {
	case table.Type != custom:
		return nil, api.BadRequest("IncorrectRouteTableType", "The system route table can't be deleted.")
	case !table.PendingUntil.IsZero():
		return nil, api.NotFound("IncorrectRouteTableStatus", "Current route table status does not support this operation.")
	case slices.ContainsFunc(table.Entries, func(e *state.RouteEntry) bool { return e.Type == custom }):
		return nil, api.NotFound("DependencyViolation.RouteEntry", "The route table still has custom entries.")
	}
	if ids := gatewaysOfTable(c.State, table.ID); len(ids) > 0 {
		return nil, api.NotFound("IncorrectRouteTableStatus", "The route table is still associated with the gateway %s.", ids[0])
	}
	for _, v := range c.State.VSwitches {
		if v.RouteTableID == table.ID {
			return nil, api.NotFound("IncorrectRouteTableStatus", "The route table is still associated with VSwitch %s.", v.ID)
		}
	}
	delete(c.State.RouteTables, table.ID)
	return nil, nil
}

func associateRouteTable(c *api.Context, table *state.RouteTable, v *state.VSwitch) (string, *api.Error) {
	current := c.State.RouteTables[v.RouteTableID]
	switch {
	case table.VpcID != v.VpcID:
		return "", api.NotFound("Forbidden.NotInSameVpc", "The route table and the VSwitch are not in the same VPC.")
	case table.Type != custom || table.OfGateway:
		return "", api.BadRequest("OperationDenied.SwitchToSystemRouteTable", "The system route table can't be associated.")
	case current != nil && current.Type == custom:
		return "", api.NotFound("Forbidden.VSwitchAlreadyAssociatedRouteTable", "The VSwitch is associated with a route table already.")
	case !table.PendingUntil.IsZero():
		return "", api.NotFound("IncorrectStatus.RouteTable", "Current route table status does not support this operation.")
	case busy(c.State, v.VpcID):
		return "", wrongVSwitchStatus()
	}
	v.RouteTableID, v.PendingUntil = table.ID, pendingUntil(c)
	return table.ID, nil
}

func unassociateRouteTable(c *api.Context, table *state.RouteTable, v *state.VSwitch) (string, *api.Error) {
	switch {
	case table.Type != custom:
		return "", api.NotFound("OperationUnsupported.SystemRouteTable", "The system route table can't be unassociated.")
	case v.RouteTableID != table.ID:
		return "", api.NotFound("OperationFailed.VSwitchNotAssociate", "The VSwitch is not associated with the route table.")
	case busy(c.State, v.VpcID):
		return "", wrongVSwitchStatus()
	}
	v.RouteTableID = ""
	if own := systemTable(c.State, v.VpcID); own != nil {
		v.RouteTableID = own.ID
	}
	v.PendingUntil = pendingUntil(c)
	return table.ID, nil
}

// bound returns the table and the vSwitch that the parameters name.
func bound(c *api.Context) (*state.RouteTable, *state.VSwitch, *api.Error) {
	table, v := c.State.RouteTables[c.Get("RouteTableId")], c.State.VSwitches[c.Get("VSwitchId")]
	switch {
	case table == nil:
		return nil, nil, tableNotFound()
	case v == nil:
		return nil, nil, vswitchNotFound()
	case !v.PendingUntil.IsZero():
		return nil, nil, wrongVSwitchStatus()
	}
	return table, v, nil
}

// wrongVSwitchStatus is also the answer of the two actions while a route of the VPC is written: their documents have no
// TaskConflict, and no client repeats them on one.
func wrongVSwitchStatus() *api.Error {
	return api.NotFound("IncorrectVSwitchStatus", "Current VSwitch status does not support this operation.")
}

func tableNotFound() *api.Error {
	return api.NotFound("InvalidRouteTableId.NotFound", "The specified RouteTableId does not exist.")
}
