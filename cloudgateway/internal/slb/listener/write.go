package listener

import (
	"context"
	"fmt"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// CreateListener creates a listener and, unless told otherwise, starts it.
func (s *Service) CreateListener(ctx context.Context, r *slbv1.CreateListenerRequest) (*slbv1.CreateListenerResponse, error) {
	err := s.product.Exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		if err := s.create(ctx, w, r); err != nil {
			return err
		}
		if !r.GetLeaveStopped() {
			if err := s.start(ctx, w, r.GetKey()); err != nil {
				return err
			}
		}
		s.finish(r.GetKey())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateListenerResponse{}, nil
}

// identity is a ListenerKey that can be compared.
type identity struct {
	loadBalancerID string
	port           int32
	protocol       slbv1.Protocol
}

func identityOf(key *slbv1.ListenerKey) identity {
	return identity{loadBalancerID: key.GetLoadBalancerId(), port: key.GetPort(), protocol: key.GetProtocol()}
}

// finish forgets that a creation was begun.
func (s *Service) finish(key *slbv1.ListenerKey) { s.unfinished.Put(identityOf(key), struct{}{}, 0) }

// create creates a stopped listener. The cloud has no token for it: after a lost answer, now or in an earlier request,
// the listener is looked up, and taken for ours only if it has the marks that were asked for; then "exists already" can only
// be the echo of our own call.
func (s *Service) create(ctx context.Context, w *slb.Writer, r *slbv1.CreateListenerRequest) error {
	key, cfg := r.GetKey(), r.GetConfig()
	params := cloud.Tags(slb.KeyParams(key), r.GetTags()).Merge(configParams(cfg, key.GetProtocol(), true))
	action := "CreateLoadBalancer" + slb.ProtocolName(key.GetProtocol()) + "Listener"
	_, begun := s.unfinished.Get(identityOf(key))
	return cloud.Retry(ctx, func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) },
		func(ctx context.Context) error {
			err := w.Write(ctx, action, params, nil)
			if err == nil || cloud.Unclear(err) {
				begun = true
				s.unfinished.Put(identityOf(key), struct{}{}, slb.LedgerLife)
			}
			echo := begun && rpcerr.ReasonOf(err) == rpcerr.ListenerExists
			if !echo && !cloud.Unclear(err) {
				return err
			}
			found, readErr := s.find(ctx, key)
			switch {
			case readErr != nil && echo:
				return fmt.Errorf("the port is taken, but reading by which listener failed: %w", readErr)
			case readErr == nil && found != nil && sameMarks(found.GetConfig(), cfg):
				return nil
			}
			return err
		})
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
	if err != nil {
		return nil, err
	}
	return &slbv1.UpdateListenerResponse{}, nil
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
		defer s.finish(key)
		err := cloud.Unless(w.Set(ctx, "DeleteLoadBalancerListener", slb.StateParams(key)), rpcerr.ListenerNotFound)
		return cloud.Unless(err, rpcerr.LoadBalancerNotFound)
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.DeleteListenerResponse{}, nil
}

// StartListener lets a listener accept connections.
func (s *Service) StartListener(ctx context.Context, r *slbv1.StartListenerRequest) (*slbv1.StartListenerResponse, error) {
	key := r.GetKey()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(),
		func(ctx context.Context, w *slb.Writer) error { return s.start(ctx, w, key) })
	if err != nil {
		return nil, err
	}
	return &slbv1.StartListenerResponse{}, nil
}

// start starts a listener. A busy instance has not done so. But the cloud may refuse to start a listener that runs already, or
// is about to, in the same words, so when it goes on saying so, or when an answer is lost, the listener is looked at.
func (s *Service) start(ctx context.Context, w *slb.Writer, key *slbv1.ListenerKey) error {
	const busyAtFirst = 2
	attempts := 0
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	return cloud.Retry(ctx, again, func(ctx context.Context) error {
		attempts++
		err := w.Write(ctx, "StartLoadBalancerListener", slb.StateParams(key), nil)
		if err == nil || !again(err) || cloud.Busy(err) && attempts <= busyAtFirst {
			return err
		}
		if l, readErr := s.find(ctx, key); readErr == nil && (l.GetStatus() == "running" || l.GetStatus() == "starting") {
			return nil
		}
		return err
	})
}

// StopListener makes a listener refuse connections.
func (s *Service) StopListener(ctx context.Context, r *slbv1.StopListenerRequest) (*slbv1.StopListenerResponse, error) {
	key := r.GetKey()
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		return w.Set(ctx, "StopLoadBalancerListener", slb.StateParams(key))
	})
	if err != nil {
		return nil, err
	}
	return &slbv1.StopListenerResponse{}, nil
}
