package server

import (
	"context"
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

func (s *serverGroups) GetDefaultServerGroup(
	ctx context.Context, r *slbv1.GetDefaultServerGroupRequest,
) (*slbv1.GetDefaultServerGroupResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	servers, err := s.slb.GetDefaultServerGroup(ctx, r.GetLoadBalancerId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.GetDefaultServerGroupResponse{Servers: servers}, nil
}

func (s *serverGroups) ApplyDefaultServerChanges(
	ctx context.Context, r *slbv1.ApplyDefaultServerChangesRequest,
) (*slbv1.ApplyDefaultServerChangesResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.optionalRequestID(r.GetRequestId())
	add, remove, update := c.defaultServers("add", r.GetAdd()), c.defaultServers("remove", r.GetRemove()), c.defaultServers("update", r.GetUpdate())
	c.distinct(update, add)
	c.distinct(update, remove)
	if err := c.err(); err != nil {
		return nil, err
	}
	calls, err := s.slb.ApplyDefaultServerChanges(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ApplyDefaultServerChangesResponse{CloudCalls: calls}, nil
}

// defaultServers checks servers that have no port, and names them for distinct.
func (c *check) defaultServers(field string, list []*slbv1.DefaultServer) namedServers {
	named := namedServers{field: field}
	if !c.items(field, len(list), maxItems) {
		return named
	}
	named.servers = slb.WithoutPort(list)
	for i, s := range named.servers {
		c.server(fmt.Sprintf("%s[%d]", field, i), s)
	}
	return named
}
