package instance

import (
	"slices"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const link, id = "https://example.com", "i-1"
	tags := []*commonv1.Tag{{Key: "a"}}
	ids, addresses := []string{id}, []string{"10.0.0.1"}
	const two = "instance_ids: only one of instance_ids, private_ips, public_ips, eips is allowed"
	required := []string{"instance_id: is required"}
	checktest.Run(t, nil, []checktest.Case{
		{Request: &ecsv1.GetInstanceRequest{InstanceId: id}},
		{Request: &ecsv1.GetInstanceRequest{}, Want: required},
		{Request: &ecsv1.BatchGetInstancesRequest{InstanceIds: ids}},
		{Request: &ecsv1.BatchGetInstancesRequest{InstanceIds: []string{id, ""}}, Want: []string{"instance_ids[1]: is required"}},
		{Request: &ecsv1.ConfirmAbsentRequest{InstanceIds: ids, WitnessIds: ids, RegionId: "cn-hangzhou"}},
		{Name: "of none", Request: &ecsv1.ConfirmAbsentRequest{}, Want: []string{"instance_ids: at least 1 is required"}},
		{Name: "of too many", Request: &ecsv1.ConfirmAbsentRequest{InstanceIds: slices.Repeat(ids, 101)},
			Want: []string{"instance_ids: has 101 items, at most 100 are allowed"}},
		{Request: &ecsv1.BatchGetInstanceStatusesRequest{InstanceIds: ids}},
		{Request: &ecsv1.BatchGetInstanceStatusesRequest{InstanceIds: []string{""}}, Want: []string{"instance_ids[0]: is required"}},
		{Name: "of a VPC", Request: &ecsv1.ListInstancesRequest{VpcId: "vpc-1"}},
		{Name: "of a zone", Request: &ecsv1.ListInstancesRequest{ZoneId: "cn-a"}},
		{Name: "of a vSwitch", Request: &ecsv1.ListInstancesRequest{VswitchId: "vsw-1"}},
		{Name: "of a security group", Request: &ecsv1.ListInstancesRequest{SecurityGroupId: "sg-1"}},
		{Name: "of a resource group", Request: &ecsv1.ListInstancesRequest{ResourceGroupId: "rg-1"}},
		{Name: "of an instance type", Request: &ecsv1.ListInstancesRequest{InstanceType: "ecs.g7"}},
		{Name: "by name", Request: &ecsv1.ListInstancesRequest{Name: "n"}},
		{Name: "by status", Request: &ecsv1.ListInstancesRequest{Status: "Running"}},
		{Name: "by charge type", Request: &ecsv1.ListInstancesRequest{ChargeType: commonv1.ChargeType_CHARGE_TYPE_PRE_PAID}},
		{Name: "by tag", Request: &ecsv1.ListInstancesRequest{Tags: tags}},
		{Name: "by id", Request: &ecsv1.ListInstancesRequest{InstanceIds: ids}},
		{Name: "by private address", Request: &ecsv1.ListInstancesRequest{VpcId: "vpc-1", PrivateIps: addresses}},
		{Name: "by public address", Request: &ecsv1.ListInstancesRequest{PublicIps: addresses}},
		{Name: "by EIP", Request: &ecsv1.ListInstancesRequest{Eips: addresses}},
		{Name: "by private address in no VPC", Request: &ecsv1.ListInstancesRequest{PrivateIps: addresses},
			Want: []string{"vpc_id: is required with private_ips"}},
		{Name: "by two lists", Request: &ecsv1.ListInstancesRequest{InstanceIds: ids, Eips: addresses}, Want: []string{two}},
		{Name: "by two other lists", Request: &ecsv1.ListInstancesRequest{PrivateIps: addresses, PublicIps: addresses},
			Want: []string{two, "vpc_id: is required with private_ips"}},
		{Name: "of all", Request: &ecsv1.ListInstancesRequest{}},
		{Request: &ecsv1.ListInstancesRequest{
			VpcId: "v 1", ZoneId: "z 1", VswitchId: "w 1", SecurityGroupId: "s 1", ResourceGroupId: "r 1", InstanceType: "t 1",
			Name: link, Status: "Idle",
			ChargeType: 9,
		}, Want: []string{
			`vpc_id: "v 1" is not an id of the cloud`, `zone_id: "z 1" is not an id of the cloud`, `vswitch_id: "w 1" is not an id of the cloud`,
			`security_group_id: "s 1" is not an id of the cloud`, `resource_group_id: "r 1" is not an id of the cloud`,
			`instance_type: "t 1" is not an id of the cloud`, "name: must not begin with http:// or https://",
			`status: "Idle" is not one of Pending, Starting, Running, Stopping, Stopped`, "charge_type: 9 is not known to this gateway",
		}},
		{Name: "by wrong lists", Request: &ecsv1.ListInstancesRequest{
			VpcId: "vpc-1", InstanceIds: []string{""}, PrivateIps: []string{"a"}, PublicIps: []string{"b"}, Eips: []string{"c"},
		}, Want: []string{
			"instance_ids[0]: is required", `private_ips[0]: "a" is not an IP address`, `public_ips[0]: "b" is not an IP address`,
			`eips[0]: "c" is not an IP address`, two,
		}},
		{Name: "of the name", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, Name: new("ab")}},
		{Name: "of the description", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, Description: new("ab")}},
		{Name: "of the protection", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, DeletionProtection: new(true)}},
		{Name: "of a tag", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, SetTags: tags}},
		{Name: "without a tag", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, RemoveTagKeys: []string{"a"}}},
		{Name: "of one tag for another", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id, SetTags: tags, RemoveTagKeys: []string{"b"}}},
		{Name: "of nothing", Request: &ecsv1.UpdateInstanceRequest{InstanceId: id}, Want: []string{
			"name: at least one of name, description, deletion_protection, set_tags, remove_tag_keys is required",
		}},
		{Request: &ecsv1.UpdateInstanceRequest{Name: new("a"), Description: new("b")}, Want: []string{
			"instance_id: is required", "name: is 1 characters long, must be 2 to 128", "description: is 1 characters long, must be 2 to 256",
		}},
		{Request: &ecsv1.StartInstanceRequest{InstanceId: id}},
		{Request: &ecsv1.StartInstanceRequest{}, Want: required},
		{Request: &ecsv1.StopInstanceRequest{InstanceId: id}},
		{Request: &ecsv1.StopInstanceRequest{StoppedMode: 9}, Want: []string{"instance_id: is required",
			"stopped_mode: 9 is not known to this gateway"}},
		{Request: &ecsv1.DeleteInstanceRequest{InstanceId: id}},
		{Request: &ecsv1.DeleteInstanceRequest{}, Want: required},
	})
}
