// Package acl turns what the gateway's API says about access control lists into calls of the cloud's Slb product and back.
package acl

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/filing"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the writes to one list, which the cloud refuses to take at the same time.
	Locks      cloud.Locker
	Registerer prometheus.Registerer
}

// Client does the operations of AccessControlListService.
type Client struct {
	caller   cloud.Caller
	locks    cloud.Locker
	lists    *batch.Cache[*slbv1.AccessControlList]   // by id, with entries
	listings *batch.Cache[[]*slbv1.AccessControlList] // by filter
	// ledger knows the creations of the last hour that were not seen to their end: the id of the list, empty if it is not known
	// whether there is one.
	ledger *memo.Memo[creation, string]
}

// New makes a Client.
func New(cfg Config) *Client {
	return &Client{
		caller: cfg.Caller,
		locks:  cfg.Locks,
		lists:  batch.NewCache[*slbv1.AccessControlList](batch.CacheConfig{Name: "acls", Registerer: cfg.Registerer}),
		listings: batch.NewCache[[]*slbv1.AccessControlList](batch.CacheConfig{
			Name: "acl_lists", MaxEntries: listingsKept, Registerer: cfg.Registerer,
		}),
		ledger: memo.New[creation, string](ledgerSize),
	}
}

// The cloud's limits (SLB API reference).
const (
	pageSize       = 50 // DescribeAccessControlLists, DescribeAccessControlListAttribute
	entriesPerCall = 50 // AddAccessControlListEntry, RemoveAccessControlListEntry
)

const (
	// listingsKept bounds how many listings are remembered: one may hold all lists.
	listingsKept = 100
	// ledgerSize and ledgerLife bound what is remembered about the gateway's own creations.
	ledgerSize = 10_000
	ledgerLife = time.Hour
)

func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.SLB, action, params), out)
	return err
}

func (c *Client) set(ctx context.Context, action string, params cloud.Params) error {
	return cloud.Set(ctx, c.caller, cloud.Write(openapi.SLB, action, params), nil)
}

// exclusively runs a change of one list, alone, and forgets what was remembered about it.
func (c *Client) exclusively(ctx context.Context, id string, change func(ctx context.Context) error) error {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	// Whatever happens, the cloud may hold something new.
	defer func() {
		c.lists.Invalidate(id)
		c.listings.Clear()
	}()
	return change(ctx)
}

// Update changes what is present in the request.
func (c *Client) Update(ctx context.Context, r *slbv1.UpdateAccessControlListRequest) error {
	id := r.GetAclId()
	return c.exclusively(ctx, id, func(ctx context.Context) error {
		if r.Name != nil {
			if err := c.set(ctx, "SetAccessControlListAttribute", cloud.Params{"AclId": id, "AclName": r.GetName()}); err != nil {
				return err
			}
		}
		if err := c.apply(ctx, id, changes(r)); err != nil {
			return err
		}
		return cloud.As(rpcerr.AclNotFound, filing.Apply(ctx, c.caller, "acl", id, filing.Change{
			SetTags: r.GetSetTags(), RemoveTagKeys: r.GetRemoveTagKeys(), ResourceGroupID: r.ResourceGroupId,
		}))
	})
}

// Delete removes a list.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.exclusively(ctx, id, func(ctx context.Context) error {
		return cloud.Unless(c.set(ctx, "DeleteAccessControlList", cloud.Params{"AclId": id}), rpcerr.AclNotFound)
	})
}
