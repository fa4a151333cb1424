package server

import (
	"context"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

func (s *routes) CreateRouteTable(ctx context.Context, r *vpcv1.CreateRouteTableRequest) (*vpcv1.CreateRouteTableResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.name(r.GetName(), 0)
	c.description(r.GetDescription(), 0)
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	table, err := s.vpc.CreateRouteTable(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.CreateRouteTableResponse{RouteTable: table}, nil
}

func (s *routes) DeleteRouteTable(ctx context.Context, r *vpcv1.DeleteRouteTableRequest) (*vpcv1.DeleteRouteTableResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.id("route_table_id", r.GetRouteTableId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.vpc.DeleteRouteTable(ctx, r.GetVpcId(), r.GetRouteTableId()); err != nil {
		return nil, err
	}
	return &vpcv1.DeleteRouteTableResponse{}, nil
}

func (s *routes) AssociateRouteTable(
	ctx context.Context, r *vpcv1.AssociateRouteTableRequest,
) (*vpcv1.AssociateRouteTableResponse, error) {
	if err := checkBond(r); err != nil {
		return nil, err
	}
	if err := s.vpc.AssociateRouteTable(ctx, r); err != nil {
		return nil, err
	}
	return &vpcv1.AssociateRouteTableResponse{}, nil
}

func (s *routes) UnassociateRouteTable(
	ctx context.Context, r *vpcv1.UnassociateRouteTableRequest,
) (*vpcv1.UnassociateRouteTableResponse, error) {
	if err := checkBond(r); err != nil {
		return nil, err
	}
	if err := s.vpc.UnassociateRouteTable(ctx, r); err != nil {
		return nil, err
	}
	return &vpcv1.UnassociateRouteTableResponse{}, nil
}

func checkBond(r interface {
	GetRequestId() string
	GetVpcId() string
	GetRouteTableId() string
	GetVswitchId() string
},
) error {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.id("route_table_id", r.GetRouteTableId())
	c.id("vswitch_id", r.GetVswitchId())
	return c.err()
}

func (s *routes) UpdateRouteEntry(ctx context.Context, r *vpcv1.UpdateRouteEntryRequest) (*vpcv1.UpdateRouteEntryResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.id("route_table_id", r.GetRouteTableId())
	c.id("route_entry_id", r.GetRouteEntryId())
	if r.Name != nil {
		c.name(r.GetName(), 1)
	}
	if r.Description != nil {
		c.description(r.GetDescription(), 1)
	}
	if hop := r.GetNextHop(); hop != nil {
		c.id("next_hop.next_hop_id", hop.GetNextHopId())
		c.optionalID("next_hop.next_hop_type", r.GetNextHop().GetNextHopType())
		if hop.Weight != nil {
			c.addf("next_hop.weight", "is for entries with several next hops only")
		}
	}
	if r.Name == nil && r.Description == nil && r.GetNextHop() == nil {
		c.addf("name", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	entry, err := s.vpc.UpdateRouteEntry(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.UpdateRouteEntryResponse{RouteEntry: entry}, nil
}
