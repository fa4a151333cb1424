package server

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type health struct {
	slbv1.UnimplementedHealthServiceServer

	slb *slb.Client
}

func (s *health) ListHealthStatus(ctx context.Context, r *slbv1.ListHealthStatusRequest) (*slbv1.ListHealthStatusResponse, error) {
	var c check
	c.id("load_balancer_id", r.GetLoadBalancerId())
	if r.GetPort() != 0 {
		c.port("port", r.GetPort())
	}
	enum(&c, "protocol", r.GetProtocol(), slbv1.Protocol_name, false)
	if r.GetPort() != 0 && r.GetProtocol() == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		c.addf("protocol", "is required with port, since TCP and UDP may share one")
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.slb.ListHealthStatus(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ListHealthStatusResponse{Servers: list}, nil
}
