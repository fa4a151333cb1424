package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// TestRequestsAreChecked: a wrong request is refused with everything that is wrong with it. The handlers have no products
// behind them, so one that got through would panic.
func TestRequestsAreChecked(t *testing.T) {
	server := &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80}
	checked(t, []badRequest{
		{
			name: "GetLoadBalancer", request: &slbv1.GetLoadBalancerRequest{
				View: 9, MaxAge: durationpb.New(-time.Second), ServerGroupIds: []string{"rsp 1"},
			},
			want: []string{
				"load_balancer_id: is required", "view: 9 is not known to this gateway",
				`server_group_ids[0]: "rsp 1" is not an id of the cloud`, "max_age: must be a duration of zero or more",
			},
		},
		{
			name: "ListLoadBalancers", request: &slbv1.ListLoadBalancersRequest{},
			want: []string{"tags: at least one filter is required, e.g. tags, name or load_balancer_ids"},
		},
		{
			name: "ListLoadBalancers by a name that is two", request: &slbv1.ListLoadBalancersRequest{Name: "a,b"},
			want: []string{`name: "a,b" contains a comma, which the cloud takes for a list`},
		},
		{
			name: "CreateLoadBalancer", request: &slbv1.CreateLoadBalancerRequest{
				RequestId: "not ascii: é", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, Address: "1.2.3",
				InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC, BandwidthMbps: 5121,
				ModificationProtection: &slbv1.ModificationProtection{Reason: "x"},
				Tags:                   []*commonv1.Tag{{Key: "a"}, {Key: "a"}, {}},
			},
			want: []string{
				"request_id: must be 1 to 64 printable ASCII characters", `address: "1.2.3" is not an IP address`,
				"vswitch_id: is required for an intranet instance", "spec: is required for PayBySpec",
				"bandwidth_mbps: 5121 is out of range, must be 0 to 5120",
				"modification_protection.reason: needs modification_protection.enabled", `tags[1].key: "a" is there twice`,
				"tags[2].key: is 0 characters long, must be 1 to 64",
			},
		},
		{
			name: "CreateLoadBalancer on the internet in a vSwitch", request: &slbv1.CreateLoadBalancerRequest{
				RequestId: "r", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, VswitchId: "vsw-1",
			},
			want: []string{"vswitch_id: is for intranet instances only"},
		},
		{
			name: "ListLoadBalancers", request: &slbv1.ListLoadBalancersRequest{
				Name: "a,b", Address: "x", AddressType: 9, VpcId: "vpc 1", ServerAddress: "i-1", Status: "busy",
			},
			want: []string{
				`name: "a,b" contains a comma, which the cloud takes for a list`, `address: "x" is not an IP address`,
				"address_type: 9 is not known to this gateway", `vpc_id: "vpc 1" is not an id of the cloud`,
				`server_address: "i-1" is not an IP address`, `status: "busy" is not one of active, inactive, locked`,
			},
		},
		{
			name: "ListAvailableZones", request: &slbv1.ListAvailableZonesRequest{
				AddressType: 9, IpVersion: 9, MaxAge: durationpb.New(-1),
			},
			want: []string{
				"address_type: 9 is not known to this gateway", "ip_version: 9 is not known to this gateway",
				"max_age: must be a duration of zero or more",
			},
		},
		{
			name: "UpdateLoadBalancer to no resource group", request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1", ResourceGroupId: new("")},
			want: []string{"resource_group_id: is required"},
		},
		{
			name: "UpdateLoadBalancer with nothing", request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: "lb-1"},
			want: []string{"name: the request changes nothing; at least one attribute is required"},
		},
		{
			name: "UpdateLoadBalancer", request: &slbv1.UpdateLoadBalancerRequest{
				LoadBalancerId: "lb-1", Name: new(""), Spec: new(""),
				InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_UNSPECIFIED.Enum(),
				InternetSpec:       &slbv1.InternetSpec{}, SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"a"},
			},
			want: []string{
				"name: is 0 characters long, must be 1 to 80", "instance_charge_type: is required", "spec: is required",
				"internet_spec: one of charge_type and bandwidth_mbps is required", `remove_tag_keys: "a" is also in set_tags`,
			},
		},
		{
			name: "DeleteLoadBalancer", request: &slbv1.DeleteLoadBalancerRequest{},
			want: []string{"load_balancer_id: is required"},
		},
		{
			name: "ListListeners", request: &slbv1.ListListenersRequest{},
			want: []string{"load_balancer_ids: at least one is required"},
		},
		{
			name: "CreateListener", request: &slbv1.CreateListenerRequest{
				Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 65536, Protocol: slbv1.Protocol_PROTOCOL_HTTPS},
				Config: &slbv1.ListenerConfig{IdleTimeout: proto.Int32(61)},
			},
			want: []string{
				"key.port: 65536 is out of range, must be 1 to 65535", "config.idle_timeout: 61 is out of range, must be 1 to 60",
				"config.server_group_id: is required, unless config.forward_port or config.backend_server_port is set",
				"config.server_certificate_id: is required for HTTPS",
			},
		},
		{
			name: "CreateListener that redirects to nowhere", request: &slbv1.CreateListenerRequest{
				Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_HTTP},
				Config: &slbv1.ListenerConfig{ForwardPort: proto.Int32(443), ServerGroupId: new("rsp-1")},
			},
			want: []string{"config.server_group_id: a listener that redirects has no vServer group"},
		},
		{
			name: "CreateListener with two targets", request: &slbv1.CreateListenerRequest{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
				Config: &slbv1.ListenerConfig{
					BackendServerPort: proto.Int32(8080), ServerGroupId: new("rsp-1"), SynProxy: new(true), CaCertificateId: new("ca-1"),
				},
				Tags: []*commonv1.Tag{{Key: ""}},
			},
			want: []string{
				"config.syn_proxy: can't be set at creation, update the listener afterwards",
				"config.ca_certificate_id: not supported by TCP listeners",
				"config.backend_server_port: is for the default server group, leave it out with config.server_group_id",
				"tags[0].key: is 0 characters long, must be 1 to 64",
			},
		},
		{
			name: "UpdateListener", request: &slbv1.UpdateListenerRequest{
				Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_UDP},
				Config: &slbv1.ListenerConfig{
					BackendServerPort: proto.Int32(8080), HealthCheck: &slbv1.HealthCheck{Request: new(strings.Repeat("x", 65))},
				},
				SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"a"},
			},
			want: []string{
				"config.backend_server_port: can't be changed, delete the listener and create it anew",
				"config.health_check.request: is 65 characters long, at most 64 are allowed",
				`remove_tag_keys: "a" is also in set_tags`,
			},
		},
		{
			name: "UpdateListener with nothing", request: &slbv1.UpdateListenerRequest{
				Key:    &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_TCP},
				Config: &slbv1.ListenerConfig{HealthCheck: &slbv1.HealthCheck{}},
			},
			want: []string{"config: the request changes nothing; at least one attribute is required"},
		},
		{
			name: "StartListener", request: &slbv1.StartListenerRequest{},
			want: []string{
				"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required",
			},
		},
		{
			name: "ListServerHealth", request: &slbv1.ListServerHealthRequest{Port: 65536},
			want: []string{
				"load_balancer_id: is required", "port: 65536 is out of range, must be 1 to 65535",
				"protocol: is required with port, since TCP and UDP may share one",
			},
		},
		{
			name: "CreateServerGroup", request: &slbv1.CreateServerGroupRequest{
				RequestId: "r", LoadBalancerId: "lb-1", Name: "web", Servers: []*slbv1.Server{
					server, {Type: slbv1.ServerType_SERVER_TYPE_ENI, ServerId: "eni-1", Port: 0, Weight: 101},
					{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: 80, Weight: 5},
				},
			},
			want: []string{
				"servers[1].server_ip: is required for an ENI", "servers[1].weight: 101 is out of range, must be 0 to 100",
				"servers[1].port: 0 is out of range, must be 1 to 65535", "servers[2]: is the same server as servers[0]",
			},
		},
		{
			name: "UpdateServerGroup", request: &slbv1.UpdateServerGroupRequest{
				LoadBalancerId: "lb-1", Name: new(""), SetTags: []*commonv1.Tag{{Key: "a"}}, RemoveTagKeys: []string{"a"},
			},
			want: []string{
				"server_group_id: is required", "name: is 0 characters long, must be 1 to 80", `remove_tag_keys: "a" is also in set_tags`,
			},
		},
		{
			name: "UpdateServerGroup with nothing", request: &slbv1.UpdateServerGroupRequest{LoadBalancerId: "lb-1", ServerGroupId: "rsp-1"},
			want: []string{"name: the request changes nothing; at least one attribute is required"},
		},
		{
			name: "GetDefaultServerGroup", request: &slbv1.GetDefaultServerGroupRequest{},
			want: []string{"load_balancer_id: is required"},
		},
		{
			name: "ApplyDefaultServerChanges", request: &slbv1.ApplyDefaultServerChangesRequest{
				LoadBalancerId: "lb-1",
				Add: []*slbv1.DefaultServer{
					{Type: slbv1.ServerType_SERVER_TYPE_ENI, ServerId: "eni-1", Weight: 101}, {ServerId: "i-1"},
				},
				Remove: []*slbv1.DefaultServer{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-2"}},
				Update: []*slbv1.DefaultServer{{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-2"}},
			},
			want: []string{
				"add[0].server_ip: is required for an ENI", "add[0].weight: 101 is out of range, must be 0 to 100",
				"add[1].type: is required", "remove[0]: is the same server as update[0]",
			},
		},
		{
			name: "ApplyServerChanges", request: &slbv1.ApplyServerChangesRequest{
				ServerGroupId: "rsp-1", LoadBalancerId: "lb-1", Add: []*slbv1.Server{server}, Remove: []*slbv1.Server{server},
				Update: []*slbv1.Server{server},
			},
			want: []string{"add[0]: is the same server as update[0]", "remove[0]: is the same server as update[0]"},
		},
		{
			name: "BatchCreateRouteEntries", request: &vpcv1.BatchCreateRouteEntriesRequest{
				RouteEntries: []*vpcv1.RouteEntry{
					{RouteTableId: "vtb-1", DestinationCidr: "10.0.0.1/24", NextHopId: "i-1"}, {DestinationCidr: "10.0.0.0"},
					{RouteTableId: "vtb-1", DestinationCidr: "10.0.0.1/24", NextHopId: "i-2"},
				},
			},
			want: []string{
				"vpc_id: is required",
				`route_entries[0].destination_cidr: "10.0.0.1/24" has bits outside of its mask, write "10.0.0.0/24"`,
				"route_entries[1].route_table_id: is required",
				`route_entries[1].destination_cidr: "10.0.0.0" is not of the form "10.1.2.0/24"`,
				"route_entries[1].next_hop_id: is required",
				`route_entries[2].destination_cidr: "10.0.0.1/24" has bits outside of its mask, write "10.0.0.0/24"`,
				"route_entries[2]: is the same entry as route_entries[0]",
			},
		},
		{
			name: "BatchDeleteRouteEntries", request: &vpcv1.BatchDeleteRouteEntriesRequest{
				VpcId: "vpc-1", RouteEntries: []*vpcv1.RouteEntry{{RouteTableId: "vtb-1", DestinationCidr: "10.0.0.0/24"}},
			},
			want: []string{"route_entries[0].next_hop_id: is required"},
		},
		{
			name: "ListVSwitches", request: &vpcv1.ListVSwitchesRequest{},
			want: []string{"vpc_id: one of vpc_id, vswitch_ids, zone_id, name and tags is required"},
		},
		{
			name: "ListEips", request: &vpcv1.ListEipsRequest{AssociatedInstanceId: "lb-1"},
			want: []string{"associated_instance_type: is required with associated_instance_id"},
		},
		{
			name: "ListInstances", request: &ecsv1.ListInstancesRequest{PrivateIps: []string{"x"}},
			want: []string{`private_ips[0]: "x" is not an IP address`, "vpc_id: is required with private_ips"},
		},
		{
			name: "BatchGetInstances", request: &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{"i-1", ""}},
			want: []string{"instance_ids[1]: is required"},
		},
		{
			name: "BatchGetNetworkInterfaces", request: &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: []string{"eni-1"}, IpAddresses: []string{"10.0.0.1"}},
			want: []string{"ip_addresses: can't be combined with network_interface_ids"},
		},
		{
			name: "UpdateNetworkInterface", request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: "eni-1"},
			want: []string{"source_dest_check: the request changes nothing; at least one attribute is required"},
		},
	})
}

// badRequest is a call and what is wrong with it.
type badRequest struct {
	name    string
	request proto.Message
	want    []string // "field: description"
}

func checked(t *testing.T, requests []badRequest) {
	t.Helper()
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantViolations(t, Checks().Check(tt.request), tt.want)
		})
	}
}

// wantViolations checks that a request was refused for what is wrong with it: "field: description".
func wantViolations(t *testing.T, err error, want []string) {
	t.Helper()
	e, ok := rpcerr.From(err)
	if !ok || e.Code != codes.InvalidArgument || e.Reason != rpcerr.InvalidField {
		t.Fatalf("got %v, want INVALID_FIELD", err)
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Field+": "+f.Description)
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

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
			if !ok || len(e.Fields) != 1 || e.Fields[0].Field != tt.want || !strings.HasPrefix(e.Fields[0].Description, "has 1000000 items, at most ") {
				t.Errorf("got %v, want that %s has too many items", e, tt.want)
			}
		})
	}
}
