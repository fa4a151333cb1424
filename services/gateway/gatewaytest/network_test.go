package gatewaytest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	f := world(t)
	f.RoutesPerTable = 2
	ctx, c := t.Context(), f.Client()
	entry := func(table, cidr, hop string) *vpcv1.RouteEntry {
		return &vpcv1.RouteEntry{RouteTableId: table, DestinationCidr: cidr, NextHopId: hop}
	}
	created, err := c.Routes.BatchCreateRouteEntries(ctx, &vpcv1.BatchCreateRouteEntriesRequest{VpcId: "vpc-1",
		RouteEntries: []*vpcv1.RouteEntry{
			entry("vtb-1", "10.0.1.0/24", "i-1"),
			entry("vtb-1", "10.0.1.0/24", "i-1"),
			entry("vtb-1", "10.0.1.0/24", "i-2"),
			entry("vtb-9", "10.0.2.0/24", "i-2"),
			entry("vtb-1", "10.0.2.0/24", "i-99"),
			entry("vtb-1", "10.0.2.0/24", "i-2"),
			entry("vtb-1", "10.0.3.0/24", "i-3"),
		}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range created.GetResults() {
		got = append(got, r.GetStatus()+string(rpcerr.ReasonOf(rpcerr.FromItem(r.GetError()))))
	}
	want := []string{
		"Available", "Available", "ROUTE_CONFLICT", "ROUTE_TABLE_NOT_FOUND", "INSTANCE_NOT_FOUND", "Available", "QUOTA_EXCEEDED",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("creation (-want +got):\n%s", diff)
	}
	deleted, err := c.Routes.BatchDeleteRouteEntries(ctx, &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: "vpc-1",
		RouteEntries: []*vpcv1.RouteEntry{
			entry("vtb-1", "10.0.1.0/24", "i-2"), // Another next hop: not this entry.
			entry("vtb-1", "10.0.2.0/24", "i-2"),
			entry("vtb-1", "10.0.9.0/24", "i-2"), // Gone.
		}})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range deleted.GetResults() {
		if r.GetError() != nil {
			t.Errorf("deletion %d: %v", i, r.GetError())
		}
	}
	listed, err := c.Routes.ListRouteEntries(ctx, &vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1", NextHopType: "Instance"})
	if err != nil || len(listed.GetRouteEntries()) != 1 || listed.GetRouteEntries()[0].GetDestinationCidr() != "10.0.1.0/24" {
		t.Errorf("ListRouteEntries = %v, %v", listed, err)
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	f := world(t)
	ctx, c := t.Context(), f.Client()
	batch, err := c.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{"i-2", "i-99", "i-1"}})
	if err != nil {
		t.Fatal(err)
	}
	results := batch.GetResults()
	if len(results) != 3 || results[0].GetInstance().GetInstanceId() != "i-2" || results[2].GetInstance().GetInstanceId() != "i-1" ||
		!rpcerr.IsNotFound(rpcerr.FromItem(results[1].GetError())) {
		t.Errorf("BatchGetInstances = %v", results)
	}
	if _, err := c.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: "i-99"}); rpcerr.ReasonOf(err) != rpcerr.InstanceNotFound {
		t.Errorf("GetInstance = %v", err)
	}
	list, err := c.Instances.ListInstances(ctx, &ecsv1.ListInstancesRequest{VpcId: "vpc-1", PrivateIps: []string{"192.168.0.7"}})
	if err != nil || len(list.GetInstances()) != 1 || list.GetInstances()[0].GetInstanceId() != "i-7" {
		t.Errorf("ListInstances = %v, %v", list, err)
	}
	enis, err := c.NetworkInterfaces.BatchGetNetworkInterfaces(ctx, &ecsv1.BatchGetNetworkInterfacesRequest{
		VpcId: "vpc-1", IpAddresses: []string{"192.168.1.2", "192.168.9.9"},
	})
	if err != nil || enis.GetResults()[0].GetNetworkInterface().GetNetworkInterfaceId() != "eni-1" ||
		!rpcerr.IsNotFound(rpcerr.FromItem(enis.GetResults()[1].GetError())) {
		t.Errorf("BatchGetNetworkInterfaces = %v, %v", enis, err)
	}
	if _, err := c.NetworkInterfaces.UpdateNetworkInterface(ctx, &ecsv1.UpdateNetworkInterfaceRequest{
		NetworkInterfaceId: "eni-1", SourceDestCheck: new(false),
	}); err != nil {
		t.Fatal(err)
	}
	f.Lock()
	defer f.Unlock()
	if eni := f.NetworkInterfaces["eni-1"]; eni.SourceDestCheck == nil || eni.GetSourceDestCheck() {
		t.Errorf("after the update: %v", eni)
	}
}
