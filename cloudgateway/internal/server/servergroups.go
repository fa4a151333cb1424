package server

import (
	"context"
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type serverGroups struct {
	slbv1.UnimplementedServerGroupServiceServer

	slb *slb.Client
}

func (s *serverGroups) GetServerGroup(
	ctx context.Context, r *slbv1.GetServerGroupRequest,
) (*slbv1.GetServerGroupResponse, error) {
	var c check
	c.id("server_group_id", r.GetServerGroupId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	group, err := s.slb.GetServerGroup(ctx, r.GetServerGroupId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.GetServerGroupResponse{ServerGroup: group}, nil
}

func (s *serverGroups) ListServerGroups(
	ctx context.Context, r *slbv1.ListServerGroupsRequest,
) (*slbv1.ListServerGroupsResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	groups, err := s.slb.ListServerGroups(ctx, r.GetLoadBalancerId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.ListServerGroupsResponse{ServerGroups: groups}, nil
}

func (s *serverGroups) CreateServerGroup(
	ctx context.Context, r *slbv1.CreateServerGroupRequest,
) (*slbv1.CreateServerGroupResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.text("name", r.GetName(), 1, 80)
	c.servers("servers", r.GetServers())
	c.distinct(namedServers{"servers", r.GetServers()})
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	id, err := s.slb.CreateServerGroup(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateServerGroupResponse{ServerGroupId: id}, nil
}

func (s *serverGroups) ApplyServerChanges(
	ctx context.Context, r *slbv1.ApplyServerChangesRequest,
) (*slbv1.ApplyServerChangesResponse, error) {
	var c check
	c.id("server_group_id", r.GetServerGroupId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.servers("add", r.GetAdd())
	c.servers("remove", r.GetRemove())
	c.servers("update", r.GetUpdate())
	// A server that is both removed and added is given other attributes, which is fine.
	c.distinct(namedServers{"update", r.GetUpdate()}, namedServers{"add", r.GetAdd()})
	c.distinct(namedServers{"update", r.GetUpdate()}, namedServers{"remove", r.GetRemove()})
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	calls, err := s.slb.ApplyServerChanges(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ApplyServerChangesResponse{CloudCalls: calls}, nil
}

func (s *serverGroups) UpdateServerGroup(
	ctx context.Context, r *slbv1.UpdateServerGroupRequest,
) (*slbv1.UpdateServerGroupResponse, error) {
	var c check
	c.id("server_group_id", r.GetServerGroupId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	if r.Name != nil {
		c.text("name", r.GetName(), 1, 80)
	}
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	c.optionalRequestID(r.GetRequestId())
	if r.Name == nil && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.addf("name", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.UpdateServerGroup(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateServerGroupResponse{}, nil
}

func (s *serverGroups) DeleteServerGroup(
	ctx context.Context, r *slbv1.DeleteServerGroupRequest,
) (*slbv1.DeleteServerGroupResponse, error) {
	var c check
	c.id("server_group_id", r.GetServerGroupId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.optionalRequestID(r.GetRequestId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.DeleteServerGroup(ctx, r.GetLoadBalancerId(), r.GetServerGroupId()); err != nil {
		return nil, err
	}
	return &slbv1.DeleteServerGroupResponse{}, nil
}

// namedServers is a list of servers and the field it stands in.
type namedServers struct {
	field   string
	servers []*slbv1.Server
}

// distinct checks lists that must not name a server twice, neither one list nor two together.
func (c *check) distinct(lists ...namedServers) {
	seen := map[slb.ServerKey]string{}
	for _, list := range lists {
		if len(list.servers) > maxItems {
			return // is refused for that
		}
		for i, server := range list.servers {
			field := fmt.Sprintf("%s[%d]", list.field, i)
			if first, ok := seen[slb.KeyOf(server)]; ok {
				c.addf(field, "is the same server as %s", first)
				continue
			}
			seen[slb.KeyOf(server)] = field
		}
	}
}

func (c *check) servers(field string, servers []*slbv1.Server) {
	if !c.items(field, len(servers), maxItems) {
		return
	}
	for i, s := range servers {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.server(at, s)
		c.port(at+".port", s.GetPort())
	}
}

// server checks a server but for its port, which not all have.
func (c *check) server(field string, s *slbv1.Server) {
	const heaviest, longest = 100, 80
	enum(c, field+".type", s.GetType(), slbv1.ServerType_name, true)
	c.id(field+".server_id", s.GetServerId())
	switch {
	case s.GetServerIp() != "":
		c.address(field+".server_ip", s.GetServerIp())
	case s.GetType() == slbv1.ServerType_SERVER_TYPE_ENI:
		c.addf(field+".server_ip", "is required for an ENI")
	}
	c.number(field+".weight", s.GetWeight(), 0, heaviest)
	c.text(field+".description", s.GetDescription(), 0, longest)
}
