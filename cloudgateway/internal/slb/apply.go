package slb

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

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
	var calls int32
	err := c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) (err error) {
		calls, err = c.apply(ctx, w, r.GetServerGroupId(), todo)
		return err
	})
	return calls, err
}

// apply makes the changes, one call after the other.
func (c *Client) apply(ctx context.Context, w *writer, groupID string, todo changes) (int32, error) {
	defer c.caches.groups.Invalidate(groupID)
	a := &application{client: c, writer: w, groupID: groupID, todo: todo}
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	err := cloud.Retry(ctx, again, a.run)
	if err == nil {
		err = a.missing()
	}
	return a.calls, err
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
