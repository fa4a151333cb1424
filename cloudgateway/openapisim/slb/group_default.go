package slb

import (
	"slices"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// defaultGroupActions are the changes of the servers of a load balancer that have no port of their own.
func defaultGroupActions() []api.Action {
	codes := append(formCodes(), "BackendServer.configuring", "InvalidLoadBalancerId.NotFound")
	return []api.Action{
		api.Write("AddBackendServers", api.On2(defaultServers, addDefaultServers), slices.Concat(codes, serverCodes()),
			region(), api.Required("LoadBalancerId"), jsonText("BackendServers")),
		api.Write("SetBackendServers", api.On2(defaultServers, setDefaultServers), codes, region(),
			api.Required("LoadBalancerId"), jsonText("BackendServers")),
		api.Write("RemoveBackendServers", api.On2(defaultServers, removeDefaultServers), codes, region(),
			api.Required("LoadBalancerId"), must(jsonText("BackendServers"))),
	}
}

func weightAsInt(weight int) any  { return weight }
func weightAsText(weight int) any { return strconv.Itoa(weight) }

// defaultServerList is the wrapped list of these servers. Weights are text in the answers of AddBackendServers and
// SetBackendServers and numbers elsewhere.
func defaultServerList(lb *state.LoadBalancer, weight func(int) any) api.Object {
	return wrapped("BackendServer", lb.DefaultServers, func(s *state.Server) api.Object {
		return api.Object{
			"ServerId", s.ServerID, "ServerIp", s.ServerIP, "VpcId", lb.VpcID, "Type", s.Type, "Weight", weight(s.Weight),
			"Description", s.Description,
		}
	})
}

func defaultGroupAnswer(c *api.Context, lb *state.LoadBalancer, weight func(int) any) (any, *api.Error) {
	changed(c, lb)
	return api.Object{"LoadBalancerId", lb.ID, "BackendServers", defaultServerList(lb, weight)}, nil
}

// defaultServers reads the load balancer and the servers of a change.
func defaultServers(c *api.Context) (*state.LoadBalancer, []server, *api.Error) {
	lb, err := loadBalancer(c)
	if err != nil {
		return nil, nil, err
	}
	if err := writable(c, lb, lb.ID+"/default", busyDefaultGroup); err != nil {
		return nil, nil, err
	}
	items, err := parseServers(c, "BackendServers", false)
	if err != nil {
		return nil, nil, err
	}
	return lb, items, nil
}

// addDefaultServers takes the first of several equal servers of a call, and refuses one that is there already.
func addDefaultServers(c *api.Context, lb *state.LoadBalancer, items []server) (any, *api.Error) {
	all, err := newServers(c, lb, items)
	if err != nil {
		return nil, err
	}
	var more []*state.Server
	for _, s := range all {
		if present([]*state.Server{s}, lb.DefaultServers) != nil {
			return nil, conflict(s, "The server %s is a backend server already.", s.ServerID)
		}
		if present([]*state.Server{s}, more) == nil {
			more = append(more, s)
		}
	}
	if err := checkServerQuotas(c, lb, nil, more); err != nil {
		return nil, err
	}
	lb.DefaultServers = append(lb.DefaultServers, more...)
	c.State.Attach(lb.ID, more, nil)
	return defaultGroupAnswer(c, lb, weightAsText)
}

// setDefaultServers sets the weights of the listed servers.
func setDefaultServers(c *api.Context, lb *state.LoadBalancer, items []server) (any, *api.Error) {
	if absent := updateServers(lb.DefaultServers, items); absent != nil {
		return nil, api.BadRequest("InvalidParameter", "The server %s is not a backend server.", absent.id)
	}
	return defaultGroupAnswer(c, lb, weightAsText)
}

// removeDefaultServers ignores servers that are not there.
func removeDefaultServers(c *api.Context, lb *state.LoadBalancer, items []server) (any, *api.Error) {
	kept, leaving := split(lb.DefaultServers, items)
	lb.DefaultServers = kept
	c.State.Attach(lb.ID, nil, leaving)
	return defaultGroupAnswer(c, lb, weightAsInt)
}
