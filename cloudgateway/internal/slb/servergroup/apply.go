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

// serverSet is a set of servers that the cloud changes by a few in a call: a vServer group, or the default server group of an instance.
type serverSet struct {
	param, id string          // the parameter that says which set, and its value
	actions   map[verb]string // without replace if the cloud cannot
	read      func(ctx context.Context) ([]*slbv1.Server, error)
}

func (s *Service) vServerGroup(id string) serverSet {
	return serverSet{
		param: "VServerGroupId", id: id,
		actions: map[verb]string{
			replace: "ModifyVServerGroupBackendServers",
			add:     "AddVServerGroupBackendServers",
			set:     "SetVServerGroupAttribute",
			remove:  "RemoveVServerGroupBackendServers",
		},
		read: func(ctx context.Context) ([]*slbv1.Server, error) {
			group, err := s.describeGroup(ctx, id)
			return group.GetServers(), err
		},
	}
}

func (s *Service) defaultGroup(loadBalancerID string) serverSet {
	return serverSet{
		param: "LoadBalancerId", id: loadBalancerID,
		actions: map[verb]string{add: "AddBackendServers", set: "SetBackendServers", remove: "RemoveBackendServers"},
		read: func(ctx context.Context) ([]*slbv1.Server, error) {
			servers, err := s.describeDefaultGroup(ctx, loadBalancerID)
			return withoutPort(servers), err
		},
	}
}

// params encodes a call.
func (p serverSet) params(s step) cloud.Params {
	params := cloud.Params{p.param: p.id}
	into := map[verb]string{add: "BackendServers", set: "BackendServers", replace: "NewBackendServers"}
	if name, ok := into[s.verb]; ok {
		params.JSON(name, serverDocs(s.into))
	}
	out := map[verb]string{remove: "BackendServers", replace: "OldBackendServers"}
	if name, ok := out[s.verb]; ok {
		params.JSON(name, serverKeyDocs(s.out))
	}
	return params
}
