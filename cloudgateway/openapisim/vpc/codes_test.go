package vpc_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// A token that was used for something else is refused by every action that takes one.
func TestTokensOfOtherCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		action        string
		first, second []string
	}{
		{"CreateVpc", nil, []string{"VpcName", "other"}},
		{"DeleteVpc", []string{"VpcId", "vpc-empty"}, []string{"VpcId", "vpc-2"}},
		{
			"CreateVSwitch", []string{"VpcId", "vpc-1", "ZoneId", "z-a", "CidrBlock", "192.168.8.0/24"},
			[]string{"VpcId", "vpc-1", "ZoneId", "z-a", "CidrBlock", "192.168.9.0/24"},
		},
		{"CreateRouteTable", []string{"VpcId", "vpc-1"}, []string{"VpcId", "vpc-2"}},
		{"AssociateRouteTable", []string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-a"},
			[]string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-c"}},
		{"UnassociateRouteTable", []string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-b"},
			[]string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-a"}},
		{
			"CreateRouteEntry", []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1"},
			[]string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-2"},
		},
		{"AllocateEipAddress", nil, []string{"Bandwidth", "7"}},
		{"AllocateEipAddressPro", nil, []string{"Bandwidth", "7"}},
		{"AssociateEipAddress", []string{"AllocationId", "eip-1", "InstanceId", "i-1"}, []string{"AllocationId", "eip-1", "InstanceId", "i-2"}},
		{"UnassociateEipAddress", []string{"AllocationId", "eip-bound"}, []string{"AllocationId", "eip-1"}},
	} {
		t.Run(tt.action, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			c.Cloud.Vpcs["vpc-empty"] = &state.Vpc{ID: "vpc-empty"}
			c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Status: "Available"}
			c.Cloud.Eips["eip-bound"] = &state.Eip{ID: "eip-bound", Status: "InUse", InstanceID: "i-other", InstanceType: "EcsInstance"}
			first := append(slices.Clone(tt.first), "ClientToken", "t")
			if diff := cmp.Diff(c.Must(tt.action, first...), c.Must(tt.action, first...)); diff != "" {
				t.Errorf("the repetition answers otherwise (-first +second):\n%s", diff)
			}
			if _, code := c.Call(tt.action, append(slices.Clone(tt.second), "ClientToken", "t")...); code != "IdempotentParameterMismatch" {
				t.Errorf("other parameters: %q", code)
			}
		})
	}
}

// While the cloud writes a route of a VPC, and while something is not yet there, others are refused.
func TestRefusedMeanwhile(t *testing.T) {
	t.Parallel()
	writing := func(c *apitest.Caller) { c.Cloud.RouteTables["vtb-1"].Entries[0].Status = "Modifying" }
	pending := func(until func(*state.Cloud) *time.Time) func(*apitest.Caller) {
		return func(c *apitest.Caller) { *until(c.Cloud) = c.Now.Add(time.Second) }
	}
	pendingVpc := pending(func(c *state.Cloud) *time.Time { return &c.Vpcs["vpc-1"].PendingUntil })
	pendingTable := pending(func(c *state.Cloud) *time.Time { return &c.RouteTables["vtb-1"].PendingUntil })
	pendingVSwitch := pending(func(c *state.Cloud) *time.Time { return &c.VSwitches["vsw-b"].PendingUntil })
	entry := []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1"}
	moved := []string{"RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NewNextHopId", "i-2", "NewNextHopType", "Instance"}
	bind, unbind := []string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-a"}, []string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-b"}
	testRefusals(t, []refusal{
		{"routes are written", func(c *apitest.Caller) {
			maps.DeleteFunc(c.Cloud.VSwitches, func(string, *state.VSwitch) bool { return true })
			maps.DeleteFunc(c.Cloud.Instances, func(string, *state.Instance) bool { return true })
			c.Cloud.RouteTables["vtb-2"].Entries[0].Status = "Modifying"
		}, "DeleteVpc", []string{"VpcId", "vpc-2"}, "TaskConflict"},
		{"routes are written", writing, "AssociateRouteTable", bind, "IncorrectVSwitchStatus"},
		{"routes are written", writing, "UnassociateRouteTable", unbind, "IncorrectVSwitchStatus"},
		{"routes are written", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", entry...)
			writing(c)
		}, "ModifyRouteEntry", moved, "TaskConflict"},
		{"routes are written", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", entry...)
			writing(c)
		}, "DeleteRouteEntry", entry, "TaskConflict"},
		{"pending VPC", pendingVpc, "CreateRouteTable", []string{"VpcId", "vpc-1"}, "IncorrectVpcStatus"},
		{"pending VPC", pendingVpc, "CreateRouteEntry", entry, "IncorrectVpcStatus"},
		{"pending table", pendingTable, "CreateRouteEntry", entry, "IncorrectStatus.RouteTableStatus"},
		{"pending vSwitch", pendingVSwitch, "AssociateRouteTable", unbind, "IncorrectVSwitchStatus"},
		{"pending vSwitch", pendingVSwitch, "UnassociateRouteTable", unbind, "IncorrectVSwitchStatus"},
	})
}

