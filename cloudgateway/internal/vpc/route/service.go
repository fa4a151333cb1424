// Package route serves RouteService: route tables and their entries.
package route

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/routetable"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (VPC API reference).
const (
	maxRoutesPerCall = 50  // CreateRouteEntries, DeleteRouteEntries
	entriesPerPage   = 100 // DescribeRouteEntryList
	cidrsPerCall     = 20  // DescribeRouteEntryList
)

// Service implements vpcv1.RouteServiceServer.
type Service struct {
	unimplemented
	*routetable.Service

	api           cloud.API
	networks      *write.Serial
	routesPerCall int
	entries       *batch.Cache[[]*vpcv1.RouteEntry] // by filter
}

// unimplemented lies deeper in the Service than the methods for route tables, which it therefore doesn't hide.
type unimplemented struct {
	vpcv1.UnimplementedRouteServiceServer
}

// New makes a Service. One call names at most routesPerCall entries, 1 to 50.
func New(p *vpc.Product, vswitches *vswitch.Service, routesPerCall int) *Service {
	s := &Service{
		Service: routetable.New(p, vswitches), api: p.API, networks: p.Networks, routesPerCall: max(1, min(routesPerCall, maxRoutesPerCall)),
		entries: vpc.NewCache[[]*vpcv1.RouteEntry](p, "routeentries"),
	}
	p.Networks.OnWrite(func(string) { s.entries.Clear() })
	return s
}
