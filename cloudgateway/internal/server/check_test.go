package server

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// TestHugeListsAreRefused: one request must not keep the gateway busy, however large. A list of a million wrong ids is refused for
// its length before any of them is looked at.
func TestHugeListsAreRefused(t *testing.T) {
	const many = 1_000_000
	words, servers := make([]string, many), make([]*slbv1.Server, many)
	entries, tags := make([]*vpcv1.RouteEntry, many), make([]*commonv1.Tag, many)
	tests := []struct {
		name    string
		request proto.Message
		want    string
	}{
		{"instances", &ecsv1.BatchGetInstancesRequest{InstanceIds: words}, "instance_ids"},
		{"instances by address", &ecsv1.ListInstancesRequest{VpcId: "vpc-1", PrivateIps: words}, "private_ips"},
		{
			"interfaces", &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: words},
			"network_interface_ids",
		},
		{
			"interfaces by address",
			&ecsv1.BatchGetNetworkInterfacesRequest{VpcId: "vpc-1", IpAddresses: words},
			"ip_addresses",
		},
		{"listeners", &slbv1.ListListenersRequest{LoadBalancerIds: words}, "load_balancer_ids"},
		{"load balancers", &slbv1.ListLoadBalancersRequest{LoadBalancerIds: words}, "load_balancer_ids"},
		{"load balancers by tag", &slbv1.ListLoadBalancersRequest{Tags: tags}, "tags"},
		{
			"groups of a load balancer",
			&slbv1.GetLoadBalancerRequest{LoadBalancerId: "lb-1", ServerGroupIds: words}, "server_group_ids",
		},
		{
			"tags to remove",
			&slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1", RemoveTagKeys: words}, "remove_tag_keys",
		},
		{"VPCs", &vpcv1.ListVpcsRequest{VpcIds: words}, "vpc_ids"},
		{"EIPs", &vpcv1.ListEipsRequest{AllocationIds: words}, "allocation_ids"},
		{"EIPs by address", &vpcv1.ListEipsRequest{IpAddresses: words}, "ip_addresses"},
		{
			"routes by destination",
			&vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1", DestinationCidrs: words}, "destination_cidrs",
		},
		{"vSwitches", &vpcv1.ListVSwitchesRequest{VswitchIds: words}, "vswitch_ids"},
		{
			"servers", &slbv1.CreateServerGroupRequest{
				RequestId: "r", LoadBalancerId: "lb-1", Name: "web", Servers: servers,
			}, "servers",
		},
		{
			"changes of default servers", &slbv1.ApplyDefaultServerChangesRequest{
				LoadBalancerId: "lb-1", Update: make([]*slbv1.DefaultServer, many),
			}, "update",
		},
		{
			"changes of servers", &slbv1.ApplyServerChangesRequest{
				LoadBalancerId: "lb-1", ServerGroupId: "rsp-1", Update: servers,
			}, "update",
		},
		{"new routes", &vpcv1.BatchCreateRouteEntriesRequest{VpcId: "vpc-1", RouteEntries: entries}, "route_entries"},
		{"old routes", &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: "vpc-1", RouteEntries: entries}, "route_entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, ok := rpcerr.From(Checks().Check(tt.request))
			if !ok || len(e.Fields) != 1 || e.Fields[0].Field != tt.want || !strings.HasPrefix(e.Fields[0].Description,
				"has 1000000 items, at most ") {
				t.Errorf("got %v, want that %s has too many items", e, tt.want)
			}
		})
	}
}
