package servergroup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// GetDefaultServerGroup reads the servers of the default server group of an instance, ordered by id and address.
func (s *Service) GetDefaultServerGroup(
	ctx context.Context, r *slbv1.GetDefaultServerGroupRequest,
) (*slbv1.GetDefaultServerGroupResponse, error) {
	id := r.GetLoadBalancerId()
	found, err := s.defaults.Do(ctx, id, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*slbv1.DefaultServer, error) {
		return s.describeDefaultGroup(ctx, id)
	})
	return cloud.Answer(&slbv1.GetDefaultServerGroupResponse{Servers: found}, err)
}

// describeDefaultGroup reads the servers now. They are in no listing, only in the attributes of one instance.
func (s *Service) describeDefaultGroup(ctx context.Context, loadBalancerID string) ([]*slbv1.DefaultServer, error) {
	var servers []*slbv1.DefaultServer
	err := s.product.Read(ctx, "DescribeLoadBalancerAttribute", cloud.Params{"LoadBalancerId": loadBalancerID}, &cloud.Fields{
		"BackendServers": cloud.Fields{"BackendServer": cloud.Each(&servers, decodeDefaultServer)},
	})
	slices.SortFunc(servers, func(a, b *slbv1.DefaultServer) int {
		return cmp.Or(strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()))
	})
	return servers, err
}

// withoutPort makes servers of a default server group comparable with others.
func withoutPort(list []*slbv1.DefaultServer) []*slbv1.Server {
	servers := make([]*slbv1.Server, len(list))
	for i, s := range list {
		servers[i] = &slbv1.Server{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.GetWeight(), Description: s.GetDescription(),
		}
	}
	return servers
}
