package writetest

import (
	"context"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

func listenerOperations() []Operation {
	stop := func(ctx context.Context, c *gateway.Client, s *Site) error {
		_, err := c.Listeners.StopListener(ctx, &slbv1.StopListenerRequest{Key: s.key()})
		return err
	}
	return []Operation{
		{
			Name: "CreateListener", Actions: []string{"CreateLoadBalancerTCPListener", "StartLoadBalancerListener"}, Prepare: withGroup,
			Run: createListener, Resume: resumeListener,
		},
		{Name: "UpdateListener", Actions: []string{"SetLoadBalancerTCPListenerAttribute"}, Prepare: withListener, Run: reschedule},
		{
			Name: "UpdateListener, tags", Actions: []string{"TagResources", "UntagResources"}, Prepare: withListener,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{
					Key: s.key(), SetTags: []*commonv1.Tag{{Key: "more", Value: "1"}}, RemoveTagKeys: []string{"site"},
				})
				return err
			},
		},
		{
			Name: "StartListener", Actions: []string{"StartLoadBalancerListener"},
			Prepare: func(ctx context.Context, c *gateway.Client, s *Site) error {
				if err := withListener(ctx, c, s); err != nil {
					return err
				}
				return stop(ctx, c, s)
			},
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: s.key()})
				return err
			},
		},
		{Name: "StopListener", Actions: []string{"StopLoadBalancerListener"}, Prepare: withListener, Run: stop},
		{
			Name: "DeleteListener", Actions: []string{"DeleteLoadBalancerListener"}, Prepare: withListener,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: s.key()})
				return err
			},
		},
	}
}

// protocolOperations are those that are other calls to the cloud for each protocol.
func protocolOperations() []Operation {
	var list []Operation
	for _, protocol := range []slbv1.Protocol{
		slbv1.Protocol_PROTOCOL_UDP, slbv1.Protocol_PROTOCOL_HTTP, slbv1.Protocol_PROTOCOL_HTTPS,
	} {
		name := strings.TrimPrefix(protocol.String(), "PROTOCOL_")
		list = append(list,
			Operation{
				Name: "CreateListener, " + name, Actions: []string{"CreateLoadBalancer" + name + "Listener"},
				Prepare: ofProtocol(protocol, withGroup), Run: createListener, Resume: resumeListener,
			},
			Operation{
				Name: "UpdateListener, " + name, Actions: []string{"SetLoadBalancer" + name + "ListenerAttribute"},
				Prepare: ofProtocol(protocol, withListener), Run: reschedule,
			},
		)
	}
	return list
}

func createListener(ctx context.Context, c *gateway.Client, s *Site) error {
	_, err := c.Listeners.CreateListener(ctx, s.listener())
	return err
}

func reschedule(ctx context.Context, c *gateway.Client, s *Site) error {
	_, err := c.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{
		Key: s.key(), Config: &slbv1.ListenerConfig{Scheduler: new("wrr")},
	})
	return err
}

// resumeListener starts the listener if it is there already.
func resumeListener(ctx context.Context, c *gateway.Client, s *Site) error {
	_, err := c.Listeners.CreateListener(ctx, s.listener())
	if rpcerr.ReasonOf(err) == rpcerr.ListenerExists {
		_, err = c.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: s.key()})
	}
	return err
}
