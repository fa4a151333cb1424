package vpc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// refusal is a call and the code it gets. Prepare makes the condition.
type refusal struct {
	name    string
	prepare func(*apitest.Caller)
	action  string
	params  []string
	want    string
}

// used prepares a call with the token t.
func used(prepare func(*apitest.Caller), action string, params ...string) func(*apitest.Caller) {
	return func(c *apitest.Caller) {
		prepare(c)
		c.Must(action, append(params, "ClientToken", "t")...)
	}
}

func testRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.action+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			if tt.prepare != nil {
				tt.prepare(c)
			}
			if _, code := c.Call(tt.action, tt.params...); code != tt.want {
				t.Errorf("got %q, want %q", code, tt.want)
			}
		})
	}
}

// A network of its own, built and taken down as terraform does.
func TestNetworkLife(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, vpc.Product(), state.New(apitest.Region, apitest.Account))
	c.Settings = api.DefaultSettings()
	created := c.Must("CreateVpc", "CidrBlock", "10.0.0.0/8", "VpcName", "new", "EnableIpv6", "true", "Tag.1.Key", "k", "ClientToken", "t")
	vpcID, tableID := created["VpcId"].(string), created["RouteTableId"].(string)
	if again := c.Must("CreateVpc", "CidrBlock", "10.0.0.0/8", "VpcName", "new", "EnableIpv6", "true", "Tag.1.Key", "k",
		"ClientToken", "t"); !cmp.Equal(again, created) {
		t.Errorf("the repetition answers %v, want %v", again, created)
	}
	if _, code := c.Call("CreateVpc", "CidrBlock", "10.0.0.0/9", "ClientToken", "t"); code != "IdempotentParameterMismatch" {
		t.Errorf("the same token for something else: %q", code)
	}
	vswitch := []string{"VpcId", vpcID, "ZoneId", "cn-hangzhou-h", "CidrBlock", "10.0.0.0/24", "Ipv6CidrBlock", "7", "ClientToken", "v"}
	if _, code := c.Call("CreateVSwitch", vswitch...); code != "IncorrectVpcStatus" {
		t.Errorf("a vSwitch in a pending VPC: %q", code)
	}
	if got := c.Must("DescribeVpcAttribute", "VpcId", vpcID); got["Status"] != "Pending" || got["EnabledIpv6"] != true {
		t.Errorf("new VPC %v", got)
	}
	c.Pass(2 * time.Second)
	if got := c.Must("DescribeVpcAttribute", "VpcId", vpcID)["Status"]; got != "Available" {
		t.Errorf("the VPC is %v after its window", got)
	}
	vswitchID := c.Must("CreateVSwitch", vswitch...)["VSwitchId"].(string)
	if again := c.Must("CreateVSwitch", vswitch...)["VSwitchId"]; again != vswitchID {
		t.Errorf("the repetition made vSwitch %v", again)
	}
	if _, code := c.Call("CreateVSwitch", "VpcId", vpcID, "ZoneId", "cn-hangzhou-h", "CidrBlock", "10.0.1.0/24"); code != "TaskConflict" {
		t.Errorf("two vSwitches at once: %q", code)
	}
	c.Pass(2 * time.Second)
	shown := c.Must("DescribeVSwitchAttributes", "VSwitchId", vswitchID)
	if shown["Status"] != "Available" || shown["Ipv6CidrBlock"] == "" || shown["EnabledIpv6"] != true ||
		shown["AvailableIpAddressCount"] != 252.0 {
		t.Errorf("vSwitch %v", shown)
	}
	custom := c.Must("CreateRouteTable", "VpcId", vpcID, "RouteTableName", "mine", "ClientToken", "r")["RouteTableId"].(string)
	if _, code := c.Call("AssociateRouteTable", "RouteTableId", custom, "VSwitchId", vswitchID); code != "IncorrectStatus.RouteTable" {
		t.Errorf("a pending table: %q", code)
	}
	c.Pass(2 * time.Second)
	c.Must("AssociateRouteTable", "RouteTableId", custom, "VSwitchId", vswitchID, "ClientToken", "a")
	c.Must("AssociateRouteTable", "RouteTableId", custom, "VSwitchId", vswitchID, "ClientToken", "a")
	if got := c.Cloud.VSwitches[vswitchID].RouteTableID; got != custom {
		t.Errorf("the vSwitch is bound to %s", got)
	}
	for _, table := range []string{tableID, custom} {
		if got := len(c.Cloud.RouteTables[table].Entries); got != 2 {
			t.Errorf("%s has %d system entries, want those of the vSwitch and of the services", table, got)
		}
	}
	c.Pass(2 * time.Second)
	c.Must("UnassociateRouteTable", "RouteTableId", custom, "VSwitchId", vswitchID, "ClientToken", "u")
	c.Pass(2 * time.Second)
	if got := c.Cloud.VSwitches[vswitchID].RouteTableID; got != tableID {
		t.Errorf("the vSwitch is bound to %s, want the system table", got)
	}
	c.Must("DeleteRouteTable", "RouteTableId", custom)
	c.Must("DeleteVSwitch", "VSwitchId", vswitchID)
	c.Must("DeleteVpc", "VpcId", vpcID, "ClientToken", "d")
	c.Must("DeleteVpc", "VpcId", vpcID, "ClientToken", "d")
	if left := len(c.Cloud.Vpcs) + len(c.Cloud.VSwitches) + len(c.Cloud.RouteTables); left != 0 {
		t.Errorf("%d things are left", left)
	}
}

