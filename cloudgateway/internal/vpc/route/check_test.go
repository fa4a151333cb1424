package route

import (
	"fmt"
	"strings"
	"testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const vpc, table, link = "vpc-1", "vtb-1", "https://example.com"
	long := strings.Repeat("x", 1000)
	hops := func(n int) (list []*vpcv1.NextHop) {
		for i := range n {
			list = append(list, &vpcv1.NextHop{NextHopId: fmt.Sprint("i-", i), Weight: new(int32(255))})
		}
		return list
	}
	create := func(entries ...*vpcv1.RouteEntry) *vpcv1.BatchCreateRouteEntriesRequest {
		return &vpcv1.BatchCreateRouteEntriesRequest{VpcId: vpc, RouteEntries: entries}
	}
	remove := func(entries ...*vpcv1.RouteEntry) *vpcv1.BatchDeleteRouteEntriesRequest {
		return &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: vpc, RouteEntries: entries}
	}
	several := func(n int) *vpcv1.RouteEntry {
		return &vpcv1.RouteEntry{RouteTableId: table, DestinationCidr: "10.0.0.0/24", NextHops: hops(n)}
	}
	number := func(n int) []string {
		return []string{fmt.Sprintf("route_entries[0].next_hops: has %d items, must have 2 to 16", n)}
	}
	many := make([]*vpcv1.RouteEntry, check.MaxItems+1)
	const tooMany = "route_entries: has 20001 items, at most 20000 are allowed"
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &vpcv1.ListRouteEntriesRequest{RouteTableId: table, Type: "Custom", DestinationCidrs: []string{"10.0.0.0/24", "fd00::/64"}}},
		{Request: &vpcv1.ListRouteEntriesRequest{Type: "Own", NextHopType: "I P", NextHopId: "i 1",
			DestinationCidrs: []string{"10.0.0.1/24"}}, Want: []string{
			"route_table_id: is required", `type: "Own" is not one of Custom, System, BGP, CEN, ECR`,
			`next_hop_type: "I P" is not an id of the cloud`,
			`next_hop_id: "i 1" is not an id of the cloud`, `destination_cidrs[0]: "10.0.0.1/24" has bits outside of its mask, write "10.0.0.0/24"`,
		}},
		{Name: "of too many", Request: &vpcv1.ListRouteEntriesRequest{RouteTableId: table, DestinationCidrs: make([]string,
			check.MaxItems+1)}, Want: []string{
			"destination_cidrs: has 20001 items, at most 20000 are allowed",
		}},
		{Name: "to an instance", Request: create(&vpcv1.RouteEntry{
			RouteTableId: table, DestinationCidr: "10.0.0.0/24", NextHopId: "i-1", Name: strings.Repeat("n", 128),
			Description: strings.Repeat("d", 256),
		})},
		{Name: "to two", Request: create(several(2))},
		{Name: "to sixteen", Request: create(several(16))},
		{Name: "to one of several", Request: create(several(1)), Want: number(1)},
		{Name: "to seventeen", Request: create(several(17)), Want: number(17)},
		{Name: "to one next hop twice, of too long an id", Request: create(&vpcv1.RouteEntry{
			RouteTableId: table, DestinationCidr: "10.0.0.0/24", NextHops: []*vpcv1.NextHop{{NextHopId: long}, {NextHopId: long}},
		}), Want: []string{
			`route_entries[0].next_hops[0].next_hop_id: "` + long[:40] + `…" is not an id of the cloud`,
			`route_entries[0].next_hops[1].next_hop_id: "` + long[:40] + `…" is not an id of the cloud`,
			`route_entries[0].next_hops[1].next_hop_id: "` + long[:40] + `…" is there twice`,
		}},
		{Name: "to wrong next hops", Request: create(&vpcv1.RouteEntry{
			RouteTableId: table, DestinationCidr: "10.0.0.0/24", NextHopType: "Instance", NextHops: []*vpcv1.NextHop{
				{NextHopId: "i-1", NextHopType: "I P", Weight: new(int32(256))}, {NextHopId: "i-1"}, {},
			},
		}), Want: []string{
			"route_entries[0].next_hops: can't be combined with next_hop_id and next_hop_type",
			`route_entries[0].next_hops[0].next_hop_type: "I P" is not an id of the cloud`,
			"route_entries[0].next_hops[0].weight: 256 is out of range, must be 0 to 255",
			`route_entries[0].next_hops[1].next_hop_id: "i-1" is there twice`, "route_entries[0].next_hops[2].next_hop_id: is required",
		}},
		{Name: "to one and several", Request: create(&vpcv1.RouteEntry{RouteTableId: table, DestinationCidr: "10.0.0.0/24",
			NextHopId: "i-1", NextHops: hops(2)}), Want: []string{
			"route_entries[0].next_hops: can't be combined with next_hop_id and next_hop_type",
		}},
		{Request: &vpcv1.BatchCreateRouteEntriesRequest{RouteEntries: []*vpcv1.RouteEntry{
			{RouteTableId: table, DestinationCidr: "10.0.0.1/24", NextHopId: "i-1"}, {DestinationCidr: "10.0.0.0", NextHopType: "I P"},
			{RouteTableId: table, DestinationCidr: "10.0.0.1/24", NextHopId: "i-2"},
			{RouteTableId: table, DestinationCidr: "10.0.3.0/24", NextHopId: "i-2", Name: strings.Repeat("n", 129),
				Description: strings.Repeat("d", 257)},
		}}, Want: []string{
			`route_entries[0].destination_cidr: "10.0.0.1/24" has bits outside of its mask, write "10.0.0.0/24"`,
			"route_entries[1].route_table_id: is required", `route_entries[1].destination_cidr: "10.0.0.0" is not of the form "10.1.2.0/24"`,
			"route_entries[1].next_hop_id: is required", `route_entries[1].next_hop_type: "I P" is not an id of the cloud`,
			`route_entries[2].destination_cidr: "10.0.0.1/24" has bits outside of its mask, write "10.0.0.0/24"`,
			"route_entries[2]: is the same entry as route_entries[0]",
			"route_entries[3].name: is 129 characters long, must be 0 to 128",
			"route_entries[3].description: is 257 characters long, must be 0 to 256",
		}},
		{Name: "of too many", Request: create(many...), Want: []string{tooMany}},
		{Name: "by id", Request: remove(&vpcv1.RouteEntry{RouteTableId: table, RouteEntryId: "rte-1", NextHops: hops(2)})},
		{Name: "by destination", Request: remove(&vpcv1.RouteEntry{RouteTableId: table, DestinationCidr: "10.0.0.0/24", NextHopId: "i-1"})},
		{Name: "of several next hops without an id", Request: remove(several(2)), Want: []string{
			"route_entries[0].route_entry_id: is required for an entry with several next hops",
		}},
		{Name: "of one next hop in a list without an id", Request: remove(several(1)), Want: []string{
			"route_entries[0].route_entry_id: is required for an entry with several next hops",
		}},
		{Request: &vpcv1.BatchDeleteRouteEntriesRequest{RouteEntries: []*vpcv1.RouteEntry{
			{RouteEntryId: "r 1"}, {RouteTableId: table, DestinationCidr: "x"}, {RouteTableId: table, RouteEntryId: "rte-1"},
			{RouteTableId: table, RouteEntryId: "rte-1"},
		}}, Want: []string{
			"route_entries[0].route_table_id: is required", `route_entries[0].route_entry_id: "r 1" is not an id of the cloud`,
			`route_entries[1].destination_cidr: "x" is not of the form "10.1.2.0/24"`, "route_entries[1].next_hop_id: is required",
			"route_entries[3]: is the same entry as route_entries[2]",
		}},
		{Name: "of too many", Request: remove(many...), Want: []string{tooMany}},
		{Name: "of the name", Request: &vpcv1.UpdateRouteEntryRequest{VpcId: vpc, RouteTableId: table, RouteEntryId: "rte-1", Name: new("n")}},
		{Name: "of the description", Request: &vpcv1.UpdateRouteEntryRequest{VpcId: vpc, RouteTableId: table,
			RouteEntryId: "rte-1", Description: new("d")}},
		{Name: "of the next hop", Request: &vpcv1.UpdateRouteEntryRequest{
			VpcId: vpc, RouteTableId: table, RouteEntryId: "rte-1", NextHop: &vpcv1.NextHop{NextHopId: "i-1"},
		}},
		{Name: "of nothing", Request: &vpcv1.UpdateRouteEntryRequest{VpcId: vpc, RouteTableId: table, RouteEntryId: "rte-1"}, Want: []string{
			"name: at least one of name, description, next_hop is required",
		}},
		{Request: &vpcv1.UpdateRouteEntryRequest{Name: new(link), Description: new(""),
			NextHop: &vpcv1.NextHop{NextHopType: "I P", Weight: new(int32(1))}}, Want: []string{
			"route_table_id: is required", "route_entry_id: is required", "name: must not begin with http:// or https://",
			"description: is 0 characters long, must be 1 to 256", "next_hop.next_hop_id: is required",
			`next_hop.next_hop_type: "I P" is not an id of the cloud`, "next_hop.weight: is for entries with several next hops only",
		}},
	})
}

func TestTableChecks(t *testing.T) {
	const link = "https://example.com"
	required := []string{"route_table_id: is required", "vswitch_id: is required"}
	checktest.Run(t, nil, []checktest.Case{
		{Request: &vpcv1.ListRouteTablesRequest{VpcId: "vpc-1"}},
		{Request: &vpcv1.ListRouteTablesRequest{}, Want: []string{"vpc_id: is required"}},
		{Request: &vpcv1.CreateRouteTableRequest{RequestId: "r", VpcId: "vpc-1"}},
		{Request: &vpcv1.CreateRouteTableRequest{Name: link, Description: link}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "vpc_id: is required",
			"name: must not begin with http:// or https://", "description: must not begin with http:// or https://",
		}},
		{Request: &vpcv1.DeleteRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1"}},
		{Request: &vpcv1.DeleteRouteTableRequest{}, Want: required[:1]},
		{Request: &vpcv1.AssociateRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1", VswitchId: "vsw-1"}},
		{Request: &vpcv1.AssociateRouteTableRequest{}, Want: required},
		{Request: &vpcv1.UnassociateRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1", VswitchId: "vsw-1"}},
		{Request: &vpcv1.UnassociateRouteTableRequest{}, Want: required},
	})
}
