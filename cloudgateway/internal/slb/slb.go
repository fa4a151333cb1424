// Package slb turns what the gateway's API says about CLB instances, listeners and vServer groups into calls of the cloud's Slb
// product and back: how many calls, of which size, in which order, and what to do when an answer is lost.
package slb

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the writes to one instance, which the cloud refuses to take at the same time.
	Locks cloud.Locker
	// ServersPerCall is how many servers one call may name, 1 to 40.
	ServersPerCall int
	Registerer     prometheus.Registerer
}

// Client does the operations of slb.v1.
type Client struct {
	caller cloud.Caller
	locks  cloud.Locker
	pace   *pace
	caches *caches
	reads  reads
	// ledger knows the creations of groups that were begun and not seen to their end, unfinished those of listeners, sent those of
	// rules and domain extensions, and releases the instances whose groups were freed a moment ago. Requests that succeeded are
	// package replay's.
	ledger     *memo.Memo[creation, string]
	unfinished *memo.Memo[listener, struct{}]
	sent       *memo.Memo[sending, struct{}]
	releases   *memo.Memo[string, struct{}]
	// serversPerCall shrinks when the cloud says that a call named too many.
	serversPerCall atomic.Int32
}

// New makes a Client. Close it when its callers are gone.
func New(cfg Config) (*Client, error) {
	c := &Client{
		caller: cfg.Caller, locks: cfg.Locks, pace: newPace(cfg.Registerer), caches: newCaches(cfg.Registerer),
		ledger:     memo.New[creation, string](ledgerSize),
		unfinished: memo.New[listener, struct{}](ledgerSize),
		sent:       memo.New[sending, struct{}](ledgerSize),
		releases:   memo.New[string, struct{}](ledgerSize),
	}
	c.serversPerCall.Store(int32(max(1, min(cfg.ServersPerCall, maxServersPerCall))))
	var err error
	c.reads, err = c.newReads(cfg.Registerer)
	return c, err
}

// The cloud's limits (SLB API reference).
const (
	maxServersPerCall = 40  // documented: 20; the service takes 40 of some accounts
	idsPerCall        = 10  // DescribeLoadBalancers, DescribeLoadBalancerListeners
	pageSize          = 100 // DescribeLoadBalancers
	listenersPerPage  = 100 // DescribeLoadBalancerListeners
	parallelReads     = 8   // of ours, so that one big instance does not take the whole budget at once
)

// ledgerSize bounds what is remembered about the gateway's own writes.
const ledgerSize = 10_000

// read makes a call that changes nothing.
func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.SLB, action, params), out)
	return err
}

// set changes an attribute of the instance itself.
func (c *Client) set(ctx context.Context, action string, params cloud.Params) error {
	return cloud.Set(ctx, c.caller, cloud.Write(openapi.SLB, action, params), nil)
}

// exclusively runs a change of one instance, alone, and forgets what was remembered about it.
func (c *Client) exclusively(
	ctx context.Context, loadBalancerID string, change func(ctx context.Context, w *writer) error,
) error {
	unlock, err := cloud.Lock(ctx, c.locks, loadBalancerID)
	if err != nil {
		return err
	}
	defer unlock()
	// Whatever happens, the cloud may hold something new.
	defer c.caches.forget(loadBalancerID)
	return change(ctx, &writer{client: c, loadBalancerID: loadBalancerID})
}
