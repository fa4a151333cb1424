package gatewaytest

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// health serves the health of servers.
type health struct {
	slbv1.UnimplementedServerHealthServiceServer

	f *Fake
}

func (s *health) ListServerHealth(_ context.Context, req *slbv1.ListServerHealthRequest) (*slbv1.ListServerHealthResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if _, err := s.f.loadBalancer(req.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	response := &slbv1.ListServerHealthResponse{}
	for _, l := range s.f.listenersOf(req.GetLoadBalancerId()) {
		group := s.f.ServerGroups[l.GetConfig().GetServerGroupId()]
		if group == nil || l.GetStatus() != statusRunning {
			continue
		}
		for _, server := range group.Servers {
			status := "normal"
			if s.f.Health != nil {
				status = s.f.Health(l.GetKey(), server)
			}
			response.Servers = append(response.Servers, &slbv1.ServerHealth{
				Listener: l.GetKey(), Type: server.GetType(), ServerId: server.GetServerId(), ServerIp: server.GetServerIp(),
				Port: server.GetPort(), Status: status,
			})
		}
	}
	return response, nil
}
