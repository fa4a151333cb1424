package slb

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
)

// caches remember what was read, for callers who say how old an answer may be.
type caches struct {
	balancers  *batch.Cache[*slbv1.LoadBalancer]      // by instance
	lists      *batch.Cache[[]*slbv1.LoadBalancer]    // by filter
	listeners  *batch.Cache[[]*slbv1.Listener]        // by instance
	groupLists *batch.Cache[[]*slbv1.ServerGroup]     // by instance
	groups     *batch.Cache[*slbv1.ServerGroup]       // by group
	rules      *batch.Cache[[]*slbv1.ForwardingRule]  // by listener
	extensions *batch.Cache[[]*slbv1.DomainExtension] // by listener
	defaults   *batch.Cache[[]*slbv1.DefaultServer]   // by instance
	health     *batch.Cache[[]*slbv1.ServerHealth]    // by instance and listener
	zones      *batch.Cache[[]*slbv1.ZonePair]        // one entry
}

// listsKept bounds how many lists are remembered: one may hold all instances.
const listsKept = 100

func newCaches(registerer prometheus.Registerer) *caches {
	config := func(name string) batch.CacheConfig {
		return batch.CacheConfig{Name: name, Registerer: registerer}
	}
	return &caches{
		balancers: batch.NewCache[*slbv1.LoadBalancer](config("loadbalancers")),
		lists: batch.NewCache[[]*slbv1.LoadBalancer](batch.CacheConfig{
			Name: "loadbalancer_lists", MaxEntries: listsKept, Registerer: registerer,
		}),
		listeners:  batch.NewCache[[]*slbv1.Listener](config("listeners")),
		groupLists: batch.NewCache[[]*slbv1.ServerGroup](config("servergroup_lists")),
		groups:     batch.NewCache[*slbv1.ServerGroup](config("servergroups")),
		defaults:   batch.NewCache[[]*slbv1.DefaultServer](config("default_servergroups")),
		health: batch.NewCache[[]*slbv1.ServerHealth](batch.CacheConfig{
			Name: "health", MaxEntries: listsKept, Registerer: registerer,
		}),
		zones:      batch.NewCache[[]*slbv1.ZonePair](config("zones")),
		rules:      batch.NewCache[[]*slbv1.ForwardingRule](config("forwarding_rules")),
		extensions: batch.NewCache[[]*slbv1.DomainExtension](config("domain_extensions")),
	}
}

// forget drops what is remembered about an instance that was written to, groups excepted, which are known by their own ids.
func (c *caches) forget(loadBalancerID string) {
	c.balancers.Invalidate(loadBalancerID)
	c.listeners.Invalidate(loadBalancerID)
	c.groupLists.Invalidate(loadBalancerID)
	c.rules.InvalidatePrefix(listenersOf(loadBalancerID))
	c.extensions.InvalidatePrefix(listenersOf(loadBalancerID))
	c.defaults.Invalidate(loadBalancerID)
	c.health.InvalidatePrefix(listenersOf(loadBalancerID))
	c.lists.Clear()
}

// listenerName names a listener in the caches.
func listenerName(key *slbv1.ListenerKey) string {
	return fmt.Sprintf("%s%d/%s", listenersOf(key.GetLoadBalancerId()), key.GetPort(), protocolName(key.GetProtocol()))
}

// listenersOf is what the names of all listeners of an instance begin with.
func listenersOf(loadBalancerID string) string { return loadBalancerID + " " }
