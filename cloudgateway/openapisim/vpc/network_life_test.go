package vpc_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// slow is a caller of a cloud in which changes take their time.
func slow(t *testing.T) *apitest.Caller {
	t.Helper()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	c.Cloud.Instances["i-1"].VSwitchID, c.Cloud.Instances["i-2"].VSwitchID = "vsw-a", "vsw-a"
	return c
}

// The states are those of the help pages of AssociateHaVip (January 2026), UnassociateHaVip (July 2024) and of the answer of DescribeHaVips
// in vpc-20160428 v6.12.8; what can have an elastic address and be a next hop, those of AssociateEipAddress and CreateRouteEntry.
func TestLifeOfHaVip(t *testing.T) {
	t.Parallel()
	c := slow(t)
	made := c.Must("CreateHaVip", "VSwitchId", "vsw-a", "Name", "one", "ClientToken", "t", "Tag.1.Key", "k", "Tag.1.Value", "v")
	id := made["HaVipId"].(string)
	of := func(more ...string) []string { return append([]string{"HaVipId", id}, more...) }
	want := func(status string, instances ...any) {
		t.Helper()
		shown := only(t, c.Must("DescribeHaVips", "Filter.1.Key", "HaVipId", "Filter.1.Value.1", id), "HaVips", "HaVip")
		shows(t, shown, status, "Status")
		shows(t, shown, instances, "AssociatedInstances", "associatedInstance")
	}
	want("Creating")
	c.Pass(time.Minute)
	want("Available")
	c.Must("ModifyHaVipAttribute", of("Name", "two", "Description", "text")...)
	c.Must("AssociateHaVip", of("InstanceId", "i-1")...)
	want("Associating", "i-1")
	c.Pass(time.Minute)
	c.Must("AssociateHaVip", of("InstanceId", "i-2", "InstanceType", "EcsInstance")...)
	c.Pass(time.Minute)
	want("InUse", "i-1", "i-2")
	if _, code := c.Call("DeleteVSwitch", "VSwitchId", "vsw-a"); code == "" {
		t.Error("the vSwitch of a HaVip is deleted")
	}
	eip := c.Must("AllocateEipAddress")["AllocationId"].(string)
	c.Must("AssociateEipAddress", "AllocationId", eip, "InstanceId", id, "InstanceType", "HaVip")
	entry := c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.9.0.0/16", "NextHopId", id,
		"NextHopType", "HaVip")
	c.Pass(time.Minute)
	shown := only(t, c.Must("DescribeHaVips", "Tags.1.Key", "k", "ResourceGroupId", state.DefaultResourceGroup), "HaVips", "HaVip")
	shows(t, shown, made["IpAddress"], "IpAddress")
	shows(t, shown, "EcsInstance", "AssociatedInstanceType")
	shows(t, shown, "vpc-1", "VpcId")
	shows(t, shown, "two", "Name")
	shows(t, shown, c.Cloud.Eips[eip].Address, "AssociatedEipAddresses", "associatedEipAddresse", 0)
	c.Must("UnassociateHaVip", of("InstanceId", "i-1", "Force", "True")...)
	want("Unassociating", "i-2")
	c.Pass(time.Minute)
	c.Must("UnassociateHaVip", of("InstanceId", "i-2")...)
	c.Pass(time.Minute)
	want("Available")
	for _, user := range []func(){
		func() {
			c.Must("UnassociateEipAddress", "AllocationId", eip, "InstanceId", id, "InstanceType", "HaVip")
		},
		func() {
			c.Must("DeleteRouteEntry", "RouteTableId", "vtb-1", "RouteEntryId", entry["RouteEntryId"].(string))
		},
	} {
		if _, code := c.Call("DeleteHaVip", of()...); code != "IncorrectHaVipStatus" {
			t.Errorf("a HaVip to which something leads is deleted: %q", code)
		}
		user()
		c.Pass(time.Minute)
	}
	c.Must("DeleteHaVip", of()...)
	want("Deleting")
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeHaVips"), 0, "TotalCount")
}

