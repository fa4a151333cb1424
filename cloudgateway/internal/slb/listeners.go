package slb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// ListListeners reads the listeners of many instances, ordered by instance, port and protocol.
func (c *Client) ListListeners(ctx context.Context, r *slbv1.ListListenersRequest) ([]*slbv1.Listener, error) {
	found, err := batch.Values(c.reads.listeners.GetMany(ctx, cloud.Sorted(r.GetLoadBalancerIds()), r.GetMaxAge().AsDuration()))
	return slices.Concat(found...), err
}

func (c *Client) describeListeners(ctx context.Context, ids []string) ([]*slbv1.Listener, error) {
	return c.findListeners(ctx, cloud.Params{}.List("LoadBalancerId", ids))
}

// findListeners reads all pages of DescribeLoadBalancerListeners.
func (c *Client) findListeners(ctx context.Context, filter cloud.Params) ([]*slbv1.Listener, error) {
	var found []*slbv1.Listener
	params := cloud.Params{}.Int("MaxResults", listenersPerPage).Merge(filter)
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (string, error) {
		var answer struct {
			NextToken string
			Listeners []listenerAnswer
		}
		if err := c.read(ctx, "DescribeLoadBalancerListeners", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.Listeners {
			l, err := a.decode()
			if err != nil {
				return "", err
			}
			found = append(found, l)
		}
		return answer.NextToken, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b *slbv1.Listener) int {
		x, y := a.GetKey(), b.GetKey()
		return cmp.Or(strings.Compare(x.GetLoadBalancerId(), y.GetLoadBalancerId()),
			cmp.Compare(x.GetPort(), y.GetPort()), cmp.Compare(x.GetProtocol(), y.GetProtocol()))
	})
	return found, nil
}

// findListener reads one listener now; nil if it is not there.
func (c *Client) findListener(ctx context.Context, key *slbv1.ListenerKey) (*slbv1.Listener, error) {
	found, err := c.describeListeners(ctx, []string{key.GetLoadBalancerId()})
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		if l.GetKey().GetPort() == key.GetPort() && l.GetKey().GetProtocol() == key.GetProtocol() {
			return l, nil
		}
	}
	return nil, nil //nolint:nilnil // Absence is an answer.
}

// CreateListener creates a listener and, unless told otherwise, starts it.
func (c *Client) CreateListener(ctx context.Context, r *slbv1.CreateListenerRequest) error {
	return c.exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		if err := c.createListener(ctx, w, r); err != nil {
			return err
		}
		if !r.GetLeaveStopped() {
			if err := c.start(ctx, w, r.GetKey()); err != nil {
				return err
			}
		}
		c.finish(r.GetKey())
		return nil
	})
}

// listener is a ListenerKey that can be compared.
type listener struct {
	loadBalancerID string
	port           int32
	protocol       slbv1.Protocol
}

func listenerOf(key *slbv1.ListenerKey) listener {
	return listener{loadBalancerID: key.GetLoadBalancerId(), port: key.GetPort(), protocol: key.GetProtocol()}
}

// finish forgets that a creation was begun.
func (c *Client) finish(key *slbv1.ListenerKey) { c.unfinished.Put(listenerOf(key), struct{}{}, 0) }

// createListener creates a stopped listener. The cloud has no token for it: after a lost answer, now or in an earlier request,
// the listener is looked up, and taken for ours only if it has the marks that were asked for; then "exists already" can only
// be the echo of our own call.
func (c *Client) createListener(ctx context.Context, w *writer, r *slbv1.CreateListenerRequest) error {
	key, cfg := r.GetKey(), r.GetConfig()
	params := cloud.Tags(keyParams(key), r.GetTags()).Merge(listenerParams(cfg, key.GetProtocol(), true))
	action := "CreateLoadBalancer" + protocolName(key.GetProtocol()) + "Listener"
	_, begun := c.unfinished.Get(listenerOf(key))
	return cloud.Retry(ctx, func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) },
		func(ctx context.Context) error {
			err := w.write(ctx, action, params, nil)
			if err == nil || cloud.Unclear(err) {
				begun = true
				c.unfinished.Put(listenerOf(key), struct{}{}, ledgerLife)
			}
			echo := begun && rpcerr.ReasonOf(err) == rpcerr.ListenerExists
			if !echo && !cloud.Unclear(err) {
				return err
			}
			found, readErr := c.findListener(ctx, key)
			switch {
			case readErr != nil && echo:
				return fmt.Errorf("the port is taken, but reading by which listener failed: %w", readErr)
			case readErr == nil && found != nil && sameMarks(found.GetConfig(), cfg):
				return nil
			}
			return err
		})
}

