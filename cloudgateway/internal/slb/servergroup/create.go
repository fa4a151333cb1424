package servergroup

import (
	"context"
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// CreateServerGroup creates a group with its servers: the first ones together with the group, the others in calls of their
// own. It is safe to repeat after a failure: the repetition finds the group that the first request made and completes it.
func (s *Service) CreateServerGroup(
	ctx context.Context, r *slbv1.CreateServerGroupRequest,
) (*slbv1.CreateServerGroupResponse, error) {
	id := ""
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		full, bare := s.creation(ctx, w, r, s.firstServers(r)), s.creation(ctx, w, r, nil)
		creation := full
		if _, begun := s.ledger.Get(bare.Key); begun {
			creation = bare
		}
		group, err := creation.Run(ctx)
		if tooMany(err) {
			s.callSizes.learn(createAction, len(s.firstServers(r)), err)
		}
		if rpcerr.ReasonOf(err) == rpcerr.ServerNotFound || tooMany(err) {
			// The group comes without servers; apply finds out which one the cloud does not know, or how many it takes.
			creation = bare
			group, err = creation.Run(ctx)
		}
		if err != nil {
			return err
		}
		id = group.GetServerGroupId()
		s.owners.Learn(id, r.GetLoadBalancerId())
		missing := remaining(changes{add: r.GetServers()}, group.GetServers())
		if _, err := s.applyToGroup(ctx, w, id, missing); err != nil {
			return fmt.Errorf("add servers to the new vServer group %s: %w", id, err)
		}
		s.ledger.End(creation.Key)
		return nil
	})
	return cloud.Answer(&slbv1.CreateServerGroupResponse{ServerGroupId: id}, err)
}

// creation creates the group with its first servers.
func (s *Service) creation(
	ctx context.Context, w *slb.Writer, r *slbv1.CreateServerGroupRequest, first []*slbv1.Server,
) write.Create[slbv1.ServerGroup] {
	return write.Create[slbv1.ServerGroup]{
		Ledger: s.ledger, Key: write.KeyOf(ctx, r.GetRequestId(), fmt.Sprintf("%s %t %s", r.GetLoadBalancerId(), len(first) > 0, r.GetName())),
		API: "slb/" + createAction, Name: fmt.Sprintf("vServer group %q", r.GetName()),
		// The cloud makes a group with its first servers or not at all, so one with exactly these is hardly that of somebody else.
		Unmistakable: len(first) > 0,
		Send:         func(ctx context.Context) (*slbv1.ServerGroup, error) { return s.send(ctx, w, r, first) },
		Find:         func(ctx context.Context) ([]*slbv1.ServerGroup, error) { return s.find(ctx, r, first) },
		Read:         s.read,
		ID:           (*slbv1.ServerGroup).GetServerGroupId,
	}
}

func (s *Service) send(
	ctx context.Context, w *slb.Writer, r *slbv1.CreateServerGroupRequest, first []*slbv1.Server,
) (*slbv1.ServerGroup, error) {
	params := cloud.Tags(cloud.Params{"LoadBalancerId": r.GetLoadBalancerId(), "VServerGroupName": r.GetName()}, r.GetTags())
	if len(first) > 0 {
		params.JSON("BackendServers", serverDocs(first))
	}
	made := &slbv1.ServerGroup{Name: r.GetName(), Servers: first}
	return made, w.Send(ctx, createAction, params, &cloud.Fields{"VServerGroupId": cloud.Required(&made.ServerGroupId)})
}

const createAction = "CreateVServerGroup"

func (s *Service) firstServers(r *slbv1.CreateServerGroupRequest) []*slbv1.Server {
	return r.GetServers()[:min(len(r.GetServers()), s.callSizes.of(createAction))]
}

// read reads a group now; nil if it is gone.
func (s *Service) read(ctx context.Context, id string) (*slbv1.ServerGroup, error) {
	group, err := s.describeGroup(ctx, id)
	return group, cloud.Unless(err, rpcerr.ServerGroupNotFound)
}

// find reads the groups of the load balancer with the name and the tags of the request that have exactly these servers.
func (s *Service) find(ctx context.Context, r *slbv1.CreateServerGroupRequest, servers []*slbv1.Server) ([]*slbv1.ServerGroup, error) {
	groups, err := s.describeGroups(ctx, r.GetLoadBalancerId(), nil)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, g := range groups {
		if g.GetName() == r.GetName() && cloud.SameTags(g.GetTags(), r.GetTags()) {
			ids = append(ids, g.GetServerGroupId())
		}
	}
	return write.Existing(ctx, ids, s.read, func(g *slbv1.ServerGroup) bool {
		return len(g.GetServers()) == len(servers) && remaining(changes{add: servers}, g.GetServers()).empty()
	})
}
