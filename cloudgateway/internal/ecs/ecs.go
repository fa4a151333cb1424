// Package ecs turns what the gateway's API says about ECS instances and elastic network interfaces into calls of the cloud's Ecs
// product and back. Reads of single items that come at about the same time share calls.
package ecs

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

const (
	// itemsPerCall is how many ids or addresses one call may name (ECS API reference).
	itemsPerCall = 100
	// statusesPerCall is how many statuses one answer can hold. One call may name more ids, but would need another page.
	statusesPerCall = 50
	// listsKept bounds how many lists are remembered: one may hold all instances.
	listsKept = 100
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the writes to one network interface.
	Locks cloud.Locker
	// Idle and Max shape the gathering of reads, see batch.Config.
	Idle, Max  time.Duration
	Registerer prometheus.Registerer
}

// Client does the operations of ecs.v1.
type Client struct {
	caller     cloud.Caller
	locks      cloud.Locker
	instances  batch.Reader[string, *ecsv1.Instance]
	lists      *batch.Cache[[]*ecsv1.Instance] // by filter
	statuses   batch.Reader[string, string]
	interfaces batch.Reader[string, *ecsv1.NetworkInterface]
	addresses  batch.Reader[addressKey, *ecsv1.NetworkInterface]

	interfaceLists *batch.Cache[[]*ecsv1.NetworkInterface] // by filter
}

// New makes a Client. Close it when its callers are gone.
func New(cfg Config) (*Client, error) {
	c := &Client{
		caller: cfg.Caller, locks: cfg.Locks,
		lists:          batch.NewCache[[]*ecsv1.Instance](listCache(cfg, "instance_lists")),
		interfaceLists: batch.NewCache[[]*ecsv1.NetworkInterface](listCache(cfg, "networkinterface_lists")),
	}
	var err error
	if c.instances, err = reader(cfg, "instances", itemsPerCall, c.fetchInstances, itself, noInstance); err != nil {
		return nil, err
	}
	if c.statuses, err = reader(cfg, "instance_statuses", statusesPerCall, c.fetchStatuses, itself, noStatus); err != nil {
		return nil, err
	}
	if c.interfaces, err = reader(cfg, "networkinterfaces", itemsPerCall, c.fetchInterfaces, itself, noInterface); err != nil {
		return nil, err
	}
	c.addresses, err = reader(cfg, "networkinterface_addresses", itemsPerCall, c.fetchAddresses,
		func(key addressKey) string { return fmt.Sprint(key) },
		func(key addressKey) error {
			return noInterface(fmt.Sprintf("with address %s in %s", key.address, key.vpcID))
		})
	return c, err
}

func listCache(cfg Config, name string) batch.CacheConfig {
	return batch.CacheConfig{Name: name, MaxEntries: listsKept, Registerer: cfg.Registerer}
}

func reader[K comparable, V any](
	cfg Config, name string, perCall int, load func(context.Context, []K) (map[K]V, error), key func(K) string, absent func(K) error,
) (batch.Reader[K, V], error) {
	coalescer, err := batch.New(batch.Config[K, V]{
		Name: name, Load: load, MaxItems: perCall, Idle: cfg.Idle, Max: cfg.Max, Registerer: cfg.Registerer,
	})
	cache := batch.NewCache[V](batch.CacheConfig{Name: name, Registerer: cfg.Registerer})
	return batch.Reader[K, V]{Cache: cache, Coalescer: coalescer, Name: key, Absent: absent}, err
}

func itself(id string) string { return id }

// Close ends the gathering of reads.
func (c *Client) Close() {
	c.instances.Close()
	c.statuses.Close()
	c.interfaces.Close()
	c.addresses.Close()
}

func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.ECS, action, params), out)
	return err
}

// GetInstance reads one instance.
func (c *Client) GetInstance(ctx context.Context, id string, maxAge time.Duration) (*ecsv1.Instance, error) {
	return c.instances.Get(ctx, id, maxAge)
}

// BatchGetInstances reads many instances; one result per id, in their order.
func (c *Client) BatchGetInstances(ctx context.Context, ids []string, maxAge time.Duration) []*ecsv1.InstanceResult {
	results := make([]*ecsv1.InstanceResult, len(ids))
	for i, r := range c.instances.GetMany(ctx, ids, maxAge) {
		results[i] = &ecsv1.InstanceResult{Instance: r.Value, Error: rpcerr.ToItem(r.Err)}
	}
	return results
}

// BatchGetInstanceStatuses reads many statuses; one result per id, in their order.
func (c *Client) BatchGetInstanceStatuses(ctx context.Context, ids []string, maxAge time.Duration) []*ecsv1.InstanceStatusResult {
	results := make([]*ecsv1.InstanceStatusResult, len(ids))
	for i, r := range c.statuses.GetMany(ctx, ids, maxAge) {
		results[i] = &ecsv1.InstanceStatusResult{Status: r.Value, Error: rpcerr.ToItem(r.Err)}
	}
	return results
}

// GetNetworkInterface reads one interface.
func (c *Client) GetNetworkInterface(ctx context.Context, id string, maxAge time.Duration) (*ecsv1.NetworkInterface, error) {
	return c.interfaces.Get(ctx, id, maxAge)
}

// BatchGetNetworkInterfaces reads many interfaces by id; one result per id, in their order.
func (c *Client) BatchGetNetworkInterfaces(ctx context.Context, ids []string, maxAge time.Duration) []*ecsv1.NetworkInterfaceResult {
	return interfaceResults(c.interfaces.GetMany(ctx, ids, maxAge))
}

// FindNetworkInterfaces reads many interfaces of a VPC by one of their addresses; one result per address, in their order.
func (c *Client) FindNetworkInterfaces(
	ctx context.Context, vpcID string, addresses []netip.Addr, maxAge time.Duration,
) []*ecsv1.NetworkInterfaceResult {
	keys := make([]addressKey, len(addresses))
	for i, address := range addresses {
		keys[i] = addressKey{vpcID: vpcID, address: address}
	}
	return interfaceResults(c.addresses.GetMany(ctx, keys, maxAge))
}

func interfaceResults(from []batch.Result[*ecsv1.NetworkInterface]) []*ecsv1.NetworkInterfaceResult {
	results := make([]*ecsv1.NetworkInterfaceResult, len(from))
	for i, r := range from {
		results[i] = &ecsv1.NetworkInterfaceResult{NetworkInterface: r.Value, Error: rpcerr.ToItem(r.Err)}
	}
	return results
}
