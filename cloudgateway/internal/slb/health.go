package slb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ListHealthStatus reads the health of the servers of one instance, or of one of its listeners.
func (c *Client) ListHealthStatus(ctx context.Context, r *slbv1.ListHealthStatusRequest) ([]*slbv1.ServerHealth, error) {
	id, protocol := r.GetLoadBalancerId(), r.GetProtocol()
	params, name := cloud.Params{"LoadBalancerId": id}, listenersOf(id)
	if r.GetPort() != 0 {
		name = listenerName(&slbv1.ListenerKey{LoadBalancerId: id, Port: r.GetPort(), Protocol: protocol})
		params.Int("ListenerPort", int(r.GetPort())).With("ListenerProtocol", strings.ToLower(protocolName(protocol)))
	}
	found, err := c.caches.health.Get(ctx, name, r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.ServerHealth, error) { return c.describeHealth(ctx, params) })
	if protocol == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		return found, err
	}
	return slices.DeleteFunc(slices.Clone(found), func(h *slbv1.ServerHealth) bool {
		return h.GetListener().GetProtocol() != protocol
	}), err
}

func (c *Client) describeHealth(ctx context.Context, params cloud.Params) ([]*slbv1.ServerHealth, error) {
	var answer struct {
		BackendServers struct{ BackendServer []healthAnswer }
	}
	if err := c.read(ctx, "DescribeHealthStatus", params, &answer); err != nil {
		return nil, err
	}
	found := make([]*slbv1.ServerHealth, 0, len(answer.BackendServers.BackendServer))
	for _, a := range answer.BackendServers.BackendServer {
		h, err := a.decode(params["LoadBalancerId"])
		if err != nil {
			return nil, err
		}
		found = append(found, h)
	}
	slices.SortStableFunc(found, func(a, b *slbv1.ServerHealth) int {
		x, y := a.GetListener(), b.GetListener()
		return cmp.Or(cmp.Compare(x.GetPort(), y.GetPort()), cmp.Compare(x.GetProtocol(), y.GetProtocol()),
			strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()),
			cmp.Compare(a.GetPort(), b.GetPort()))
	})
	return found, nil
}

// healthAnswer is a server in the answer to DescribeHealthStatus.
type healthAnswer struct {
	ListenerPort       json.RawMessage
	Protocol           string
	ServerID           string `json:"ServerId"`
	ServerIP           string `json:"ServerIp"`
	Type               string
	Port               json.RawMessage
	ServerHealthStatus string
}

func (a healthAnswer) decode(loadBalancerID string) (*slbv1.ServerHealth, error) {
	listener, err := strconv.ParseInt(looseText(a.ListenerPort), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode health of server %s: listener port %q is not a number", a.ServerID, looseText(a.ListenerPort))
	}
	port, err := strconv.ParseInt(looseText(a.Port), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode health of server %s: port %q is not a number", a.ServerID, looseText(a.Port))
	}
	return &slbv1.ServerHealth{
		Listener: &slbv1.ListenerKey{
			LoadBalancerId: loadBalancerID, Port: int32(listener),
			Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(a.Protocol)]),
		},
		Type: serverType(a.Type), ServerId: a.ServerID, ServerIp: a.ServerIP, Port: int32(port),
		Status: a.ServerHealthStatus,
	}, nil
}
