// Package cas is what the resources of the cloud's product Cas, the Certificate Management Service, share.
package cas

import (
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// PageSize is that of lists. No document names the greatest one.
const PageSize = 100

// Product is what the resources share.
type Product struct {
	cloud.API
	cloud.Shared
}

// New makes a Product.
func New(caller cloud.Caller, shared cloud.Shared) *Product {
	return &Product{API: cloud.API{Product: openapi.CAS, Caller: caller}, Shared: shared}
}
