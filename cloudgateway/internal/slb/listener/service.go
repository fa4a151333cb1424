// Package listener serves ListenerService: listeners of CLB instances.
package listener

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

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
	s.listeners = cloud.NewReader(p.Shared, "listeners", slb.IDsPerCall, cloud.Gathering{Parallel: slb.ParallelReads}, s.fetch)
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
	found, err := cloud.Listing[*slbv1.Listener]{Action: "DescribeLoadBalancerListeners", Items: "Listeners",
		Decode: decode, MaxResults: perPage}.
		All(ctx, s.product.API, cloud.Params{}.List("LoadBalancerId", ids))
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

// CreateListener creates a listener and starts it, unless leave_stopped is set.
func (s *Service) CreateListener(ctx context.Context, r *slbv1.CreateListenerRequest) (*slbv1.CreateListenerResponse, error) {
	err := s.product.Exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		creation := s.creation(ctx, w, r)
		if _, err := creation.Run(ctx); err != nil {
			return err
		}
		if !r.GetLeaveStopped() {
			if err := s.start(ctx, w, r.GetKey()); err != nil {
				return err
			}
		}
		s.ledger.End(creation.Key)
		return nil
	})
	return cloud.Answer(&slbv1.CreateListenerResponse{}, err)
}

// creation creates a stopped listener. One that is there already is taken for the work of the request only if it has the marks that were
// asked for.
func (s *Service) creation(ctx context.Context, w *slb.Writer, r *slbv1.CreateListenerRequest) write.Unique[slbv1.Listener] {
	key, cfg := r.GetKey(), r.GetConfig()
	params := cloud.Tags(slb.KeyParams(key), r.GetTags()).Merge(configParams(cfg, key.GetProtocol(), true))
	return write.Unique[slbv1.Listener]{
		Ledger: s.ledger, Key: keyOf(ctx, key), Name: "a listener of the port", Exists: rpcerr.ListenerExists,
		Send: func(ctx context.Context) (*slbv1.Listener, error) {
			return &slbv1.Listener{Key: key}, w.Send(ctx, "CreateLoadBalancer"+slb.ProtocolName(key.GetProtocol())+"Listener", params, nil)
		},
		Find: func(ctx context.Context) (*slbv1.Listener, error) {
			found, err := s.find(ctx, key)
			if found == nil || !sameMarks(found.GetConfig(), cfg) {
				return nil, err
			}
			return found, err
		},
	}
}

// keyOf names the creation of a listener, of which a caller makes one at a time.
func keyOf(ctx context.Context, key *slbv1.ListenerKey) write.Key {
	return write.KeyOf(ctx, "", slb.ListenerName(key))
}

// sameMarks reports whether a listener has the attributes that distinguish it from others: its description, where it sends the traffic, and
// its redirection.
func sameMarks(got, want *slbv1.ListenerConfig) bool {
	return got.GetDescription() == want.GetDescription() &&
		got.GetServerGroupId() == want.GetServerGroupId() &&
		(want.GetBackendServerPort() == 0 || got.GetBackendServerPort() == want.GetBackendServerPort()) &&
		got.GetForwardPort() == want.GetForwardPort()
}

// UpdateListener changes the attributes that are present, and then the tags.
func (s *Service) UpdateListener(ctx context.Context, r *slbv1.UpdateListenerRequest) (*slbv1.UpdateListenerResponse, error) {
	key, cfg := r.GetKey(), r.GetConfig()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		if hasSettings(cfg) {
			if cfg.ServerGroupId != nil {
				defer s.product.Release(key.GetLoadBalancerId())
			}
			params := slb.KeyParams(key).Merge(configParams(cfg, key.GetProtocol(), false))
			if err := w.Set(ctx, "SetLoadBalancer"+slb.ProtocolName(key.GetProtocol())+"ListenerAttribute", params); err != nil {
				return err
			}
		}
		return s.product.ChangeTags(ctx, "listener", taggedID(key), rpcerr.ListenerNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&slbv1.UpdateListenerResponse{}, err)
}

// taggedID is how listeners are named where they are tagged.
func taggedID(key *slbv1.ListenerKey) string {
	return fmt.Sprintf("%s_%s_%d", key.GetLoadBalancerId(), strings.ToLower(slb.ProtocolName(key.GetProtocol())), key.GetPort())
}

// DeleteListener removes a listener.
func (s *Service) DeleteListener(ctx context.Context, r *slbv1.DeleteListenerRequest) (*slbv1.DeleteListenerResponse, error) {
	key := r.GetKey()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		defer s.product.Release(key.GetLoadBalancerId())
		defer s.ledger.End(keyOf(ctx, key))
		err := w.Set(ctx, "DeleteLoadBalancerListener", slb.StateParams(key))
		return cloud.Unless(err, rpcerr.ListenerNotFound, rpcerr.LoadBalancerNotFound)
	})
	return cloud.Answer(&slbv1.DeleteListenerResponse{}, err)
}

// StartListener lets a listener accept connections.
func (s *Service) StartListener(ctx context.Context, r *slbv1.StartListenerRequest) (*slbv1.StartListenerResponse, error) {
	key := r.GetKey()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(),
		func(ctx context.Context, w *slb.Writer) error { return s.start(ctx, w, key) })
	return cloud.Answer(&slbv1.StartListenerResponse{}, err)
}

// start starts a listener. A busy instance has not done so. But the cloud may refuse to start a listener that runs already, or
// is about to, in the same words, so when it goes on saying so, or when an answer is lost, the listener is looked at.
func (s *Service) start(ctx context.Context, w *slb.Writer, key *slbv1.ListenerKey) error {
	const busyAtFirst = 2
	attempts := 0
	return write.Attempt{
		Send: func(ctx context.Context) error {
			attempts++
			return w.Send(ctx, "StartLoadBalancerListener", slb.StateParams(key), nil)
		},
		Doubtful: func(err error) bool { return cloud.Busy(err) && attempts > busyAtFirst },
		Done: func(ctx context.Context) (bool, error) {
			l, err := s.find(ctx, key)
			return l.GetStatus() == "running" || l.GetStatus() == "starting", err
		},
		Sleep: w.StepAside,
	}.Run(ctx)
}

// StopListener makes a listener refuse connections.
func (s *Service) StopListener(ctx context.Context, r *slbv1.StopListenerRequest) (*slbv1.StopListenerResponse, error) {
	key := r.GetKey()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		return w.Set(ctx, "StopLoadBalancerListener", slb.StateParams(key))
	})
	return cloud.Answer(&slbv1.StopListenerResponse{}, err)
}