func TestRouteRefusals(t *testing.T) {
	t.Parallel()
	created := func(c *apitest.Caller) {
		c.Must("CreateRouteEntry", "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1")
	}
	entry := func(table, cidr string, more ...string) []string {
		return append([]string{"RouteTableId", table, "DestinationCidrBlock", cidr}, more...)
	}
	to := func(id, kind string) []string {
		return entry("vtb-1", "10.0.0.0/24", "NewNextHopId", id, "NewNextHopType", kind)
	}
	testRefusals(t, []refusal{
		{"name", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24", "NextHopId", "i-1", "RouteEntryName", "http://x"),
			"InvalidRouteEntryName.Malformed"},
		{"unknown table", nil, "ModifyRouteEntry", entry("vtb-none", "10.0.0.0/24"), "InvalidRouteTable.NotFound"},
		{"unknown entry", nil, "ModifyRouteEntry", entry("vtb-1", "10.0.0.0/24"), "InvalidRouteEntry.NotFound"},
		{"no CIDR", nil, "ModifyRouteEntry", entry("vtb-1", "x"), "InvalidCidrBlock.Malformed"},
		{"description", created, "ModifyRouteEntry", entry("vtb-1", "10.0.0.0/24", "Description", "http://x"), "InvalidParameter"},
		{"no hop", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24"), "InvalidNexthopTypeAndList.BothNull"},
		{
			"hop and list", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24", "NextHopId", "i-1", "NextHopList.1.NextHopId", "i-2"),
			"InvalidNexthopTypeAndList.BothNotNull",
		},
		{"list of one", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24", "NextHopList.1.NextHopId", "i-2"), "InvalidNexthopListSize"},
		{"weight", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24", append(several(), "NextHopList.1.Weight",
			"256")...), "INVALID_WEIGHT_PARAM"},
		{"one of several is unknown", nil, "CreateRouteEntry", entry("vtb-1", "10.0.0.0/24",
			append(several(), "NextHopList.1.NextHopId", "i-none")...), "InvalidNextHop.NotFound"},
		{"several hops", func(c *apitest.Caller) {
			c.Must("CreateRouteEntry", entry("vtb-1", "10.0.0.0/24", several()...)...)
		}, "ModifyRouteEntry", to("i-1", "Instance"), "UnsupportedFeature.ModifyRouteEntryNextHop"},
		{"instance not ready", created, "ModifyRouteEntry", to("i-starting", "Instance"), "IncorrectInstanceStatus"},
		{"no such type", created, "ModifyRouteEntry", to("i-2", "Pigeon"), "IllegealParam.NextHopType"},
		{"unknown table", nil, "UnassociateRouteTable", []string{"RouteTableId", "vtb-none", "VSwitchId", "vsw-b"},
			"InvalidRouteTableId.NotFound"},
		{"unknown vSwitch", nil, "UnassociateRouteTable", []string{"RouteTableId", "vtb-custom", "VSwitchId", "vsw-none"},
			"InvalidVSwitchId.NotFound"},
		{"no table", nil, "DeleteRouteTable", nil, "MissingParam.RouteTableId"},
		{"no VPC", nil, "CreateVSwitch", nil, "MissingParam.vpcId"},
	})
}

// several are two next hops.
func several() []string {
	return []string{"NextHopList.1.NextHopId", "i-1", "NextHopList.2.NextHopId", "i-2", "NextHopList.2.NextHopType",
		"Instance", "NextHopList.2.Weight", "50"}
}

// An entry with several next hops shows all of them, is found by each, and is deleted by its id.
func TestSeveralNextHops(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	made := c.Must("CreateRouteEntry", append(several(), "RouteTableId", "vtb-1", "DestinationCidrBlock", "10.0.0.0/24")...)
	for _, hop := range []string{"i-1", "i-2"} {
		var got []string
		answer := c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "NextHopId", hop)
		for _, entry := range answer["RouteEntrys"].(map[string]any)["RouteEntry"].([]any) {
			got = append(got, apitest.List(entry.(map[string]any), "NextHopId", "NextHops", "NextHop")...)
		}
		if diff := cmp.Diff([]string{"i-1", "i-2"}, got); diff != "" {
			t.Errorf("next hops of the entry by %s (-want +got):\n%s", hop, diff)
		}
	}
	c.Must("DeleteRouteEntries", "RouteEntries.1.RouteTableId", "vtb-1", "RouteEntries.1.RouteEntryId", fmt.Sprint(made["RouteEntryId"]))
	c.Now = c.Now.Add(time.Minute)
	if answer := c.Must("DescribeRouteEntryList", "RouteTableId", "vtb-1", "RouteEntryType",
		"Custom"); len(apitest.List(answer, "RouteEntryId", "RouteEntrys", "RouteEntry")) > 0 {
		t.Errorf("left: %v", answer)
	}
}

