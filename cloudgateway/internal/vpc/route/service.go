// Package route serves RouteService: route tables and their entries.
package route

import (
	"context"
	"fmt"
	"time"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/busytime"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (VPC API reference).
const (
	maxRoutesPerCall = 50 // CreateRouteEntries, DeleteRouteEntries
	cidrsPerCall     = 20 // DescribeRouteEntryList
	// entriesPerPage is more than the 100 that the reference of DescribeRouteEntryList names. The existing controllers ask for as many, and the
	// cloud takes it. Where it gives fewer in an answer, the next page goes on behind them.
	entriesPerPage = 500
)

const (
	// callsTogether is how many calls are made for a gathering of changes before it is answered: with two, full calls cost the fewest reads.
	callsTogether = 2
	// changeTime bounds a gathering of changes, besides the deadlines of those who wait for it.
	changeTime = 150 * time.Second
	// mostTables and learnedLife bound for how many tables, and for how long, the size and the VPC are remembered.
	mostTables  = 10_000
	learnedLife = 24 * time.Hour
)

// Service implements vpcv1.RouteServiceServer.
type Service struct {
	vpcv1.UnimplementedRouteServiceServer

	api           cloud.API
	networks      *write.Serial
	vswitches     *vswitch.Service
	routesPerCall int
	tables        *batch.Reader[string, []*vpcv1.RouteTable] // by VPC
	entries       *batch.Reader[string, []*vpcv1.RouteEntry] // by filter
	changes       *batch.Reader[change, *vpcv1.RouteEntryResult]
	pace          busytime.Estimator // how long changes take to come into force
	// pages is how many calls the last complete reading of each table took. It decides how entries are read back in the fewest calls.
	pages     *memo.Memo[string, int]
	networkOf *memo.Memo[string, string] // the VPC of each table that was seen
}

// New makes a Service. One call names at most routesPerCall entries, 1 to 50.
func New(p *vpc.Product, vswitches *vswitch.Service, routesPerCall int) *Service {
	s := &Service{
		api: p.API, networks: p.Networks, vswitches: vswitches, routesPerCall: max(1, min(routesPerCall, maxRoutesPerCall)),
		tables:  cloud.NewCache[[]*vpcv1.RouteTable](p.Shared, "routetables"),
		entries: cloud.NewCache[[]*vpcv1.RouteEntry](p.Shared, "routeentries"),
		pages:   memo.New[string, int](mostTables), networkOf: memo.New[string, string](mostTables),
	}
	p.Networks.OnWrite(func(string) {
		s.tables.Clear()
		s.entries.Clear()
	})
	s.changes = batch.New(batch.Config[change, *vpcv1.RouteEntryResult]{
		Name: "routechanges", Load: s.makeChanges, MaxItems: callsTogether * s.routesPerCall, Parallel: 1, Timeout: changeTime,
		Room: p.Room, Registerer: p.Registerer, Logger: p.Logger,
	})
	return s
}

// ListRouteEntries reads every entry that matches, ordered by destination.
func (s *Service) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) (*vpcv1.ListRouteEntriesResponse, error) {
	cidrs, filter := cloud.Sorted(r.GetDestinationCidrs()), cloud.Params{}.
		With("RouteEntryType", r.GetType()).
		With("NextHopType", r.GetNextHopType()).
		With("NextHopId", r.GetNextHopId())
	key := fmt.Sprintf("%q %q %q", r.GetRouteTableId(), filter, cidrs)
	list, err := s.entries.Do(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		found, err := cloud.InChunks(cidrs, cidrsPerCall, func(some []string) ([]*vpcv1.RouteEntry, error) {
			return s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{}.Merge(filter).List("DestCidrBlockList", some))
		})
		return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
	})
	return cloud.Answer(&vpcv1.ListRouteEntriesResponse{RouteEntries: list}, err)
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (s *Service) describeEntries(ctx context.Context, tableID string, filter cloud.Params) ([]*vpcv1.RouteEntry, error) {
	params := cloud.Params{"RouteTableId": tableID}.Merge(filter).Int("MaxResult", entriesPerPage)
	var found []*vpcv1.RouteEntry
	calls := 0
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (next string, err error) {
		calls++
		err = s.api.Read(ctx, "DescribeRouteEntryList", p, &cloud.Fields{
			"NextToken": &next, "RouteEntrys": cloud.Fields{"RouteEntry": cloud.Each(&found, decode)},
		})
		return next, err
	})
	if err == nil && len(filter) == 0 {
		s.pages.Put(tableID, calls, learnedLife)
	}
	for _, e := range found {
		e.RouteTableId = tableID // Older answers leave it out.
	}
	return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
}
