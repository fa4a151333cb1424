// Package servergroup serves ServerGroupService: vServer groups and default server groups.
package servergroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// releaseTime is how long DeleteServerGroup waits for a group that was freed a moment ago.
const releaseTime = 20 * time.Second

// Service implements slbv1.ServerGroupServiceServer.
type Service struct {
	slbv1.UnimplementedServerGroupServiceServer

	product   *slb.Product
	groups    *batch.Reader[string, *slbv1.ServerGroup]     // by group
	lists     *batch.Reader[string, []*slbv1.ServerGroup]   // by load balancer
	used      *batch.Reader[string, []*slbv1.ServerGroup]   // the same, with the listeners and rules that use them
	defaults  *batch.Reader[string, []*slbv1.DefaultServer] // by load balancer
	owners    *slb.Owners
	ledger    *write.Ledger
	callSizes *callSizes
}

// New makes a Service. One call names at most serversPerCall servers, 1 to 40, until the cloud says that it takes fewer.
func New(p *slb.Product, serversPerCall int) *Service {
	s := &Service{
		product: p, ledger: write.NewLedger(), callSizes: newCallSizes(serversPerCall),
		groups:   cloud.NewCache[*slbv1.ServerGroup](p.Shared, "servergroups"),
		lists:    cloud.NewCache[[]*slbv1.ServerGroup](p.Shared, "servergroup_lists"),
		used:     cloud.NewCache[[]*slbv1.ServerGroup](p.Shared, "servergroup_users"),
		defaults: cloud.NewCache[[]*slbv1.DefaultServer](p.Shared, "default_servergroups"),
	}
	s.owners = slb.NewOwners(p, "vServer group", rpcerr.ServerGroupNotFound, s.findOwner)
	p.OnWrite(func(loadBalancerID string) { // Groups are known by their own ids.
		s.lists.Invalidate(loadBalancerID)
		s.used.Invalidate(loadBalancerID)
		s.defaults.Invalidate(loadBalancerID)
	})
	return s
}

// Forget drops what is remembered of groups.
func (s *Service) Forget() { s.groups.Clear() }

// GetServerGroup reads one group with its servers.
func (s *Service) GetServerGroup(ctx context.Context, r *slbv1.GetServerGroupRequest) (*slbv1.GetServerGroupResponse, error) {
	found, err := s.group(ctx, r.GetServerGroupId(), r.GetMaxAge().AsDuration())
	return cloud.Answer(&slbv1.GetServerGroupResponse{ServerGroup: found}, err)
}

func (s *Service) group(ctx context.Context, id string, maxAge time.Duration) (*slbv1.ServerGroup, error) {
	return s.groups.Do(ctx, id, maxAge, func(ctx context.Context) (*slbv1.ServerGroup, error) {
		return s.describeGroup(ctx, id)
	})
}

// describeGroup reads one group with its servers now.
func (s *Service) describeGroup(ctx context.Context, id string) (*slbv1.ServerGroup, error) {
	group, of := &slbv1.ServerGroup{ServerGroupId: id, ServersLoaded: true}, ""
	err := s.product.Read(ctx, "DescribeVServerGroupAttribute", cloud.Params{"VServerGroupId": id}, &cloud.Fields{
		"LoadBalancerId":   &of,
		"VServerGroupName": &group.Name,
		"BackendServers":   cloud.Fields{"BackendServer": cloud.Each(&group.Servers, decodeServer)},
		"Tags":             cloud.TagsInto(&group.Tags),
	})
	if err != nil {
		return nil, err
	}
	s.owners.Learn(id, of)
	group.ServerCount = int32(len(group.GetServers()))
	return group, nil
}

// ListServerGroups reads the groups of one instance without their servers, ordered by id.
func (s *Service) ListServerGroups(ctx context.Context, r *slbv1.ListServerGroupsRequest) (*slbv1.ListServerGroupsResponse, error) {
	id := r.GetLoadBalancerId()
	lists, more := s.lists, cloud.Params{}
	if r.GetIncludeUsers() { // That is a read of its own, since the cloud's answer has all listeners and rules in full.
		lists, more = s.used, cloud.Params{"IncludeListener": "true", "IncludeRule": "true"}
	}
	found, err := s.list(ctx, lists, id, r.GetMaxAge().AsDuration(), more)
	return cloud.Answer(&slbv1.ListServerGroupsResponse{ServerGroups: found}, err)
}

