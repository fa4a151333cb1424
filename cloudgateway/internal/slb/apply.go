package slb

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ApplyServerChanges adds, removes and re-weights servers of one group, and tells how many calls that took.
func (c *Client) ApplyServerChanges(ctx context.Context, r *slbv1.ApplyServerChangesRequest) (int32, error) {
	todo := normalize(changes{
		add: r.GetAdd(), remove: r.GetRemove(), update: r.GetUpdate(), removeFirst: r.GetRemoveFirst(),
	})
	if todo.empty() {
		return 0, nil
	}
	defer c.caches.groups.Invalidate(r.GetServerGroupId())
	var calls int32
	err := c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context) (err error) {
		calls, err = c.apply(ctx, r.GetServerGroupId(), todo)
		return err
	})
	return calls, err
}

// apply makes the changes, one call after the other. After a lost answer, or one that contradicts the plan, it looks at what
// the group holds and goes on with what is missing.
func (c *Client) apply(ctx context.Context, groupID string, todo changes) (int32, error) {
	var calls int32
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	err := cloud.Retry(ctx, again, func(ctx context.Context) error {
		for !todo.empty() {
			next := plan(todo, int(c.serversPerCall.Load()))[0]
			params, err := next.params(groupID)
			if err != nil {
				return err
			}
			calls++
			err = c.write(ctx, next.action, params, nil)
			switch {
			case err == nil:
				todo = todo.after(next)
			case tooMany(err) && next.size() > 1:
				c.shrink(next.size())
			case cloud.Unclear(err), disagrees(err):
				group, readErr := c.describeGroup(ctx, groupID)
				if readErr != nil {
					return fmt.Errorf("%w; reading the group back failed: %v", err, readErr) //nolint:errorlint // One cause.
				}
				rest := remaining(todo, group.GetServers())
				if rest.size() == todo.size() {
					return err
				}
				todo = rest
			default:
				return err
			}
		}
		return nil
	})
	return calls, err
}

// disagrees tells whether the cloud refused a call for what the group holds: a server to be replaced is not there, or one to be
// added is. The caller may not have known, e.g. because an earlier request of it was carried out in part.
func disagrees(err error) bool {
	e, ok := rpcerr.From(err)
	if !ok {
		return false
	}
	switch e.Code {
	case codes.InvalidArgument, codes.AlreadyExists:
		return true
	case codes.NotFound:
		return e.Reason == rpcerr.ServerNotFound
	default:
		return false
	}
}

// tooMany tells whether the cloud refused a call only because of its size.
func tooMany(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.CloudCode == "TooManyBackendServers"
}

// shrink learns that size servers are too many for one call.
func (c *Client) shrink(size int) {
	half := int32(max(1, size/2))
	for {
		now := c.serversPerCall.Load()
		if now <= half || c.serversPerCall.CompareAndSwap(now, half) {
			return
		}
	}
}

func (s step) size() int { return max(len(s.out), len(s.into)) }

func (s step) params(groupID string) (cloud.Params, error) {
	lists := map[string]string{actionAdd: "BackendServers", actionSet: "BackendServers", actionModify: "NewBackendServers"}
	p := cloud.Params{"VServerGroupId": groupID}
	if name, ok := lists[s.action]; ok {
		encoded, err := serversParam(s.into)
		if err != nil {
			return nil, err
		}
		p[name] = encoded
	}
	lists = map[string]string{actionRemove: "BackendServers", actionModify: "OldBackendServers"}
	if name, ok := lists[s.action]; ok {
		encoded, err := serverKeysParam(s.out)
		if err != nil {
			return nil, err
		}
		p[name] = encoded
	}
	return p, nil
}
