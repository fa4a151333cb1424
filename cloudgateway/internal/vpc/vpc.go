// Package vpc turns what the gateway's API says about VPCs, vSwitches, EIPs and routes into calls of the cloud's Vpc product and
// back.
package vpc

import (
	"context"
	"fmt"
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
	vswitches     *batch.Cache[[]*vpcv1.VSwitch]
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
		vswitches:     batch.NewCache[[]*vpcv1.VSwitch](cache("vswitches")),
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
	pageSize         = 50  // DescribeVSwitches, DescribeRouteTableList
	eipsPerCall      = 50  // DescribeEipAddresses: ids or addresses
	eipsPerPage      = 100 // DescribeEipAddresses
	entriesPerPage   = 100 // DescribeRouteEntryList
)

func (c *Client) read(ctx context.Context, action string, params cloud.Params, out any) error {
	_, err := c.caller.Do(ctx, cloud.Read(openapi.VPC, action, params), out)
	return err
}

// GetVpc reads one VPC.
func (c *Client) GetVpc(ctx context.Context, id string, maxAge time.Duration) (*vpcv1.Vpc, error) {
	return c.vpcs.Get(ctx, id, maxAge, func(ctx context.Context) (*vpcv1.Vpc, error) {
		var answer struct {
			CidrBlock           string
			Ipv6CidrBlock       string
			SecondaryCidrBlocks struct{ SecondaryCidrBlock []string }
			Ipv6CidrBlocks      struct {
				Ipv6CidrBlock []struct{ Ipv6CidrBlock string }
			}
		}
		if err := c.read(ctx, "DescribeVpcAttribute", cloud.Params{"VpcId": id}, &answer); err != nil {
			return nil, err
		}
		vpc := &vpcv1.Vpc{
			VpcId: id, CidrBlock: answer.CidrBlock, SecondaryCidrBlocks: answer.SecondaryCidrBlocks.SecondaryCidrBlock,
		}
		for _, b := range answer.Ipv6CidrBlocks.Ipv6CidrBlock {
			vpc.Ipv6CidrBlocks = append(vpc.Ipv6CidrBlocks, b.Ipv6CidrBlock)
		}
		if six := answer.Ipv6CidrBlock; six != "" && !slices.Contains(vpc.GetIpv6CidrBlocks(), six) {
			vpc.Ipv6CidrBlocks = append(vpc.Ipv6CidrBlocks, six)
		}
		return vpc, nil
	})
}

// ListVSwitches reads every vSwitch that matches, ordered by id.
func (c *Client) ListVSwitches(ctx context.Context, r *vpcv1.ListVSwitchesRequest) ([]*vpcv1.VSwitch, error) {
	ids := cloud.Sorted(r.GetVswitchIds())
	key := fmt.Sprintf("%q %q", r.GetVpcId(), ids)
	return c.vswitches.Get(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.VSwitch, error) {
		if len(ids) == 0 {
			return c.describeVSwitches(ctx, cloud.Params{"VpcId": r.GetVpcId()})
		}
		var found []*vpcv1.VSwitch
		for _, id := range ids {
			// The cloud takes one id per call.
			one, err := c.describeVSwitches(ctx, cloud.Params{"VSwitchId": id}.With("VpcId", r.GetVpcId()))
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		return found, nil
	})
}

func (c *Client) describeVSwitches(ctx context.Context, filter cloud.Params) ([]*vpcv1.VSwitch, error) {
	var found []*vpcv1.VSwitch
	err := cloud.Numbered(ctx, filter, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount int
			VSwitches  struct {
				VSwitch []struct {
					VSwitchID               string `json:"VSwitchId"`
					VpcID                   string `json:"VpcId"`
					ZoneID                  string `json:"ZoneId"`
					CidrBlock               string
					AvailableIPAddressCount int64 `json:"AvailableIpAddressCount"`
				}
			}
		}
		if err := c.read(ctx, "DescribeVSwitches", p, &answer); err != nil {
			return 0, 0, err
		}
		for _, a := range answer.VSwitches.VSwitch {
			found = append(found, &vpcv1.VSwitch{
				VswitchId: a.VSwitchID, VpcId: a.VpcID, ZoneId: a.ZoneID, CidrBlock: a.CidrBlock,
				AvailableIpCount: a.AvailableIPAddressCount,
			})
		}
		return len(answer.VSwitches.VSwitch), answer.TotalCount, nil
	})
	return sortedBy(found, (*vpcv1.VSwitch).GetVswitchId), err
}

// ListRouteTables reads all route tables of a VPC, ordered by id.
func (c *Client) ListRouteTables(ctx context.Context, vpcID string, maxAge time.Duration) ([]*vpcv1.RouteTable, error) {
	return c.tables.Get(ctx, vpcID, maxAge, func(ctx context.Context) ([]*vpcv1.RouteTable, error) {
		var found []*vpcv1.RouteTable
		err := cloud.Numbered(ctx, cloud.Params{"VpcId": vpcID}, pageSize, func(p cloud.Params) (int, int, error) {
			var answer struct {
				TotalCount      int
				RouterTableList struct {
					RouterTableListType []struct {
						RouteTableID   string `json:"RouteTableId"`
						VpcID          string `json:"VpcId"`
						RouteTableType string
						RouteTableName string
						VSwitchIDs     struct {
							VSwitchID []string `json:"VSwitchId"`
						} `json:"VSwitchIds"`
					}
				}
			}
			if err := c.read(ctx, "DescribeRouteTableList", p, &answer); err != nil {
				return 0, 0, err
			}
			list := answer.RouterTableList.RouterTableListType
			for _, a := range list {
				found = append(found, &vpcv1.RouteTable{
					RouteTableId: a.RouteTableID, VpcId: a.VpcID, Type: a.RouteTableType, Name: a.RouteTableName,
					VswitchIds: a.VSwitchIDs.VSwitchID,
				})
			}
			return len(list), answer.TotalCount, nil
		})
		return sortedBy(found, (*vpcv1.RouteTable).GetRouteTableId), err
	})
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