func (s *Service) list(
	ctx context.Context, lists *batch.Reader[string, []*slbv1.ServerGroup], loadBalancerID string, maxAge time.Duration, more cloud.Params,
) ([]*slbv1.ServerGroup, error) {
	return lists.Do(ctx, loadBalancerID, maxAge, func(ctx context.Context) ([]*slbv1.ServerGroup, error) {
		return s.describeGroups(ctx, loadBalancerID, more)
	})
}

func (s *Service) describeGroups(ctx context.Context, loadBalancerID string, more cloud.Params) ([]*slbv1.ServerGroup, error) {
	var groups []*slbv1.ServerGroup
	err := s.product.Read(ctx, "DescribeVServerGroups", cloud.Params{"LoadBalancerId": loadBalancerID}.Merge(more), &cloud.Fields{
		"VServerGroups": cloud.Fields{"VServerGroup": cloud.Each(&groups, groupIn(loadBalancerID))},
	})
	for _, g := range groups {
		s.owners.Learn(g.GetServerGroupId(), loadBalancerID)
	}
	return cloud.SortedBy(groups, (*slbv1.ServerGroup).GetServerGroupId), err
}

// LoadBalancerOf finds the load balancer of a group.
func (s *Service) LoadBalancerOf(ctx context.Context, id string) (string, error) {
	return s.owners.Find(ctx, id)
}

// findOwner reads of which load balancer a group is; "" if there is no such group. It first lists the groups of the load
// balancer that the request names: mostly the group is among them, and so are those of the next requests, which share the call.
func (s *Service) findOwner(ctx context.Context, id, claimed string) (string, error) {
	if claimed != "" {
		groups, err := s.list(ctx, s.lists, claimed, 0, nil)
		if err = cloud.Unless(err, rpcerr.LoadBalancerNotFound); err != nil {
			return "", err
		}
		if slices.ContainsFunc(groups, func(g *slbv1.ServerGroup) bool { return g.GetServerGroupId() == id }) {
			return claimed, nil
		}
	}
	if _, err := s.describeGroup(ctx, id); err != nil {
		return "", cloud.Unless(err, rpcerr.ServerGroupNotFound)
	}
	return s.owners.Of(id), nil // The answer has named it.
}

// WithServers reads the groups of one instance, and the servers of those that are selected by id or prefix of their
// name; of all if nothing is selected. If one of them goes meanwhile, they are listed anew, once.
func (s *Service) WithServers(
	ctx context.Context, loadBalancerID string, maxAge time.Duration, ids, prefixes []string,
) ([]*slbv1.ServerGroup, error) {
	groups, err := s.withServers(ctx, loadBalancerID, maxAge, ids, prefixes)
	if rpcerr.ReasonOf(err) == rpcerr.ServerGroupNotFound {
		s.lists.Invalidate(loadBalancerID)
		groups, err = s.withServers(ctx, loadBalancerID, maxAge, ids, prefixes)
	}
	return groups, err
}

