// Package ecs turns what the gateway's API says about ECS instances and elastic network interfaces into calls of the cloud's Ecs
// product and back. Reads of single items that come at about the same time share calls.
package ecs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
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
	interfaces *batch.Cache[*ecsv1.NetworkInterface]

	instancesByID       *batch.Coalescer[string, *ecsv1.Instance]
	interfacesByID      *batch.Coalescer[string, *ecsv1.NetworkInterface]
	interfacesByAddress *batch.Coalescer[addressKey, *ecsv1.NetworkInterface]
}

// New makes a Client. Close it when its callers are gone.
func New(cfg Config) (*Client, error) {
	c := &Client{
		caller:     cfg.Caller,
		locks:      cfg.Locks,
		instances:  batch.NewCache[*ecsv1.Instance](batch.CacheConfig{Name: "instances", Registerer: cfg.Registerer}),
		interfaces: batch.NewCache[*ecsv1.NetworkInterface](batch.CacheConfig{Name: "networkinterfaces", Registerer: cfg.Registerer}),
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

// BatchGetInstances reads many instances; one result per id, in their order. The answer is always as fresh as can be.
func (c *Client) BatchGetInstances(ctx context.Context, ids []string) []*ecsv1.InstanceResult {
	found, failed := getMany(ctx, c.instancesByID, ids)
	results := make([]*ecsv1.InstanceResult, len(ids))
	for i, id := range ids {
		err := failed[id]
		if err == nil && found[id] == nil {
			err = noInstance(id)
		}
		results[i] = &ecsv1.InstanceResult{Instance: found[id], Error: rpcerr.ToItem(err)}
	}
	return results
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
func (c *Client) BatchGetNetworkInterfaces(ctx context.Context, ids []string) []*ecsv1.NetworkInterfaceResult {
	return interfaceResults(ctx, c.interfacesByID, ids, func(id string) error { return noInterface(id) })
}

// FindNetworkInterfaces reads many interfaces of a VPC by one of their addresses; one result per address, in their order.
func (c *Client) FindNetworkInterfaces(ctx context.Context, vpcID string, addresses []netip.Addr) []*ecsv1.NetworkInterfaceResult {
	keys := make([]addressKey, len(addresses))
	for i, a := range addresses {
		keys[i] = addressKey{vpcID: vpcID, address: a}
	}
	return interfaceResults(ctx, c.interfacesByAddress, keys, func(k addressKey) error {
		return noInterface(fmt.Sprintf("with address %s in %s", k.address, k.vpcID))
	})
}

func interfaceResults[K comparable](
	ctx context.Context, reads *batch.Coalescer[K, *ecsv1.NetworkInterface], keys []K, missing func(K) error,
) []*ecsv1.NetworkInterfaceResult {
	found, failed := getMany(ctx, reads, keys)
	results := make([]*ecsv1.NetworkInterfaceResult, len(keys))
	for i, key := range keys {
		err := failed[key]
		if err == nil && found[key] == nil {
			err = missing(key)
		}
		results[i] = &ecsv1.NetworkInterfaceResult{NetworkInterface: found[key], Error: rpcerr.ToItem(err)}
	}
	return results
}

// getMany reads many items, a call's worth at a time, so that a call that fails fails its own items only.
func getMany[K comparable, V any](ctx context.Context, reads *batch.Coalescer[K, V], keys []K) (map[K]V, map[K]error) {
	var (
		mu     sync.Mutex
		work   sync.WaitGroup
		found  = make(map[K]V, len(keys))
		failed = map[K]error{}
	)
	for chunk := range slices.Chunk(keys, itemsPerCall) {
		work.Go(func() {
			some, err := reads.GetMany(ctx, chunk)
			mu.Lock()
			defer mu.Unlock()
			for _, key := range chunk {
				if v, ok := some[key]; ok {
					found[key] = v
				}
				if err != nil {
					failed[key] = err
				}
			}
		})
	}
	work.Wait()
	return found, failed
}
