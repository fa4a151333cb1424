package vpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/eip"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/network"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/route"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
)

// moving is a cloud in which something is made while a list is read. It comes first in the list, so that what was last
// on the first page is also on the second.
type moving struct {
	items, id string // where an answer has its items, and their id
	pages     int
}

func (m *moving) Do(_ context.Context, _ openapi.Call, out any) (openapi.Result, error) {
	outer, inner, _ := strings.Cut(m.items, ".")
	m.pages++
	total, list := 3, map[int]string{1: "a", 2: "a b", 3: "new a"}[m.pages]
	if m.pages == 1 {
		total = 2
	}
	items := strings.ReplaceAll(fmt.Sprintf("{%q:%q}", m.id, list), " ", fmt.Sprintf(`"},{%q:"`, m.id))
	return openapi.Result{}, json.Unmarshal(fmt.Appendf(nil, `{"TotalCount":%d,%q:{%q:[%s]}}`, total, outer, inner, items), out)
}

// TestNothingIsListedTwice: though it was on two pages.
func TestNothingIsListedTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		cloud moving
		list  func(*vpc.Product) (int, error)
	}{
		"EIPs": {moving{items: "EipAddresses.EipAddress", id: "AllocationId"}, func(p *vpc.Product) (int, error) {
			answer, err := eip.New(p).ListEips(t.Context(), &vpcv1.ListEipsRequest{})
			return len(answer.GetEips()), err
		}},
		"vSwitches": {moving{items: "VSwitches.VSwitch", id: "VSwitchId"}, func(p *vpc.Product) (int, error) {
			answer, err := vswitch.New(p).ListVSwitches(t.Context(), &vpcv1.ListVSwitchesRequest{})
			return len(answer.GetVswitches()), err
		}},
		"VPCs": {moving{items: "Vpcs.Vpc", id: "VpcId"}, func(p *vpc.Product) (int, error) {
			answer, err := network.New(p).ListVpcs(t.Context(), &vpcv1.ListVpcsRequest{})
			return len(answer.GetVpcs()), err
		}},
		"route tables": {moving{items: "RouterTableList.RouterTableListType", id: "RouteTableId"}, func(p *vpc.Product) (int, error) {
			answer, err := route.New(p, vswitch.New(p), 1).ListRouteTables(t.Context(), &vpcv1.ListRouteTablesRequest{VpcId: "vpc-1"})
			return len(answer.GetRouteTables()), err
		}},
	} {
		p := vpc.New(&tt.cloud, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)})
		if got, err := tt.list(p); got != 3 || err != nil || tt.cloud.pages != 3 {
			t.Errorf("%s: %d of them on %d pages, %v", name, got, tt.cloud.pages, err)
		}
	}
}
