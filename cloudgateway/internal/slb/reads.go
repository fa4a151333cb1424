package slb

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// reads gather what is asked about single instances while other reads are under way. A read that comes alone hardly waits.
type reads struct {
	balancers batch.Reader[string, *slbv1.LoadBalancer] // nil: there is no such instance
	listeners batch.Reader[string, []*slbv1.Listener]
}

func (c *Client) newReads(registerer prometheus.Registerer) (r reads, err error) {
	if r.balancers, err = gathering(registerer, "loadbalancers", c.caches.balancers, c.fetchBalancers); err != nil {
		return r, err
	}
	r.listeners, err = gathering(registerer, "listeners", c.caches.listeners, c.fetchListeners)
	return r, err
}

func gathering[V any](
	registerer prometheus.Registerer, name string, cache *batch.Cache[V], load func(context.Context, []string) (map[string]V, error),
) (batch.Reader[string, V], error) {
	coalescer, err := batch.New(batch.Config[string, V]{
		Name: name, Load: load, MaxItems: idsPerCall, Idle: 200 * time.Microsecond, Max: 100 * time.Millisecond, Parallel: parallelReads,
		Registerer: registerer,
	})
	return batch.Reader[string, V]{Cache: cache, Coalescer: coalescer, Name: func(id string) string { return id }}, err
}

// Close ends the gathering of reads.
func (c *Client) Close() {
	c.reads.balancers.Close()
	c.reads.listeners.Close()
}

// fetchBalancers reads at most idsPerCall instances; one that does not exist is not in the answer.
func (c *Client) fetchBalancers(ctx context.Context, ids []string) (map[string]*slbv1.LoadBalancer, error) {
	list, err := c.describe(ctx, cloud.Params{"LoadBalancerId": strings.Join(cloud.Sorted(ids), ",")})
	if err != nil {
		return nil, err
	}
	found := make(map[string]*slbv1.LoadBalancer, len(list))
	for _, lb := range list {
		found[lb.GetLoadBalancerId()] = lb
	}
	return found, nil
}

// fetchListeners reads the listeners of at most idsPerCall instances.
func (c *Client) fetchListeners(ctx context.Context, ids []string) (map[string][]*slbv1.Listener, error) {
	list, err := c.describeListeners(ctx, cloud.Sorted(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[string][]*slbv1.Listener, len(ids))
	for _, l := range list {
		id := l.GetKey().GetLoadBalancerId()
		found[id] = append(found[id], l)
	}
	return found, nil
}
