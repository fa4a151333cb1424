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

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Config holds what a Client works with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the route writes of one VPC, which the cloud refuses to take at the same time.
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
	eips          *batch.Cache[[]*vpcv1.Eip]
	tables        *batch.Cache[[]*vpcv1.RouteTable]
	entries       *batch.Cache[[]*vpcv1.RouteEntry]
}

// New makes a Client.
func New(cfg Config) *Client {
	cache := func(name string) batch.CacheConfig { return batch.CacheConfig{Name: name, Registerer: cfg.Registerer} }
	return &Client{
		caller:        cfg.Caller,
		locks:         cfg.Locks,
		routesPerCall: max(1, min(cfg.RoutesPerCall, maxRoutesPerCall)),
		vpcs:          batch.NewCache[*vpcv1.Vpc](cache("vpcs")),
		vswitches:     batch.NewCache[[]*vpcv1.VSwitch](cache("vswitches")),
		eips:          batch.NewCache[[]*vpcv1.Eip](cache("eips")),
		tables:        batch.NewCache[[]*vpcv1.RouteTable](cache("routetables")),
		entries:       batch.NewCache[[]*vpcv1.RouteEntry](cache("routeentries")),
	}
}

// The cloud's limits (VPC API reference).
const (
	maxRoutesPerCall = 50  // CreateRouteEntries, DeleteRouteEntries
	pageSize         = 50  // DescribeVSwitches, DescribeRouteTableList
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

// ListEips reads every EIP that matches, ordered by id.
func (c *Client) ListEips(ctx context.Context, r *vpcv1.ListEipsRequest) ([]*vpcv1.Eip, error) {
	key := fmt.Sprintf("%q %q", r.GetAssociatedInstanceType(), r.GetAssociatedInstanceId())
	return c.eips.Get(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.Eip, error) {
		filter := cloud.Params{}.
			With("AssociatedInstanceType", r.GetAssociatedInstanceType()).
			With("AssociatedInstanceId", r.GetAssociatedInstanceId())
		var found []*vpcv1.Eip
		err := cloud.Numbered(ctx, filter, eipsPerPage, func(p cloud.Params) (int, int, error) {
			var answer struct {
				TotalCount   int
				EipAddresses struct {
					EipAddress []struct {
						AllocationID string `json:"AllocationId"`
						IPAddress    string `json:"IpAddress"`
						Status       string
						InstanceID   string `json:"InstanceId"`
						InstanceType string
					}
				}
			}
			if err := c.read(ctx, "DescribeEipAddresses", p, &answer); err != nil {
				return 0, 0, err
			}
			for _, a := range answer.EipAddresses.EipAddress {
				found = append(found, &vpcv1.Eip{
					AllocationId: a.AllocationID, IpAddress: a.IPAddress, Status: a.Status,
					InstanceId: a.InstanceID, InstanceType: a.InstanceType,
				})
			}
			return len(answer.EipAddresses.EipAddress), answer.TotalCount, nil
		})
		return sortedBy(found, (*vpcv1.Eip).GetAllocationId), err
	})
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

func sortedBy[T any](items []T, key func(T) string) []T {
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return items
}
