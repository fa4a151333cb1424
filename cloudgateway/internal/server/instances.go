package server

import (
	"context"
	"fmt"
	"net/netip"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

type instances struct {
	ecsv1.UnimplementedInstanceServiceServer

	ecs *ecs.Client
}

func (s *instances) GetInstance(ctx context.Context, r *ecsv1.GetInstanceRequest) (*ecsv1.GetInstanceResponse, error) {
	var c check
	c.id("instance_id", r.GetInstanceId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	instance, err := s.ecs.GetInstance(ctx, r.GetInstanceId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &ecsv1.GetInstanceResponse{Instance: instance}, nil
}

func (s *instances) BatchGetInstances(
	ctx context.Context, r *ecsv1.BatchGetInstancesRequest,
) (*ecsv1.BatchGetInstancesResponse, error) {
	var c check
	c.ids("instance_ids", r.GetInstanceIds())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	return &ecsv1.BatchGetInstancesResponse{Results: s.ecs.BatchGetInstances(ctx, r.GetInstanceIds(), r.GetMaxAge().AsDuration())}, nil
}

func (s *instances) ListInstances(ctx context.Context, r *ecsv1.ListInstancesRequest) (*ecsv1.ListInstancesResponse, error) {
	var c check
	c.optionalID("vpc_id", r.GetVpcId())
	c.addresses("private_ips", r.GetPrivateIps())
	c.tags("tags", r.GetTags())
	c.maxAge(r.GetMaxAge())
	switch {
	case len(r.GetPrivateIps()) > 0 && r.GetVpcId() == "":
		c.addf("vpc_id", "is required with private_ips")
	case r.GetVpcId() == "" && len(r.GetTags()) == 0:
		c.addf("vpc_id", "one of vpc_id and tags is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.ecs.ListInstances(ctx, r)
	if err != nil {
		return nil, err
	}
	return &ecsv1.ListInstancesResponse{Instances: list}, nil
}

// addresses checks a list of IP addresses and gives them parsed; what is wrong is left out.
func (c *check) addresses(field string, values []string) []netip.Addr {
	if !c.items(field, len(values), maxItems) {
		return nil
	}
	parsed := make([]netip.Addr, 0, len(values))
	for i, v := range values {
		address, err := netip.ParseAddr(v)
		if err != nil {
			c.addf(fmt.Sprintf("%s[%d]", field, i), "%q is not an IP address", shorten(v))
			continue
		}
		parsed = append(parsed, address.Unmap())
	}
	return parsed
}

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

func (s *networkInterfaces) UpdateNetworkInterface(
	ctx context.Context, r *ecsv1.UpdateNetworkInterfaceRequest,
) (*ecsv1.UpdateNetworkInterfaceResponse, error) {
	var c check
	c.id("network_interface_id", r.GetNetworkInterfaceId())
	if r.SourceDestCheck == nil {
		c.addf("source_dest_check", "the request changes nothing; at least one attribute is required")
	}
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.UpdateNetworkInterface(ctx, r.GetNetworkInterfaceId(), r.GetSourceDestCheck()); err != nil {
		return nil, err
	}
	return &ecsv1.UpdateNetworkInterfaceResponse{}, nil
}
