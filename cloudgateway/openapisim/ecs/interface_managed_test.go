package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The interface that an NLB names in its zones is found like any other, by all that it has, and can't be changed by its user.
func TestInterfacesOfNLBsAreShown(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	prepareInterfaces(c)
	c.Cloud.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", VpcID: "vpc-1", SecurityGroupIDs: []string{"sg-1"}, Zones: []*state.NLBZone{{
		ZoneID: "z-a", VSwitchID: "vsw-new", EniID: "eni-nlb", PrivateIP: "192.168.8.77", Ipv6Address: "2408:4000:1:2::77",
		Ipv4LocalAddresses: []string{"192.168.8.78"},
	}}}
	found := func(filter ...string) string {
		answer := c.Must("DescribeNetworkInterfaces", filter...)
		return strings.Join(apitest.List(answer, "NetworkInterfaceId", "NetworkInterfaceSets", "NetworkInterfaceSet"), " ")
	}
	for _, filter := range [][]string{
		{"NetworkInterfaceId.1", "eni-nlb"}, {"PrivateIpAddress.1", "192.168.8.78"}, {"Ipv6Address.1", "2408:4000:1:2::77"},
		{"ServiceManaged", "true"}, {"VSwitchId", "vsw-new", "Status", "InUse"},
	} {
		if got := found(filter...); got != "eni-nlb" {
			t.Errorf("by %v: %q", filter, got)
		}
	}
	if got := found("SecurityGroupId", "sg-1", "VSwitchId", "vsw-new"); got != "eni-free eni-nlb" {
		t.Errorf("by their group: %q", got)
	}
	if got := found("ServiceManaged", "false", "VSwitchId", "vsw-new"); got != "eni-free" {
		t.Errorf("of nobody's service: %q", got)
	}
	shown := c.Must("DescribeNetworkInterfaceAttribute", "NetworkInterfaceId", "eni-nlb")
	if shown["ServiceManaged"] != true || shown["PrivateIpAddress"] != "192.168.8.77" || shown["MacAddress"] == "" {
		t.Errorf("shown: %v", shown)
	}
	for action, more := range map[string][]string{
		"ModifyNetworkInterfaceAttribute": {"Description", "x"}, "DeleteNetworkInterface": nil,
		"AttachNetworkInterface": {"InstanceId", "i-new"}, "DetachNetworkInterface": {"InstanceId", "i-new"},
		"AssignPrivateIpAddresses": {"SecondaryPrivateIpAddressCount", "1"}, "UnassignPrivateIpAddresses": {"PrivateIpAddress.1", "192.168.8.77"},
		"AssignIpv6Addresses": {"Ipv6AddressCount", "1"}, "UnassignIpv6Addresses": {"Ipv6Address.1", "2408:4000:1:2::77"},
	} {
		if _, code := c.Call(action, append([]string{"NetworkInterfaceId", "eni-nlb"},
			more...)...); code != "InvalidOperation.EniServiceManaged" {
			t.Errorf("%s: %q", action, code)
		}
	}
}

// A group without a VPC is in the default one, which the cloud makes if there is none; groups after it are in the same.
func TestGroupWithoutVpcIsInTheDefaultOne(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	vpcOf := func(id any) string { return c.Cloud.SecurityGroups[id.(string)].VpcID }
	first := vpcOf(c.Must("CreateSecurityGroup", "SecurityGroupName", "one", "ResourceGroupId", "rg-1")["SecurityGroupId"])
	second := vpcOf(c.Must("CreateSecurityGroup", "SecurityGroupName", "two")["SecurityGroupId"])
	v := c.Cloud.Vpcs[first]
	if v == nil || !v.Default || first != second || v.ResourceGroupID != "" || !v.PendingUntil.IsZero() {
		t.Errorf("in %q and %q: %+v", first, second, v)
	}
}

// The comments of the SDK: a page of less than 10 interfaces has 10, and one of more than 500 has 500.
func TestPagesOfInterfaces(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ecs.Product(), newCloud())
	for n := range 600 {
		id := fmt.Sprintf("eni-%03d", n)
		c.Cloud.Interfaces[id] = &state.NetworkInterface{ID: id, Type: "Secondary", Status: "Available", VSwitchID: "vsw-paged"}
	}
	for asked, want := range map[string]int{"5": 10, "10": 10, "11": 11, "501": 500} {
		found := c.Must("DescribeNetworkInterfaces", "VSwitchId", "vsw-paged", "MaxResults", asked)
		if got := apitest.List(found, "NetworkInterfaceId", "NetworkInterfaceSets", "NetworkInterfaceSet"); len(got) != want {
			t.Errorf("a page of %s has %d, want %d", asked, len(got), want)
		}
	}
}