// Items of batches fail with the codes of the tables, and with no others.
func TestItemCodes(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	pending := c.Now.Add(time.Hour)
	c.Settings.Quotas.RouteEntries = 1
	c.Cloud.Vpcs["vpc-2"].PendingUntil, c.Cloud.RouteTables["vtb-custom"].PendingUntil = pending, pending
	params := batch("vtb-1", "i-1", "10.0.0.0/24", "10.0.0.0/24", "10.0.1.0/24", "x", "192.168.0.0/24", "10.0.2.0/24",
		"10.0.2.0/24", "10.0.2.0/24", "10.0.2.0/24", "10.0.2.0/24", "10.0.2.0/24", "10.0.2.0/24", "pl-none")
	for n, change := range map[int][2]string{
		6: {"NextHop", "i-none"}, 7: {"NextHop", "i-starting"}, 8: {"NextHopType", "Pigeon"}, 9: {"Name", "http://x"},
		10: {"RouteTableId", "vtb-none"}, 11: {"RouteTableId", "vtb-2"}, 12: {"RouteTableId", "vtb-custom"},
	} {
		params = append(params, fmt.Sprintf("RouteEntries.%d.%s", n, change[0]), change[1])
	}
	created := c.Must("CreateRouteEntries", params...)
	c.Cloud.RouteTables["vtb-custom"].PendingUntil = time.Time{}
	c.Settings.RouteDeleting = time.Second
	deleted := c.Must("DeleteRouteEntries", append(batch("vtb-1", "i-1", "10.0.0.0/24", "10.0.0.0/24", "10.9.0.0/24"),
		"RouteEntries.4.RouteTableId", "vtb-1", "RouteEntries.4.DstCidrBlock", "100.64.0.0/10",
		"RouteEntries.5.RouteTableId", "vtb-none", "RouteEntries.5.DstCidrBlock", "10.0.0.0/24")...)
	got := map[string]map[string]any{"CreateRouteEntries": created, "DeleteRouteEntries": deleted}
	for _, a := range vpc.Product().Actions {
		if got[a.Name] == nil {
			continue
		}
		want := slices.Sorted(slices.Values(a.ItemCodes))
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(apitest.List(got[a.Name], "FailedCode", "FailedRouteEntries")))); diff != "" {
			t.Errorf("%s (-table +answer):\n%s", a.Name, diff)
		}
	}
}

func TestTagRefusals(t *testing.T) {
	t.Parallel()
	of := func(more ...string) []string {
		return append([]string{"ResourceType", "VPC", "ResourceId.1", "vpc-1"}, more...)
	}
	numbered := func(n int, prefix, suffix string) []string {
		params := of()
		for i := range n {
			params = append(params, fmt.Sprintf("%s.%d%s", prefix, i+1, suffix), fmt.Sprint("k", i))
		}
		return params
	}
	tests := []refusal{
		{"value", nil, "TagResources", of("Tag.1.Key", "k", "Tag.1.Value", "https://x"), "InvalidTagValue"},
		{"twice", nil, "TagResources", of("Tag.1.Key", "k", "Tag.2.Key", "k"), "Forbidden.TagKey.Duplicated"},
		{"21 tags", nil, "TagResources", numbered(21, "Tag", ".Key"), "SizeLimitExceeded.TagNum"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.Tags = 1 }, "TagResources", of("Tag.1.Key", "other"), "QuotaExceeded.TagNum"},
		{"no tags", nil, "TagResources", of(), "MissingParam.Tags"},
		{"unknown", nil, "UnTagResources", of("ResourceId.1", "vpc-none", "TagKey.1", "k"), "InvalidInstanceIds.NotFound"},
		{"twice", nil, "UnTagResources", of("TagKey.1", "k", "TagKey.2", "k"), "Forbidden.TagKey.Duplicated"},
		{"21 keys", nil, "UnTagResources", numbered(21, "TagKey", ""), "SizeLimitExceeded.TagNum"},
		{"value", nil, "ListTagResources", of("Tag.1.Key", "k", "Tag.1.Value", "https://x"), "InvalidTagValue"},
		{"twice", nil, "ListTagResources", of("Tag.1.Key", "k", "Tag.2.Key", "k"), "Forbidden.TagKey.Duplicated"},
		{"21 tags", nil, "ListTagResources", numbered(21, "Tag", ".Key"), "SizeLimitExceeded.TagNum"},
		{"of what", nil, "ListTagResources", []string{"ResourceType", "VPC"}, "BothEmpty.TagsAndResources"},
		{"strange token", nil, "ListTagResources", of("NextToken", "x"), "InvalidParameter"},
	}
	for _, action := range []string{"TagResources", "UnTagResources", "ListTagResources"} {
		key := "Tag.1.Key"
		if action == "UnTagResources" {
			key = "TagKey.1"
		}
		tests = append(tests,
			refusal{"no region", nil, action, of("RegionId", "", key, "k"), "MissingParam"},
			refusal{"type", nil, action, of("ResourceType", "vpc", key, "k"), "InvalidInstanceType.NotFound"},
			refusal{"key", nil, action, of(key, "acs:x"), "InvalidTagKey"},
			refusal{"21 ids", nil, action, append(numbered(21, "ResourceId", ""), key, "k"), "SizeLimitExceeded.ResourceId"},
		)
	}
	for _, describe := range []string{"DescribeVpcs", "DescribeVSwitches", "DescribeRouteTableList", "DescribeEipAddresses"} {
		tests = append(tests,
			refusal{"key", nil, describe, []string{"Tag.1.Key", "aliyun"}, "InvalidTagKey"},
			refusal{"value", nil, describe, []string{"Tag.1.Key", "k", "Tag.1.Value", "http://x"}, "InvalidTagValue"},
		)
	}
	testRefusals(t, tests)
}

