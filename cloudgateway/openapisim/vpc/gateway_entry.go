package vpc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// noGatewayTableFound is the code of the help page of ListGatewayRouteTableEntries (changed last in August 2023).
const noGatewayTableFound = "ResourceNotFound.GatewayRouteTable"

// gatewayEntryActions have the parameters and members of the types of github.com/alibabacloud-go/vpc-20160428 v6.12.8 (July 2025).
func gatewayEntryActions() []api.Action {
	return []api.Action{api.Read("ListGatewayRouteTableEntries", listGatewayEntries, []string{noGatewayTableFound, wrongPage},
		append(tokenPage(), region(), api.Required("GatewayRouteTableId"), api.Optional("DestinationCidrBlock"))...)}
}

func listGatewayEntries(c *api.Context) (any, *api.Error) {
	table := c.State.RouteTables[c.Get("GatewayRouteTableId")]
	if table == nil || !table.OfGateway {
		return nil, api.BadRequest(noGatewayTableFound, "The specified resource GatewayRouteTable is not found.")
	}
	matching := slices.DeleteFunc(slices.Clone(table.Entries), func(e *state.RouteEntry) bool {
		return !listing.Match(c.Get("DestinationCidrBlock"), e.Cidr)
	})
	slices.SortFunc(matching, func(a, b *state.RouteEntry) int { return strings.Compare(a.ID, b.ID) })
	page, next, err := pageAfter(c, matching, func(e *state.RouteEntry) string { return e.ID }, defaultEntries)
	if err != nil {
		return nil, err
	}
	return api.Object{
		"NextToken", next, "TotalCount", strconv.Itoa(len(matching)), "GatewayRouteEntryModels", api.Objects(page, newGatewayEntryView),
	}, nil
}

// newGatewayEntryView shows types of next hops in the words of this action, and each of several next hops in those of the others.
func newGatewayEntryView(e *state.RouteEntry) api.Object {
	words := map[string]string{"Instance": "EcsInstance", "local": "Local"}
	return api.Object{
		"DestinationCidrBlock", e.Cidr, "Name", e.Name, "Description", e.Description, "Status", e.Status, "NextHopId", e.NextHopID,
		"NextHopType", cmp.Or(words[e.NextHopType], e.NextHopType), "NextHops", api.Objects(e.NextHops, func(h state.NextHop) api.Object {
			return api.Object{"NextHopId", h.ID, "NextHopType", h.Type, "Weight", strconv.Itoa(h.Weight), "Enabled", "1"}
		}),
	}
}
