package gatewaytest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// Values of route entries.
const (
	statusAvailable = "Available"
	typeCustom      = "Custom"
	nextHopInstance = "Instance"
)

// routes serves route tables.
type routes struct {
	vpcv1.UnimplementedRouteServiceServer

	f *Fake
}

func (s *routes) ListRouteTables(_ context.Context, req *vpcv1.ListRouteTablesRequest) (*vpcv1.ListRouteTablesResponse, error) {
	if err := required("vpc_id", req.GetVpcId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	return &vpcv1.ListRouteTablesResponse{RouteTables: sorted(s.f.RouteTables, func(t *vpcv1.RouteTable) bool {
		return t.GetVpcId() == req.GetVpcId()
	})}, nil
}

func (s *routes) ListRouteEntries(_ context.Context, req *vpcv1.ListRouteEntriesRequest,
) (*vpcv1.ListRouteEntriesResponse, error) {
	if err := required("route_table_id", req.GetRouteTableId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	if _, ok := s.f.RouteTables[req.GetRouteTableId()]; !ok {
		return nil, notFound(rpcerr.RouteTableNotFound, "route table", req.GetRouteTableId())
	}
	response := &vpcv1.ListRouteEntriesResponse{}
	keys := slices.SortedFunc(maps.Keys(s.f.Routes), func(a, b RouteKey) int {
		return strings.Compare(a.DestinationCIDR, b.DestinationCIDR)
	})
	for _, key := range keys {
		entry := s.f.Routes[key]
		if key.RouteTableID == req.GetRouteTableId() &&
			(req.GetType() == "" || entry.GetType() == req.GetType()) &&
			(req.GetNextHopType() == "" || entry.GetNextHopType() == req.GetNextHopType()) {
			response.RouteEntries = append(response.RouteEntries, proto.CloneOf(entry))
		}
	}
	return response, nil
}

func (s *routes) BatchCreateRouteEntries(_ context.Context, req *vpcv1.BatchCreateRouteEntriesRequest,
) (*vpcv1.BatchCreateRouteEntriesResponse, error) {
	if err := required("vpc_id", req.GetVpcId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	response := &vpcv1.BatchCreateRouteEntriesResponse{}
	for _, wanted := range req.GetRouteEntries() {
		result := &vpcv1.RouteEntryResult{Status: statusAvailable}
		if err := s.f.createRoute(wanted); err != nil {
			result = &vpcv1.RouteEntryResult{Error: rpcerr.ToItem(err)}
		}
		response.Results = append(response.Results, result)
	}
	return response, nil
}

// createRoute creates one entry; f is locked.
func (f *Fake) createRoute(wanted *vpcv1.RouteEntry) error {
	key := RouteKey{RouteTableID: wanted.GetRouteTableId(), DestinationCIDR: wanted.GetDestinationCidr()}
	if err := required("route_entries.destination_cidr", key.DestinationCIDR); err != nil {
		return err
	}
	if _, ok := f.RouteTables[key.RouteTableID]; !ok {
		return notFound(rpcerr.RouteTableNotFound, "route table", key.RouteTableID)
	}
	entry := proto.CloneOf(wanted)
	if entry.GetNextHopType() == "" {
		entry.NextHopType = nextHopInstance
	}
	if existing, ok := f.Routes[key]; ok {
		if existing.GetNextHopId() == entry.GetNextHopId() && existing.GetNextHopType() == entry.GetNextHopType() {
			return nil
		}
		return refused(codes.AlreadyExists, rpcerr.RouteConflict, "%s of %s leads to %s",
			key.DestinationCIDR, key.RouteTableID, existing.GetNextHopId())
	}
	if _, ok := f.Instances[entry.GetNextHopId()]; !ok && entry.GetNextHopType() == nextHopInstance {
		return notFound(rpcerr.InstanceNotFound, "instance", entry.GetNextHopId())
	}
	held := 0
	for other := range f.Routes {
		if other.RouteTableID == key.RouteTableID {
			held++
		}
	}
	if held >= f.RoutesPerTable {
		return refused(codes.ResourceExhausted, rpcerr.QuotaExceeded, "%s holds %d entries, at most %d are allowed",
			key.RouteTableID, held, f.RoutesPerTable)
	}
	entry.RouteEntryId, entry.Type, entry.Status = f.nextID("rte"), typeCustom, statusAvailable
	f.Routes[key] = entry
	return nil
}

func (s *routes) BatchDeleteRouteEntries(_ context.Context, req *vpcv1.BatchDeleteRouteEntriesRequest,
) (*vpcv1.BatchDeleteRouteEntriesResponse, error) {
	if err := required("vpc_id", req.GetVpcId()); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	response := &vpcv1.BatchDeleteRouteEntriesResponse{}
	for _, unwanted := range req.GetRouteEntries() {
		result := &vpcv1.RouteEntryResult{}
		if err := s.f.deleteRoute(unwanted); err != nil {
			result.Error = rpcerr.ToItem(err)
		}
		response.Results = append(response.Results, result)
	}
	return response, nil
}

// deleteRoute deletes one entry, named by its id or by destination and next hop; f is locked.
func (f *Fake) deleteRoute(unwanted *vpcv1.RouteEntry) error {
	if _, ok := f.RouteTables[unwanted.GetRouteTableId()]; !ok {
		return notFound(rpcerr.RouteTableNotFound, "route table", unwanted.GetRouteTableId())
	}
	for key, entry := range f.Routes {
		if key.RouteTableID != unwanted.GetRouteTableId() {
			continue
		}
		byID := unwanted.GetRouteEntryId() != "" && unwanted.GetRouteEntryId() == entry.GetRouteEntryId()
		byName := unwanted.GetRouteEntryId() == "" && unwanted.GetDestinationCidr() == key.DestinationCIDR &&
			unwanted.GetNextHopId() == entry.GetNextHopId()
		if !byID && !byName {
			continue
		}
		if entry.GetType() != "" && entry.GetType() != typeCustom {
			return refused(codes.FailedPrecondition, rpcerr.InvalidState, "%s is a %s entry", key.DestinationCIDR, entry.GetType())
		}
		delete(f.Routes, key)
		return nil
	}
	return nil
}
