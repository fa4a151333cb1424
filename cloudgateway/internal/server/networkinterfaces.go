package server

import (
	"context"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

type networkInterfaces struct {
	ecsv1.UnimplementedNetworkInterfaceServiceServer

	ecs *ecs.Client
}

func (s *networkInterfaces) GetNetworkInterface(
	ctx context.Context, r *ecsv1.GetNetworkInterfaceRequest,
) (*ecsv1.GetNetworkInterfaceResponse, error) {
	var c check
	c.id("network_interface_id", r.GetNetworkInterfaceId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	n, err := s.ecs.GetNetworkInterface(ctx, r.GetNetworkInterfaceId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &ecsv1.GetNetworkInterfaceResponse{NetworkInterface: n}, nil
}

func (s *networkInterfaces) BatchGetNetworkInterfaces(
	ctx context.Context, r *ecsv1.BatchGetNetworkInterfacesRequest,
) (*ecsv1.BatchGetNetworkInterfacesResponse, error) {
	var c check
	c.ids("network_interface_ids", r.GetNetworkInterfaceIds())
	addresses := c.addresses("ip_addresses", r.GetIpAddresses())
	c.optionalID("vpc_id", r.GetVpcId())
	switch {
	case len(r.GetNetworkInterfaceIds()) > 0 && len(r.GetIpAddresses()) > 0:
		c.addf("ip_addresses", "can't be combined with network_interface_ids")
	case len(r.GetIpAddresses()) > 0 && r.GetVpcId() == "":
		c.addf("vpc_id", "is required with ip_addresses")
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	if len(addresses) > 0 {
		results := s.ecs.FindNetworkInterfaces(ctx, r.GetVpcId(), addresses, r.GetMaxAge().AsDuration())
		return &ecsv1.BatchGetNetworkInterfacesResponse{Results: results}, nil
	}
	results := s.ecs.BatchGetNetworkInterfaces(ctx, r.GetNetworkInterfaceIds(), r.GetMaxAge().AsDuration())
	return &ecsv1.BatchGetNetworkInterfacesResponse{Results: results}, nil
}

func (s *networkInterfaces) ListNetworkInterfaces(
	ctx context.Context, r *ecsv1.ListNetworkInterfacesRequest,
) (*ecsv1.ListNetworkInterfacesResponse, error) {
	var c check
	given := c.idFilters(map[string]string{
		"instance_id": r.GetInstanceId(), "vpc_id": r.GetVpcId(), "vswitch_id": r.GetVswitchId(),
		"security_group_id": r.GetSecurityGroupId(), "resource_group_id": r.GetResourceGroupId(),
	})
	c.text("status", r.GetStatus(), 0, 32)
	c.name(r.GetName(), 0)
	c.oneOf("type", r.GetType(), "Primary", "Secondary")
	c.tags("tags", r.GetTags())
	c.maxAge(r.GetMaxAge())
	if !given && r.GetStatus() == "" && r.GetName() == "" && r.GetType() == "" && len(r.GetTags()) == 0 {
		c.addf("vpc_id", "is required, or another filter")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.ecs.ListNetworkInterfaces(ctx, r)
	if err != nil {
		return nil, err
	}
	return &ecsv1.ListNetworkInterfacesResponse{NetworkInterfaces: list}, nil
}

// mostGroups bounds the security groups of an interface (ECS API reference); the account's quota is less.
const mostGroups = 16

func (s *networkInterfaces) UpdateNetworkInterface(
	ctx context.Context, r *ecsv1.UpdateNetworkInterfaceRequest,
) (*ecsv1.UpdateNetworkInterfaceResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("network_interface_id", r.GetNetworkInterfaceId())
	if r.Name != nil {
		c.name(r.GetName(), 2)
	}
	if r.Description != nil {
		c.description(r.GetDescription(), 2)
	}
	if c.items("security_group_ids", len(r.GetSecurityGroupIds()), mostGroups) {
		c.ids("security_group_ids", r.GetSecurityGroupIds())
	}
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if r.SourceDestCheck == nil && r.Name == nil && r.Description == nil && len(r.GetSecurityGroupIds()) == 0 &&
		r.DeleteOnRelease == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 {
		c.addf("source_dest_check", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.UpdateNetworkInterface(ctx, r); err != nil {
		return nil, err
	}
	return &ecsv1.UpdateNetworkInterfaceResponse{}, nil
}
