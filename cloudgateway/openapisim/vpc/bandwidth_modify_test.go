package vpc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// only is the only item of a wrapped list.
func only(t *testing.T, answer map[string]any, outer, inner string) map[string]any {
	t.Helper()
	items := answer[outer].(map[string]any)[inner].([]any)
	if len(items) != 1 {
		t.Fatalf("%d items in %v, want one", len(items), answer)
	}
	return items[0].(map[string]any)
}

// members are some members of an object.
func members(object map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		out[name] = object[name]
	}
	return out
}

// The order of calls of the Terraform provider's resources for packages and their members. The provider reads what an address can have of
// a package as the Bandwidth of the address, and its own as EipBandwidth (resource_alicloud_common_bandwidth_package_attachment.go and
// resource_alicloud_eip_address.go).
func TestChangeOfBandwidthPackage(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	id := c.Must("CreateCommonBandwidthPackage", "Bandwidth", "20")["BandwidthPackageId"].(string)
	of := func(more ...string) []string { return append([]string{"BandwidthPackageId", id}, more...) }
	address := func() map[string]any {
		eip := only(t, c.Must("DescribeEipAddresses", "AllocationId", "eip-1"), "EipAddresses", "EipAddress")
		return members(eip, "Bandwidth", "EipBandwidth", "BandwidthPackageBandwidth")
	}
	want := func(what, bandwidth, ofPackage string) {
		t.Helper()
		wanted := map[string]any{"Bandwidth": bandwidth, "EipBandwidth": "5", "BandwidthPackageBandwidth": ofPackage}
		if diff := cmp.Diff(wanted, address()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	want("alone", "5", "")
	c.Must("AddCommonBandwidthPackageIp", of("IpInstanceId", "eip-1")...)
	want("in the package", "20", "20")
	c.Must("ModifyCommonBandwidthPackageIpBandwidth", of("EipId", "eip-1", "Bandwidth", "3")...)
	c.Must("ModifyCommonBandwidthPackageIpBandwidth", of("EipId", "eip-1", "Bandwidth", "4")...)
	want("limited", "4", "20")
	c.Must("ModifyCommonBandwidthPackageSpec", of("Bandwidth", "30")...)
	want("limited in a larger one", "4", "30")
	c.Must("CancelCommonBandwidthPackageIpBandwidth", of("EipId", "eip-1")...)
	want("no longer limited", "30", "30")
	c.Must("ModifyCommonBandwidthPackageIpBandwidth", of("EipId", "eip-1", "Bandwidth", "3")...)
	c.Must("RemoveCommonBandwidthPackageIp", of("IpInstanceId", "eip-1")...)
	want("out of it", "5", "")
	c.Must("AddCommonBandwidthPackageIp", of("IpInstanceId", "eip-1")...)
	want("in it again, without the old limit", "30", "30")

	c.Must("ModifyCommonBandwidthPackageAttribute", of("Name", "other", "Description", "text")...)
	c.Must("MoveResourceGroup", "ResourceType", "bandwidthpackage", "ResourceId", id, "NewResourceGroupId", "rg-2")
	c.Must("DeletionProtection", "Type", "CBWP", "InstanceId", id, "ProtectionEnable", "true")
	shown := only(t, c.Must("DescribeCommonBandwidthPackages"), "CommonBandwidthPackages", "CommonBandwidthPackage")
	if diff := cmp.Diff(map[string]any{
		"Bandwidth": "30", "Name": "other", "Description": "text", "ResourceGroupId": "rg-2", "DeletionProtection": true,
	}, members(shown, "Bandwidth", "Name", "Description", "ResourceGroupId", "DeletionProtection")); diff != "" {
		t.Errorf("the package (-want +got):\n%s", diff)
	}
	if _, code := c.Call("DeleteCommonBandwidthPackage", of("Force", "true")...); code != "OperationDenied.DeletionProtection" {
		t.Errorf("deleted while it is protected: %q", code)
	}
	c.Must("DeletionProtection", "Type", "cbwp", "InstanceId", id, "ProtectionEnable", "false")
	c.Must("DeleteCommonBandwidthPackage", of("Force", "true")...)
}

// What the Terraform provider's alicloud_eip_address changes of an address: its group, its protection, its forwarding and its monitoring.
func TestSwitchesOfAddress(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	names := []string{"ResourceGroupId", "DeletionProtection", "Mode", "HDMonitorStatus", "InstanceRegionId"}
	want := func(group string, protected bool, mode, monitored, region string) {
		t.Helper()
		eip := only(t, c.Must("DescribeEipAddresses", "AllocationId", "eip-1"), "EipAddresses", "EipAddress")
		wanted := map[string]any{
			"ResourceGroupId": group, "DeletionProtection": protected, "Mode": mode, "HDMonitorStatus": monitored, "InstanceRegionId": region,
		}
		if diff := cmp.Diff(wanted, members(eip, names...)); diff != "" {
			t.Errorf("the address (-want +got):\n%s", diff)
		}
	}
	want(state.DefaultResourceGroup, false, "NAT", "OFF", "")
	monitor := []string{"InstanceType", "EIP", "InstanceId", "eip-1"}
	c.Must("MoveResourceGroup", "ResourceType", "EIP", "ResourceId", "eip-1", "NewResourceGroupId", "rg-2")
	c.Must("DeletionProtection", "Type", "EIP", "InstanceId", "eip-1", "ProtectionEnable", "true", "ClientToken", "t")
	c.Must("DeletionProtection", "Type", "EIP", "InstanceId", "eip-1", "ProtectionEnable", "true", "ClientToken", "t")
	c.Must("ModifyEipForwardMode", "InstanceId", "eip-1", "Mode", "BINDED")
	c.Must("SetHighDefinitionMonitorLogStatus", append(monitor, "Status", "ON", "LogProject", "p", "LogStore", "s")...)
	c.Must("AssociateEipAddress", "AllocationId", "eip-1", "InstanceId", "i-1")
	want("rg-2", true, "BINDED", "ON", apitest.Region)
	if got := c.Must("DescribeHighDefinitionMonitorLogAttribute", monitor...); got["LogProject"] != "p" || got["LogStore"] != "s" {
		t.Errorf("its monitoring is kept in %v", got)
	}
	c.Must("UnassociateEipAddress", "AllocationId", "eip-1")
	if _, code := c.Call("ReleaseEipAddress", "AllocationId", "eip-1"); code != "OperationDenied.DeletionProtection" {
		t.Errorf("released while it is protected: %q", code)
	}
	c.Must("SetHighDefinitionMonitorLogStatus", append(monitor, "Status", "OFF")...)
	c.Must("DeletionProtection", "Type", "EIP", "InstanceId", "eip-1", "ProtectionEnable", "false")
	want("rg-2", false, "BINDED", "OFF", "")
	c.Must("ReleaseEipAddress", "AllocationId", "eip-1")
}

func TestRefusedSwitches(t *testing.T) {
	t.Parallel()
	made := func(c *apitest.Caller) {
		c.Cloud.BandwidthPackages["cbwp-1"] = &state.BandwidthPackage{ID: "cbwp-1", Bandwidth: 5, AllocationIDs: []string{"eip-1"}}
		c.Cloud.Eips["eip-1"], c.Cloud.Eips["eip-2"] = &state.Eip{ID: "eip-1", Status: "Available"}, &state.Eip{ID: "eip-2", Status: "Releasing"}
	}
	of := func(more ...string) []string { return append([]string{"BandwidthPackageId", "cbwp-1"}, more...) }
	none := []string{"BandwidthPackageId", "cbwp-none", "EipId", "eip-1", "Bandwidth", "1"}
	tests := []refusal{
		{"name", made, "ModifyCommonBandwidthPackageAttribute", of("Name", "http://x"), "InvalidName.Malformed"},
		{"text", made, "ModifyCommonBandwidthPackageAttribute", of("Description", "http://x"), "InvalidDescription.Malformed"},
		{"not in it", made, "ModifyCommonBandwidthPackageIpBandwidth", of("EipId", "eip-2", "Bandwidth", "1"),
			"OperationUnsupported.IpNotInCbwp"},
		{"not in it", made, "CancelCommonBandwidthPackageIpBandwidth", of("EipId", "eip-2"), "OperationUnsupported.IpNotInCbwp"},
		{"too much", made, "ModifyCommonBandwidthPackageIpBandwidth", of("EipId", "eip-1", "Bandwidth", "6"), "InvalidBandwidth.Exceed"},
		{"unknown", nil, "DeletionProtection", []string{"Type", "CBWP", "InstanceId", "cbwp-none", "ProtectionEnable", "true"},
			"DeletionProtection.ResourceNotExist"},
		{"token", func(c *apitest.Caller) {
			made(c)
			c.Must("DeletionProtection", "Type", "EIP", "InstanceId", "eip-1", "ProtectionEnable", "true", "ClientToken", "t")
		}, "DeletionProtection", []string{"Type", "EIP", "InstanceId", "eip-1", "ProtectionEnable", "false", "ClientToken", "t"},
			"IdempotentParameterMismatch"},
		{"unknown", nil, "SetHighDefinitionMonitorLogStatus", []string{"InstanceType", "EIP", "InstanceId", "eip-none", "Status", "OFF"},
			"InvalidInstanceId.NotFound"},
		{"no store", made, "SetHighDefinitionMonitorLogStatus", []string{"InstanceType", "EIP", "InstanceId", "eip-1", "Status", "ON",
			"LogProject", "p"}, "MissingParameter"},
		{"unknown", nil, "DescribeHighDefinitionMonitorLogAttribute", []string{"InstanceType", "EIP", "InstanceId", "eip-none"},
			"InvalidInstanceId.NotFound"},
		{"unknown", nil, "ModifyEipForwardMode", []string{"InstanceId", "eip-none", "Mode", "NAT"}, "InvalidInstanceId.NotFound"},
		{"status", made, "ModifyEipForwardMode", []string{"InstanceId", "eip-2", "Mode", "NAT"}, "IncorrectEipStatus"},
		{"token", func(c *apitest.Caller) {
			made(c)
			c.Must("ModifyEipForwardMode", "InstanceId", "eip-1", "Mode", "NAT", "ClientToken", "t")
		}, "ModifyEipForwardMode", []string{"InstanceId", "eip-1", "Mode", "BINDED", "ClientToken", "t"}, "IdempotentParameterMismatch"},
		{"unknown", nil, "MoveResourceGroup", []string{"ResourceType", "VPC", "ResourceId", "vpc-none", "NewResourceGroupId", "rg-1"},
			"InvalidResource.NotFound"},
		{"unknown", nil, "ListVpcPublishedRouteEntries", []string{"RouteTableId", "vtb-none"}, "InvalidRouteTableId.NotFound"},
	}
	for _, action := range []string{"ModifyCommonBandwidthPackageAttribute", "ModifyCommonBandwidthPackageSpec",
		"ModifyCommonBandwidthPackageIpBandwidth", "CancelCommonBandwidthPackageIpBandwidth"} {
		tests = append(tests, refusal{"unknown", made, action, none, "InvalidBandwidthPackageId.NotFound"})
	}
	testRefusals(t, tests)
}

// A VPC moves to another resource group with what is in it. Nothing leads out of it.
func TestMovedNetwork(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("MoveResourceGroup", "ResourceType", "VPC", "ResourceId", "vpc-1", "NewResourceGroupId", "rg-2")
	for action, of := range map[string][3]string{
		"DescribeVpcs": {"VpcId", "Vpcs", "Vpc"}, "DescribeVSwitches": {"VpcId", "VSwitches", "VSwitch"},
		"DescribeRouteTableList": {"VpcId", "RouterTableList", "RouterTableListType"},
	} {
		for _, id := range apitest.List(c.Must(action, "ResourceGroupId", "rg-2"), of[0], of[1], of[2]) {
			if id != "vpc-1" {
				t.Errorf("%s shows something of %s in the group", action, id)
			}
		}
	}
	published := c.Must("ListVpcPublishedRouteEntries", "RouteTableId", "vtb-1", "TargetType", "ECR", "TargetInstanceId", "ecr-1")
	if diff := cmp.Diff(map[string]any{"NextToken": "", "RouteEntries": []any{}}, published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if got := c.Must("DescribePhysicalConnections", "Filter.1.Key", "Status", "Filter.1.Value.1", "Enabled"); got["TotalCount"] != 0.0 {
		t.Errorf("connections: %v", got)
	}
}
