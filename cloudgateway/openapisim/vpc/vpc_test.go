package vpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// newCloud has two VPCs: vpc-1 with two vSwitches, two route tables and two instances, and vpc-2 with one of each.
func newCloud() *state.Cloud {
	c := state.New(apitest.Region, apitest.Account)
	c.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1", Name: "one", CidrBlock: "192.168.0.0/16", Ipv6Cidrs: []string{"2408::/56"},
		Tags: []state.Tag{{Key: "k", Value: "v"}}}
	c.Vpcs["vpc-2"] = &state.Vpc{ID: "vpc-2", Name: "two", CidrBlock: "172.16.0.0/12"}
	vsw := func(id, vpcID, zone, cidr, table string) {
		c.VSwitches[id] = &state.VSwitch{ID: id, VpcID: vpcID, ZoneID: zone, Name: "name-" + id, CidrBlock: cidr, RouteTableID: table}
	}
	vsw("vsw-a", "vpc-1", "z-a", "192.168.0.0/24", "vtb-1")
	vsw("vsw-b", "vpc-1", "z-b", "192.168.1.0/24", "vtb-custom")
	vsw("vsw-c", "vpc-2", "z-a", "172.16.0.0/24", "vtb-2")
	for id, vpcID := range map[string]string{"vtb-1": "vpc-1", "vtb-custom": "vpc-1", "vtb-2": "vpc-2"} {
		table := &state.RouteTable{ID: id, VpcID: vpcID, Name: "name-" + id, Type: "System"}
		if id == "vtb-custom" {
			table.Type = "Custom"
		}
		table.Entries = []*state.RouteEntry{{ID: "rte-sys-" + id, Cidr: "100.64.0.0/10", NextHopType: "local", Type: "System",
			Status: "Available"}}
		c.RouteTables[id] = table
	}
	for id, vpcID := range map[string]string{"i-1": "vpc-1", "i-2": "vpc-1", "i-other": "vpc-2"} {
		c.Instances[id] = &state.Instance{ID: id, VpcID: vpcID, Status: "Running"}
	}
	c.Instances["i-starting"] = &state.Instance{ID: "i-starting", VpcID: "vpc-1", Status: "Starting"}
	c.Interfaces["eni-1"] = &state.NetworkInterface{ID: "eni-1", VpcID: "vpc-1", VSwitchID: "vsw-a",
		PrivateIPs: []string{"192.168.0.9", "192.168.0.10"}}
	return c
}

func newCaller(t *testing.T) *apitest.Caller {
	t.Helper()
	return apitest.New(t, vpc.Product(), newCloud())
}

// describeTest is a describe with parameters and the ids, or the error code, it answers.
type describeTest struct {
	name   string
	params []string
	want   string
}

