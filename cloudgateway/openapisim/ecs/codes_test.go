package ecs_test

import (
	"fmt"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// What can't join a group can't leave it either, for the same reasons.
func TestMemberRefusals(t *testing.T) {
	t.Parallel()
	of := func(group, kind, member string) []string { return []string{"SecurityGroupId", group, kind, member} }
	var tests []refusal
	for action, group := range map[string]string{"JoinSecurityGroup": "sg-2", "LeaveSecurityGroup": "sg-1"} {
		tests = append(tests,
			refusal{"group", nil, action, of("sg-none", "InstanceId", "i-1"), "InvalidSecurityGroupId.NotFound"},
			refusal{"instance", nil, action, of(group, "InstanceId", "i-none"), "InvalidInstanceId.NotFound"},
			refusal{"starting instance", func(c *apitest.Caller) {
				c.Cloud.Instances["i-1"].Status = "Starting"
			}, action, of(group, "InstanceId", "i-1"), "IncorrectInstanceStatus"},
			refusal{"interface", nil, action, of(group, "NetworkInterfaceId", "eni-none"), "InvalidEniId.NotFound"},
			refusal{"primary interface", nil, action, of(group, "NetworkInterfaceId", "eni-i-1"), "InvalidOperation.InvalidEniType"},
			refusal{"detaching interface", func(c *apitest.Caller) {
				c.Cloud.Interfaces["eni-pod"].Status = "Detaching"
			}, action, of(group, "NetworkInterfaceId", "eni-pod"), "InvalidOperation.InvalidEniState"},
			refusal{"nothing", nil, action, []string{"SecurityGroupId", group}, "MissingParameter"},
			refusal{
				"both", nil, action, append(of(group, "InstanceId", "i-1"), "NetworkInterfaceId", "eni-pod"),
				"InvalidParam.EniIdAndInstanceId.Conflict",
			},
		)
	}
	enterprise := func(c *apitest.Caller) { c.Cloud.SecurityGroups["sg-2"].Type = "enterprise" }
	var six []string
	for n := range 6 {
		six = append(six, fmt.Sprintf("SecurityGroupId.%d", n+1), "sg-1")
	}
	const modify = "ModifyNetworkInterfaceAttribute"
	testRefusals(t, append(tests,
		refusal{"other type", enterprise, "JoinSecurityGroup", of("sg-2", "InstanceId", "i-1"), "InvalidOperation.MultiGroupType"},
		refusal{
			"two types", enterprise, modify, []string{"NetworkInterfaceId", "eni-pod", "SecurityGroupId.1", "sg-1", "SecurityGroupId.2", "sg-2"},
			"InvalidOperation.MultiGroupType",
		},
		refusal{"six groups", nil, modify, append(six, "NetworkInterfaceId", "eni-pod"), "JoinedGroupLimitExceed"},
	))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	create := func(c *apitest.Caller) { c.Must("CreateSecurityGroup", "ClientToken", "t") }
	var tagged []string
	for n := range 21 {
		tagged = append(tagged, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprint(n))
	}
	testRefusals(t, []refusal{
		{"charge type", nil, "DescribeInstances", []string{"InstanceChargeType", "Free"}, "InvalidInstanceChargeType.NotFound"},
		{"21 tags", nil, "DescribeInstances", tagged, "InvalidTagCount"},
		{"zone", nil, "DescribeInstanceStatus", []string{"ZoneId", "z-none"}, "InvalidZoneId.NotFound"},
		{"an empty zone", nil, "DescribeInstanceStatus", []string{"ZoneId", apitest.Region + "-k"}, ""},
		{"ids are no list", nil, "DescribeSecurityGroups", []string{"SecurityGroupIds", "{}"}, "InvalidParameter"},
		{"no region", nil, "DescribeSecurityGroups", []string{"RegionId", ""}, "MissingParameter.RegionId"},
		{"no region", nil, "DeleteSecurityGroup", []string{"RegionId", "", "SecurityGroupId", "sg-2"}, "MissingParameter.RegionId"},
		{"token", create, "CreateSecurityGroup", []string{"ClientToken", "t", "VpcId", "vpc-1"}, "IdempotentParameterMismatch"},
		{"tag key", nil, "CreateSecurityGroup", []string{"Tag.1.Key", "acs:x"}, "InvalidTagKey.Malformed"},
		{"tag value", nil, "CreateSecurityGroup", []string{"Tag.1.Key", "k", "Tag.1.Value", "http://x"}, "InvalidTagValue.Malformed"},
		{"tag twice", nil, "CreateSecurityGroup", []string{"Tag.1.Key", "k", "Tag.2.Key", "k"}, "Duplicate.TagKey"},
		{
			"description", nil, "ModifySecurityGroupAttribute", []string{"SecurityGroupId", "sg-1", "Description", "http://x"},
			"InvalidSecurityGroupDiscription.Malformed",
		},
	})
}

func TestTagRefusals(t *testing.T) {
	t.Parallel()
	of := func(more ...string) []string {
		return append([]string{"ResourceType", "instance", "ResourceId.1", "i-1"}, more...)
	}
	numbered := func(n int, prefix, suffix string) []string {
		params := of()
		for i := range n {
			params = append(params, fmt.Sprintf("%s.%d%s", prefix, i+1, suffix), fmt.Sprint("k", i))
		}
		return params
	}
	tests := []refusal{
		{"no resources", nil, "TagResources", []string{"ResourceType", "instance", "Tag.1.Key", "k"}, "MissingParameter.ResourceIds"},
		{"no resources", nil, "UntagResources", []string{"ResourceType", "instance", "TagKey.1", "k"}, "MissingParameter.ResourceIds"},
		{"unknown", nil, "UntagResources", of("ResourceId.1", "i-none", "TagKey.1", "k"), "InvalidResourceId.NotFound"},
		{"value", nil, "ListTagResources", of("Tag.1.Key", "k", "Tag.1.Value", "https://x"), "InvalidTagValue.Malformed"},
	}
	for action, tag := range map[string][2]string{"TagResources": {"Tag", ".Key"}, "UntagResources": {"TagKey", ""},
		"ListTagResources": {"Tag", ".Key"}} {
		first, second := tag[0]+".1"+tag[1], tag[0]+".2"+tag[1]
		tests = append(tests,
			refusal{"no region", nil, action, of("RegionId", "", first, "k"), "MissingParameter.RegionId"},
			refusal{"no type", nil, action, of("ResourceType", "", first, "k"), "MissingParameter.ResourceType"},
			refusal{"type", nil, action, of("ResourceType", "volume", first, "k"), "InvalidResourceType.NotFound"},
			refusal{"key", nil, action, of(first, "acs:x"), "InvalidTagKey.Malformed"},
			refusal{"twice", nil, action, of(first, "k", second, "k"), "Duplicate.TagKey"},
			refusal{"21 tags", nil, action, numbered(21, tag[0], tag[1]), "NumberExceed.Tags"},
			refusal{"51 ids", nil, action, append(numbered(51, "ResourceId", ""), first, "k"), "NumberExceed.ResourceIds"},
		)
	}
	testRefusals(t, tests)
}

// The address of an instance is charged as it was asked for.
func TestInstanceShowsItsAddress(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "121.40.0.1", Bandwidth: "7", InternetChargeType: "PayByBandwidth"}
	instance := c.Must("DescribeInstances", "InstanceIds", `["i-1"]`)["Instances"].(map[string]any)["Instance"].([]any)[0].(map[string]any)
	if eip := instance["EipAddress"].(map[string]any); eip["Bandwidth"] != 7.0 || eip["InternetChargeType"] != "PayByBandwidth" {
		t.Errorf("address %v", eip)
	}
}
