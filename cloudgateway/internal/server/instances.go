package server

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

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
	if err := checkListInstances(r); err != nil {
		return nil, err
	}
	list, err := s.ecs.ListInstances(ctx, r)
	if err != nil {
		return nil, err
	}
	return &ecsv1.ListInstancesResponse{Instances: list}, nil
}

func checkListInstances(r *ecsv1.ListInstancesRequest) error {
	var c check
	given := c.idFilters(map[string]string{
		"vpc_id": r.GetVpcId(), "zone_id": r.GetZoneId(), "vswitch_id": r.GetVswitchId(), "security_group_id": r.GetSecurityGroupId(),
		"resource_group_id": r.GetResourceGroupId(), "instance_type": r.GetInstanceType(),
	})
	c.name(r.GetName(), 0)
	c.oneOf("status", r.GetStatus(), "Pending", "Starting", "Running", "Stopping", "Stopped")
	c.oneOf("charge_type", r.GetChargeType(), "PrePaid", "PostPaid")
	c.ids("instance_ids", r.GetInstanceIds())
	c.addresses("private_ips", r.GetPrivateIps())
	c.addresses("public_ips", r.GetPublicIps())
	c.addresses("eips", r.GetEips())
	c.tags("tags", r.GetTags())
	c.maxAge(r.GetMaxAge())
	lists := 0
	for _, list := range [][]string{r.GetInstanceIds(), r.GetPrivateIps(), r.GetPublicIps(), r.GetEips()} {
		if len(list) > 0 {
			lists++
		}
	}
	switch {
	case lists > 1:
		c.addf("instance_ids", "of instance_ids, private_ips, public_ips and eips only one is allowed")
	case len(r.GetPrivateIps()) > 0 && r.GetVpcId() == "":
		c.addf("vpc_id", "is required with private_ips")
	case !given && lists == 0 && r.GetName() == "" && r.GetStatus() == "" && r.GetChargeType() == "" && len(r.GetTags()) == 0:
		c.addf("vpc_id", "is required, or another filter")
	}
	return c.err()
}

func (s *instances) BatchGetInstanceStatuses(
	ctx context.Context, r *ecsv1.BatchGetInstanceStatusesRequest,
) (*ecsv1.BatchGetInstanceStatusesResponse, error) {
	var c check
	c.ids("instance_ids", r.GetInstanceIds())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	results := s.ecs.BatchGetInstanceStatuses(ctx, r.GetInstanceIds(), r.GetMaxAge().AsDuration())
	return &ecsv1.BatchGetInstanceStatusesResponse{Results: results}, nil
}

func (s *instances) UpdateInstance(ctx context.Context, r *ecsv1.UpdateInstanceRequest) (*ecsv1.UpdateInstanceResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("instance_id", r.GetInstanceId())
	if r.Name != nil {
		c.name(r.GetName(), 2)
	}
	if r.Description != nil {
		c.description(r.GetDescription(), 2)
	}
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if r.Name == nil && r.Description == nil && r.DeletionProtection == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 {
		c.addf("name", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.UpdateInstance(ctx, r); err != nil {
		return nil, err
	}
	return &ecsv1.UpdateInstanceResponse{}, nil
}

func (s *instances) StartInstance(ctx context.Context, r *ecsv1.StartInstanceRequest) (*ecsv1.StartInstanceResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("instance_id", r.GetInstanceId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.StartInstance(ctx, r.GetInstanceId()); err != nil {
		return nil, err
	}
	return &ecsv1.StartInstanceResponse{}, nil
}

func (s *instances) StopInstance(ctx context.Context, r *ecsv1.StopInstanceRequest) (*ecsv1.StopInstanceResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("instance_id", r.GetInstanceId())
	enum(&c, "stopped_mode", r.GetStoppedMode(), ecsv1.StoppedMode_name, false)
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.StopInstance(ctx, r); err != nil {
		return nil, err
	}
	return &ecsv1.StopInstanceResponse{}, nil
}

func (s *instances) DeleteInstance(ctx context.Context, r *ecsv1.DeleteInstanceRequest) (*ecsv1.DeleteInstanceResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("instance_id", r.GetInstanceId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.ecs.DeleteInstance(ctx, r.GetInstanceId(), r.GetForce()); err != nil {
		return nil, err
	}
	return &ecsv1.DeleteInstanceResponse{}, nil
}

// idFilters checks filters by field, and tells whether there are any.
func (c *check) idFilters(filters map[string]string) (given bool) {
	for _, field := range slices.Sorted(maps.Keys(filters)) {
		c.optionalID(field, filters[field])
		given = given || filters[field] != ""
	}
	return given
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
