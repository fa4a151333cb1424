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
		calls, err = c.applyToGroup(ctx, w, r.GetServerGroupId(), todo)
		return err
	})
	return calls, err
}

// applyToGroup makes changes of a vServer group, and forgets what was remembered about it.
func (c *Client) applyToGroup(ctx context.Context, w *writer, id string, todo changes) (int32, error) {
	defer c.caches.groups.Invalidate(id)
	return c.apply(ctx, w, c.vServerGroup(id), todo)
}

// ApplyDefaultServerChanges does the same to the default server group of an instance.
func (c *Client) ApplyDefaultServerChanges(ctx context.Context, r *slbv1.ApplyDefaultServerChangesRequest) (int32, error) {
	todo := normalize(changes{
		add: WithoutPort(r.GetAdd()), remove: WithoutPort(r.GetRemove()), update: WithoutPort(r.GetUpdate()),
		removeFirst: r.GetRemoveFirst(),
	})
	if todo.empty() {
		return 0, nil
	}
	var calls int32
	err := c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) (err error) {
		calls, err = c.apply(ctx, w, c.defaultGroup(r.GetLoadBalancerId()), todo)
		return err
	})
	return calls, err
}

// apply makes the changes, one call after the other.
func (c *Client) apply(ctx context.Context, w *writer, group pool, todo changes) (int32, error) {
	a := &application{client: c, writer: w, group: group, todo: todo}
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
