package server

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestNetworkThatTakesItsTime: a VPC takes no write while another one is under way, an EIP none while it is being bound. Writes that
// come all at once wait for each other, so that the cloud refuses none.
func TestNetworkThatTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) {
			settings := api.DefaultSettings()
			c.Settings = &settings
			c.Seed.RouteTables["vtb-own"] = &state.RouteTable{VpcID: testVPC, Type: "Custom"}
			c.Seed.Eips["eip-1"] = &state.Eip{Address: "47.1.2.1", Status: "Available", Bandwidth: "5"}
		})
		create := func(entry *vpcv1.RouteEntry) func(context.Context) error {
			entry.RouteTableId = testTable
			return func(ctx context.Context) error {
				answer, err := w.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{
					VpcId: testVPC, RouteEntries: []*vpcv1.RouteEntry{entry},
				})
				return writetest.FirstFailure(err, answer.GetResults())
			}
		}
		var all errgroup.Group
		for _, write := range []func(context.Context) error{
			create(&vpcv1.RouteEntry{DestinationCidr: "10.0.0.0/24", NextHopId: instanceID(0)}),
			create(&vpcv1.RouteEntry{DestinationCidr: "10.0.1.0/24", NextHops: []*vpcv1.NextHop{{NextHopId: instanceID(0)},
				{NextHopId: instanceID(1)}}}),
			func(ctx context.Context) error {
				_, err := w.Routes.AssociateRouteTable(ctx, &vpcv1.AssociateRouteTableRequest{
					VpcId: testVPC, RouteTableId: "vtb-own", VswitchId: testVSwitch,
				})
				return err
			},
			func(ctx context.Context) error {
				made, err := w.VSwitches.CreateVSwitch(ctx, &vpcv1.CreateVSwitchRequest{
					RequestId: "r-1", VpcId: testVPC, ZoneId: "cn-hangzhou-h", CidrBlock: "192.168.64.0/24",
				})
				if err == nil && made.GetVswitch().GetStatus() != "Available" {
					err = fmt.Errorf("the new vSwitch is %s", made.GetVswitch().GetStatus())
				}
				return err
			},
			func(ctx context.Context) error {
				bound, err := w.Eips.AssociateEip(ctx, &vpcv1.AssociateEipRequest{
					AllocationId: "eip-1", InstanceId: instanceID(0), InstanceType: "EcsInstance",
				})
				if err == nil && bound.GetEip().GetStatus() != "InUse" {
					err = fmt.Errorf("the EIP is %s", bound.GetEip().GetStatus())
				}
				return err
			},
		} {
			all.Go(func() error { return write(t.Context()) })
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
		for _, c := range w.calls(true) {
			if c.Code != "" {
				t.Errorf("%s was refused: %s", c.Action, c.Code)
			}
		}
	})
}

// TestReadsOfEipsShareCalls: those who ask for one at the same time share calls of fifty.
func TestReadsOfEipsShareCalls(t *testing.T) {
	const readers = 200
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *openapisim.Config) {
			for i := range readers {
				c.Seed.Eips[fmt.Sprintf("eip-%03d", i)] = &state.Eip{Address: fmt.Sprintf("47.1.2.%d", i), Status: "Available", Bandwidth: "5"}
			}
		})
		var all sync.WaitGroup
		for i := range readers {
			all.Go(func() {
				id := fmt.Sprintf("eip-%03d", i)
				if got, err := w.Eips.GetEip(t.Context(), &vpcv1.GetEipRequest{AllocationId: id}); err != nil || got.GetEip().GetAllocationId() != id {
					t.Errorf("%s: got %v, %v", id, got, err)
				}
			})
		}
		all.Wait()
		if n := len(w.actions(true)); n > readers/4 {
			t.Errorf("%d calls for %d EIPs", n, readers)
		}
	})
}