func TestVpcRefusals(t *testing.T) {
	t.Parallel()
	// empty leaves vpc-2 with nothing but its system table.
	empty := func(c *apitest.Caller) {
		delete(c.Cloud.VSwitches, "vsw-c")
		delete(c.Cloud.Instances, "i-other")
	}
	testRefusals(t, []refusal{
		{"block of the cloud", nil, "CreateVpc", []string{"CidrBlock", "100.64.0.0/16"}, "InvalidParameter"},
		{"blocks of the user", nil, "CreateVpc", []string{"UserCidr", "10.0.0.0/8,x"}, "InvalidParameter"},
		{"small block", nil, "CreateVpc", []string{"CidrBlock", "10.0.0.0/29"}, "InvalidParameter"},
		{"name", nil, "CreateVpc", []string{"VpcName", "http://x"}, "InvalidVpcName.Malformed"},
		{"description", nil, "CreateVpc", []string{"Description", "https://x"}, "InvalidVpcDiscription.Malformed"},
		{"IPv6 without leave", nil, "CreateVpc", []string{"Ipv6CidrBlock", "2408::/56"}, "MissingParam.EnableIpv6"},
		{"IPv6 block", nil, "CreateVpc", []string{"EnableIpv6", "true", "Ipv6CidrBlock", "2408::/64"}, "InvalidIpv6CidrBlock.Malformed"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.Vpcs = 2 }, "CreateVpc", nil, "QuotaExceeded.Vpc"},
		{"dry run", nil, "CreateVpc", []string{"DryRun", "true"}, "DryRunOperation"},
		{"unknown", nil, "DeleteVpc", []string{"VpcId", "vpc-none"}, "InvalidVpcId.NotFound"},
		{"missing", nil, "DeleteVpc", nil, "MissingParameter"},
		{"vSwitch", nil, "DeleteVpc", []string{"VpcId", "vpc-2"}, "DependencyViolation.VSwitch"},
		{"instance", func(c *apitest.Caller) { delete(c.Cloud.VSwitches, "vsw-c") }, "DeleteVpc", []string{"VpcId", "vpc-2"},
			"DependencyViolation.Instance"},
		{"security group", func(c *apitest.Caller) {
			empty(c)
			c.Cloud.SecurityGroups["sg-1"] = &state.SecurityGroup{ID: "sg-1", VpcID: "vpc-2"}
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "DependencyViolation.SecurityGroup"},
		{"route table", func(c *apitest.Caller) {
			empty(c)
			c.Must("CreateRouteTable", "VpcId", "vpc-2")
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "DependencyViolation.RouteTable"},
		{"route entry", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", "RouteTableId", "vtb-2", "DestinationCidrBlock", "10.1.0.0/16", "NextHopId", "i-other")
			empty(c)
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "DependencyViolation.RouteEntry"},
		{"by force", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", "RouteTableId", "vtb-2", "DestinationCidrBlock", "10.1.0.0/16", "NextHopId", "i-other")
			empty(c)
		}, "DeleteVpc", []string{"VpcId", "vpc-2", "ForceDelete", "true"}, ""},
		{"dry run", empty, "DeleteVpc", []string{"VpcId", "vpc-2", "DryRun", "true"}, "DryRunOperation"},
		{"pending", func(c *apitest.Caller) {
			c.Cloud.Vpcs["vpc-2"].PendingUntil = c.Now.Add(time.Hour)
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "IncorrectVpcStatus"},
	})
}

func TestVSwitchRefusals(t *testing.T) {
	t.Parallel()
	create := func(vpcID, zone, cidr string, more ...string) []string {
		return append([]string{"VpcId", vpcID, "ZoneId", zone, "CidrBlock", cidr}, more...)
	}
	testRefusals(t, []refusal{
		{"fine", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/24", "Ipv6CidrBlock", "255"), ""},
		{"missing zone", nil, "CreateVSwitch", []string{"VpcId", "vpc-1", "CidrBlock", "192.168.9.0/24"}, "MissingParameter"},
		{"unknown VPC", nil, "CreateVSwitch", create("vpc-none", "z-a", "192.168.9.0/24"), "InvalidVpcId.NotFound"},
		{"unknown zone", nil, "CreateVSwitch", create("vpc-1", "us-west-1a", "192.168.9.0/24"), "InvalidZoneId.NotFound"},
		{"name", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/24", "VSwitchName", "http://x"), "InvalidVSwitchName.Malformed"},
		{"description", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/24", "Description", "http://x"),
			"InvalidVSwitchDiscription.Malformed"},
		{"no block", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.1/24"), "InvalidCidrBlock.Malformed"},
		{"mask", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/30"), "InvalidCirdrBlock.MaskLength"},
		{"outside", nil, "CreateVSwitch", create("vpc-1", "z-a", "10.0.0.0/24"), "IllegalParam.CidrBlock"},
		{"overlap", nil, "CreateVSwitch", create("vpc-1", "z-a", "192.168.0.128/25"), "InvalidCidrBlock.Overlapped"},
		{"route", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "192.168.9.0/28", "NextHopId", "i-1")
		}, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/24"), "RouteConflict.AlreadyExist"},
		{"no IPv6", nil, "CreateVSwitch", create("vpc-2", "z-a", "172.16.9.0/24", "Ipv6CidrBlock", "1"), "OperationFailed.VpcIpv6Disabled"},
		{"IPv6 block taken", func(c *apitest.Caller) {
			c.Must("CreateVSwitch", create("vpc-1", "z-a", "192.168.8.0/24", "Ipv6CidrBlock", "1")...)
		}, "CreateVSwitch", create("vpc-1", "z-a", "192.168.9.0/24", "Ipv6CidrBlock", "1"), "OperationFailed.Ipv6CidrBlockExisted"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.VSwitches = 2 }, "CreateVSwitch",
			create("vpc-1", "z-a", "192.168.9.0/24"), "QuotaExceeded.VSwitch"},
		{"unknown", nil, "DeleteVSwitch", []string{"VSwitchId", "vsw-none"}, "InvalidVSwitchId.NotFound"},
		{"interface", nil, "DeleteVSwitch", []string{"VSwitchId", "vsw-a"}, "DependencyViolation"},
		{"load balancer", func(c *apitest.Caller) {
			c.Cloud.LoadBalancers["lb-1"] = &state.LoadBalancer{ID: "lb-1", VSwitchID: "vsw-c"}
		}, "DeleteVSwitch", []string{"VSwitchId", "vsw-c"}, "DependencyViolation"},
		{"route table", nil, "DeleteVSwitch", []string{"VSwitchId", "vsw-b"}, "DependencyViolation.RouteTable"},
		{"dry run", nil, "DeleteVSwitch", []string{"VSwitchId", "vsw-c", "DryRun", "true"}, "DryRunOperation"},
		{"pending", func(c *apitest.Caller) {
			c.Cloud.VSwitches["vsw-c"].PendingUntil = c.Now.Add(time.Hour)
		}, "DeleteVSwitch", []string{"VSwitchId", "vsw-c"}, "IncorrectVSwitchStatus"},
		{"busy", func(c *apitest.Caller) {
			c.Settings.RoutePending = time.Second
			c.Must("CreateRouteEntry", "RouteTableId", "vtb-2", "DestinationCidrBlock", "10.1.0.0/16", "NextHopId", "i-other")
		}, "DeleteVSwitch", []string{"VSwitchId", "vsw-c"}, "TaskConflict"},
	})
}

func TestRouteTableRefusals(t *testing.T) {
	t.Parallel()
	binding := func(table, vswitch string) []string { return []string{"RouteTableId", table, "VSwitchId", vswitch} }
	testRefusals(t, []refusal{
		{"unknown VPC", nil, "CreateRouteTable", []string{"VpcId", "vpc-none"}, "InvalidVpcId.NotFound"},
		{"name", nil, "CreateRouteTable", []string{"VpcId", "vpc-1", "RouteTableName", "http://x"}, "InvalidParameter.RouteTableName.Malformed"},
		{"description", nil, "CreateRouteTable", []string{"VpcId", "vpc-1", "Description", "http://x"}, "InvalidParameter.Description.Malformed"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.RouteTables = 1 }, "CreateRouteTable",
			[]string{"VpcId", "vpc-1"}, "QuotaExceeded.RouteTable"},
		{"unknown", nil, "DeleteRouteTable", []string{"RouteTableId", "vtb-none"}, "InvalidRouteTableId.NotFound"},
		{"system", nil, "DeleteRouteTable", []string{"RouteTableId", "vtb-1"}, "IncorrectRouteTableType"},
		{"bound", nil, "DeleteRouteTable", []string{"RouteTableId", "vtb-custom"}, "IncorrectRouteTableStatus"},
		{"entries", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", "RouteTableId", "vtb-custom", "DestinationCidrBlock", "10.1.0.0/16", "NextHopId", "i-1")
		}, "DeleteRouteTable", []string{"RouteTableId", "vtb-custom"}, "DependencyViolation.RouteEntry"},
		{"unknown table", nil, "AssociateRouteTable", binding("vtb-none", "vsw-a"), "InvalidRouteTableId.NotFound"},
		{"unknown vSwitch", nil, "AssociateRouteTable", binding("vtb-custom", "vsw-none"), "InvalidVSwitchId.NotFound"},
		{"other VPC", nil, "AssociateRouteTable", binding("vtb-custom", "vsw-c"), "Forbidden.NotInSameVpc"},
		{"system", nil, "AssociateRouteTable", binding("vtb-1", "vsw-b"), "OperationDenied.SwitchToSystemRouteTable"},
		{"bound", nil, "AssociateRouteTable", binding("vtb-custom", "vsw-b"), "Forbidden.VSwitchAlreadyAssociatedRouteTable"},
		{"system", nil, "UnassociateRouteTable", binding("vtb-1", "vsw-a"), "OperationUnsupported.SystemRouteTable"},
		{"not bound", nil, "UnassociateRouteTable", binding("vtb-custom", "vsw-a"), "OperationFailed.VSwitchNotAssociate"},
	})
}

func TestModifyRouteEntry(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	id := c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.1.0.0/16", "NextHopId",
		"i-1")["RouteEntryId"].(string)
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{nil, "MissingParam.RouteEntryId"},
		{[]string{"RouteEntryId", "rte-none"}, "InvalidRouteEntryId.NotFound"},
		{[]string{"RouteEntryId", "rte-sys-vtb-1"}, "OperationDenied.ModifyManagedRouteEntry"},
		{[]string{"RouteEntryId", id, "RouteEntryName", "http://x"}, "InvalidRouteEntryName.Malformed"},
		{[]string{"RouteEntryId", id, "NewNextHopType", "Instance"}, "MissingParam.NewNextHopId"},
		{[]string{"RouteEntryId", id, "NewNextHopId", "i-2"}, "MissingParam.NewNextHopType"},
		{[]string{"RouteEntryId", id, "NewNextHopId", "i-1", "NewNextHopType", "Instance"}, "OperationDenied.NextHopExist"},
		{[]string{"RouteEntryId", id, "NewNextHopId", "i-none", "NewNextHopType", "Instance"}, "InvalidNextHop.NotFound"},
		{[]string{"RouteEntryId", id, "NewNextHopId", "i-2", "NewNextHopType", "Instance"}, "IncorrectRouteEntryStatus"},
		{[]string{"RouteEntryId", id, "RouteEntryName", "n", "DryRun", "true"}, "DryRunOperation"},
		{[]string{"RouteEntryId", id, "RouteEntryName", "n", "Description", "d"}, ""},
	} {
		if _, code := c.Call("ModifyRouteEntry", tt.params...); code != tt.want {
			t.Errorf("%v: %q, want %q", tt.params, code, tt.want)
		}
	}
	c.Pass(3 * time.Second)
	c.Must("ModifyRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.1.0.0/16", "NewNextHopId", "eni-1",
		"NewNextHopType", "NetworkInterface")
	entry := c.Cloud.RouteTables["vtb-1"].Entries[1]
	if entry.Status != "Modifying" || entry.NextHopID != "eni-1" || entry.Name != "n" || entry.Description != "d" {
		t.Errorf("entry %+v", entry)
	}
	if _, code := c.Call("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.2.0.0/16", "NextHopId",
		"i-1"); code != "TaskConflict" {
		t.Errorf("a write beside a modification: %q", code)
	}
	c.Pass(3 * time.Second)
	c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1")
	if entry.Status != "Available" {
		t.Errorf("the entry stays %s", entry.Status)
	}
}

