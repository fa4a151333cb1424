package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// TestHundredRoutesTakeTwoWrites, in either direction.
func TestHundredRoutesTakeTwoWrites(t *testing.T) {
	w := newWorld(t)
	entries := make([]*vpcv1.RouteEntry, 100)
	for i := range entries {
		entries[i] = &vpcv1.RouteEntry{
			RouteTableId: testTable, DestinationCidr: fmt.Sprintf("10.0.%d.0/24", i), NextHopId: instanceID(i), Description: "k8s",
		}
	}
	created, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{
		VpcId: testVPC, RouteEntries: entries,
	})
	if err := writetest.FirstFailure(err, created.GetResults()); err != nil {
		t.Fatal(err)
	}
	if got := len(w.actions(false)); got != 2 {
		t.Errorf("%d writes for 100 entries, want 2", got)
	}
	listed, err := w.Routes.ListRouteEntries(t.Context(), &vpcv1.ListRouteEntriesRequest{
		RouteTableId: testTable, Type: "Custom", NextHopType: "Instance",
	})
	if err != nil || len(listed.GetRouteEntries()) != 100 {
		t.Fatalf("%d entries are listed, %v, want 100", len(listed.GetRouteEntries()), err)
	}
	first := listed.GetRouteEntries()[0]
	if first.GetRouteEntryId() == "" {
		t.Error("an entry without id")
	}
	first.RouteEntryId = ""
	want := &vpcv1.RouteEntry{
		RouteTableId: testTable, DestinationCidr: "10.0.0.0/24", NextHopId: instanceID(0), NextHopType: "Instance", Type: "Custom",
		Status: "Available", Description: "k8s",
	}
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	w.forget()
	deleted, err := w.Routes.BatchDeleteRouteEntries(t.Context(), &vpcv1.BatchDeleteRouteEntriesRequest{
		VpcId: testVPC, RouteEntries: listed.GetRouteEntries()[1:],
	})
	if err := writetest.FirstFailure(err, deleted.GetResults()); err != nil {
		t.Fatal(err)
	}
	if got := len(w.actions(false)); got != 2 {
		t.Errorf("%d writes for the deletion of 99 entries, want 2", got)
	}
}

func TestRouteConflict(t *testing.T) {
	w := newWorld(t)
	create := func(hop string) *vpcv1.RouteEntryResult {
		answer, err := w.Routes.BatchCreateRouteEntries(t.Context(), &vpcv1.BatchCreateRouteEntriesRequest{
			VpcId:        testVPC,
			RouteEntries: []*vpcv1.RouteEntry{{RouteTableId: testTable, DestinationCidr: "10.0.0.0/24", NextHopId: hop}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetResults()[0]
	}
	for range 2 {
		if got := create(instanceID(0)); got.GetError() != nil || got.GetStatus() != "Available" {
			t.Errorf("got %v, want Available", got)
		}
	}
	if got := create(instanceID(1)); got.GetError().GetReason() != string(rpcerr.RouteConflict) {
		t.Errorf("got %v, want ROUTE_CONFLICT", got)
	}
}

func TestNetworkReads(t *testing.T) {
	w := newWorld(t, func(c *openapisim.Config) {
		c.Seed.Vpcs[testVPC].SecondaryCidrs = []string{"172.16.0.0/12"}
		c.Seed.VSwitches["vsw-2"] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
		c.Seed.RouteTables["vtb-2"] = &state.RouteTable{VpcID: testVPC, Type: "Custom", Name: "other"}
		c.Seed.Eips["eip-1"] = &state.Eip{Address: "47.1.2.3", Status: "InUse", InstanceID: "lb-x", InstanceType: "SlbInstance"}
	})
	network, err := w.Networks.GetVpc(t.Context(), &vpcv1.GetVpcRequest{VpcId: testVPC})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&vpcv1.Vpc{
		VpcId: testVPC, CidrBlock: "192.168.0.0/16", SecondaryCidrBlocks: []string{"172.16.0.0/12"}, Status: "Available",
		ResourceGroupId: state.DefaultResourceGroup,
	}, network.GetVpc(), protocmp.Transform()); diff != "" {
		t.Errorf("VPC (-want +got):\n%s", diff)
	}
	_, err = w.Networks.GetVpc(t.Context(), &vpcv1.GetVpcRequest{VpcId: "vpc-gone"})
	wantNotFound(t, err, rpcerr.VpcNotFound)

	byVpc, err := w.VSwitches.ListVSwitches(t.Context(), &vpcv1.ListVSwitchesRequest{VpcId: testVPC})
	if err != nil || len(byVpc.GetVswitches()) != 2 {
		t.Fatalf("got %v, %v, want two vSwitches", byVpc, err)
	}
	byID, err := w.VSwitches.ListVSwitches(t.Context(), &vpcv1.ListVSwitchesRequest{VswitchIds: []string{"vsw-2", "vsw-gone"}})
	if err != nil || len(byID.GetVswitches()) != 1 {
		t.Fatalf("got %v, %v, want one vSwitch", byID, err)
	}
	if diff := cmp.Diff(byVpc.GetVswitches()[1], byID.GetVswitches()[0], protocmp.Transform()); diff != "" {
		t.Errorf("the vSwitch by VPC and by id (-VPC +id):\n%s", diff)
	}
	if got := byID.GetVswitches()[0]; got.GetZoneId() != "cn-hangzhou-i" || got.GetAvailableIpCount() == 0 {
		t.Errorf("got %v", got)
	}

	tables, err := w.Routes.ListRouteTables(t.Context(), &vpcv1.ListRouteTablesRequest{VpcId: testVPC})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range tables.GetRouteTables() {
		got = append(got, table.GetRouteTableId()+" "+table.GetType()+" "+table.GetVpcId())
	}
	if diff := cmp.Diff([]string{"vtb-1 System vpc-1", "vtb-2 Custom vpc-1"}, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}

	eips, err := w.Eips.ListEips(t.Context(), &vpcv1.ListEipsRequest{
		AssociatedInstanceType: "SlbInstance", AssociatedInstanceId: "lb-x",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []*vpcv1.Eip{{
		AllocationId: "eip-1", IpAddress: "47.1.2.3", Status: "InUse", InstanceId: "lb-x", InstanceType: "SlbInstance", BandwidthMbps: 5,
		InternetChargeType: vpcv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC,
		InstanceChargeType: commonv1.ChargeType_CHARGE_TYPE_POST_PAID, Isp: "BGP", RegionId: "cn-hangzhou", BusinessStatus: "Normal",
		CreationTime: timestamppb.New(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)), ResourceGroupId: state.DefaultResourceGroup,
	}}
	if diff := cmp.Diff(want, eips.GetEips(), protocmp.Transform()); diff != "" {
		t.Errorf("EIPs (-want +got):\n%s", diff)
	}
}

func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	answer, err := w.Capabilities.GetCapabilities(t.Context(), &commonv1.GetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if answer.GetVersion() != "test" || answer.GetRegionId() != "cn-hangzhou" || answer.GetVpcId() != testVPC ||
		len(answer.GetMethods()) < 20 {
		t.Errorf("got %v", answer)
	}
}
