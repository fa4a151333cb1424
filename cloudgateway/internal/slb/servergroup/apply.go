package servergroup

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// ApplyServerChanges adds, removes and re-weights servers of one group.
func (s *Service) ApplyServerChanges(
	ctx context.Context, r *slbv1.ApplyServerChangesRequest,
) (*slbv1.ApplyServerChangesResponse, error) {
	todo := normalize(changes{add: r.GetAdd(), remove: r.GetRemove(), update: r.GetUpdate(), removeFirst: r.GetRemoveFirst()})
	response := &slbv1.ApplyServerChangesResponse{}
	if todo.empty() {
		return response, nil
	}
	id := r.GetServerGroupId()
	err := s.owners.Exclusively(ctx, id, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) (err error) {
		response.CloudCalls, err = s.applyToGroup(ctx, w, id, todo)
		return err
	})
	return cloud.Answer(response, err)
}

// applyToGroup makes changes of a vServer group, and forgets what was remembered about it.
func (s *Service) applyToGroup(ctx context.Context, w *slb.Writer, id string, todo changes) (int32, error) {
	defer s.groups.Invalidate(id)
	return s.apply(ctx, w, s.vServerGroup(id), todo)
}

// ApplyDefaultServerChanges does the same to the default server group of a load balancer.
func (s *Service) ApplyDefaultServerChanges(
	ctx context.Context, r *slbv1.ApplyDefaultServerChangesRequest,
) (*slbv1.ApplyDefaultServerChangesResponse, error) {
	todo := normalize(changes{
		add: withoutPort(r.GetAdd()), remove: withoutPort(r.GetRemove()), update: withoutPort(r.GetUpdate()), removeFirst: r.GetRemoveFirst(),
	})
	response := &slbv1.ApplyDefaultServerChangesResponse{}
	if todo.empty() {
		return response, nil
	}
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) (err error) {
		response.CloudCalls, err = s.apply(ctx, w, s.defaultGroup(r.GetLoadBalancerId()), todo)
		return err
	})
	return cloud.Answer(response, err)
}

// apply makes the changes, one call after the other.
func (s *Service) apply(ctx context.Context, w *slb.Writer, group serverSet, todo changes) (int32, error) {
	a := &application{service: s, writer: w, group: group, todo: todo}
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	err := cloud.Retry(ctx, again, a.run)
	if err == nil {
		err = a.missing()
	}
	return a.calls, err
}