func TestEipRefusals(t *testing.T) {
	t.Parallel()
	bound := func(instance string) func(*apitest.Caller) {
		return func(c *apitest.Caller) {
			c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Status: "InUse", InstanceID: instance, InstanceType: "EcsInstance"}
		}
	}
	free := func(c *apitest.Caller) { c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Status: "Available"} }
	testRefusals(t, []refusal{
		{"type", bound("i-1"), "UnassociateEipAddress", []string{"AllocationId", "eip-1", "InstanceType", "Elephant"},
			"InvalidInstanceType.ValueNotSupported"},
		{"starting instance", bound("i-starting"), "UnassociateEipAddress", []string{"AllocationId", "eip-1"}, "IncorrectInstanceStatus"},
		{"starting instance", free, "AssociateEipAddress", []string{"AllocationId", "eip-1", "InstanceId", "i-starting"},
			"IncorrectInstanceStatus"},
		{"other's address", func(c *apitest.Caller) {
			free(c)
			c.Cloud.Interfaces["eni-1"] = &state.NetworkInterface{ID: "eni-1", VpcID: "vpc-1", PrivateIPs: []string{"192.168.0.7"}}
		}, "AssociateEipAddress", []string{
			"AllocationId", "eip-1", "InstanceId", "eni-1", "InstanceType", "NetworkInterface", "PrivateIpAddress", "192.168.0.8",
		}, "OperationFailed.PrivateIpAddressNotExist"},
		{"paid for", func(c *apitest.Caller) {
			free(c)
			c.Cloud.Eips["eip-1"].InstanceChargeType = "PrePaid"
		}, "ReleaseEipAddress", []string{"AllocationId", "eip-1"}, "Forbidden.ChargeTypeIsPrepaid"},
		{"no pool", nil, "AllocateEipAddress", []string{"PublicIpAddressPoolId", "pippool-1"}, "ResourceNotFound.PublicIpAddressPool"},
		{"no pool", nil, "AllocateEipAddressPro", []string{"PublicIpAddressPoolId", "pippool-1"}, "ResourceNotFound.PublicIpAddressPool"},
		{"quota", func(c *apitest.Caller) { c.Settings.Quotas.Eips = 0 }, "AllocateEipAddressPro", nil, "QuotaExceeded.Eip"},
		{"charge type", nil, "AllocateEipAddressPro", []string{"InternetChargeType", "PayByElephant"}, "InvalidParameter"},
		{"charge type", nil, "AllocateEipAddress", []string{"InternetChargeType", "PayByElephant"}, "InvalidParameter"},
	})
}

// An address shows how it was asked for.
func TestEipKeepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("AllocateEipAddress")
	c.Must("AllocateEipAddress", "InternetChargeType", "PayByTraffic", "ISP", "BGP_PRO", "Description", "d")
	answer := c.Must("DescribeEipAddresses")
	list := func(name string) []string {
		return slices.Sorted(slices.Values(apitest.List(answer, name, "EipAddresses", "EipAddress")))
	}
	got := map[string][]string{"charge": list("InternetChargeType"), "isp": list("ISP"), "description": list("Description")}
	want := map[string][]string{"charge": {"PayByBandwidth", "PayByTraffic"}, "isp": {"BGP", "BGP_PRO"}, "description": {"", "d"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