// The order of calls of alicloud_vpc_prefix_list. That the version is answered in capitals, and that a block is described anew by adding
// it, is in the types of vpc-20160428 v6.12.8; that a list of an entry stays, in the error table of DeleteVpcPrefixList.
func TestLifeOfPrefixList(t *testing.T) {
	t.Parallel()
	c := slow(t)
	id := c.Must("CreateVpcPrefixList", "PrefixListName", "one", "MaxEntries", "3", "PrefixListEntries.1.Cidr", "10.8.0.0/16",
		"PrefixListEntries.1.Description", "a", "PrefixListEntries.2.Cidr", "10.7.0.0/16", "Tag.1.Key", "k", "ClientToken",
		"t")["PrefixListId"].(string)
	list := func() map[string]any {
		t.Helper()
		answer := c.Must("ListPrefixLists", "PrefixListIds.1", id, "PrefixListName", "one", "Tags.1.Key", "k")
		return answer["PrefixLists"].([]any)[0].(map[string]any)
	}
	shows(t, list(), "IPV4", "IpVersion")
	shows(t, list(), "Created", "Status")
	shows(t, c.Must("GetVpcPrefixListAssociations", "PrefixListId", id), 0, "TotalCount")
	entry := c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", id, "NextHopId", "i-1")["RouteEntryId"].(string)
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "RouteEntryId", entry), id, "RouteEntrys", "RouteEntry", 0,
		"DestinationCidrBlock")
	shows(t, c.Must("GetVpcPrefixListAssociations", "PrefixListId", id), "vtb-1", "PrefixListAssociation", 0, "ResourceId")
	c.Must("RetryVpcPrefixListAssociation", "PrefixListId", id, "ResourceId", "vtb-1", "ResourceType", "vpcRouteTable")
	c.Must("ModifyVpcPrefixList", "PrefixListId", id, "MaxEntries", "4", "PrefixListDescription", "text",
		"RemovePrefixListEntry.1.Cidr", "10.7.0.0/16", "AddPrefixListEntry.1.Cidr", "10.8.0.0/16", "AddPrefixListEntry.1.Description", "b",
		"AddPrefixListEntry.2.Cidr", "10.6.0.0/16", "AddPrefixListEntry.3.Cidr", "10.7.0.0/16")
	shows(t, list(), "Modifying", "PrefixListStatus")
	c.Pass(time.Minute)
	shows(t, list(), "Created", "PrefixListStatus")
	shows(t, list(), "4", "MaxEntries")
	first := c.Must("GetVpcPrefixListEntries", "PrefixListId", id, "MaxResults", "2")
	shows(t, first, "3", "TotalCount")
	shows(t, first, "10.6.0.0/16", "PrefixListEntry", 0, "Cidr")
	next := c.Must("GetVpcPrefixListEntries", "PrefixListId", id, "NextToken", first["NextToken"].(string))
	shows(t, next, "b", "PrefixListEntry", 0, "Description")
	if _, code := c.Call("DeleteVpcPrefixList", "PrefixListId", id); code != "DependencyViolation.PrefixListRelation" {
		t.Errorf("a list of an entry is deleted: %q", code)
	}
	c.Must("DeleteRouteEntry", "RouteTableId", "vtb-1", "RouteEntryId", entry)
	c.Pass(time.Minute)
	c.Must("DeleteVpcPrefixList", "PrefixListId", id)
	six := c.Must("CreateVpcPrefixList", "IpVersion", "IPV6", "PrefixListEntries.1.Cidr", "2001:DB8::/32")["PrefixListId"].(string)
	shows(t, c.Must("ListPrefixLists"), "IPV6", "PrefixLists", 0, "IpVersion")
	shows(t, c.Must("GetVpcPrefixListEntries", "PrefixListId", six), "2001:db8::/32", "PrefixListEntry", 0, "Cidr")
}

