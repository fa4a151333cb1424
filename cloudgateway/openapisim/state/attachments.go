package state

import (
	"fmt"
	"iter"
	"reflect"
	"unique"
)

// identity is what counts as one backend server of a load balancer, in however many groups and with however many ports it is.
type identity struct{ id, ip string }

// backend is an identity in the space of a pointer: every load balancer counts the same few thousand.
type backend = unique.Handle[identity]

func backendOf(s *Server) backend { return unique.Make(identity{s.ServerID, s.ServerIP}) }

// attachments count the servers of load balancers, so that a change costs what it changes and not what the cloud holds. They are
// derived from the rest of the state, and made when they are first needed.
type attachments struct {
	times    map[string]int                     // how often a server is attached
	backends map[string]map[backend]int32       // by load balancer: how often each is attached
	groups   map[string]map[string]*ServerGroup // by load balancer and id
}

func (c *Cloud) attachments() *attachments {
	if c.attached != nil {
		return c.attached
	}
	c.attached = &attachments{
		times: map[string]int{}, backends: map[string]map[backend]int32{}, groups: map[string]map[string]*ServerGroup{},
	}
	for _, g := range c.ServerGroups {
		c.attached.addGroup(g)
	}
	for _, lb := range c.LoadBalancers {
		c.attached.add(lb.ID, lb.DefaultServers, 1)
	}
	return c.attached
}

// Recount makes the cloud count attachments anew. Code that changes groups or servers in another way than by the methods here
// calls it.
func (c *Cloud) Recount() { c.attached = nil }

// CheckCounts reports counts that differ from what they are derived from, for tests.
func (c *Cloud) CheckCounts() error {
	kept := c.attached
	if kept == nil {
		return nil
	}
	c.Recount()
	if fresh := c.attachments(); !reflect.DeepEqual(kept, fresh) {
		return fmt.Errorf("the attachments are counted as %v, want %v", *kept, *fresh)
	}
	return nil
}

func (a *attachments) add(lbID string, servers []*Server, n int) {
	backends := a.backends[lbID]
	if backends == nil {
		backends = map[backend]int32{}
		a.backends[lbID] = backends
	}
	for _, s := range servers {
		count(a.times, s.ServerID, n)
		count(backends, backendOf(s), int32(n))
	}
	if len(backends) == 0 {
		delete(a.backends, lbID)
	}
}

func count[K comparable, N int | int32](counts map[K]N, key K, n N) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

func (a *attachments) addGroup(g *ServerGroup) {
	if a.groups[g.LoadBalancerID] == nil {
		a.groups[g.LoadBalancerID] = map[string]*ServerGroup{}
	}
	a.groups[g.LoadBalancerID][g.ID] = g
	a.add(g.LoadBalancerID, g.Servers, 1)
}

// AddGroup adds a group with its servers.
func (c *Cloud) AddGroup(g *ServerGroup) {
	c.attachments().addGroup(g)
	c.ServerGroups[g.ID] = g
}

// RemoveGroup removes a group with its servers.
func (c *Cloud) RemoveGroup(g *ServerGroup) {
	a := c.attachments()
	a.add(g.LoadBalancerID, g.Servers, -1)
	if delete(a.groups[g.LoadBalancerID], g.ID); len(a.groups[g.LoadBalancerID]) == 0 {
		delete(a.groups, g.LoadBalancerID)
	}
	delete(c.ServerGroups, g.ID)
}

// Groups are the groups of a load balancer, in no order.
func (c *Cloud) Groups(lbID string) iter.Seq[*ServerGroup] {
	groups := c.attachments().groups[lbID]
	return func(yield func(*ServerGroup) bool) {
		for _, g := range groups {
			if !yield(g) {
				return
			}
		}
	}
}

// Attach counts servers that join a group of a load balancer, and those that leave it.
func (c *Cloud) Attach(lbID string, joining, leaving []*Server) {
	a := c.attachments()
	a.add(lbID, joining, 1)
	a.add(lbID, leaving, -1)
}

// Attached returns how often a server would be attached, and how many backends a load balancer would have, after a change.
func (c *Cloud) Attached(lbID string, joining, leaving []*Server) (times map[string]int, backends int) {
	a := c.attachments()
	times = map[string]int{}
	change := map[backend]int32{}
	for _, s := range joining {
		times[s.ServerID]++
		change[backendOf(s)]++
	}
	for _, s := range leaving {
		times[s.ServerID]--
		change[backendOf(s)]--
	}
	for id := range times {
		times[id] += a.times[id]
	}
	before := a.backends[lbID]
	backends = len(before)
	for b, n := range change {
		switch had := before[b]; {
		case had == 0 && n > 0:
			backends++
		case had > 0 && had+n == 0:
			backends--
		}
	}
	return times, backends
}
