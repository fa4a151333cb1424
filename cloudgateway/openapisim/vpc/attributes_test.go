package vpc_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

func TestModifyAttributes(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("ModifyVpcAttribute", "VpcId", "vpc-2", "VpcName", "renamed", "Description", "d", "EnableIPv6", "true")
	v := c.Must("DescribeVpcAttribute", "VpcId", "vpc-2")
	if diff := cmp.Diff([]any{"renamed", "d", true, "172.16.0.0/12"}, []any{v["VpcName"], v["Description"],
		v["EnabledIpv6"], v["CidrBlock"]}); diff != "" {
		t.Errorf("VPC (-want +got):\n%s", diff)
	}
	c.Must("ModifyVSwitchAttribute", "VSwitchId", "vsw-a", "VSwitchName", "renamed", "Description", "d", "EnableIPv6",
		"true", "Ipv6CidrBlock", "7")
	c.Must("ModifyVSwitchAttribute", "VSwitchId", "vsw-a", "Ipv6CidrBlock", "7") // its own
	vsw := c.Must("DescribeVSwitchAttributes", "VSwitchId", "vsw-a")
	if diff := cmp.Diff([]any{"renamed", "d", "2408:0:0:7::/64"}, []any{vsw["VSwitchName"], vsw["Description"],
		vsw["Ipv6CidrBlock"]}); diff != "" {
		t.Errorf("vSwitch (-want +got):\n%s", diff)
	}
	if _, code := c.Call("ModifyVpcAttribute", "VpcId", "vpc-1", "EnableIPv6", "false"); code != "InvalidParameter" {
		t.Errorf("IPv6 switched off under a vSwitch: %q", code)
	}
	c.Must("ModifyVSwitchAttribute", "VSwitchId", "vsw-a", "EnableIPv6", "false")
	c.Must("ModifyVpcAttribute", "VpcId", "vpc-1", "EnableIPv6", "false")
	if v := c.Must("DescribeVpcAttribute", "VpcId", "vpc-1"); v["EnabledIpv6"] != false || v["VpcName"] != "one" {
		t.Errorf("VPC without IPv6: %v", v)
	}
	c.Must("ModifyRouteTableAttributes", "RouteTableId", "vtb-custom", "RouteTableName", "renamed", "Description", "d")
	if table := c.Cloud.RouteTables["vtb-custom"]; table.Name != "renamed" || table.Description != "d" {
		t.Errorf("route table %+v", table)
	}
}

// An address can be allocated if the vSwitch hands it out and nothing has it.
func TestCheckCanAllocate(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Cloud.VSwitches["vsw-a"].Ipv6Cidr = "2408::/64"
	for address, want := range map[string]bool{
		"192.168.0.1": true, "192.168.0.0": false, "192.168.0.9": false, "192.168.0.252": true, "192.168.0.253": false, "192.168.7.1": false,
		"2408::1": true, "2409::1": false,
	} {
		if got := c.Must("CheckCanAllocateVpcPrivateIpAddress", "VSwitchId", "vsw-a", "PrivateIpAddress", address)["CanAllocate"]; got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

func TestAttributeRefusals(t *testing.T) {
	t.Parallel()
	const vpc, vsw, table, check = "ModifyVpcAttribute", "ModifyVSwitchAttribute", "ModifyRouteTableAttributes",
		"CheckCanAllocateVpcPrivateIpAddress"
	testRefusals(t, []refusal{
		{"unknown", nil, vpc, []string{"VpcId", "vpc-none"}, "InvalidVpcId.NotFound"},
		{"pending", func(c *apitest.Caller) { c.Cloud.Vpcs["vpc-1"].PendingUntil = c.Now.Add(time.Second) }, vpc,
			[]string{"VpcId", "vpc-1"}, "IncorrectVpcStatus"},
		{"name", nil, vpc, []string{"VpcId", "vpc-1", "VpcName", "http://x"}, "InvalidVpcName.Malformed"},
		{"description", nil, vpc, []string{"VpcId", "vpc-1", "Description", "http://x"}, "InvalidVpcDiscription.Malformed"},
		{"IPv6 off", nil, vpc, []string{"VpcId", "vpc-1", "Ipv6CidrBlock", "2408:1::/56"}, "MissingParam.EnableIpv6"},
		{"IPv6 block", nil, vpc, []string{"VpcId", "vpc-1", "Ipv6CidrBlock", "2408:1::/48", "EnableIPv6", "true"},
			"InvalidIpv6CidrBlock.Malformed"},
		{"unknown", nil, vsw, []string{"VSwitchId", "vsw-none"}, "InvalidVSwitchId.NotFound"},
		{"pending", func(c *apitest.Caller) { c.Cloud.VSwitches["vsw-a"].PendingUntil = c.Now.Add(time.Second) }, vsw,
			[]string{"VSwitchId", "vsw-a"}, "IncorrectVSwitchStatus"},
		{"name", nil, vsw, []string{"VSwitchId", "vsw-a", "VSwitchName", "http://x"}, "InvalidVSwitchName.Malformed"},
		{"description", nil, vsw, []string{"VSwitchId", "vsw-a", "Description", "http://x"}, "InvalidVSwitchDiscription.Malformed"},
		{"IPv6 off", nil, vsw, []string{"VSwitchId", "vsw-c", "Ipv6CidrBlock", "1"}, "OperationFailed.VpcIpv6Disabled"},
		{"IPv6 block of another", func(c *apitest.Caller) {
			c.Cloud.VSwitches["vsw-b"].Ipv6Cidr = "2408:0:0:1::/64"
		}, vsw, []string{"VSwitchId", "vsw-a", "Ipv6CidrBlock", "1"}, "OperationFailed.Ipv6CidrBlockExisted"},
		{"unknown", nil, table, []string{"RouteTableId", "vtb-none"}, "InvalidRouteTableId.NotFound"},
		{"name", nil, table, []string{"RouteTableId", "vtb-1", "RouteTableName", "http://x"}, "InvalidParameter.RouteTableName.Malformed"},
		{"description", nil, table, []string{"RouteTableId", "vtb-1", "Description", "http://x"}, "InvalidParameter.Description.Malformed"},
		{"unknown", nil, check, []string{"VSwitchId", "vsw-none", "PrivateIpAddress", "192.168.0.1"}, "InvalidVSwitchId.NotFound"},
		{"no address", nil, check, []string{"VSwitchId", "vsw-a", "PrivateIpAddress", "x"}, "InvalidParameter"},
		{"other family", nil, check, []string{"VSwitchId", "vsw-a", "PrivateIpAddress", "192.168.0.1", "IpVersion", "IPV6"}, "InvalidParameter"},
	})
}