// The order of calls of alicloud_vpc_dhcp_options_set and its attachment, with the states of the help pages of their actions (January
// 2026).
func TestLifeOfDhcpOptionsSet(t *testing.T) {
	t.Parallel()
	c := slow(t)
	id := c.Must("CreateDhcpOptionsSet", "DhcpOptionsSetName", "one", "DomainName", "example.com", "DomainNameServers",
		"100.100.2.136,100.100.2.138", "LeaseTime", "24h", "Tag.1.Key", "k", "ClientToken", "t")["DhcpOptionsSetId"].(string)
	of := func(more ...string) []string { return append([]string{"DhcpOptionsSetId", id}, more...) }
	want := func(status string, vpcs ...string) {
		t.Helper()
		got := c.Must("GetDhcpOptionsSet", of()...)
		shows(t, got, status, "Status")
		for n, attached := range vpcs {
			shows(t, got, attached, "AssociateVpcs", n, "AssociateStatus")
		}
		listed := c.Must("ListDhcpOptionsSets", "DhcpOptionsSetId.1", id, "DomainName", "example.com", "Tags.1.Key", "k")
		shows(t, listed, len(vpcs), "DhcpOptionsSets", 0, "AssociateVpcCount")
	}
	want("Pending")
	c.Pass(time.Minute)
	want("Available")
	c.Must("UpdateDhcpOptionsSetAttribute", of("DhcpOptionsSetDescription", "text", "Ipv6LeaseTime", "7300d")...)
	c.Pass(time.Minute)
	got := c.Must("GetDhcpOptionsSet", of()...)
	shows(t, got, "text", "DhcpOptionsSetDescription")
	for name, text := range map[string]string{"DomainName": "example.com", "LeaseTime": "24h", "Ipv6LeaseTime": "7300d"} {
		shows(t, got, text, "DhcpOptions", name)
	}
	c.Must("AttachDhcpOptionsSetToVpc", of("VpcId", "vpc-1")...)
	want("InUse", "Pending")
	shows(t, c.Must("DescribeVpcAttribute", "VpcId", "vpc-1"), "Pending", "DhcpOptionsSetStatus")
	c.Pass(time.Minute)
	want("InUse", "InUse")
	shows(t, c.Must("DescribeVpcs", "DhcpOptionsSetId", id), "vpc-1", "Vpcs", "Vpc", 0, "VpcId")
	shows(t, c.Must("DescribeVpcAttribute", "VpcId", "vpc-1"), id, "DhcpOptionsSetId")
	if _, code := c.Call("DeleteDhcpOptionsSet", of()...); code != "DependencyViolation.VpcAttachment" {
		t.Errorf("a set of a VPC is deleted: %q", code)
	}
	c.Must("DetachDhcpOptionsSetFromVpc", of("VpcId", "vpc-1")...)
	want("InUse", "Pending")
	c.Pass(time.Minute)
	want("Available")
	empty := c.Must("CreateVpc")["VpcId"].(string)
	c.Pass(time.Minute)
	c.Must("AttachDhcpOptionsSetToVpc", of("VpcId", empty)...)
	if _, code := c.Call("DeleteVpc", "VpcId", empty); code != "IncorrectStatus.VpcDhcpStatus" {
		t.Errorf("a VPC that gets a set is deleted: %q", code)
	}
	c.Pass(time.Minute)
	c.Must("DeleteVpc", "VpcId", empty)
	want("Available")
	c.Must("DeleteDhcpOptionsSet", of()...)
	shows(t, c.Must("GetDhcpOptionsSet", of()...), "Deleting", "Status")
	c.Pass(time.Minute)
	shows(t, c.Must("ListDhcpOptionsSets"), 0, "TotalCount")
}

// The order of calls of alicloud_vpc_vswitch_cidr_reservation. That prefixes of interfaces come from reservations, and nothing else does,
// is in the types of vpc-20160428 v6.12.8; the ECS package tests that side.
func TestLifeOfReservation(t *testing.T) {
	t.Parallel()
	c := slow(t)
	c.Cloud.VSwitches["vsw-a"].Ipv6Cidr = "2408::/64"
	id := c.Must("CreateVSwitchCidrReservation", "VSwitchId", "vsw-a", "VSwitchCidrReservationMask", "26", "VSwitchCidrReservationName", "one",
		"VSwitchCidrReservationType", "Prefix", "Tag.1.Key", "k", "ClientToken", "t")["VSwitchCidrReservationId"].(string)
	get := func() map[string]any {
		t.Helper()
		return c.Must("ListVSwitchCidrReservations", "VSwitchCidrReservationIds.1", id, "VSwitchId", "vsw-a", "Tags.1.Key",
			"k")["VSwitchCidrReservations"].([]any)[0].(map[string]any)
	}
	// 192.168.0.9 and .10 are in use, so the first block is not free.
	shows(t, get(), "192.168.0.64/26", "VSwitchCidrReservationCidr")
	shows(t, get(), "Assigning", "Status")
	shows(t, get(), "Prefix", "Type")
	c.Pass(time.Minute)
	shows(t, get(), "Assigned", "Status")
	shows(t, get(), 4, "AvailableCidrCount")
	c.Cloud.Interfaces["eni-1"].Ipv4Prefixes = []string{"192.168.0.64/28"}
	shows(t, get(), 3, "AvailableCidrCount")
	shows(t, get(), 1, "AssignedCidrCount")
	c.Must("ModifyVSwitchCidrReservationAttribute", "VSwitchCidrReservationId", id, "VSwitchCidrReservationDescription", "text")
	shows(t, get(), "text", "VSwitchCidrReservationDescription")
	shows(t, c.Must("CheckCanAllocateVpcPrivateIpAddress", "VSwitchId", "vsw-a", "PrivateIpAddress", "192.168.0.100"), false, "CanAllocate")
	if _, code := c.Call("DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", id); code != "DependencyViolation.NetworkInterface" {
		t.Errorf("a reservation with prefixes is deleted: %q", code)
	}
	c.Cloud.Interfaces["eni-1"].Ipv4Prefixes = nil
	six := c.Must("CreateVSwitchCidrReservation", "VSwitchId", "vsw-a", "IpVersion", "IPv6", "VSwitchCidrReservationCidr",
		"2408::1:0:0:0/80")["VSwitchCidrReservationId"].(string)
	shows(t, c.Must("ListVSwitchCidrReservations", "IpVersion", "IPv6"), six, "VSwitchCidrReservations", 0, "VSwitchCidrReservationId")
	c.Pass(time.Minute)
	c.Must("DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", id)
	shows(t, get(), "Releasing", "Status")
	c.Must("DeleteVSwitchCidrReservation", "VSwitchCidrReservationId", six)
	c.Pass(time.Minute)
	shows(t, c.Must("ListVSwitchCidrReservations"), 0, "TotalCount")
}

