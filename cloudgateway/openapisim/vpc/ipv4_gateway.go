package vpc

import (
	"cmp"
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The states of an IPv4 gateway besides Creating and Deleting.
const (
	created    = "Created"
	activating = "Activating"
)

// Codes of IPv4 gateways. The status is one that Terraform's provider repeats calls on; those for a second gateway, for one with a route
// table and for tables of another kind are unproven.
const (
	noIpv4Gateway      = "ResourceNotFound.Ipv4Gateway"
	wrongIpv4Gateway   = "IncorrectStatus.Ipv4Gateway"
	hasIpv4Gateway     = "ResourceAlreadyExist.Ipv4Gateway"
	ipv4GatewayInUse   = "DependencyViolation.RouteTable"
	noGatewayTable     = "OperationDenied.NotGatewayRouteTable"
	gatewayHasTable    = "OperationDenied.GatewayAssociated"
	gatewayHasNoTable  = "OperationDenied.GatewayNotAssociated"
	ipv4GatewayWord    = "Ipv4Gateway"
	gatewayPageMaximum = 100
)

func ipv4GatewayActions() []api.Action {
	id, token, dryRun := api.Required("Ipv4GatewayId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, text := api.Optional("Ipv4GatewayName"), api.Optional("Ipv4GatewayDescription")
	texts := []string{"InvalidName.Malformed", "InvalidDescription.Malformed"}
	binding := []api.Param{region(), api.Required("RouteTableId"), api.Required("GatewayId"),
		must(api.OneOf("GatewayType", ipv4GatewayWord)), dryRun, token}
	bindingCodes := []string{"InvalidRouteTableId.NotFound", noIpv4Gateway, wrongIpv4Gateway, "IncorrectStatus.RouteTable", "DryRunOperation",
		"IdempotentParameterMismatch"}
	return []api.Action{
		api.Write("CreateIpv4Gateway", clienttoken.Once("vpc/CreateIpv4Gateway", showIpv4Gateway, api.On(settledVpc, createIpv4Gateway)),
			newTagCodes(append(texts, "InvalidVpcId.NotFound", "IncorrectVpcStatus", hasIpv4Gateway, "DryRunOperation",
				"IdempotentParameterMismatch")...), region(), api.Required("VpcId"), name, text, api.Optional("ResourceGroupId"), dryRun, token,
			tags.Param()),
		api.Read("GetIpv4GatewayAttribute", api.On(ipv4GatewayByID, getIpv4Gateway), []string{noIpv4Gateway}, region(), id),
		api.Read("ListIpv4Gateways", listIpv4Gateways, api.Words("IllegalParam.NextToken"), region(), api.Optional("Ipv4GatewayId"), name,
			api.Optional("VpcId"), api.Optional("ResourceGroupId"), api.Number("MaxResults", 1, gatewayPageMaximum), api.Optional("NextToken")),
		api.Write("UpdateIpv4GatewayAttribute", clienttoken.Once("vpc/UpdateIpv4GatewayAttribute", nil,
			api.On(settledIpv4Gateway, renameGateway("Ipv4GatewayName", "Ipv4GatewayDescription"))),
			append(texts, noIpv4Gateway, wrongIpv4Gateway, "DryRunOperation", "IdempotentParameterMismatch"), region(), id, name, text,
			dryRun, token),
		api.Write("EnableVpcIpv4Gateway", clienttoken.Once("vpc/EnableVpcIpv4Gateway", nil, api.On(settledIpv4Gateway, enableIpv4Gateway)),
			[]string{noIpv4Gateway, wrongIpv4Gateway, "InvalidRouteTableId.NotFound", "DryRunOperation", "IdempotentParameterMismatch"}, region(),
			id, api.Param{Name: "RouteTableList", Kind: api.Strings, Max: 10}, dryRun, token),
		api.Write("DeleteIpv4Gateway", clienttoken.Once("vpc/DeleteIpv4Gateway", nil, api.On(settledIpv4Gateway, deleteIpv4Gateway)),
			[]string{noIpv4Gateway, wrongIpv4Gateway, ipv4GatewayInUse, "DryRunOperation", "IdempotentParameterMismatch"}, region(), id,
			api.OneOf("InternetMode", "public", "private"), dryRun, token),
		api.Write("AssociateRouteTableWithGateway", clienttoken.Once("vpc/AssociateRouteTableWithGateway", nil,
			api.On2(gatewayTable, associateGatewayTable)), append(slices.Clone(bindingCodes), noGatewayTable, gatewayHasTable,
			"Forbidden.NotInSameVpc"), binding...),
		api.Write("DissociateRouteTableFromGateway", clienttoken.Once("vpc/DissociateRouteTableFromGateway", nil,
			api.On2(gatewayTable, dissociateGatewayTable)), append(slices.Clone(bindingCodes), gatewayHasNoTable), binding...),
	}
}

func gatewayNotFound(code string) func() *api.Error {
	return func() *api.Error { return api.NotFound(code, "The specified gateway does not exist.") }
}

func ipv4GatewayByID(c *api.Context) (*state.InternetGateway, *api.Error) {
	return api.Named(c, c.State.Ipv4Gateways, "Ipv4GatewayId", gatewayNotFound(noIpv4Gateway))
}

// settledIpv4Gateway is ipv4GatewayByID for what a gateway refuses on its way between two states.
func settledIpv4Gateway(c *api.Context) (*state.InternetGateway, *api.Error) {
	g, err := ipv4GatewayByID(c)
	if err == nil && !ready(&g.Stage) {
		err = api.BadRequest(wrongIpv4Gateway, "The status of the IPv4 gateway does not support this operation.")
	}
	return g, err
}

func checkGatewayTexts(c *api.Context, name, description string) *api.Error {
	switch {
	case !validName(c.Get(name)):
		return malformed("InvalidName.Malformed", name)
	case !validDescription(c.Get(description)):
		return malformed("InvalidDescription.Malformed", description)
	}
	return nil
}

// gatewayOf is the gateway of a VPC, or nil.
func gatewayOf(all map[string]*state.InternetGateway, vpcID string) *state.InternetGateway {
	for _, g := range all {
		if g.VpcID == vpcID {
			return g
		}
	}
	return nil
}

func gatewayGroup(c *api.Context, g *state.InternetGateway) string {
	return cmp.Or(g.ResourceGroupID, groupOfVpc(c, g.VpcID))
}

func createIpv4Gateway(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if err := checkGatewayTexts(c, "Ipv4GatewayName", "Ipv4GatewayDescription"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	switch g := gatewayOf(c.State.Ipv4Gateways, v.ID); {
	case g != nil:
		return "", api.BadRequest(hasIpv4Gateway, "The VPC has the IPv4 gateway %s already.", g.ID)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	g := &state.InternetGateway{
		ID: c.NewID("ipv4gw-bp1"), VpcID: v.ID, Name: c.Get("Ipv4GatewayName"), Description: c.Get("Ipv4GatewayDescription"),
		ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now,
	}
	begin(c, &g.Stage, creating)
	c.State.Ipv4Gateways[g.ID] = g
	return g.ID, nil
}

func showIpv4Gateway(c *api.Context, id string) any {
	g := cmp.Or(c.State.Ipv4Gateways[id], &state.InternetGateway{})
	return api.Object{"Ipv4GatewayId", id, "ResourceGroupId", gatewayGroup(c, g)}
}

func newIpv4GatewayView(c *api.Context, g *state.InternetGateway, createdAt string) api.Object {
	return api.Object{
		"Ipv4GatewayId", g.ID, "Ipv4GatewayName", g.Name, "Ipv4GatewayDescription", g.Description, "VpcId", g.VpcID, "Status", g.Stage.Status,
		"Enabled", g.Enabled, "Ipv4GatewayRouteTableId", g.RouteTableID, createdAt, creationTime(g.Created),
		"ResourceGroupId", gatewayGroup(c, g), "Tags", api.Objects(g.Tags, func(t state.Tag) api.Object { // flat in the cloud, too
			return api.Object{"Key", t.Key, "Value", t.Value}
		}),
	}
}

func getIpv4Gateway(c *api.Context, g *state.InternetGateway) (any, *api.Error) {
	return newIpv4GatewayView(c, g, "CreateTime"), nil
}

func listIpv4Gateways(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.Ipv4Gateways, func(g *state.InternetGateway) bool {
		return listing.Match(c.Get("Ipv4GatewayId"), g.ID) && listing.Match(c.Get("Ipv4GatewayName"), g.Name) &&
			listing.Match(c.Get("VpcId"), g.VpcID) && listing.Match(c.Get("ResourceGroupId"), gatewayGroup(c, g))
	})
	page, next, ok := listing.After(matching, func(g *state.InternetGateway) string { return g.ID }, c.Get("NextToken"),
		c.Int("MaxResults", defaultEntries))
	if !ok {
		return nil, api.BadRequest("IllegalParam.NextToken", "The param of NextToken is illegal.")
	}
	return api.Object{
		"NextToken", next, "TotalCount", strconv.Itoa(len(matching)),
		"Ipv4GatewayModels", api.Objects(page, func(g *state.InternetGateway) api.Object { return newIpv4GatewayView(c, g, "GmtCreate") }),
	}, nil
}

// renameGateway returns what changes the name and the description of a gateway, by the parameters that have them.
func renameGateway(name, description string) func(*api.Context, *state.InternetGateway) (string, *api.Error) {
	return func(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
		if err := checkGatewayTexts(c, name, description); err != nil {
			return "", err
		}
		if c.True("DryRun") {
			return "", api.DryRun()
		}
		c.SetText(name, &g.Name)
		c.SetText(description, &g.Description)
		return g.ID, nil
	}
}

// enableIpv4Gateway lets the traffic of a VPC go through its gateway. The tables named get a route to it.
func enableIpv4Gateway(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
	for _, id := range c.List("RouteTableList") {
		if table := c.State.RouteTables[id]; table == nil || table.VpcID != g.VpcID {
			return "", tableNotFound()
		}
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	for _, id := range c.List("RouteTableList") {
		addEntry(c, c.State.RouteTables[id], &state.RouteEntry{Cidr: "0.0.0.0/0", NextHopID: g.ID, NextHopType: ipv4GatewayWord, Type: custom})
	}
	g.Enabled = true
	begin(c, &g.Stage, activating)
	return g.ID, nil
}

// deleteIpv4Gateway takes the routes to the gateway along: those that its activation made are of no resource that a tool would delete
// first.
func deleteIpv4Gateway(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
	switch {
	case g.RouteTableID != "":
		return "", api.BadRequest(ipv4GatewayInUse, "The IPv4 gateway has the route table %s.", g.RouteTableID)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	for _, table := range c.State.RouteTables {
		table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool { return e.NextHopID == g.ID })
	}
	begin(c, &g.Stage, deleting)
	return g.ID, nil
}

// gatewayTable finds the table and the gateway that a call names.
func gatewayTable(c *api.Context) (*state.RouteTable, *state.InternetGateway, *api.Error) {
	table, g := c.State.RouteTables[c.Get("RouteTableId")], c.State.Ipv4Gateways[c.Get("GatewayId")]
	switch {
	case table == nil:
		return nil, nil, tableNotFound()
	case g == nil:
		return nil, nil, gatewayNotFound(noIpv4Gateway)()
	case !ready(&g.Stage):
		return nil, nil, api.BadRequest(wrongIpv4Gateway, "The status of the IPv4 gateway does not support this operation.")
	case !table.PendingUntil.IsZero():
		return nil, nil, api.NotFound("IncorrectStatus.RouteTable", "Current route table status does not support this operation.")
	}
	return table, g, nil
}

func associateGatewayTable(c *api.Context, table *state.RouteTable, g *state.InternetGateway) (string, *api.Error) {
	switch {
	case table.VpcID != g.VpcID:
		return "", api.NotFound("Forbidden.NotInSameVpc", "The route table and the gateway are not in the same VPC.")
	case !table.OfGateway:
		return "", api.BadRequest(noGatewayTable, "The route table is not one for gateways.")
	case g.RouteTableID != "":
		return "", api.BadRequest(gatewayHasTable, "The gateway has the route table %s already.", g.RouteTableID)
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	g.RouteTableID, table.PendingUntil = table.ID, pendingUntil(c)
	return table.ID, nil
}

func dissociateGatewayTable(c *api.Context, table *state.RouteTable, g *state.InternetGateway) (string, *api.Error) {
	switch {
	case g.RouteTableID != table.ID:
		return "", api.BadRequest(gatewayHasNoTable, "The gateway does not have the route table.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	g.RouteTableID, table.PendingUntil = "", pendingUntil(c)
	return table.ID, nil
}

// gatewaysOfTable are the gateways that have a route table.
func gatewaysOfTable(c *state.Cloud, tableID string) []string {
	var ids []string
	for _, g := range listing.Find(c.Ipv4Gateways, func(g *state.InternetGateway) bool { return g.RouteTableID == tableID }) {
		ids = append(ids, g.ID)
	}
	return ids
}