func testDescribe(t *testing.T, action, id, outer, inner string, tests []describeTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, got := newCaller(t).Call(action, tt.params...)
			if got == "" {
				got = strings.Join(apitest.List(answer, id, outer, inner), " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDescribeVpcs(t *testing.T) {
	t.Parallel()
	testDescribe(t, "DescribeVpcs", "VpcId", "Vpcs", "Vpc", []describeTest{
		{"all", nil, "vpc-1 vpc-2"},
		{"ids", []string{"VpcId", "vpc-2,vpc-none"}, "vpc-2"},
		{"name", []string{"VpcName", "one"}, "vpc-1"},
		{"tag", []string{"Tag.1.Key", "k"}, "vpc-1"},
		{"page", []string{"PageNumber", "2", "PageSize", "1"}, "vpc-2"},
		{"page too large", []string{"PageSize", "51"}, "InvalidParameter"},
		{"too many ids", []string{"VpcId", strings.Repeat("vpc-1,", 21)}, "InvalidVpcIdNumber.NotSupported"},
	})
}

func TestDescribeVpcAttribute(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	answer := c.Must("DescribeVpcAttribute", "VpcId", "vpc-1")
	if answer["CidrBlock"] != "192.168.0.0/16" || answer["Ipv6CidrBlock"] != "2408::/56" || answer["OwnerId"] != 1e15+1 {
		t.Errorf("answer %v", answer)
	}
	if diff := cmp.Diff(map[string]any{"VSwitchId": []any{"vsw-a", "vsw-b"}}, answer["VSwitchIds"]); diff != "" {
		t.Errorf("vSwitches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"Tag": []any{map[string]any{"Key": "k", "Value": "v"}}}, answer["Tags"]); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if _, code := c.Call("DescribeVpcAttribute", "VpcId", "vpc-none"); code != "InvalidVpcId.NotFound" {
		t.Errorf("unknown: %q", code)
	}
	if _, code := c.Call("DescribeVpcAttribute"); code != "MissingParameter" {
		t.Errorf("missing: %q", code)
	}
}

func TestDescribeVSwitches(t *testing.T) {
	t.Parallel()
	testDescribe(t, "DescribeVSwitches", "VSwitchId", "VSwitches", "VSwitch", []describeTest{
		{"all", nil, "vsw-a vsw-b vsw-c"},
		{"of a VPC", []string{"VpcId", "vpc-1"}, "vsw-a vsw-b"},
		{"ids", []string{"VSwitchId", "vsw-b"}, "vsw-b"},
		{"zone", []string{"ZoneId", "z-a"}, "vsw-a vsw-c"},
		{"name", []string{"VSwitchName", "name-vsw-b"}, "vsw-b"},
		{"route table", []string{"RouteTableId", "vtb-1"}, "vsw-a"},
		{"too many ids", []string{"VSwitchId", strings.Repeat("vsw-a,", 21)}, "InvalidVSwitchIdNumber.NotSupported"},
	})
}

func TestDescribeVSwitchAttributes(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Cloud.LoadBalancers["lb-1"] = &state.LoadBalancer{ID: "lb-1", VSwitchID: "vsw-a", Address: "192.168.0.50"}
	c.Cloud.Interfaces["eni-pods"] = &state.NetworkInterface{ID: "eni-pods", VSwitchID: "vsw-a", PrivateIPs: []string{"10.244.0.5"}}
	answer := c.Must("DescribeVSwitchAttributes", "VSwitchId", "vsw-a")
	if answer["ZoneId"] != "z-a" || answer["AvailableIpAddressCount"] != 256.0-4-3 {
		t.Errorf("answer %v", answer)
	}
	if diff := cmp.Diff(map[string]any{"RouteTableId": "vtb-1", "RouteTableType": "System"}, answer["RouteTable"]); diff != "" {
		t.Errorf("route table (-want +got):\n%s", diff)
	}
}

// A vSwitch that is gone is described without an id. The evidence is the Terraform provider, which destroys vSwitches in the
// real cloud every day: after DeleteVSwitch it calls DescribeVSwitchAttributes until the answer has status 404 or another
// VSwitchId than the one asked for, and gives up on any other error, also on the documented 400 InvalidVSwitchId.NotFound.
func TestDeletedVSwitchIsDescribedWithoutAnID(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("CreateVSwitch", "VpcId", "vpc-1", "ZoneId", "z-a", "CidrBlock", "192.168.200.0/24", "VSwitchName", "short-lived")
	id := apitest.List(c.Must("DescribeVSwitches", "VSwitchName", "short-lived"), "VSwitchId", "VSwitches", "VSwitch")[0]
	if got := c.Must("DescribeVSwitchAttributes", "VSwitchId", id)["VSwitchId"]; got != id {
		t.Fatalf("VSwitchId %q, want %q", got, id)
	}
	c.Must("DeleteVSwitch", "VSwitchId", id)
	answer := c.Must("DescribeVSwitchAttributes", "VSwitchId", id)
	if answer["VSwitchId"] != "" || answer["Status"] != "" {
		t.Errorf("the deleted vSwitch is described as %v", answer)
	}
}

func TestDescribeRouteTableList(t *testing.T) {
	t.Parallel()
	testDescribe(t, "DescribeRouteTableList", "RouteTableId", "RouterTableList", "RouterTableListType", []describeTest{
		{"all", nil, "vtb-1 vtb-custom vtb-2"},
		{"of a VPC", []string{"VpcId", "vpc-1"}, "vtb-1 vtb-custom"},
		{"id", []string{"RouteTableId", "vtb-2"}, "vtb-2"},
		{"router", []string{"RouterId", "vrt-2"}, "vtb-2"},
		{"name", []string{"RouteTableName", "name-vtb-1"}, "vtb-1"},
		{"type", []string{"RouteTableType", "Custom"}, "vtb-custom"},
		{"unknown type", []string{"RouteTableType", "Strange"}, "InvalidParameter"},
		{"page", []string{"PageNumber", "3", "PageSize", "1"}, "vtb-2"},
		{"page behind the end", []string{"PageNumber", "9"}, ""},
	})
	answer := newCaller(t).Must("DescribeRouteTableList", "RouteTableId", "vtb-1")
	table := answer["RouterTableList"].(map[string]any)["RouterTableListType"].([]any)[0].(map[string]any)
	if diff := cmp.Diff(map[string]any{"VSwitchId": []any{"vsw-a"}}, table["VSwitchIds"]); diff != "" || table["VpcId"] != "vpc-1" {
		t.Errorf("table %v", table)
	}
}

func TestRegionsAndZones(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	if got := apitest.List(c.Must("DescribeRegions"), "RegionId", "Regions", "Region"); !cmp.Equal(got, []string{"cn-hangzhou"}) {
		t.Errorf("regions %v", got)
	}
	if got := apitest.List(c.Must("DescribeZones"), "ZoneId", "Zones", "Zone"); !cmp.Equal(got,
		[]string{"cn-hangzhou-a", "cn-hangzhou-b", "z-a", "z-b"}) {
		t.Errorf("zones %v", got)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1"}
	for kind, id := range map[string]string{"VPC": "vpc-1", "VSWITCH": "vsw-a", "ROUTETABLE": "vtb-1", "EIP": "eip-1"} {
		c.Must("TagResources", "ResourceType", kind, "ResourceId.1", id, "Tag.1.Key", "cluster", "Tag.1.Value", "c-1")
		if got := apitest.List(c.Must("ListTagResources", "ResourceType", kind, "Tag.1.Key", "cluster"), "ResourceId",
			"TagResources", "TagResource"); !slices.Contains(got, id) {
			t.Errorf("%s: %v", kind, got)
		}
		c.Must("UnTagResources", "ResourceType", kind, "ResourceId.1", id, "TagKey.1", "cluster")
		if got := apitest.List(c.Must("ListTagResources", "ResourceType", kind, "Tag.1.Key", "cluster"), "ResourceId",
			"TagResources", "TagResource"); len(got) != 0 {
			t.Errorf("%s: left %v", kind, got)
		}
		if _, code := c.Call("TagResources", "ResourceType", kind, "ResourceId.1", id+"-none", "Tag.1.Key",
			"k"); code != "InvalidInstanceIds.NotFound" {
			t.Errorf("%s: unknown id: %q", kind, code)
		}
	}
	if _, code := c.Call("TagResources", "ResourceType", "vpc", "ResourceId.1", "vpc-1", "Tag.1.Key",
		"k"); code != "InvalidInstanceType.NotFound" {
		t.Errorf("type in lower case: %q", code)
	}
	many := []string{"ResourceType", "VPC", "Tag.1.Key", "k"}
	for n := range 21 {
		many = append(many, fmt.Sprintf("ResourceId.%d", n+1), "vpc-1")
	}
	if _, code := c.Call("TagResources", many...); code != "SizeLimitExceeded.ResourceId" {
		t.Errorf("21 ids: %q", code)
	}
}
