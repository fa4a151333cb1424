// Package vpc turns what the gateway's API says about VPCs, vSwitches, EIPs and routes into calls of the cloud's Vpc product and
// back.
package vpc

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the writes to the routes of one VPC, and those to one EIP, which the cloud refuses to take at the same time.
	Locks cloud.Locker
	// RoutesPerCall is how many entries one call may name, 1 to 50.
	RoutesPerCall int
	Registerer    prometheus.Registerer
}

// Client does the operations of vpc.v1.
type Client struct {
	caller        cloud.Caller
	locks         cloud.Locker
	routesPerCall int
	vpcs          *batch.Cache[*vpcv1.Vpc]
	vpcLists      *batch.Cache[[]*vpcv1.Vpc] // by filter
	vswitches     *batch.Cache[*vpcv1.VSwitch]
	vswitchLists  *batch.Cache[[]*vpcv1.VSwitch]   // by filter
	eips          batch.Reader[string, *vpcv1.Eip] // nil: there is no such EIP
	eipLists      *batch.Cache[[]*vpcv1.Eip]       // by filter
	tables        *batch.Cache[[]*vpcv1.RouteTable]
	entries       *batch.Cache[[]*vpcv1.RouteEntry]
}

// New makes a Client. Close it when its callers are gone.
func New(cfg Config) (*Client, error) {
	cache := func(name string) batch.CacheConfig { return batch.CacheConfig{Name: name, Registerer: cfg.Registerer} }
	list := func(name string) batch.CacheConfig {
		return batch.CacheConfig{Name: name, MaxEntries: listsKept, Registerer: cfg.Registerer}
	}
	c := &Client{
		caller:        cfg.Caller,
		locks:         cfg.Locks,
		routesPerCall: max(1, min(cfg.RoutesPerCall, maxRoutesPerCall)),
		vpcs:          batch.NewCache[*vpcv1.Vpc](cache("vpcs")),
		vpcLists:      batch.NewCache[[]*vpcv1.Vpc](list("vpc_lists")),
		vswitches:     batch.NewCache[*vpcv1.VSwitch](cache("vswitches")),
		vswitchLists:  batch.NewCache[[]*vpcv1.VSwitch](list("vswitch_lists")),
		eipLists:      batch.NewCache[[]*vpcv1.Eip](list("eip_lists")),
		tables:        batch.NewCache[[]*vpcv1.RouteTable](cache("routetables")),
		entries:       batch.NewCache[[]*vpcv1.RouteEntry](cache("routeentries")),
	}
	// A read that comes alone hardly waits; those that come while others are under way are gathered.
	coalescer, err := batch.New(batch.Config[string, *vpcv1.Eip]{
		Name: "eips", Load: c.fetchEips, MaxItems: eipsPerCall, Idle: 200 * time.Microsecond, Max: 100 * time.Millisecond,
		Registerer: cfg.Registerer,
	})
	c.eips = batch.Reader[string, *vpcv1.Eip]{
		Cache: batch.NewCache[*vpcv1.Eip](cache("eips")), Coalescer: coalescer, Name: func(id string) string { return id },
	}
	return c, err
}

// Close ends the gathering of reads.
func (c *Client) Close() { c.eips.Close() }

// listsKept bounds how many lists by filter are remembered: one may hold all there is.
const listsKept = 100

// The cloud's limits (VPC API reference).
const (
	maxRoutesPerCall = 50  // CreateRouteEntries, DeleteRouteEntries
	pageSize         = 50  // DescribeVpcs, DescribeVSwitches, DescribeRouteTableList
	vpcsPerCall      = 20  // DescribeVpcs
	eipsPerCall      = 50  // DescribeEipAddresses: ids or addresses
	eipsPerPage      = 100 // DescribeEipAddresses
	entriesPerPage   = 100 // DescribeRouteEntryList
	cidrsPerCall     = 20  // DescribeRouteEntryList
)

func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.VPC, action, params), out)
	return err
}

// exclusively runs a change of the routes, route tables or vSwitches of one VPC, alone, and forgets what was remembered about them.
func (c *Client) exclusively(ctx context.Context, vpcID string, change func(ctx context.Context) error) error {
	unlock, err := cloud.Lock(ctx, c.locks, vpcID)
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { // Whatever happens, the cloud may hold something new, and each of them shows in the others.
		c.vswitches.Clear()
		c.vswitchLists.Clear()
		c.tables.Clear()
		c.entries.Clear()
	}()
	return change(ctx)
}

// tagList is the tags of a resource in an answer.
type tagList struct {
	Tag []struct{ Key, Value string }
}

func (l tagList) decode() []*commonv1.Tag {
	var tags []*commonv1.Tag
	for _, t := range l.Tag {
		tags = append(tags, &commonv1.Tag{Key: t.Key, Value: t.Value})
	}
	return sortedBy(tags, (*commonv1.Tag).GetKey)
}

// listKey names a listing by its filters, which are all that the request holds.
func listKey(filters proto.Message) string {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(filters)
	if err != nil {
		panic(err) // Only texts that are no UTF-8 have no encoding, and gRPC lets none in.
	}
	return string(key)
}

// chunksOf cuts a filter into what one call takes. No filter is one call without it.
func chunksOf(values []string, size int) [][]string {
	if len(values) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(values, size))
}

func sortedBy[T any](items []T, key func(T) string) []T {
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return items
}
