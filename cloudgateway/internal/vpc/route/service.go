// Package route serves RouteService: route tables and their entries.
package route

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
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
	vpcv1.UnimplementedRouteServiceServer

	api           cloud.API
	networks      *write.Serial
	vswitches     *vswitch.Service
	routesPerCall int
	tables        *batch.Cache[[]*vpcv1.RouteTable] // by VPC
	entries       *batch.Cache[[]*vpcv1.RouteEntry] // by filter
}

// New makes a Service. One call names at most routesPerCall entries, 1 to 50.
func New(p *vpc.Product, vswitches *vswitch.Service, routesPerCall int) *Service {
	s := &Service{
		api: p.API, networks: p.Networks, vswitches: vswitches, routesPerCall: max(1, min(routesPerCall, maxRoutesPerCall)),
		tables:  vpc.NewCache[[]*vpcv1.RouteTable](p, "routetables"),
		entries: vpc.NewCache[[]*vpcv1.RouteEntry](p, "routeentries"),
	}
	p.Networks.OnWrite(func(string) {
		s.tables.Clear()
		s.entries.Clear()
	})
	return s
}
