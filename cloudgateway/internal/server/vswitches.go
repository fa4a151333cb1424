package server

import (
	"context"
	"net/netip"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

type vswitches struct {
	vpcv1.UnimplementedVSwitchServiceServer

	vpc *vpc.Client
}

func (s *vswitches) GetVSwitch(ctx context.Context, r *vpcv1.GetVSwitchRequest) (*vpcv1.GetVSwitchResponse, error) {
	var c check
	c.id("vswitch_id", r.GetVswitchId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	vswitch, err := s.vpc.GetVSwitch(ctx, r.GetVswitchId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &vpcv1.GetVSwitchResponse{Vswitch: vswitch}, nil
}

func (s *vswitches) CreateVSwitch(ctx context.Context, r *vpcv1.CreateVSwitchRequest) (*vpcv1.CreateVSwitchResponse, error) {
	const lastSubnet = 255
	var c check
	c.requestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.id("zone_id", r.GetZoneId())
	c.subnet("cidr_block", r.GetCidrBlock())
	c.number("ipv6_subnet", r.GetIpv6Subnet(), 0, lastSubnet)
	c.name(r.GetName(), 0)
	c.description(r.GetDescription(), 0)
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	vswitch, err := s.vpc.CreateVSwitch(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.CreateVSwitchResponse{Vswitch: vswitch}, nil
}

// subnet checks the IPv4 range of a vSwitch.
func (c *check) subnet(field, value string) {
	const widest, narrowest = 16, 29
	c.destination(field, value)
	prefix, err := netip.ParsePrefix(value)
	if err == nil && (!prefix.Addr().Is4() || prefix.Bits() < widest || prefix.Bits() > narrowest) {
		c.addf(field, "%q must be an IPv4 range with a mask of %d to %d bits", value, widest, narrowest)
	}
}

func (s *vswitches) DeleteVSwitch(ctx context.Context, r *vpcv1.DeleteVSwitchRequest) (*vpcv1.DeleteVSwitchResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("vpc_id", r.GetVpcId())
	c.id("vswitch_id", r.GetVswitchId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.vpc.DeleteVSwitch(ctx, r.GetVpcId(), r.GetVswitchId()); err != nil {
		return nil, err
	}
	return &vpcv1.DeleteVSwitchResponse{}, nil
}
