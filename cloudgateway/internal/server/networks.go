package server

import (
	"context"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

type networks struct {
	vpcv1.UnimplementedNetworkServiceServer

	vpc *vpc.Client
}

func (s *networks) GetVpc(ctx context.Context, r *vpcv1.GetVpcRequest) (*vpcv1.GetVpcResponse, error) {
	var c check
	c.id("vpc_id", r.GetVpcId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	found, err := s.vpc.GetVpc(ctx, r.GetVpcId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &vpcv1.GetVpcResponse{Vpc: found}, nil
}

func (s *networks) ListVpcs(ctx context.Context, r *vpcv1.ListVpcsRequest) (*vpcv1.ListVpcsResponse, error) {
	var c check
	c.ids("vpc_ids", r.GetVpcIds())
	c.name(r.GetName(), 0)
	c.tags("tags", r.GetTags())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.vpc.ListVpcs(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.ListVpcsResponse{Vpcs: list}, nil
}

func (s *networks) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) (*vpcv1.ListVSwitchesResponse, error) {
	var c check
	c.optionalID("vpc_id", r.GetVpcId())
	c.ids("vswitch_ids", r.GetVswitchIds())
	c.optionalID("zone_id", r.GetZoneId())
	c.name(r.GetName(), 0)
	c.tags("tags", r.GetTags())
	if r.GetVpcId() == "" && len(r.GetVswitchIds()) == 0 && r.GetZoneId() == "" && r.GetName() == "" && len(r.GetTags()) == 0 {
		c.addf("vpc_id", "one of vpc_id, vswitch_ids, zone_id, name and tags is required")
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.vpc.ListVSwitches(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.ListVSwitchesResponse{Vswitches: list}, nil
}

func (s *networks) ListEips(ctx context.Context, r *vpcv1.ListEipsRequest) (*vpcv1.ListEipsResponse, error) {
	var c check
	c.optionalID("associated_instance_id", r.GetAssociatedInstanceId())
	if r.GetAssociatedInstanceType() == "" {
		c.addf("associated_instance_type", `is required, e.g. "SlbInstance"`)
	}
	c.oneOf("associated_instance_type", r.GetAssociatedInstanceType(), eipInstanceTypes()...)
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.vpc.ListEips(ctx, &vpcv1.EipServiceListEipsRequest{
		AssociatedInstanceType: r.GetAssociatedInstanceType(), AssociatedInstanceId: r.GetAssociatedInstanceId(), MaxAge: r.GetMaxAge(),
	})
	if err != nil {
		return nil, err
	}
	return &vpcv1.ListEipsResponse{Eips: list}, nil
}
