// Package listener serves ListenerService: listeners of CLB instances.
package listener

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// perPage is the greatest page of DescribeLoadBalancerListeners (SLB API reference).
const perPage = 100

// Service implements slbv1.ListenerServiceServer.
type Service struct {
	slbv1.UnimplementedListenerServiceServer

	product   *slb.Product
	listeners *batch.Reader[string, []*slbv1.Listener] // by load balancer
	ledger    *write.Ledger
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{product: p, ledger: write.NewLedger()}
	p.OnWrite(func(loadBalancerID string) { s.listeners.Invalidate(loadBalancerID) })
	s.listeners = slb.NewReader(p, "listeners", s.fetch)
	return s
}

// Of reads the listeners of one load balancer, ordered by port and protocol.
func (s *Service) Of(ctx context.Context, loadBalancerID string, maxAge time.Duration) ([]*slbv1.Listener, error) {
	return s.listeners.Get(ctx, loadBalancerID, maxAge)
}

// ListListeners reads the listeners of many load balancers, ordered by load balancer, port and protocol.
func (s *Service) ListListeners(ctx context.Context, r *slbv1.ListListenersRequest) (*slbv1.ListListenersResponse, error) {
	found, err := batch.Values(s.listeners.GetMany(ctx, cloud.Sorted(r.GetLoadBalancerIds()), r.GetMaxAge().AsDuration()))
	return cloud.Answer(&slbv1.ListListenersResponse{Listeners: slices.Concat(found...)}, err)
}

// fetch reads the listeners of at most slb.IDsPerCall instances.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string][]*slbv1.Listener, error) {
	list, err := s.describe(ctx, cloud.Sorted(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string][]*slbv1.Listener, len(ids))
	for _, id := range ids {
		found[id] = nil // That there are none is an answer, and no absence.
	}
	for _, l := range list {
		id := l.GetKey().GetLoadBalancerId()
		found[id] = append(found[id], l)
	}
	return found, nil
}

// describe reads all listeners of some instances now, ordered by load balancer, port and protocol.
func (s *Service) describe(ctx context.Context, ids []string) ([]*slbv1.Listener, error) {
	found, err := cloud.Listing[*slbv1.Listener]{Action: "DescribeLoadBalancerListeners", Items: "Listeners", Decode: decode}.
		Tokened(ctx, s.product.API, cloud.Params{}.Int("MaxResults", perPage).List("LoadBalancerId", ids))
	slices.SortFunc(found, func(a, b *slbv1.Listener) int {
		x, y := a.GetKey(), b.GetKey()
		return cmp.Or(strings.Compare(x.GetLoadBalancerId(), y.GetLoadBalancerId()),
			cmp.Compare(x.GetPort(), y.GetPort()), cmp.Compare(x.GetProtocol(), y.GetProtocol()))
	})
	return found, err
}

// find reads one listener now; nil if it is not there.
func (s *Service) find(ctx context.Context, key *slbv1.ListenerKey) (*slbv1.Listener, error) {
	all, err := s.describe(ctx, []string{key.GetLoadBalancerId()})
	return cloud.First(slices.DeleteFunc(all, func(l *slbv1.Listener) bool {
		return l.GetKey().GetPort() != key.GetPort() || l.GetKey().GetProtocol() != key.GetProtocol()
	}), err)
}
