// Package ecs turns what the gateway's API says about ECS instances and elastic network interfaces into calls of the cloud's Ecs
// product and back. Reads of single items that come at about the same time share calls.
package ecs

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// itemsPerCall is how many ids or addresses one call may name (ECS API reference).
const itemsPerCall = 100

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
	instances  *batch.Cache[*ecsv1.Instance]
	interfaces *batch.Cache[*ecsv1.NetworkInterface] // by id
	addresses  *batch.Cache[*ecsv1.NetworkInterface] // by address and addressEpoch

	addressEpoch cloud.Epoch

	instancesByID       *batch.Coalescer[string, *ecsv1.Instance]
	interfacesByID      *batch.Coalescer[string, *ecsv1.NetworkInterface]
	interfacesByAddress *batch.Coalescer[addressKey, *ecsv1.NetworkInterface]
}

// New makes a Client. Close it when its callers are gone.
func New(cfg Config) (*Client, error) {
	cache := func(name string) batch.CacheConfig { return batch.CacheConfig{Name: name, Registerer: cfg.Registerer} }
	c := &Client{
		caller:     cfg.Caller,
		locks:      cfg.Locks,
		instances:  batch.NewCache[*ecsv1.Instance](cache("instances")),
		interfaces: batch.NewCache[*ecsv1.NetworkInterface](cache("networkinterfaces")),
		addresses:  batch.NewCache[*ecsv1.NetworkInterface](cache("networkinterface_addresses")),
	}
	var err error
	if c.instancesByID, err = coalescer(cfg, "instances", c.fetchInstances); err != nil {
		return nil, err
	}
	if c.interfacesByID, err = coalescer(cfg, "networkinterfaces", c.fetchInterfaces); err != nil {
		return nil, err
	}
	c.interfacesByAddress, err = coalescer(cfg, "networkinterface_addresses", c.fetchAddresses)
	return c, err
}

func coalescer[K comparable, V any](
	cfg Config, name string, load func(context.Context, []K) (map[K]V, error),
) (*batch.Coalescer[K, V], error) {
	return batch.New(batch.Config[K, V]{
		Name: name, Load: load, MaxItems: itemsPerCall, Idle: cfg.Idle, Max: cfg.Max, Registerer: cfg.Registerer,
	})
}

// Close ends the gathering of reads.
func (c *Client) Close() {
	c.instancesByID.Close()
	c.interfacesByID.Close()
	c.interfacesByAddress.Close()
}

func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.ECS, action, params), out)
	return err
}

// GetInstance reads one instance.
func (c *Client) GetInstance(ctx context.Context, id string, maxAge time.Duration) (*ecsv1.Instance, error) {
	return c.instances.Get(ctx, id, maxAge, func(ctx context.Context) (*ecsv1.Instance, error) {
		instance, exists, err := c.instancesByID.Get(ctx, id)
		if err == nil && !exists {
			err = noInstance(id)
		}
		return instance, err
	})
}

// BatchGetInstances reads many instances; one result per id, in their order.
func (c *Client) BatchGetInstances(ctx context.Context, ids []string, maxAge time.Duration) []*ecsv1.InstanceResult {
	return each(ids, func(id string) *ecsv1.InstanceResult {
		instance, err := c.GetInstance(ctx, id, maxAge)
		return &ecsv1.InstanceResult{Instance: instance, Error: rpcerr.ToItem(err)}
	})
}

// GetNetworkInterface reads one interface.
func (c *Client) GetNetworkInterface(ctx context.Context, id string, maxAge time.Duration) (*ecsv1.NetworkInterface, error) {
	return c.interfaces.Get(ctx, id, maxAge, func(ctx context.Context) (*ecsv1.NetworkInterface, error) {
		n, exists, err := c.interfacesByID.Get(ctx, id)
		if err == nil && !exists {
			err = noInterface(id)
		}
		return n, err
	})
}

// BatchGetNetworkInterfaces reads many interfaces by id; one result per id, in their order.
func (c *Client) BatchGetNetworkInterfaces(ctx context.Context, ids []string, maxAge time.Duration) []*ecsv1.NetworkInterfaceResult {
	return each(ids, func(id string) *ecsv1.NetworkInterfaceResult {
		n, err := c.GetNetworkInterface(ctx, id, maxAge)
		return &ecsv1.NetworkInterfaceResult{NetworkInterface: n, Error: rpcerr.ToItem(err)}
	})
}

// FindNetworkInterfaces reads many interfaces of a VPC by one of their addresses; one result per address, in their order.
func (c *Client) FindNetworkInterfaces(
	ctx context.Context, vpcID string, addresses []netip.Addr, maxAge time.Duration,
) []*ecsv1.NetworkInterfaceResult {
	return each(addresses, func(address netip.Addr) *ecsv1.NetworkInterfaceResult {
		n, err := c.findInterface(ctx, addressKey{vpcID: vpcID, address: address}, maxAge)
		return &ecsv1.NetworkInterfaceResult{NetworkInterface: n, Error: rpcerr.ToItem(err)}
	})
}

func (c *Client) findInterface(ctx context.Context, key addressKey, maxAge time.Duration) (*ecsv1.NetworkInterface, error) {
	name := c.addressEpoch.Key(fmt.Sprint(key))
	return c.addresses.Get(ctx, name, maxAge, func(ctx context.Context) (*ecsv1.NetworkInterface, error) {
		n, exists, err := c.interfacesByAddress.Get(ctx, key)
		if err == nil && !exists {
			err = noInterface(fmt.Sprintf("with address %s in %s", key.address, key.vpcID))
		}
		return n, err
	})
}

// each gets many items at the same time, so that they are read together and that each has its own outcome.
func each[K, R any](keys []K, get func(K) R) []R {
	results := make([]R, len(keys))
	var reads sync.WaitGroup
	for i, key := range keys {
		reads.Go(func() { results[i] = get(key) })
	}
	reads.Wait()
	return results
}
