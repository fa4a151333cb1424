// Package health serves ServerHealthService: what the health checks of listeners find.
package health

import (
	"cmp"
	"context"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// Service implements slbv1.ServerHealthServiceServer.
type Service struct {
	slbv1.UnimplementedServerHealthServiceServer

	product *slb.Product
	health  *batch.Reader[string, []*slbv1.ServerHealth] // by load balancer and listener
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{product: p, health: cloud.NewCache[[]*slbv1.ServerHealth](p.Shared, "health")}
	p.OnWrite(func(loadBalancerID string) { s.health.InvalidateFunc(slb.OfListeners(loadBalancerID)) })
	return s
}

// ListServerHealth reads the health of the servers of one instance, or of one of its listeners.
func (s *Service) ListServerHealth(ctx context.Context, r *slbv1.ListServerHealthRequest) (*slbv1.ListServerHealthResponse, error) {
	id, protocol := r.GetLoadBalancerId(), r.GetProtocol()
	params, name := cloud.Params{"LoadBalancerId": id}, slb.ListenersOf(id)
	if r.GetPort() != 0 {
		name = slb.ListenerName(&slbv1.ListenerKey{LoadBalancerId: id, Port: r.GetPort(), Protocol: protocol})
		params.Int("ListenerPort", int(r.GetPort())).With("ListenerProtocol", strings.ToLower(slb.ProtocolName(protocol)))
	}
	found, err := s.health.Do(ctx, name, r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.ServerHealth, error) { return s.describe(ctx, params) })
	if err != nil {
		return nil, err
	}
	if protocol != slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		found = slices.DeleteFunc(slices.Clone(found), func(h *slbv1.ServerHealth) bool { return h.GetListener().GetProtocol() != protocol })
	}
	return &slbv1.ListServerHealthResponse{Servers: found}, nil
}

func (s *Service) describe(ctx context.Context, params cloud.Params) ([]*slbv1.ServerHealth, error) {
	var found []*slbv1.ServerHealth
	err := s.product.Read(ctx, "DescribeHealthStatus", params, &cloud.Fields{
		"BackendServers": cloud.Fields{"BackendServer": cloud.Each(&found, decode)},
	})
	for _, h := range found {
		h.Listener.LoadBalancerId = params["LoadBalancerId"]
	}
	slices.SortStableFunc(found, func(a, b *slbv1.ServerHealth) int {
		x, y := a.GetListener(), b.GetListener()
		return cmp.Or(cmp.Compare(x.GetPort(), y.GetPort()), cmp.Compare(x.GetProtocol(), y.GetProtocol()),
			strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()),
			cmp.Compare(a.GetPort(), b.GetPort()))
	})
	return found, err
}
