// Package loadbalancer serves LoadBalancerService: CLB instances.
package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/slb/listener"
	"alicloud-controllers.dev/cloudgateway/internal/slb/servergroup"
)

// perPage is the greatest page of DescribeLoadBalancers (SLB API reference).
const perPage = 100

// Service implements slbv1.LoadBalancerServiceServer.
type Service struct {
	slbv1.UnimplementedLoadBalancerServiceServer

	product   *slb.Product
	listeners *listener.Service
	groups    *servergroup.Service
	balancers *batch.Reader[string, *slbv1.LoadBalancer]   // nil: there is no such load balancer
	lists     *batch.Reader[string, []*slbv1.LoadBalancer] // by filter
	zones     *batch.Reader[string, []*slbv1.ZonePair]     // one entry
}

// New makes a Service.
func New(p *slb.Product, listeners *listener.Service, groups *servergroup.Service) *Service {
	s := &Service{
		product: p, listeners: listeners, groups: groups, lists: cloud.NewCache[[]*slbv1.LoadBalancer](p.Shared, "loadbalancer_lists"),
		zones: cloud.NewCache[[]*slbv1.ZonePair](p.Shared, "zones"),
	}
	p.OnWrite(func(id string) {
		s.balancers.Invalidate(id)
		s.lists.Clear()
	})
	s.balancers = slb.NewReader(p, "loadbalancers", s.fetch)
	return s
}

// GetLoadBalancer reads one instance, with VIEW_FULL everything that belongs to it. A part that can't be read fails the whole:
// callers must never see half an instance.
func (s *Service) GetLoadBalancer(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.GetLoadBalancerResponse, error) {
	read := s.full
	if r.GetView() != slbv1.View_VIEW_FULL {
		read = s.basic
	}
	found, err := read(ctx, r)
	return cloud.Answer(&slbv1.GetLoadBalancerResponse{LoadBalancer: found}, err)
}

func (s *Service) basic(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	return s.balancer(ctx, r.GetLoadBalancerId(), r.GetMaxAge().AsDuration())
}

func (s *Service) full(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	id, maxAge := r.GetLoadBalancerId(), r.GetMaxAge().AsDuration()
	var (
		lb        *slbv1.LoadBalancer
		listeners []*slbv1.Listener
		groups    []*slbv1.ServerGroup
	)
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { lb, err = s.balancer(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) { listeners, err = s.listeners.Of(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) {
		groups, err = s.groups.WithServers(partCtx, id, maxAge, r.GetServerGroupIds(), r.GetServerGroupNamePrefixes())
		return err
	})
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	lb = proto.CloneOf(lb)
	lb.Listeners, lb.ServerGroups = listeners, groups
	return lb, nil
}

// balancer reads one instance with its attributes.
func (s *Service) balancer(ctx context.Context, id string, maxAge time.Duration) (*slbv1.LoadBalancer, error) {
	lb, err := s.balancers.Get(ctx, id, maxAge)
	if err == nil && lb == nil {
		err = &rpcerr.Error{
			Code: codes.NotFound, Reason: rpcerr.LoadBalancerNotFound, API: "slb/DescribeLoadBalancers",
			Message: fmt.Sprintf("there is no load balancer %s in this region", id),
		}
	}
	return lb, err
}

// ListLoadBalancers reads every instance that matches, ordered by id.
func (s *Service) ListLoadBalancers(
	ctx context.Context, r *slbv1.ListLoadBalancersRequest,
) (*slbv1.ListLoadBalancersResponse, error) {
	found, err := s.list(ctx, r)
	return cloud.Answer(&slbv1.ListLoadBalancersResponse{LoadBalancers: found}, err)
}

func (s *Service) list(ctx context.Context, r *slbv1.ListLoadBalancersRequest) ([]*slbv1.LoadBalancer, error) {
	ids, maxAge := cloud.Sorted(r.GetLoadBalancerIds()), r.GetMaxAge().AsDuration()
	filters := filterParams(r)
	if len(ids) > 0 && len(filters) == 0 {
		found, err := batch.Values(s.balancers.GetMany(ctx, ids, maxAge))
		return slices.DeleteFunc(found, func(lb *slbv1.LoadBalancer) bool { return lb == nil }), err
	}
	key := fmt.Sprintf("%q %q", filters, ids)
	return s.lists.Do(ctx, key, maxAge, func(ctx context.Context) ([]*slbv1.LoadBalancer, error) {
		return cloud.InChunks(ids, slb.IDsPerCall, func(some []string) ([]*slbv1.LoadBalancer, error) {
			return s.describe(ctx, cloud.Params{}.Merge(filters).With("LoadBalancerId", strings.Join(some, ",")))
		})
	})
}

// describe reads all pages of DescribeLoadBalancers, ordered by id.
func (s *Service) describe(ctx context.Context, params cloud.Params) ([]*slbv1.LoadBalancer, error) {
	found, err := cloud.Listing[*slbv1.LoadBalancer]{
		Action: "DescribeLoadBalancers", Items: "LoadBalancers.LoadBalancer", Decode: decode, PerPage: perPage,
	}.Numbered(ctx, s.product.API, params)
	for _, lb := range found {
		s.product.Saw(lb)
	}
	return cloud.Distinct(found, (*slbv1.LoadBalancer).GetLoadBalancerId), err
}

// fetch reads at most slb.IDsPerCall instances; one that does not exist is not in the answer.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*slbv1.LoadBalancer, error) {
	list, err := s.describe(ctx, cloud.Params{"LoadBalancerId": strings.Join(cloud.Sorted(ids), ",")})
	return cloud.ByKey(list, (*slbv1.LoadBalancer).GetLoadBalancerId), err
}