func TestDescribeRouteTables(t *testing.T) {
	t.Parallel()
	testDescribe(t, "DescribeRouteTables", "RouteTableId", "RouteTables", "RouteTable", []describeTest{
		{"all", nil, "vtb-1 vtb-custom vtb-2"},
		{"router", []string{"VRouterId", "vrt-2"}, "vtb-2"},
		{"unknown router", []string{"VRouterId", "vrt-none"}, "InvalidVRouterId.NotFound"},
		{"id", []string{"RouteTableId", "vtb-1"}, "vtb-1"},
		{"type", []string{"Type", "Custom"}, "vtb-custom"},
		{"resource group", []string{"ResourceGroupId", state.DefaultResourceGroup}, "vtb-1 vtb-custom vtb-2"},
		{"another resource group", []string{"ResourceGroupId", "rg-none"}, ""},
		{"of a border router", []string{"RouterType", "VBR"}, ""},
	})
	answer := newCaller(t).Must("DescribeRouteTables", "RouteTableId", "vtb-1")
	table := answer["RouteTables"].(map[string]any)["RouteTable"].([]any)[0].(map[string]any)
	if got := apitest.List(table, "RouteEntryId", "RouteEntrys", "RouteEntry"); !cmp.Equal(got, []string{"rte-sys-vtb-1"}) {
		t.Errorf("entries %v", got)
	}
}

