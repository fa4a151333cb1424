// Package location is the service Location 2015-06-12 of the simulator: SDKs ask it for the address of a product.
package location

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
)

// Product returns the product. Endpoint returns the address of a product by its name, or "" if there is no such product.
func Product(endpoint func(c *api.Context, product string) string) api.Product {
	return api.Product{
		Name: "location", Code: "Location", Version: "2015-06-12",
		Actions: []api.Action{{
			Name: "DescribeEndpoints",
			Params: []api.Param{
				api.Required("Id"), api.Required("ServiceCode"), api.OneOf("Type", openAPI, innerAPI),
			},
			Handle: func(c *api.Context) (any, *api.Error) { return describeEndpoints(c, endpoint) },
		}},
	}
}

// The types of endpoints. There are no inner ones.
const (
	openAPI  = "openAPI"
	innerAPI = "innerAPI"
)

type describedEndpoints struct {
	Success   bool `json:"Success"`
	Endpoints struct {
		Endpoint []endpointView `json:"Endpoint"`
	} `json:"Endpoints"`
}

type endpointView struct {
	Endpoint    string    `json:"Endpoint"`
	ID          string    `json:"Id"`
	Namespace   string    `json:"Namespace"`
	ServiceCode string    `json:"SerivceCode"` // misspelt as in the cloud
	Type        string    `json:"Type"`
	Protocols   protocols `json:"Protocols"`
}

type protocols struct {
	Protocols []string `json:"Protocols"`
}

// describeEndpoints answers an empty list for a region or a product that is not there.
func describeEndpoints(c *api.Context, endpoint func(*api.Context, string) string) (any, *api.Error) {
	out := describedEndpoints{Success: true}
	out.Endpoints.Endpoint = []endpointView{}
	address := endpoint(c, c.Get("ServiceCode"))
	if address != "" && slices.Contains(c.Regions, c.Get("Id")) && listing.Match(c.Get("Type"), openAPI) {
		out.Endpoints.Endpoint = append(out.Endpoints.Endpoint, endpointView{
			Endpoint: address, ID: c.Get("Id"), ServiceCode: c.Get("ServiceCode"), Type: openAPI,
			Protocols: protocols{Protocols: []string{"HTTP"}},
		})
	}
	return out, nil
}
