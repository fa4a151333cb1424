// Package servergroup serves ServerGroupService of NLB.
package servergroup

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
)

// serversPerCall is how many servers a write may name (NLB API reference).
const serversPerCall = 200

// kind describes server groups.
func kind(observe func(*nlbv1.ServerGroup)) cloud.Kind[nlbv1.ServerGroup] {
	return cloud.Kind[nlbv1.ServerGroup]{
		Name: "NLB server group", Cache: "nlb_servergroups", NotFound: rpcerr.ServerGroupNotFound, IDs: "server_group_ids",
		Listing: cloud.Listing[*nlbv1.ServerGroup]{
			Action: "ListServerGroups", Items: "ServerGroups", Decode: decode, ID: (*nlbv1.ServerGroup).GetServerGroupId, MaxResults: nlb.PageSize,
		},
		Filters: map[string]cloud.Filter{
			"server_group_ids": cloud.Indexed("ServerGroupIds", nlb.IDsPerCall),
			"names":            cloud.Indexed("ServerGroupNames", nlb.IDsPerCall),
			"type":             cloud.Param("ServerGroupType"),
		},
		Observe:   observe,
		Gathering: cloud.Gathering{Parallel: nlb.ParallelReads},
	}
}

// Service implements nlbv1.ServerGroupServiceServer.
type Service struct {
	nlbv1.UnimplementedServerGroupServiceServer

	product *nlb.Product
	groups  *cloud.Collection[nlbv1.ServerGroup]
	servers *batch.Reader[string, []*nlbv1.Server] // by group
}

// New makes a Service.
func New(p *nlb.Product) *Service {
	s := &Service{
		product: p, groups: cloud.NewCollection(p.API, p.Shared, kind(p.ObserveGroup)),
		servers: cloud.NewCache[[]*nlbv1.Server](p.Shared, "nlb_servers"),
	}
	p.Groups.OnWrite(func(id string) {
		s.groups.Forget(id)
		s.servers.Invalidate(id)
	})
	p.Balancers.OnWrite(func(string) { s.groups.ForgetAll() }) // A group shows the load balancers that use it.
	return s
}

// Owner is how the scopes of callers see server groups.
func (s *Service) Owner() cloud.Owner { return s.groups }

// GetServerGroup reads one group with its servers.
func (s *Service) GetServerGroup(ctx context.Context, r *nlbv1.GetServerGroupRequest) (*nlbv1.GetServerGroupResponse, error) {
	found, err := s.withServers(ctx, r.GetServerGroupId(), r.GetMaxAge())
	return cloud.Answer(&nlbv1.GetServerGroupResponse{ServerGroup: found}, err)
}

func (s *Service) withServers(ctx context.Context, id string, maxAge *durationpb.Duration) (*nlbv1.ServerGroup, error) {
	var group *nlbv1.ServerGroup
	var servers []*nlbv1.Server
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { group, err = s.groups.Get(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) {
		servers, err = s.servers.Do(partCtx, id, maxAge.AsDuration(), func(ctx context.Context) ([]*nlbv1.Server,
			error) {
			return s.describe(ctx, id)
		})
		return err
	})
	if err := parts.Wait(); err != nil {
		return nil, cloud.OfWhole(rpcerr.ServerGroupNotFound, err)
	}
	group = proto.CloneOf(group)
	group.Servers, group.ServersLoaded, group.ServerCount = servers, true, int32(len(servers))
	return group, nil
}

// describe reads the servers of a group now, ordered by id, address and port.
func (s *Service) describe(ctx context.Context, id string) ([]*nlbv1.Server, error) {
	found, err := cloud.Listing[*nlbv1.Server]{Action: "ListServerGroupServers", Items: "Servers", Decode: decodeServer,
		MaxResults: nlb.PageSize}.
		All(ctx, s.product.API, cloud.Params{"ServerGroupId": id})
	slices.SortFunc(found, compare)
	return found, err
}

// ListServerGroups reads every group that matches, ordered by id, without its servers.
func (s *Service) ListServerGroups(ctx context.Context, r *nlbv1.ListServerGroupsRequest) (*nlbv1.ListServerGroupsResponse, error) {
	found, err := s.groups.List(ctx, r)
	return cloud.Answer(&nlbv1.ListServerGroupsResponse{ServerGroups: found}, err)
}

// CreateServerGroup makes a group with its servers. A repetition of a request that failed half-way goes on with its group.
func (s *Service) CreateServerGroup(
	ctx context.Context, r *nlbv1.CreateServerGroupRequest,
) (*nlbv1.CreateServerGroupResponse, error) {
	defer s.groups.ForgetLists()
	w, id := s.product.Writer("CreateServerGroup", r), ""
	err := w.Do(ctx, "CreateServerGroup", "", createParams(r), cloud.Fields{"ServerGroupId": &id})
	if err == nil && !r.GetValidateOnly() && len(r.GetServers()) > 0 {
		err = s.product.Groups.Do(ctx, id, func(ctx context.Context) error { return s.apply(ctx, w, id, adding, r.GetServers()) })
		if err != nil {
			err = fmt.Errorf("add servers to the new server group %s: %w", id, err)
		}
	}
	return cloud.Answer(&nlbv1.CreateServerGroupResponse{ServerGroupId: id}, err)
}