func TestRouteEntrySummary(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for n := range 3 {
		c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", fmt.Sprintf("10.%d.0.0/16", n), "NextHopId", "i-1")
	}
	got := c.Must("GetVpcRouteEntrySummary", "VpcId", "vpc-1", "RouteTableId", "vtb-1", "RouteEntryType", "Custom")
	want := map[string]any{"RouteEntrySummarys": []any{map[string]any{
		"RouteTableId": "vtb-1", "EntrySummarys": []any{map[string]any{"RouteEntryType": "Custom", "Count": 3.0}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if all := c.Must("GetVpcRouteEntrySummary", "VpcId", "vpc-1", "RouteEntryType", "All")["RouteEntrySummarys"].([]any); len(all) != 2 {
		t.Errorf("%d tables, want 2", len(all))
	}
	for params, want := range map[[2]string]string{
		{"vpc-none", ""}:      "InvalidVpcId.NotFound",
		{"vpc-1", "vtb-2"}:    "InvalidRouteTableId.NotFound",
		{"vpc-1", "vtb-none"}: "InvalidRouteTableId.NotFound",
	} {
		if _, code := c.Call("GetVpcRouteEntrySummary", "VpcId", params[0], "RouteTableId", params[1], "RouteEntryType", "All"); code != want {
			t.Errorf("%v: %q, want %q", params, code, want)
		}
	}
}

func TestModifyEip(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.Must("AllocateEipAddress", "Bandwidth", "5")["AllocationId"].(string)
	c.Must("ModifyEipAddressAttribute", "AllocationId", id, "Bandwidth", "10", "Name", "n", "Description", "d")
	e := c.Cloud.Eips[id]
	if e.Bandwidth != "10" || e.Name != "n" || e.Description != "d" {
		t.Errorf("address %+v", e)
	}
	for _, tt := range []struct {
		params []string
		want   string
	}{
		{[]string{"AllocationId", "eip-none"}, "InvalidAllocationId.NotFound"},
		{[]string{"AllocationId", id, "Name", "http://x"}, "InvalidEipAddressName.Malformed"},
		{[]string{"AllocationId", id, "Description", "http://x"}, "InvalidDescription.Malformed"},
		{[]string{"AllocationId", id, "Bandwidth", "0"}, "InvalidParameter"},
	} {
		if _, code := c.Call("ModifyEipAddressAttribute", tt.params...); code != tt.want {
			t.Errorf("%v: %q, want %q", tt.params, code, tt.want)
		}
	}
	e.Status = "Associating"
	if _, code := c.Call("ModifyEipAddressAttribute", "AllocationId", id, "Name", "m"); code != "IncorrectEipStatus" {
		t.Errorf("while associating: %q", code)
	}
}
