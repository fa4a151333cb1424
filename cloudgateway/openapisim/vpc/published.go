package vpc

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// publishedActions show what leads out of a VPC: the routes that are published to routers outside of it, and physical connections. There
// are no such routers and no such connections here, so the lists are empty, as in an account that has none.
func publishedActions() []api.Action {
	return []api.Action{
		api.Read("ListVpcPublishedRouteEntries", api.On(tableByID, listPublished), api.Words("InvalidRouteTableId.NotFound"), region(),
			api.Required("RouteTableId"), api.Optional("TargetType"), api.Optional("TargetInstanceId"),
			api.Optional("DestinationCidrBlock"), api.Number("MaxResults", 1, 100), api.Optional("NextToken")),
		api.Read("DescribePhysicalConnections", describeConnections, nil, append(listing.Params(maxPage), region(),
			api.Param{Name: "Filter", Kind: api.Structs, Max: 5}, api.Flag("IncludeReservationData"), api.Optional("ResourceGroupId"))...),
	}
}

func listPublished(*api.Context, *state.RouteTable) (any, *api.Error) {
	return api.Object{"NextToken", "", "RouteEntries", []api.Object{}}, nil
}

func describeConnections(c *api.Context) (any, *api.Error) {
	return listing.Answer(c, []string{}, "PhysicalConnectionSet", "PhysicalConnectionType", func(string) api.Object { return nil })
}
