package networkinterface

import (
	"slices"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const link, id = "https://example.com", "eni-1"
	tags := []*commonv1.Tag{{Key: "a"}}
	checktest.Run(t, nil, []checktest.Case{
		{Request: &ecsv1.GetNetworkInterfaceRequest{NetworkInterfaceId: id}},
		{Request: &ecsv1.GetNetworkInterfaceRequest{}, Want: []string{"network_interface_id: is required"}},
		{Name: "by id", Request: &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: []string{id}}},
		{Name: "by address", Request: &ecsv1.BatchGetNetworkInterfacesRequest{IpAddresses: []string{"10.0.0.1"}, VpcId: "vpc-1"}},
		{Name: "by address in no VPC", Request: &ecsv1.BatchGetNetworkInterfacesRequest{IpAddresses: []string{"10.0.0.1"}}, Want: []string{
			"vpc_id: is required with ip_addresses",
		}},
		{Name: "by both", Request: &ecsv1.BatchGetNetworkInterfacesRequest{NetworkInterfaceIds: []string{""},
			IpAddresses: []string{"x"}, VpcId: "v 1"}, Want: []string{
			"network_interface_ids[0]: is required", `ip_addresses[0]: "x" is not an IP address`, `vpc_id: "v 1" is not an id of the cloud`,
			"network_interface_ids: only one of network_interface_ids, ip_addresses is allowed",
		}},
		{Name: "of an instance", Request: &ecsv1.ListNetworkInterfacesRequest{InstanceId: "i-1"}},
		{Name: "of a VPC", Request: &ecsv1.ListNetworkInterfacesRequest{VpcId: "vpc-1"}},
		{Name: "of a vSwitch", Request: &ecsv1.ListNetworkInterfacesRequest{VswitchId: "vsw-1"}},
		{Name: "of a security group", Request: &ecsv1.ListNetworkInterfacesRequest{SecurityGroupId: "sg-1"}},
		{Name: "of a resource group", Request: &ecsv1.ListNetworkInterfacesRequest{ResourceGroupId: "rg-1"}},
		{Name: "by status", Request: &ecsv1.ListNetworkInterfacesRequest{Status: "InUse"}},
		{Name: "by name", Request: &ecsv1.ListNetworkInterfacesRequest{Name: "n"}},
		{Name: "by type", Request: &ecsv1.ListNetworkInterfacesRequest{Type: "Primary"}},
		{Name: "by tag", Request: &ecsv1.ListNetworkInterfacesRequest{Tags: tags}},
		{Name: "of all", Request: &ecsv1.ListNetworkInterfacesRequest{}},
		{Request: &ecsv1.ListNetworkInterfacesRequest{
			InstanceId: "i 1", VpcId: "v 1", VswitchId: "w 1", SecurityGroupId: "s 1", ResourceGroupId: "r 1", Name: link, Type: "Third",
			Status: "012345678901234567890123456789012",
		}, Want: []string{
			`instance_id: "i 1" is not an id of the cloud`, `vpc_id: "v 1" is not an id of the cloud`, `vswitch_id: "w 1" is not an id of the cloud`,
			`security_group_id: "s 1" is not an id of the cloud`, `resource_group_id: "r 1" is not an id of the cloud`,
			"name: must not begin with http:// or https://", `type: "Third" is not one of Primary, Secondary`,
			"status: is 33 characters long, must be 0 to 32",
		}},
		{Name: "of the check", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, SourceDestCheck: new(false)}},
		{Name: "of the name", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, Name: new("ab")}},
		{Name: "of the description", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, Description: new("ab")}},
		{Name: "of the groups", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id,
			SecurityGroupIds: slices.Repeat([]string{"sg-1"}, 16)}},
		{Name: "of its end", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, DeleteOnRelease: new(true)}},
		{Name: "of a tag", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, SetTags: tags}},
		{Name: "without a tag", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, RemoveTagKeys: []string{"a"}}},
		{Name: "of one tag for another", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id, SetTags: tags,
			RemoveTagKeys: []string{"b"}}},
		{Name: "of nothing", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id}, Want: []string{
			"source_dest_check: at least one of source_dest_check, name, description, security_group_ids, delete_on_release, " +
				"set_tags, remove_tag_keys is required",
		}},
		{Request: &ecsv1.UpdateNetworkInterfaceRequest{Name: new("a"), Description: new("b"), SecurityGroupIds: []string{""}}, Want: []string{
			"network_interface_id: is required", "name: is 1 characters long, must be 2 to 128",
			"description: is 1 characters long, must be 2 to 256",
			"security_group_ids[0]: is required",
		}},
		{Name: "of too many groups", Request: &ecsv1.UpdateNetworkInterfaceRequest{NetworkInterfaceId: id,
			SecurityGroupIds: make([]string, 17)}, Want: []string{
			"security_group_ids: has 17 items, at most 16 are allowed",
		}},
	})
}
