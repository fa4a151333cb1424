package slb

import (
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func healthActions(t table) []api.Action {
	return []api.Action{api.Read("DescribeHealthStatus", api.On(loadBalancer, t.describeHealth),
		api.Words("InvalidLoadBalancerId.NotFound ResourceNotFound.Listener TooManyListeners"), region(),
		api.Required("LoadBalancerId"), api.Number("ListenerPort", 1, 65535),
		api.OneOf("ListenerProtocol", protoTCP, protoUDP, protoHTTP, protoHTTPS))}
}

// describeHealth shows the servers of running listeners.
func (t table) describeHealth(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	listeners := listenersAt(lb, 0, c.Get("ListenerProtocol"))
	if c.Has("ListenerPort") {
		l, err := listener(c, lb, c.Get("ListenerProtocol"))
		if err != nil {
			return nil, err
		}
		listeners = []*state.Listener{l}
	}
	servers := []api.Object{}
	for _, l := range listeners {
		if l.Status != running && l.Status != configuring {
			continue
		}
		for _, s := range targets(c, lb, l) {
			servers = append(servers, api.Object{
				"ListenerPort", l.Port, "Protocol", l.Protocol, "ServerId", s.ServerID, "ServerIp", s.ServerIP,
				"Type", s.Type, "Port", s.Port, "Weight", strconv.Itoa(s.Weight), "Description", s.Description,
				"ServerHealthStatus", Health(c, lb, l, s),
			})
		}
	}
	return api.Object{"BackendServers", api.Object{"BackendServer", servers}}, nil
}

// targets returns the servers that a listener sends traffic to, those of its rules included.
func targets(c *api.Context, lb *state.LoadBalancer, l *state.Listener) []*state.Server {
	groups := []string{}
	if id := l.Group(); id != "" {
		groups = append(groups, id)
	}
	for _, r := range l.Rules {
		groups = append(groups, r.ServerGroupID)
	}
	var out []*state.Server
	seen := map[string]bool{}
	for _, id := range groups {
		if g := c.State.ServerGroups[id]; g != nil && !seen[id] {
			seen[id] = true
			out = append(out, g.Servers...)
		}
	}
	if l.Group() == "" && forward(l) == off {
		port, _ := strconv.Atoi(l.Attributes["BackendServerPort"]) // "" and samePort leave the port of the listener
		if port <= 0 {
			port = l.Port
		}
		for _, s := range lb.DefaultServers {
			copied := *s
			copied.Port = port
			out = append(out, &copied)
		}
	}
	return out
}

// Health returns the health of a server of a running listener in the words of DescribeHealthStatus: unavailable until the first
// checks are complete and where no checks are made. Without traffic nothing is checked, and the state of the instance decides.
func Health(c *api.Context, lb *state.LoadBalancer, l *state.Listener, s *state.Server) string {
	if c.Traffic != nil {
		return c.Traffic.Health(lb.ID, l, s)
	}
	check := "HealthCheckSwitch"
	if protocolBit(l.Protocol)&layer7 != 0 {
		check = "HealthCheck"
	}
	switch {
	case l.Attributes[check] == off || c.Now.Before(s.Added.Add(c.Settings.BackendHealthy)):
		return "unavailable"
	case answers(c, s):
		return "normal"
	}
	return "abnormal"
}

// answers reports whether a server passes health checks: its instance runs and is not marked unhealthy.
func answers(c *api.Context, s *state.Server) bool {
	id := s.ServerID
	if eni := c.State.Interfaces[id]; s.Type == typeENI && eni != nil {
		if eni.InstanceID == "" {
			return false
		}
		id = eni.InstanceID
	}
	instance := c.State.Instances[id]
	return instance != nil && instance.Status == "Running" && (instance.Healthy == nil || *instance.Healthy)
}
