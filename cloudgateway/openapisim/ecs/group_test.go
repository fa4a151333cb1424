package ecs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// newGroupCaller has two VPCs, group sg-1 with all instances in it, sg-2 beside it, and sg-other in the other VPC.
func newGroupCaller(t *testing.T) *apitest.Caller {
	t.Helper()
	cloud := newCloud()
	cloud.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1"}
	cloud.Vpcs["vpc-2"] = &state.Vpc{ID: "vpc-2"}
	for id, vpc := range map[string]string{"sg-1": "vpc-1", "sg-2": "vpc-1", "sg-other": "vpc-2"} {
		cloud.SecurityGroups[id] = &state.SecurityGroup{ID: id, Name: "name-" + id, VpcID: vpc, Type: "normal"}
	}
	cloud.SecurityGroups["sg-2"].Tags = []state.Tag{{Key: "k", Value: "v"}}
	for _, i := range cloud.Instances {
		i.SecurityGroupIDs = []string{"sg-1"}
	}
	for _, eni := range cloud.Interfaces {
		eni.SecurityGroupIDs = []string{"sg-1"}
	}
	return apitest.New(t, ecs.Product(), cloud)
}

// refusal is a call and the code it gets. Prepare makes the condition.
type refusal struct {
	name    string
	prepare func(*apitest.Caller)
	action  string
	params  []string
	want    string
}

func testRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.action+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			c := newGroupCaller(t)
			if tt.prepare != nil {
				tt.prepare(c)
			}
			if _, code := c.Call(tt.action, tt.params...); code != tt.want {
				t.Errorf("got %q, want %q", code, tt.want)
			}
		})
	}
}

func TestSecurityGroupLife(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	params := []string{"VpcId", "vpc-1", "SecurityGroupName", "nodes", "Tag.1.Key", "cluster", "Tag.1.Value", "c-1", "ClientToken", "t"}
	id := c.Must("CreateSecurityGroup", params...)["SecurityGroupId"].(string)
	if again := c.Must("CreateSecurityGroup", params...)["SecurityGroupId"]; again != id {
		t.Errorf("the repetition made %v", again)
	}
	c.Must("ModifySecurityGroupAttribute", "SecurityGroupId", id, "SecurityGroupName", "workers", "Description", "of the cluster")
	c.Must("JoinSecurityGroup", "SecurityGroupId", id, "InstanceId", "i-1")
	want := []string{"sg-1", id}
	if diff := cmp.Diff(want, c.Cloud.Interfaces["eni-i-1"].SecurityGroupIDs); diff != "" {
		t.Errorf("groups of the primary interface (-want +got):\n%s", diff)
	}
	if got := apitest.List(c.Must("DescribeInstances", "SecurityGroupId", id), "InstanceId", "Instances",
		"Instance"); !cmp.Equal(got, []string{"i-1"}) {
		t.Errorf("instances of the group: %v", got)
	}
	groups := c.Must("DescribeSecurityGroups", "SecurityGroupName", "workers", "IsQueryEcsCount",
		"true")["SecurityGroups"].(map[string]any)["SecurityGroup"].([]any)
	if len(groups) != 1 || groups[0].(map[string]any)["EcsCount"] != 1.0 || groups[0].(map[string]any)["Description"] != "of the cluster" {
		t.Errorf("groups %v", groups)
	}
	if _, code := c.Call("DeleteSecurityGroup", "SecurityGroupId", id); code != "DependencyViolation" {
		t.Errorf("deletion while in use: %q", code)
	}
	c.Must("LeaveSecurityGroup", "SecurityGroupId", id, "InstanceId", "i-1")
	c.Must("JoinSecurityGroup", "SecurityGroupId", id, "NetworkInterfaceId", "eni-pod")
	c.Must("LeaveSecurityGroup", "SecurityGroupId", id, "NetworkInterfaceId", "eni-pod")
	c.Must("DeleteSecurityGroup", "SecurityGroupId", id)
	if c.Cloud.SecurityGroups[id] != nil {
		t.Error("the group is still there")
	}
}

func TestDescribeSecurityGroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		params []string
		want   []string
		code   string
	}{
		{"all", nil, []string{"sg-1", "sg-2", "sg-other"}, ""},
		{"id", []string{"SecurityGroupId", "sg-2"}, []string{"sg-2"}, ""},
		{"ids", []string{"SecurityGroupIds", `["sg-1","sg-other"]`}, []string{"sg-1", "sg-other"}, ""},
		{"VPC", []string{"VpcId", "vpc-2"}, []string{"sg-other"}, ""},
		{"tag", []string{"Tag.1.Key", "k", "Tag.1.Value", "v"}, []string{"sg-2"}, ""},
		{"classic", []string{"NetworkType", "classic"}, []string{}, ""},
		{"of services", []string{"ServiceManaged", "true"}, []string{}, ""},
		{"of users", []string{"ServiceManaged", "false", "VpcId", "vpc-2"}, []string{"sg-other"}, ""},
		{"token", []string{"MaxResults", "2"}, []string{"sg-1", "sg-2"}, ""},
		{"page", []string{"PageSize", "2", "PageNumber", "2"}, []string{"sg-other"}, ""},
		{"type", []string{"SecurityGroupType", "huge"}, nil, "InvalidParameter.SecurityGroupType"},
		{"wrong token", []string{"NextToken", "x"}, nil, "InValidParameter.NextToken"},
		{"dry run", []string{"DryRun", "true"}, nil, "DryRunOperation"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, code := newGroupCaller(t).Call("DescribeSecurityGroups", tt.params...)
			if code != tt.code {
				t.Fatalf("%q, want %q", code, tt.code)
			}
			if code != "" {
				return
			}
			if diff := cmp.Diff(tt.want, apitest.List(answer, "SecurityGroupId", "SecurityGroups", "SecurityGroup")); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecurityRules(t *testing.T) {
	t.Parallel()
	c := newGroupCaller(t)
	rule := []string{"SecurityGroupId", "sg-1", "IpProtocol", "tcp", "PortRange", "80/80", "SourceCidrIp", "10.0.0.0/8", "ClientToken", "t"}
	c.Must("AuthorizeSecurityGroup", rule...)
	c.Must("AuthorizeSecurityGroup", rule...)
	c.Must("AuthorizeSecurityGroup", rule[:len(rule)-2]...) // an equal rule without the token is no error either
	c.Must("AuthorizeSecurityGroup", "SecurityGroupId", "sg-1",
		"Permissions.1.IpProtocol", "ALL", "Permissions.1.SourceGroupId", "sg-2",
		"Permissions.2.IpProtocol", "UDP", "Permissions.2.PortRange", "53/53", "Permissions.2.Ipv6SourceCidrIp", "2408::/32",
		"Permissions.2.Policy", "drop")
	c.Must("AuthorizeSecurityGroupEgress", "SecurityGroupId", "sg-1", "IpProtocol", "all", "DestCidrIp", "0.0.0.0/0", "Priority", "100")
	list := func(way string) []string {
		return apitest.List(c.Must("DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1", "Direction", way),
			"SecurityGroupRuleId", "Permissions", "Permission")
	}
	if in, out, all := list("ingress"), list("egress"), list("all"); len(in) != 3 || len(out) != 1 || len(all) != 4 {
		t.Errorf("%d rules in, %d out, %d together", len(in), len(out), len(all))
	}
	if _, code := c.Call("DeleteSecurityGroup", "SecurityGroupId", "sg-2"); code != "DependencyViolation" {
		t.Errorf("deletion of a group that a rule names: %q", code)
	}
	first := c.Must("DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1", "MaxResults", "3")
	if rest := c.Must("DescribeSecurityGroupAttribute", "SecurityGroupId", "sg-1", "MaxResults", "3", "NextToken",
		first["NextToken"].(string)); len(rest["Permissions"].(map[string]any)["Permission"].([]any)) != 1 {
		t.Errorf("the second page: %v", rest)
	}
	c.Must("RevokeSecurityGroup", rule[:len(rule)-2]...)
	c.Must("RevokeSecurityGroup", "SecurityGroupId", "sg-1", "SecurityGroupRuleId.1", list("ingress")[0],
		"SecurityGroupRuleId.2", list("ingress")[1])
	c.Must("RevokeSecurityGroupEgress", "SecurityGroupId", "sg-1", "IpProtocol", "ALL", "DestCidrIp", "0.0.0.0/0", "Priority", "100")
	if left := list("all"); len(left) != 0 {
		t.Errorf("rules %v are left", left)
	}
}

func TestSecurityGroupRefusals(t *testing.T) {
	t.Parallel()
	const create, join, leave = "CreateSecurityGroup", "JoinSecurityGroup", "LeaveSecurityGroup"
	group := func(id, kind, member string) []string { return []string{"SecurityGroupId", id, kind, member} }
	many := []string{"VpcId", "vpc-1"}
	for n := range 21 {
		many = append(many, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprint(n))
	}
	testRefusals(t, []refusal{
		{"VPC", nil, create, []string{"VpcId", "vpc-none"}, "InvalidVpcId.NotFound"},
		{"pending VPC", func(c *apitest.Caller) { c.Cloud.Vpcs["vpc-1"].PendingUntil = c.Now.Add(time.Hour) }, create,
			[]string{"VpcId", "vpc-1"}, "IncorrectVpcStatus"},
		{"name", nil, create, []string{"SecurityGroupName", "1"}, "InvalidSecurityGroupName.Malformed"},
		{"description", nil, create, []string{"Description", "http://x"}, "InvalidSecurityGroupDiscription.Malformed"},
		{"type", nil, create, []string{"SecurityGroupType", "huge"}, "InvalidParams.GroupType"},
		{"enterprise without VPC", nil, create, []string{"SecurityGroupType", "enterprise"}, "InvalidParams.VpcIdGroupType"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.SecurityGroups = 3 }, create, []string{"VpcId", "vpc-1"},
			"QuotaExceed.SecurityGroup"},
		{"tags", nil, create, many, "QuotaExceed.Tags"},
		{"unknown", nil, "DeleteSecurityGroup", []string{"SecurityGroupId", "sg-none"}, "InvalidSecurityGroup.NotFound"},
		{"used", nil, "DeleteSecurityGroup", []string{"SecurityGroupId", "sg-1"}, "DependencyViolation"},
		{"unknown", nil, "ModifySecurityGroupAttribute", []string{"SecurityGroupId", "sg-none"}, "InvalidSecurityGroupId.NotFound"},
		{"name", nil, "ModifySecurityGroupAttribute", []string{"SecurityGroupId", "sg-1", "SecurityGroupName", "http://x"},
			"InvalidSecurityGroupName.Malformed"},
		{"again", nil, join, group("sg-1", "InstanceId", "i-1"), "InvalidInstanceId.AlreadyExists"},
		{"other VPC", nil, join, group("sg-other", "InstanceId", "i-1"), "InvalidInstanceId.Mismatch"},
		{"interface in other VPC", nil, join, group("sg-other", "NetworkInterfaceId", "eni-pod"), "InvalidOperation.VpcMismatch"},
		{"five groups", func(c *apitest.Caller) {
			c.Cloud.Instances["i-1"].SecurityGroupIDs = []string{"a", "b", "c", "d", "e"}
		}, join, group("sg-2", "InstanceId", "i-1"), "InstanceSecurityGroupLimitExceeded"},
		{"not in", nil, leave, group("sg-2", "InstanceId", "i-1"), "InvalidSecurityGroupAssociation.NotFound"},
		{"last", nil, leave, group("sg-1", "InstanceId", "i-1"), "InstanceLastSecurityGroup"},
		{"interface not in", nil, leave, group("sg-2", "NetworkInterfaceId", "eni-pod"), "InvalidSecurityGroupAssociation.NotFound"},
		{"last of interface", nil, leave, group("sg-1", "NetworkInterfaceId", "eni-pod"), "InvalidOperation.AtLeastInOneGroup"},
		{"group of interface", nil, "ModifyNetworkInterfaceAttribute", []string{"NetworkInterfaceId", "eni-pod",
			"SecurityGroupId.1", "sg-none"}, "InvalidSecurityGroupId.NotFound"},
		{"VPC of interface", nil, "ModifyNetworkInterfaceAttribute", []string{"NetworkInterfaceId", "eni-pod",
			"SecurityGroupId.1", "sg-other"}, "InvalidOperation.VpcMismatch"},
		{"fine", nil, "ModifyNetworkInterfaceAttribute", []string{"NetworkInterfaceId", "eni-pod", "SecurityGroupId.1",
			"sg-2", "NetworkInterfaceName", "name"}, ""},
	})
}
