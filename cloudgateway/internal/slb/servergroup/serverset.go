package servergroup

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

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