// UpdateServerGroup changes what is present in the request.
func (s *Service) UpdateServerGroup(
	ctx context.Context, r *nlbv1.UpdateServerGroupRequest,
) (*nlbv1.UpdateServerGroupResponse, error) {
	id := r.GetServerGroupId()
	err := nlb.Serially(ctx, s.product.Groups, id, r, func(ctx context.Context) error {
		w := s.product.Writer("UpdateServerGroup", r)
		if params := updateParams(r); len(params) > 0 {
			if err := w.Do(ctx, "UpdateServerGroupAttribute", "", params.With("ServerGroupId", id), nil); err != nil {
				return err
			}
		}
		if err := w.Move(ctx, "servergroup", id, r.ResourceGroupId); err != nil {
			return err
		}
		return w.ChangeTags(ctx, "servergroup", id, rpcerr.ServerGroupNotFound, r)
	})
	return cloud.Answer(&nlbv1.UpdateServerGroupResponse{}, err)
}

// DeleteServerGroup deletes a group.
func (s *Service) DeleteServerGroup(
	ctx context.Context, r *nlbv1.DeleteServerGroupRequest,
) (*nlbv1.DeleteServerGroupResponse, error) {
	id := r.GetServerGroupId()
	err := nlb.Serially(ctx, s.product.Groups, id, r, func(ctx context.Context) error {
		return s.product.Writer("DeleteServerGroup", r).Do(ctx, "DeleteServerGroup", "", cloud.Params{"ServerGroupId": id}, nil)
	})
	return cloud.Answer(&nlbv1.DeleteServerGroupResponse{}, cloud.Unless(err, rpcerr.ServerGroupNotFound))
}

// ApplyServerChanges adds, changes and removes servers.
func (s *Service) ApplyServerChanges(
	ctx context.Context, r *nlbv1.ApplyServerChangesRequest,
) (*nlbv1.ApplyServerChangesResponse, error) {
	id, w := r.GetServerGroupId(), s.product.Writer("ApplyServerChanges", r)
	err := nlb.Serially(ctx, s.product.Groups, id, r, func(ctx context.Context) error {
		// What is wrong with one change does not keep the others from being made.
		var wrong error
		for _, part := range []struct {
			verb    verb
			servers []*nlbv1.Server
		}{{adding, r.GetAdd()}, {changing, r.GetUpdate()}, {removing, r.GetRemove()}} {
			if err := s.apply(ctx, w, id, part.verb, part.servers); err != nil && wrong == nil {
				wrong = err
			}
		}
		return wrong
	})
	return cloud.Answer(&nlbv1.ApplyServerChangesResponse{CloudCalls: w.Calls}, err)
}

// verb is what is done with servers, as the cloud calls it.
type verb string

const (
	adding   verb = "AddServersToServerGroup"
	changing verb = "UpdateServerGroupServersAttribute"
	removing verb = "RemoveServersFromServerGroup"
)

// apply does one thing with servers, as many in a call as the cloud takes. The first error is the result; what it is not about is done.
func (s *Service) apply(ctx context.Context, w *nlb.Writer, id string, do verb, servers []*nlbv1.Server) (wrong error) {
	for some := range slices.Chunk(servers, serversPerCall) {
		if err := s.send(ctx, w, id, do, some); err != nil && wrong == nil {
			wrong = err
		}
	}
	return wrong
}

// send makes one call. The cloud refuses all of it if a server of it is there already, gone already, or unknown: the
// others are then sent without it.
func (s *Service) send(ctx context.Context, w *nlb.Writer, id string, do verb, servers []*nlbv1.Server) error {
	params := serverParams(id, servers, do != removing)
	err := w.Do(ctx, string(do), fmt.Sprintf("%q", params), params, nil)
	reason := rpcerr.ReasonOf(err)
	switch {
	case do == adding && reason == rpcerr.AlreadyExists, do == removing && reason == rpcerr.ServerNotFound:
		rest, readErr := s.rest(ctx, id, do, servers)
		if readErr != nil || len(rest) == len(servers) {
			return err
		}
		if len(rest) == 0 {
			return nil
		}
		return s.send(ctx, w, id, do, rest)
	case reason == rpcerr.ServerNotFound && len(servers) > 1:
		half := len(servers) / 2
		first := s.send(ctx, w, id, do, servers[:half])
		if second := s.send(ctx, w, id, do, servers[half:]); first == nil {
			return second
		}
		return first
	case reason == rpcerr.ServerNotFound:
		return fmt.Errorf("server %s: %w", servers[0].GetServerId(), err)
	}
	return err
}

// rest are the servers with which there is something left to do.
func (s *Service) rest(ctx context.Context, id string, do verb, servers []*nlbv1.Server) ([]*nlbv1.Server, error) {
	there, err := s.describe(ctx, id)
	byKey := map[key][]*nlbv1.Server{}
	for _, t := range there {
		byKey[keyOf(t)] = append(byKey[keyOf(t)], t)
	}
	return slices.DeleteFunc(slices.Clone(servers), func(named *nlbv1.Server) bool {
		present := slices.ContainsFunc(byKey[keyOf(named)], func(t *nlbv1.Server) bool { return same(named, t) })
		return present == (do == adding)
	}), err
}
