package slb

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// creation identifies a request to create a group. The cloud has no token for it, so the gateway recognises the repetition of one
// that it has begun: whose answer was lost, or whose servers were not all added.
type creation struct{ loadBalancerID, requestID, name string }

// CreateServerGroup creates a group with its servers: the first ones together with the group, the others in calls of their
// own. It is safe to repeat after a failure: the repetition finds the group that the first request made and completes it.
func (c *Client) CreateServerGroup(ctx context.Context, r *slbv1.CreateServerGroupRequest) (string, error) {
	id := ""
	err := c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		group, err := c.recall(ctx, r)
		if err != nil {
			return err
		}
		if group == nil {
			group, err = c.createGroup(ctx, w, r, c.firstServers(r))
			if rpcerr.ReasonOf(err) == rpcerr.ServerNotFound || tooMany(err) {
				// The group comes without servers; apply finds out which one the cloud does not know, or how many it takes.
				group, err = c.createGroup(ctx, w, r, nil)
			}
			if err != nil {
				return err
			}
		}
		id = group.GetServerGroupId()
		c.ledger.Put(creationOf(r), id, ledgerLife)
		missing := remaining(changes{add: r.GetServers()}, group.GetServers())
		if _, err := c.applyToGroup(ctx, w, id, missing); err != nil {
			return fmt.Errorf("add servers to the new vServer group %s: %w", id, err)
		}
		c.ledger.Put(creationOf(r), "", 0) // It is seen to its end.
		return nil
	})
	return id, err
}

func creationOf(r *slbv1.CreateServerGroupRequest) creation {
	return creation{loadBalancerID: r.GetLoadBalancerId(), requestID: r.GetRequestId(), name: r.GetName()}
}

// recall finds the group that an earlier request with the same id has begun; nil if there was none, or if it is gone again.
func (c *Client) recall(ctx context.Context, r *slbv1.CreateServerGroupRequest) (*slbv1.ServerGroup, error) {
	id, seen := c.ledger.Get(creationOf(r))
	switch {
	case !seen:
		return nil, nil //nolint:nilnil // Absence is an answer.
	case id == "":
		return c.twin(ctx, r)
	}
	group, err := c.describeGroup(ctx, id)
	return group, cloud.Unless(err, rpcerr.ServerGroupNotFound)
}

// createGroup creates the group with its first servers, and looks it up if the answer is lost.
func (c *Client) createGroup(
	ctx context.Context, w *writer, r *slbv1.CreateServerGroupRequest, first []*slbv1.Server,
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
		if err := w.write(ctx, "CreateVServerGroup", params, &answer); err != nil {
			return nil, err
		}
		return &slbv1.ServerGroup{ServerGroupId: answer.VServerGroupID, Name: r.GetName(), Servers: first}, nil
	}, func(ctx context.Context) (*slbv1.ServerGroup, error) {
		c.ledger.Put(creationOf(r), "", ledgerLife)
		return c.twin(ctx, r)
	})
}

func (c *Client) firstServers(r *slbv1.CreateServerGroupRequest) []*slbv1.Server {
	return r.GetServers()[:min(len(r.GetServers()), int(c.serversPerCall.Load()))]
}

// twin looks for the group that a request whose answer was lost may have made: the only one of its name, with no servers but
// those of the request. Nil means that the request was not carried out; an error, that nobody can tell.
func (c *Client) twin(ctx context.Context, r *slbv1.CreateServerGroupRequest) (*slbv1.ServerGroup, error) {
	unknown := func(format string, args ...any) error {
		return &rpcerr.Error{
			Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, API: "slb/CreateVServerGroup",
			Message: fmt.Sprintf("the answer to the creation of vServer group %q was lost: ", r.GetName()) +
				fmt.Sprintf(format, args...),
		}
	}
	groups, err := c.describeGroups(ctx, r.GetLoadBalancerId())
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
	group, err := c.describeGroup(ctx, same[0].GetServerGroupId())
	if err != nil {
		return nil, unknown("reading group %s back failed: %v", same[0].GetServerGroupId(), err)
	}
	if foreign := remaining(changes{remove: group.GetServers()}, r.GetServers()); len(foreign.remove) != len(group.GetServers()) {
		return nil, unknown("group %s of that name has servers that were not asked for", group.GetServerGroupId())
	}
	return group, nil
}
