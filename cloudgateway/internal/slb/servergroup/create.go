package servergroup

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// creation identifies a request to create a group. The cloud has no token for it, so the gateway recognises the repetition of one
// that it has begun: whose answer was lost, or whose servers were not all added.
type creation struct{ loadBalancerID, requestID, name string }

// CreateServerGroup creates a group with its servers: the first ones together with the group, the others in calls of their
// own. It is safe to repeat after a failure: the repetition finds the group that the first request made and completes it.
func (s *Service) CreateServerGroup(
	ctx context.Context, r *slbv1.CreateServerGroupRequest,
) (*slbv1.CreateServerGroupResponse, error) {
	id := ""
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		group, err := s.recall(ctx, r)
		if err != nil {
			return err
		}
		if group == nil {
			group, err = s.createGroup(ctx, w, r, s.firstServers(r))
			if rpcerr.ReasonOf(err) == rpcerr.ServerNotFound || tooMany(err) {
				// The group comes without servers; apply finds out which one the cloud does not know, or how many it takes.
				group, err = s.createGroup(ctx, w, r, nil)
			}
			if err != nil {
				return err
			}
		}
		id = group.GetServerGroupId()
		s.ledger.Put(creationOf(r), id, slb.LedgerLife)
		missing := remaining(changes{add: r.GetServers()}, group.GetServers())
		if _, err := s.applyToGroup(ctx, w, id, missing); err != nil {
			return fmt.Errorf("add servers to the new vServer group %s: %w", id, err)
		}
		s.ledger.Put(creationOf(r), "", 0) // It is seen to its end.
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateServerGroupResponse{ServerGroupId: id}, nil
}

func creationOf(r *slbv1.CreateServerGroupRequest) creation {
	return creation{loadBalancerID: r.GetLoadBalancerId(), requestID: r.GetRequestId(), name: r.GetName()}
}

// recall finds the group that an earlier request with the same id has begun; nil if there was none, or if it is gone again.
func (s *Service) recall(ctx context.Context, r *slbv1.CreateServerGroupRequest) (*slbv1.ServerGroup, error) {
	id, seen := s.ledger.Get(creationOf(r))
	switch {
	case !seen:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case id == "":
		return s.twin(ctx, r)
	}
	group, err := s.describeGroup(ctx, id)
	return group, cloud.Unless(err, rpcerr.ServerGroupNotFound)
}

// createGroup creates the group with its first servers, and looks it up if the answer is lost.
func (s *Service) createGroup(
	ctx context.Context, w *slb.Writer, r *slbv1.CreateServerGroupRequest, first []*slbv1.Server,
) (*slbv1.ServerGroup, error) {
	params := cloud.Tags(cloud.Params{"LoadBalancerId": r.GetLoadBalancerId(), "VServerGroupName": r.GetName()}, r.GetTags())
	if len(first) > 0 {
		encoded, err := serversParam(first)
		if err != nil {
			return nil, err
		}
		params["BackendServers"] = encoded
	}
	return cloud.Create(ctx, func(ctx context.Context) (*slbv1.ServerGroup, error) {
		var answer struct {
			VServerGroupID string `json:"VServerGroupId"`
		}
		if err := w.Write(ctx, "CreateVServerGroup", params, &answer); err != nil {
			return nil, err
		}
		return &slbv1.ServerGroup{ServerGroupId: answer.VServerGroupID, Name: r.GetName(), Servers: first}, nil
	}, func(ctx context.Context) (*slbv1.ServerGroup, error) {
		s.ledger.Put(creationOf(r), "", slb.LedgerLife)
		return s.twin(ctx, r)
	})
}

func (s *Service) firstServers(r *slbv1.CreateServerGroupRequest) []*slbv1.Server {
	return r.GetServers()[:min(len(r.GetServers()), int(s.serversPerCall.Load()))]
}

// twin looks for the group that a request whose answer was lost may have made: the only one of its name, with no servers but
// those of the request. Nil means that the request was not carried out; an error, that nobody can tell.
func (s *Service) twin(ctx context.Context, r *slbv1.CreateServerGroupRequest) (*slbv1.ServerGroup, error) {
	unknown := func(format string, args ...any) error {
		return &rpcerr.Error{
			Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: "slb/CreateVServerGroup",
			Message: fmt.Sprintf("the answer to the creation of vServer group %q was lost: ", r.GetName()) +
				fmt.Sprintf(format, args...),
		}
	}
	groups, err := s.describeGroups(ctx, r.GetLoadBalancerId())
	if err != nil {
		return nil, unknown("reading the groups back failed: %v", err)
	}
	var same []*slbv1.ServerGroup
	for _, g := range groups {
		if g.GetName() == r.GetName() {
			same = append(same, g)
		}
	}
	switch len(same) {
	case 0:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case 1:
	default:
		return nil, unknown("%s has %d groups of that name", r.GetLoadBalancerId(), len(same))
	}
	group, err := s.describeGroup(ctx, same[0].GetServerGroupId())
	if err != nil {
		return nil, unknown("reading group %s back failed: %v", same[0].GetServerGroupId(), err)
	}
	if foreign := remaining(changes{remove: group.GetServers()}, r.GetServers()); len(foreign.remove) != len(group.GetServers()) {
		return nil, unknown("group %s of that name has servers that were not asked for", group.GetServerGroupId())
	}
	return group, nil
}