// sameMarks tells whether a listener has the attributes that tell it from others: its description, where it sends the traffic, and
// its redirection.
func sameMarks(got, want *slbv1.ListenerConfig) bool {
	return got.GetDescription() == want.GetDescription() &&
		got.GetServerGroupId() == want.GetServerGroupId() &&
		(want.GetBackendServerPort() == 0 || got.GetBackendServerPort() == want.GetBackendServerPort()) &&
		got.GetForwardPort() == want.GetForwardPort()
}

// UpdateListener changes the attributes that are present, and then the tags.
func (c *Client) UpdateListener(ctx context.Context, r *slbv1.UpdateListenerRequest) error {
	key, cfg := r.GetKey(), r.GetConfig()
	return c.exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		if HasSettings(cfg) {
			if cfg.ServerGroupId != nil {
				defer c.releases.Put(key.GetLoadBalancerId(), struct{}{}, releaseLife)
			}
			params := keyParams(key).Merge(listenerParams(cfg, key.GetProtocol(), false))
			if err := w.set(ctx, "SetLoadBalancer"+protocolName(key.GetProtocol())+"ListenerAttribute", params); err != nil {
				return err
			}
		}
		for _, call := range cloud.TagCalls(openapi.SLB, "listener", taggedID(key), r.GetSetTags(), r.GetRemoveTagKeys()) {
			if err := cloud.Set(ctx, c.caller, call, nil); err != nil {
				return cloud.As(rpcerr.ListenerNotFound, err)
			}
		}
		return nil
	})
}

// taggedID is how listeners are named where they are tagged.
func taggedID(key *slbv1.ListenerKey) string {
	return fmt.Sprintf("%s_%s_%d", key.GetLoadBalancerId(), strings.ToLower(protocolName(key.GetProtocol())), key.GetPort())
}

// DeleteListener removes a listener.
func (c *Client) DeleteListener(ctx context.Context, key *slbv1.ListenerKey) error {
	return c.exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		defer c.releases.Put(key.GetLoadBalancerId(), struct{}{}, releaseLife)
		defer c.finish(key)
		err := cloud.Unless(w.set(ctx, "DeleteLoadBalancerListener", stateParams(key)), rpcerr.ListenerNotFound)
		return cloud.Unless(err, rpcerr.LoadBalancerNotFound)
	})
}

// StartListener lets a listener accept connections.
func (c *Client) StartListener(ctx context.Context, key *slbv1.ListenerKey) error {
	return c.exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *writer) error { return c.start(ctx, w, key) })
}

// start starts a listener. A busy instance has not done so. But the cloud may refuse to start a listener that runs already, or
// is about to, in the same words, so when it goes on saying so, or when an answer is lost, the listener is looked at.
func (c *Client) start(ctx context.Context, w *writer, key *slbv1.ListenerKey) error {
	const busyAtFirst = 2
	attempts := 0
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	return cloud.Retry(ctx, again, func(ctx context.Context) error {
		attempts++
		err := w.write(ctx, "StartLoadBalancerListener", stateParams(key), nil)
		if err == nil || !again(err) || cloud.Busy(err) && attempts <= busyAtFirst {
			return err
		}
		if l, readErr := c.findListener(ctx, key); readErr == nil && (l.GetStatus() == "running" || l.GetStatus() == "starting") {
			return nil
		}
		return err
	})
}

// StopListener makes a listener refuse connections.
func (c *Client) StopListener(ctx context.Context, key *slbv1.ListenerKey) error {
	return c.exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		return w.set(ctx, "StopLoadBalancerListener", stateParams(key))
	})
}

func keyParams(key *slbv1.ListenerKey) cloud.Params {
	return cloud.Params{
		"LoadBalancerId": key.GetLoadBalancerId(),
		"ListenerPort":   strconv.Itoa(int(key.GetPort())),
	}
}

// stateParams also names the protocol, since TCP and UDP may share a port.
func stateParams(key *slbv1.ListenerKey) cloud.Params {
	return keyParams(key).With("ListenerProtocol", strings.ToLower(protocolName(key.GetProtocol())))
}
