package server

import (
	"context"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

type eips struct {
	vpcv1.UnimplementedEipServiceServer

	vpc *vpc.Client
}

func (s *eips) GetEip(ctx context.Context, r *vpcv1.GetEipRequest) (*vpcv1.GetEipResponse, error) {
	var c check
	c.id("allocation_id", r.GetAllocationId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	eip, err := s.vpc.GetEip(ctx, r.GetAllocationId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &vpcv1.GetEipResponse{Eip: eip}, nil
}

func (s *eips) ListEips(ctx context.Context, r *vpcv1.EipServiceListEipsRequest) (*vpcv1.EipServiceListEipsResponse, error) {
	var c check
	c.ids("allocation_ids", r.GetAllocationIds())
	c.addresses("ip_addresses", r.GetIpAddresses())
	c.oneOf("status", r.GetStatus(), "Available", "Associating", "InUse", "Unassociating", "Releasing")
	c.text("name", r.GetName(), 0, 128)
	c.tags("tags", r.GetTags())
	c.oneOf("associated_instance_type", r.GetAssociatedInstanceType(), eipInstanceTypes()...)
	c.optionalID("associated_instance_id", r.GetAssociatedInstanceId())
	if r.GetAssociatedInstanceId() != "" && r.GetAssociatedInstanceType() == "" {
		c.addf("associated_instance_type", "is required with associated_instance_id")
	}
	c.optionalID("isp", r.GetIsp())
	c.oneOf("instance_charge_type", r.GetInstanceChargeType(), payLater, payBefore)
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.vpc.ListEips(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.EipServiceListEipsResponse{Eips: list}, nil
}

// What an EIP can be bound to.
func eipInstanceTypes() []string {
	return []string{"EcsInstance", "SlbInstance", "Nat", "HaVip", eipInterface}
}

const eipInterface = "NetworkInterface"

// When an EIP is paid for.
const (
	payLater  = "PostPaid"
	payBefore = "PrePaid"
)

func (s *eips) AllocateEip(ctx context.Context, r *vpcv1.AllocateEipRequest) (*vpcv1.AllocateEipResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.eipBandwidth(r.GetBandwidthMbps(), 0)
	c.oneOf("internet_charge_type", r.GetInternetChargeType(), "PayByBandwidth", "PayByTraffic")
	c.oneOf("instance_charge_type", r.GetInstanceChargeType(), payLater, payBefore)
	c.term(r)
	c.optionalID("isp", r.GetIsp())
	c.name(r.GetName(), 0)
	c.description(r.GetDescription(), 0)
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	eip, err := s.vpc.AllocateEip(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.AllocateEipResponse{Eip: eip}, nil
}

// term checks for how long an EIP is paid.
func (c *check) term(r *vpcv1.AllocateEipRequest) {
	const months, years = 9, 5
	least, most := int32(0), int32(months)
	if r.GetPricingCycle() == "Year" {
		most = years
	}
	c.oneOf("pricing_cycle", r.GetPricingCycle(), "Month", "Year")
	switch inAdvance := r.GetInstanceChargeType() == payBefore; {
	case inAdvance && r.GetPricingCycle() == "":
		c.addf("pricing_cycle", "must be Month or Year for %s", payBefore)
	case inAdvance:
		least = 1
	case r.GetPricingCycle() != "" || r.GetPeriod() != 0:
		c.addf("instance_charge_type", "must be %s where pricing_cycle or period is given", payBefore)
	}
	c.number("period", r.GetPeriod(), least, most)
}

func (c *check) eipBandwidth(value, least int32) {
	const most = 1000
	c.number("bandwidth_mbps", value, least, most)
}

func (s *eips) UpdateEip(ctx context.Context, r *vpcv1.UpdateEipRequest) (*vpcv1.UpdateEipResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("allocation_id", r.GetAllocationId())
	if r.Name != nil {
		c.name(r.GetName(), 1)
	}
	if r.Description != nil {
		c.description(r.GetDescription(), 1)
	}
	if r.BandwidthMbps != nil {
		c.eipBandwidth(r.GetBandwidthMbps(), 1)
	}
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if r.Name == nil && r.Description == nil && r.BandwidthMbps == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 {
		c.addf("name", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.vpc.UpdateEip(ctx, r); err != nil {
		return nil, err
	}
	return &vpcv1.UpdateEipResponse{}, nil
}

func (s *eips) AssociateEip(ctx context.Context, r *vpcv1.AssociateEipRequest) (*vpcv1.AssociateEipResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("allocation_id", r.GetAllocationId())
	c.id("instance_id", r.GetInstanceId())
	if r.GetInstanceType() == "" {
		c.addf("instance_type", "is required, one of %s", strings.Join(eipInstanceTypes(), ", "))
	}
	c.oneOf("instance_type", r.GetInstanceType(), eipInstanceTypes()...)
	if r.GetPrivateIpAddress() != "" {
		c.address("private_ip_address", r.GetPrivateIpAddress())
	}
	c.oneOf("mode", r.GetMode(), "NAT", "BINDED", "MULTI_BINDED")
	if r.GetInstanceType() != eipInterface && (r.GetPrivateIpAddress() != "" || r.GetMode() != "") {
		c.addf("instance_type", "must be %s where private_ip_address or mode is given", eipInterface)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	eip, err := s.vpc.AssociateEip(ctx, r)
	if err != nil {
		return nil, err
	}
	return &vpcv1.AssociateEipResponse{Eip: eip}, nil
}

func (s *eips) UnassociateEip(ctx context.Context, r *vpcv1.UnassociateEipRequest) (*vpcv1.UnassociateEipResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("allocation_id", r.GetAllocationId())
	c.optionalID("instance_id", r.GetInstanceId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.vpc.UnassociateEip(ctx, r); err != nil {
		return nil, err
	}
	return &vpcv1.UnassociateEipResponse{}, nil
}

func (s *eips) ReleaseEip(ctx context.Context, r *vpcv1.ReleaseEipRequest) (*vpcv1.ReleaseEipResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("allocation_id", r.GetAllocationId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.vpc.ReleaseEip(ctx, r.GetAllocationId()); err != nil {
		return nil, err
	}
	return &vpcv1.ReleaseEipResponse{}, nil
}
