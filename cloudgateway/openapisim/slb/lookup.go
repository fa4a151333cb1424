package slb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// loadBalancer returns the settled load balancer of the parameter LoadBalancerId.
func loadBalancer(c *api.Context) (*state.LoadBalancer, *api.Error) {
	return loadBalancerByID(c, c.Get("LoadBalancerId"))
}

func loadBalancerByID(c *api.Context, id string) (*state.LoadBalancer, *api.Error) {
	lb := c.State.LoadBalancers[id]
	if lb == nil {
		return nil, loadBalancerNotFound()
	}
	settle(c, lb)
	return lb, nil
}

// allLoadBalancers returns the settled load balancers that match, the oldest first.
func allLoadBalancers(c *api.Context, match func(*state.LoadBalancer) bool) []*state.LoadBalancer {
	var out []*state.LoadBalancer
	for _, lb := range c.State.LoadBalancers {
		settle(c, lb)
		if match(lb) {
			out = append(out, lb)
		}
	}
	slices.SortFunc(out, func(a, b *state.LoadBalancer) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// listener returns the listener of the parameter ListenerPort. The protocol may be "" if only one listener has the port.
func listener(c *api.Context, lb *state.LoadBalancer, protocol string) (*state.Listener, *api.Error) {
	port := c.Int("ListenerPort", 0)
	at := listenersAt(lb, port, protocol)
	switch {
	case port == 0 || len(at) == 0:
		return nil, listenerNotFound()
	case len(at) > 1:
		return nil, tooManyListeners()
	}
	return at[0], nil
}

// listenerOf finds what LoadBalancerId and ListenerPort name, and ListenerProtocol where the action doesn't say which protocol.
func listenerOf(protocol string) func(*api.Context) (*state.LoadBalancer, *state.Listener, *api.Error) {
	return func(c *api.Context) (*state.LoadBalancer, *state.Listener, *api.Error) {
		lb, err := loadBalancer(c)
		if err != nil {
			return nil, nil, err
		}
		l, err := listener(c, lb, cmp.Or(protocol, c.Get("ListenerProtocol")))
		return lb, l, err
	}
}

// listenersAt returns the listeners with a port (0: any) and a protocol ("": any), in the order of port and protocol.
func listenersAt(lb *state.LoadBalancer, port int, protocol string) []*state.Listener {
	var out []*state.Listener
	for _, l := range lb.Listeners {
		if (port == 0 || l.Port == port) && (protocol == "" || strings.EqualFold(l.Protocol, protocol)) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *state.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out
}

// serverGroup returns the group of the parameter VServerGroupId and its settled load balancer.
func serverGroup(c *api.Context) (*state.ServerGroup, *state.LoadBalancer, *api.Error) {
	return groupOfKind(c, "VServerGroupId", false, groupNotFound)
}

// groupOfKind does so for a vServer group or a master-slave one: ids of the one name none of the other.
func groupOfKind(
	c *api.Context, param string, masterSlave bool, missing func() *api.Error,
) (*state.ServerGroup, *state.LoadBalancer, *api.Error) {
	g := c.State.ServerGroups[c.Get(param)]
	if g == nil || g.MasterSlave != masterSlave {
		return nil, nil, missing()
	}
	lb, err := loadBalancerByID(c, g.LoadBalancerID)
	return g, lb, err
}

// groupsOf returns the vServer groups or the master-slave groups of a load balancer, the oldest first.
func groupsOf(c *api.Context, lbID string, masterSlave bool) []*state.ServerGroup {
	out := slices.DeleteFunc(slices.Collect(c.State.Groups(lbID)), func(g *state.ServerGroup) bool { return g.MasterSlave != masterSlave })
	slices.SortFunc(out, func(a, b *state.ServerGroup) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// groupIn reports whether a load balancer has a vServer group of its own with this id.
func groupIn(c *api.Context, lb *state.LoadBalancer, id string) bool {
	g := c.State.ServerGroups[id]
	return g != nil && g.LoadBalancerID == lb.ID && !g.MasterSlave
}

// pairIn does so for a master-slave group.
func pairIn(c *api.Context, lb *state.LoadBalancer, id string) bool {
	g := c.State.ServerGroups[id]
	return g != nil && g.LoadBalancerID == lb.ID && g.MasterSlave
}

// sortedByID returns the values of a map in the order of their keys.
func sortedByID[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[id])
	}
	return out
}

// stamp is a time as SLB writes it.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// resourceGroup returns a resource group, or that of the account for "".
func resourceGroup(id string) string { return cmp.Or(id, defaultResourceGroup) }

// inResourceGroup reports whether something is in the resource group of the filter, if there is one.
func inResourceGroup(c *api.Context, id string) bool {
	return !c.Has("ResourceGroupId") || resourceGroup(id) == c.Get("ResourceGroupId")
}
