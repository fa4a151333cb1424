package state

import (
	"slices"
	"time"
)

// Vanish takes servers whose time has come out of all groups.
func (c *Cloud) Vanish(now time.Time) {
	gone := map[string]bool{}
	c.Vanishing = slices.DeleteFunc(c.Vanishing, func(v Vanishing) bool {
		if now.Before(v.At) {
			return false
		}
		for _, id := range v.ServerIDs {
			gone[id] = true
		}
		return true
	})
	if len(c.Vanishing) == 0 {
		c.Vanishing = nil
	}
	if len(gone) == 0 {
		return
	}
	remaining := func(servers []*Server) []*Server {
		return slices.DeleteFunc(slices.Clone(servers), func(s *Server) bool { return gone[s.ServerID] })
	}
	for _, group := range c.ServerGroups {
		group.Servers = remaining(group.Servers)
	}
	for _, group := range c.NLBServerGroups {
		group.Servers = slices.DeleteFunc(slices.Clone(group.Servers), func(s *NLBServer) bool { return gone[s.ServerID] })
	}
	for _, lb := range c.LoadBalancers {
		lb.DefaultServers = remaining(lb.DefaultServers)
	}
	c.Recount()
}