// The order of calls of alicloud_vpc_public_ip_address_pool and its blocks, with the states of the help page of
// AddPublicIpAddressPoolCidrBlock (January 2026).
func TestLifeOfAddressPool(t *testing.T) {
	t.Parallel()
	c := slow(t)
	made := c.Must("CreatePublicIpAddressPool", "Name", "one", "Isp", "BGP_PRO", "BizType", "CloudBox", "Zones.1", "z-a",
		"SecurityProtectionTypes.1", "AntiDDoS_Enhanced", "Tag.1.Key", "k", "ClientToken", "t")
	id := made["PulbicIpAddressPoolId"].(string)
	shows(t, made, id, "PublicIpAddressPoolId")
	of := func(more ...string) []string { return append([]string{"PublicIpAddressPoolId", id}, more...) }
	get := func() map[string]any {
		t.Helper()
		return c.Must("ListPublicIpAddressPools", "PublicIpAddressPoolIds.1", id, "Isp", "BGP_PRO", "SecurityProtectionEnabled", "true",
			"Tags.1.Key", "k")["PublicIpAddressPoolList"].([]any)[0].(map[string]any)
	}
	shows(t, get(), "Modifying", "Status")
	c.Pass(time.Minute)
	shows(t, get(), "Created", "Status")
	shows(t, get(), "CloudBox", "BizType")
	c.Must("UpdatePublicIpAddressPoolAttribute", of("Description", "text")...)
	shows(t, get(), "text", "Description")
	block := c.Must("AddPublicIpAddressPoolCidrBlock", of("CidrBlock", "", "CidrMask", "28")...)["CidrBlock"].(string)
	blocks := func(want ...string) {
		t.Helper()
		var got []string
		for _, b := range c.Must("ListPublicIpAddressPoolCidrBlocks", of()...)["PublicIpPoolCidrBlockList"].([]any) {
			shown := b.(map[string]any)
			got = append(got, fmt.Sprint(shown["CidrBlock"], " ", shown["Status"], " ", shown["UsedIpNum"], "/", shown["TotalIpNum"]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the blocks are %q, want %q", got, want)
		}
	}
	blocks(block + " Modifying 0/16")
	c.Pass(time.Minute)
	c.Must("AddPublicIpAddressPoolCidrBlock", of("CidrBlock", "47.200.1.0/28")...)
	c.Pass(time.Minute)
	eip := c.Must("AllocateEipAddress", "PublicIpAddressPoolId", id, "IpAddress", "47.200.1.5")
	shows(t, eip, "47.200.1.5", "EipAddress")
	other := c.Must("AllocateEipAddress", "PublicIpAddressPoolId", id)
	blocks("47.200.1.0/28 Created 1/16", block+" Created 1/16")
	shows(t, get(), 2, "UsedIpNum")
	shows(t, get(), true, "IpAddressRemaining")
	shows(t, c.Must("DescribeEipAddresses", "PublicIpAddressPoolId", id), 2, "TotalCount")
	for _, action := range []string{"DeletePublicIpAddressPool", "DeletePublicIpAddressPoolCidrBlock"} {
		if _, code := c.Call(action, of("CidrBlock", block)...); code != "DependencyViolation.Eip" {
			t.Errorf("%s while an address is in use: %q", action, code)
		}
	}
	for _, e := range []map[string]any{eip, other} {
		c.Must("ReleaseEipAddress", "AllocationId", e["AllocationId"].(string))
	}
	c.Pass(time.Minute)
	c.Must("DeletePublicIpAddressPoolCidrBlock", of("CidrBlock", block)...)
	blocks("47.200.1.0/28 Created 0/16", block+" Deleting 0/16")
	c.Pass(time.Minute)
	blocks("47.200.1.0/28 Created 0/16")
	c.Must("DeletePublicIpAddressPool", of()...)
	shows(t, get(), "Deleting", "Status")
	c.Pass(time.Minute)
	shows(t, c.Must("ListPublicIpAddressPools"), 0, "TotalCount")
}

// The order of calls of alicloud_eip_segment_address, with the states of the answer of DescribeEipSegment in vpc-20160428 v6.12.8.
func TestLifeOfEipSegment(t *testing.T) {
	t.Parallel()
	c := slow(t)
	c.Settings.Quotas.Eips = 16 + 32
	id := c.Must("AllocateEipSegmentAddress", "EipMask", "28", "Bandwidth", "7", "InternetChargeType", "PayByTraffic", "Netmode", "public",
		"Zone", "z-a", "ClientToken", "t")["EipSegmentInstanceId"].(string)
	get := func() map[string]any {
		t.Helper()
		return only(t, c.Must("DescribeEipSegment", "SegmentInstanceId", id), "EipSegments", "EipSegment")
	}
	shows(t, get(), "Allocating", "Status")
	c.Pass(time.Minute)
	shows(t, get(), "Allocated", "Status")
	shows(t, get(), "16", "IpCount")
	shows(t, get(), "z-a", "Zone")
	eips := c.Must("DescribeEipAddresses", "SegmentInstanceId", id, "PageSize", "100")
	shows(t, eips, 16, "TotalCount")
	for name, text := range map[string]string{"Bandwidth": "7", "InternetChargeType": "PayByTraffic", "SegmentInstanceId": id, "Zone": "z-a"} {
		shows(t, eips, text, "EipAddresses", "EipAddress", 0, name)
	}
	second := c.Must("AllocateEipSegmentAddress", "EipMask", "27")["EipSegmentInstanceId"].(string)
	if a, b := c.Cloud.EipSegments[id].Cidr, c.Cloud.EipSegments[second].Cidr; a == b {
		t.Errorf("both segments have %s", a)
	}
	c.Pass(time.Minute)
	c.Must("ReleaseEipSegmentAddress", "SegmentInstanceId", second)
	c.Must("ReleaseEipSegmentAddress", "SegmentInstanceId", id)
	shows(t, get(), "Releasing", "Status")
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeEipSegment"), 0, "TotalCount")
	shows(t, c.Must("DescribeEipAddresses"), 0, "TotalCount")
}

// The words of next hops and the tables that are refused are those of vpc-20160428 v6.12.8 and of the help page (August 2023).
func TestEntriesOfGatewayTables(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	withGateways(c)
	c.Cloud.RouteTables["vtb-gw"].Entries = []*state.RouteEntry{
		{ID: "rte-1", Cidr: "192.168.0.0/24", NextHopType: "local", Type: "System", Status: "Available"},
		{ID: "rte-2", Cidr: "192.168.1.0/24", NextHopType: "Instance", NextHopID: "i-1", Type: "System", Status: "Available"},
		{ID: "rte-3", Cidr: "192.168.2.0/24", Type: "Custom", Status: "Pending",
			NextHops: []state.NextHop{{ID: "i-1", Type: "Instance", Weight: 7}}},
	}
	list := func(more ...string) map[string]any {
		t.Helper()
		return c.Must("ListGatewayRouteTableEntries", append([]string{"GatewayRouteTableId", "vtb-gw"}, more...)...)
	}
	first := list("MaxResults", "2")
	shows(t, first, "3", "TotalCount")
	for n, word := range []string{"Local", "EcsInstance"} {
		shows(t, first, word, "GatewayRouteEntryModels", n, "NextHopType")
	}
	rest := list("NextToken", first["NextToken"].(string))
	shows(t, rest, strconv.Itoa(7), "GatewayRouteEntryModels", 0, "NextHops", 0, "Weight")
	shows(t, list("DestinationCidrBlock", "192.168.1.0/24"), "i-1", "GatewayRouteEntryModels", 0, "NextHopId")
}
