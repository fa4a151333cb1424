package server

import (
	"context"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type listeners struct {
	slbv1.UnimplementedListenerServiceServer

	slb *slb.Client
}

func (s *listeners) ListListeners(ctx context.Context, r *slbv1.ListListenersRequest) (*slbv1.ListListenersResponse, error) {
	var c check
	c.ids("load_balancer_ids", r.GetLoadBalancerIds())
	if len(r.GetLoadBalancerIds()) == 0 {
		c.addf("load_balancer_ids", "at least one is required")
	}
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.slb.ListListeners(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ListListenersResponse{Listeners: list}, nil
}

func (s *listeners) CreateListener(ctx context.Context, r *slbv1.CreateListenerRequest) (*slbv1.CreateListenerResponse, error) {
	var c check
	c.listenerKey(r.GetKey())
	c.listenerConfig(r.GetKey(), r.GetConfig(), true)
	c.optionalRequestID(r.GetRequestId())
	c.listenerTarget(r.GetConfig())
	if r.GetKey().GetProtocol() == slbv1.Protocol_PROTOCOL_HTTPS && r.GetConfig().GetServerCertificateId() == "" {
		c.addf("config.server_certificate_id", "is required for HTTPS")
	}
	c.tags("tags", r.GetTags())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.CreateListener(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.CreateListenerResponse{}, nil
}

// listenerTarget checks that a new listener sends its traffic to one place.
func (c *check) listenerTarget(cfg *slbv1.ListenerConfig) {
	forwards, groups, ports := cfg.GetForwardPort() != 0, cfg.GetServerGroupId() != "", cfg.GetBackendServerPort() != 0
	switch {
	case !forwards && !groups && !ports:
		c.addf("config.server_group_id", "is required, unless config.forward_port or config.backend_server_port is set")
	case forwards && groups:
		c.addf("config.server_group_id", "a listener that redirects has no vServer group")
	case forwards && ports:
		c.addf("config.backend_server_port", "a listener that redirects has no servers")
	case groups && ports:
		c.addf("config.backend_server_port", "is for the default server group, leave it out with config.server_group_id")
	}
}

func (s *listeners) UpdateListener(ctx context.Context, r *slbv1.UpdateListenerRequest) (*slbv1.UpdateListenerResponse, error) {
	var c check
	c.listenerKey(r.GetKey())
	c.listenerConfig(r.GetKey(), r.GetConfig(), false)
	c.optionalRequestID(r.GetRequestId())
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if !slb.HasSettings(r.GetConfig()) && len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.addf("config", "the request changes nothing; at least one attribute is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.UpdateListener(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateListenerResponse{}, nil
}

func (s *listeners) DeleteListener(ctx context.Context, r *slbv1.DeleteListenerRequest) (*slbv1.DeleteListenerResponse, error) {
	if err := checkListenerChange(r); err != nil {
		return nil, err
	}
	if err := s.slb.DeleteListener(ctx, r.GetKey()); err != nil {
		return nil, err
	}
	return &slbv1.DeleteListenerResponse{}, nil
}

func (s *listeners) StartListener(ctx context.Context, r *slbv1.StartListenerRequest) (*slbv1.StartListenerResponse, error) {
	if err := checkListenerChange(r); err != nil {
		return nil, err
	}
	if err := s.slb.StartListener(ctx, r.GetKey()); err != nil {
		return nil, err
	}
	return &slbv1.StartListenerResponse{}, nil
}

func (s *listeners) StopListener(ctx context.Context, r *slbv1.StopListenerRequest) (*slbv1.StopListenerResponse, error) {
	if err := checkListenerChange(r); err != nil {
		return nil, err
	}
	if err := s.slb.StopListener(ctx, r.GetKey()); err != nil {
		return nil, err
	}
	return &slbv1.StopListenerResponse{}, nil
}

// checkListenerChange checks a request that needs to name the listener and nothing else.
func checkListenerChange(r interface {
	GetKey() *slbv1.ListenerKey
	GetRequestId() string
},
) error {
	var c check
	c.listenerKey(r.GetKey())
	c.optionalRequestID(r.GetRequestId())
	return c.err()
}

func (c *check) listenerKey(key *slbv1.ListenerKey) {
	c.id("key.load_balancer_id", key.GetLoadBalancerId())
	c.port("key.port", key.GetPort())
	enum(c, "key.protocol", key.GetProtocol(), slbv1.Protocol_name, true)
}

func (c *check) port(field string, port int32) {
	const highest = 65535
	c.number(field, port, 1, highest)
}

func (c *check) listenerConfig(key *slbv1.ListenerKey, cfg *slbv1.ListenerConfig, creating bool) {
	for _, v := range slb.CheckListenerConfig(cfg, key.GetProtocol(), creating) {
		c.addf("config."+v.Field, "%s", v.Description)
	}
}
