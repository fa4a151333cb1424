package server

import (
	"context"
	"fmt"
	"net/netip"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

type routes struct {
	vpcv1.UnimplementedRouteServiceServer

	vpc *vpc.Client
}

func (s *routes) ListRouteTables(ctx context.Context, r *vpcv1.ListRouteTablesRequest) (*vpcv1.ListRouteTablesResponse, error) {
	var c check
	c.id("vpc_id", r.GetVpcId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	tables, err := s.vpc.ListRouteTables(ctx, r.GetVpcId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &vpcv1.ListRouteTablesResponse{RouteTables: tables}, nil
}

func (s *routes) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) (*vpcv1.ListRouteEntriesResponse, error) {
	var c check
	c.id("route_table_id", r.GetRouteTableId())
	c.oneOf("type", r.GetType(), "Custom", "System", "BGP", "CEN", "ECR")
	c.optionalID("next_hop_type", r.GetNextHopType())
	c.optionalID("next_hop_id", r.GetNextHopId())
	if c.items("destination_cidrs", len(r.GetDestinationCidrs()), maxItems) {
		for i, cidr := range r.GetDestinationCidrs() {
			c.destination(fmt.Sprintf("destination_cidrs[%d]", i), cidr)
		}
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	entries, err := s.vpc.ListRouteEntries(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.ListRouteEntriesResponse{RouteEntries: entries}, nil
}

func (s *routes) BatchCreateRouteEntries(
	ctx context.Context, r *vpcv1.BatchCreateRouteEntriesRequest,
) (*vpcv1.BatchCreateRouteEntriesResponse, error) {
	var c check
	c.id("vpc_id", r.GetVpcId())
	c.routeEntries(r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
		c.destination(field+".destination_cidr", e.GetDestinationCidr())
		c.hops(field, e)
		c.text(field+".name", e.GetName(), 0, 128)
		c.text(field+".description", e.GetDescription(), 0, 256)
	})
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	results, err := s.vpc.CreateRouteEntries(ctx, r.GetVpcId(), r.GetRouteEntries())
	if err != nil {
		return nil, err
	}
	return &vpcv1.BatchCreateRouteEntriesResponse{Results: results}, nil
}

func (s *routes) BatchDeleteRouteEntries(
	ctx context.Context, r *vpcv1.BatchDeleteRouteEntriesRequest,
) (*vpcv1.BatchDeleteRouteEntriesResponse, error) {
	var c check
	c.id("vpc_id", r.GetVpcId())
	c.routeEntries(r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
		if e.GetRouteEntryId() != "" {
			c.id(field+".route_entry_id", e.GetRouteEntryId())
			return
		}
		if len(e.GetNextHops()) > 0 {
			c.addf(field+".route_entry_id", "is required for an entry with several next hops")
			return
		}
		c.destination(field+".destination_cidr", e.GetDestinationCidr())
		c.id(field+".next_hop_id", e.GetNextHopId())
	})
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	results, err := s.vpc.DeleteRouteEntries(ctx, r.GetVpcId(), r.GetRouteEntries())
	if err != nil {
		return nil, err
	}
	return &vpcv1.BatchDeleteRouteEntriesResponse{Results: results}, nil
}

// hops checks where a new entry leads: to one next hop, or to several.
func (c *check) hops(field string, e *vpcv1.RouteEntry) {
	const least, most, heaviest = 2, 16, 255
	if len(e.GetNextHops()) == 0 {
		c.id(field+".next_hop_id", e.GetNextHopId())
		c.optionalID(field+".next_hop_type", e.GetNextHopType())
		return
	}
	if e.GetNextHopId() != "" || e.GetNextHopType() != "" {
		c.addf(field+".next_hops", "can't be combined with next_hop_id and next_hop_type")
	}
	if n := len(e.GetNextHops()); n < least || n > most {
		c.addf(field+".next_hops", "has %d items, must have %d to %d", n, least, most)
	}
	seen := map[string]bool{}
	for i, hop := range e.GetNextHops()[:min(most, len(e.GetNextHops()))] {
		at := fmt.Sprintf("%s.next_hops[%d]", field, i)
		c.id(at+".next_hop_id", hop.GetNextHopId())
		c.optionalID(at+".next_hop_type", hop.GetNextHopType())
		c.number(at+".weight", hop.GetWeight(), 0, heaviest)
		if seen[hop.GetNextHopId()] {
			c.addf(at+".next_hop_id", "%q is there twice", hop.GetNextHopId())
		}
		seen[hop.GetNextHopId()] = true
	}
}

// routeEntries checks each entry, and that none is there twice.
func (c *check) routeEntries(entries []*vpcv1.RouteEntry, each func(field string, e *vpcv1.RouteEntry)) {
	if !c.items("route_entries", len(entries), maxItems) {
		return
	}
	type identity struct{ table, id, destination string }
	seen := map[identity]string{}
	for i, e := range entries {
		field := fmt.Sprintf("route_entries[%d]", i)
		c.id(field+".route_table_id", e.GetRouteTableId())
		each(field, e)
		key := identity{table: e.GetRouteTableId(), id: e.GetRouteEntryId(), destination: e.GetDestinationCidr()}
		if first, ok := seen[key]; ok {
			c.addf(field, "is the same entry as %s", first)
			continue
		}
		seen[key] = field
	}
}

// destination wants the form that the cloud reports, so that entries can be compared by it.
func (c *check) destination(field, value string) {
	prefix, err := netip.ParsePrefix(value)
	switch {
	case err != nil:
		c.addf(field, `%q is not of the form "10.1.2.0/24"`, shorten(value))
	case prefix != prefix.Masked():
		c.addf(field, "%q has bits outside of its mask, write %q", value, prefix.Masked())
	case prefix.String() != value:
		c.addf(field, "%q is not the usual form, write %q", value, prefix)
	}
}