func (s *Service) withServers(
	ctx context.Context, loadBalancerID string, maxAge time.Duration, ids, prefixes []string,
) ([]*slbv1.ServerGroup, error) {
	listed, err := s.list(ctx, s.lists, loadBalancerID, maxAge, nil)
	if err != nil {
		return nil, err
	}
	groups := slices.Clone(listed)
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(slb.ParallelReads)
	for i, g := range groups {
		if !selected(g, ids, prefixes) {
			continue
		}
		reads.Go(func() error {
			full, err := s.group(ctx, g.GetServerGroupId(), maxAge)
			if err != nil {
				return err
			}
			groups[i] = full
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return groups, nil
}

func selected(g *slbv1.ServerGroup, ids, prefixes []string) bool {
	return len(ids)+len(prefixes) == 0 || slices.Contains(ids, g.GetServerGroupId()) ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(g.GetName(), prefix) })
}

// UpdateServerGroup changes the name, and then the tags.
func (s *Service) UpdateServerGroup(
	ctx context.Context, r *slbv1.UpdateServerGroupRequest,
) (*slbv1.UpdateServerGroupResponse, error) {
	id := r.GetServerGroupId()
	err := s.owners.Exclusively(ctx, id, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		defer s.groups.Invalidate(id)
		if r.Name != nil {
			err := w.Set(ctx, "SetVServerGroupAttribute", cloud.Params{"VServerGroupId": id, "VServerGroupName": r.GetName()})
			if err != nil {
				return err
			}
		}
		return s.product.ChangeTags(ctx, "vservergroup", id, rpcerr.ServerGroupNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&slbv1.UpdateServerGroupResponse{}, err)
}

// DeleteServerGroup removes a group. A listener lets go of its group a while after it was deleted or pointed elsewhere, so
// "in use" is waited out if such a change was made a moment ago.
func (s *Service) DeleteServerGroup(
	ctx context.Context, r *slbv1.DeleteServerGroupRequest,
) (*slbv1.DeleteServerGroupResponse, error) {
	loadBalancerID, id := r.GetLoadBalancerId(), r.GetServerGroupId()
	err := s.owners.Exclusively(ctx, id, loadBalancerID, func(ctx context.Context, w *slb.Writer) error {
		defer s.groups.Invalidate(id)
		again := cloud.Busy
		if s.product.Released(loadBalancerID) {
			bounded, cancel := context.WithTimeout(ctx, releaseTime)
			defer cancel()
			ctx = bounded
			again = func(err error) bool {
				return cloud.Busy(err) || rpcerr.ReasonOf(err) == rpcerr.ServerGroupInUse
			}
		}
		err := w.Retry(ctx, again, func(ctx context.Context) error {
			return w.SetOnce(ctx, "DeleteVServerGroup", cloud.Params{"VServerGroupId": id})
		})
		return cloud.Unless(err, rpcerr.ServerGroupNotFound, rpcerr.LoadBalancerNotFound)
	})
	return cloud.Answer(&slbv1.DeleteServerGroupResponse{}, err)
}

// GetDefaultServerGroup reads the servers of the default server group of an instance, ordered by id and address.
func (s *Service) GetDefaultServerGroup(
	ctx context.Context, r *slbv1.GetDefaultServerGroupRequest,
) (*slbv1.GetDefaultServerGroupResponse, error) {
	id := r.GetLoadBalancerId()
	found, err := s.defaults.Do(ctx, id, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*slbv1.DefaultServer, error) {
		return s.describeDefaultGroup(ctx, id)
	})
	return cloud.Answer(&slbv1.GetDefaultServerGroupResponse{Servers: found}, err)
}

// describeDefaultGroup reads the servers now. They are in no listing, only in the attributes of one instance.
func (s *Service) describeDefaultGroup(ctx context.Context, loadBalancerID string) ([]*slbv1.DefaultServer, error) {
	var servers []*slbv1.DefaultServer
	err := s.product.Read(ctx, "DescribeLoadBalancerAttribute", cloud.Params{"LoadBalancerId": loadBalancerID}, &cloud.Fields{
		"BackendServers": cloud.Fields{"BackendServer": cloud.Each(&servers, decodeDefaultServer)},
	})
	slices.SortFunc(servers, func(a, b *slbv1.DefaultServer) int {
		return cmp.Or(strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()))
	})
	return servers, err
}

// withoutPort makes servers of a default server group comparable with others.
func withoutPort(list []*slbv1.DefaultServer) []*slbv1.Server {
	servers := make([]*slbv1.Server, len(list))
	for i, s := range list {
		servers[i] = &slbv1.Server{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.Weight, Description: s.GetDescription(),
		}
	}
	return servers
}

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
		// The cloud makes a group with its first servers or not at all, so one with exactly these is hardly that of another client.
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
	return made, w.Create(ctx, createAction, params, &cloud.Fields{"VServerGroupId": cloud.Required(&made.ServerGroupId)})
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
	groups = slices.DeleteFunc(groups, func(g *slbv1.ServerGroup) bool {
		return g.GetName() != r.GetName() || !cloud.SameTags(g.GetTags(), r.GetTags())
	})
	return write.Existing(ctx, groups, (*slbv1.ServerGroup).GetServerGroupId, s.read, func(g *slbv1.ServerGroup) bool {
		return len(g.GetServers()) == len(servers) && remaining(changes{add: servers}, g.GetServers()).empty()
	})
}
