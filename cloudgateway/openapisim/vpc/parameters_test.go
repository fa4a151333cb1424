package vpc_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// shows fails if an answer lacks what it should have. Paths of the answer are names and numbers.
func shows(t *testing.T, answer any, want any, path ...any) {
	t.Helper()
	at := answer
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := at.(map[string]any)
			at = object[step]
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				t.Errorf("%v: nothing at %v, want %v", answer, path, want)
				return
			}
			at = list[step]
		}
	}
	if fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("%v is %v, want %v", path, at, want)
	}
}

// The parameters that the resources of Terraform document read back as they were sent.
func TestAddressReadsBackAsItWasSent(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	made := c.Must("AllocateEipAddress", "Netmode", "public", "Zone", "z-a", "IpAddress", "47.1.2.3", "InstanceId", "eip-again",
		"ActivityId", "a", "SecurityProtectionTypes.1", "AntiDDoS_Enhanced")
	shows(t, made, "eip-again", "AllocationId")
	found := func(want int, filter ...string) {
		t.Helper()
		shows(t, c.Must("DescribeEipAddresses", filter...), want, "TotalCount")
	}
	answer := c.Must("DescribeEipAddresses", "SecurityProtectionEnabled", "true")
	for name, want := range map[string]string{"Zone": "z-a", "Netmode": "public", "IpAddress": "47.1.2.3"} {
		shows(t, answer, want, "EipAddresses", "EipAddress", 0, name)
	}
	for _, none := range [][]string{
		{"SecurityProtectionEnabled", "false"}, {"LockReason", "financial"}, {"SegmentInstanceId", "eipsg-1"}, {"ServiceManaged", "true"},
		{"PublicIpAddressPoolId", "pippool-1"},
		{"Filter.1.Key", "CreationStartTime", "Filter.1.Value", c.Now.Add(time.Hour).UTC().Format(time.RFC3339)},
		{"Filter.1.Key", "CreationEndTime", "Filter.1.Value", "2020-01-01T00:00Z"},
	} {
		found(0, none...)
	}
	found(1, "Filter.1.Key", "CreationStartTime", "Filter.1.Value", "2020-01-01T00:00Z", "IncludeReservationData", "true")
	c.Must("AssociateEipAddress", "AllocationId", "eip-again", "InstanceId", "192.168.0.77", "InstanceType", "IpAddress", "VpcId", "vpc-1",
		"InstanceRegionId", apitest.Region)
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeEipAddresses"), "vpc-1", "EipAddresses", "EipAddress", 0, "VpcId")
	c.Must("UnassociateEipAddress", "AllocationId", "eip-again", "InstanceId", "192.168.0.77", "InstanceType", "IpAddress")
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeEipAddresses"), "", "EipAddresses", "EipAddress", 0, "VpcId")
}

func TestBlocksReadBackWithTheirLines(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.Must("CreateVpc", "EnableIpv6", "true", "Ipv6CidrBlock", "2408:1::/56", "Ipv6Isp", "ChinaTelecom")["VpcId"].(string)
	c.Pass(time.Minute)
	c.Must("AssociateVpcCidrBlock", "VpcId", id, "IpVersion", "IPV6", "IPv6CidrBlock", "2408:2::/56", "Ipv6Isp", "ChinaUnicom")
	c.Must("AssociateVpcCidrBlock", "VpcId", id, "IpVersion", "IPV6", "IPv6CidrBlock", "2408:3::/56")
	for i, want := range []string{"ChinaTelecom", "ChinaUnicom", "BGP"} {
		shows(t, c.Must("DescribeVpcAttribute", "VpcId", id), want, "Ipv6CidrBlocks", "Ipv6CidrBlock", i, "Ipv6Isp")
	}
	c.Must("ModifyVpcAttribute", "VpcId", "vpc-2", "EnableIPv6", "true", "Ipv6CidrBlock", "2408:4::/56", "Ipv6Isp", "ChinaMobile")
	shows(t, c.Must("DescribeVpcAttribute", "VpcId", "vpc-2"), "ChinaMobile", "Ipv6CidrBlocks", "Ipv6CidrBlock", 0, "Ipv6Isp")
	// A vSwitch has its IPv6 block of any of the VPC's.
	vsw := c.Must("CreateVSwitch", "VpcId", id, "ZoneId", "z-a", "CidrBlock", "172.16.0.0/24", "VpcIpv6CidrBlock", "2408:2::/56",
		"Ipv6CidrBlock", "7")["VSwitchId"].(string)
	c.Pass(time.Minute)
	shows(t, c.Must("DescribeVSwitchAttributes", "VSwitchId", vsw), "2408:2:0:7::/64", "Ipv6CidrBlock")
	c.Must("ModifyVSwitchAttribute", "VSwitchId", vsw, "VpcIpv6CidrBlock", "2408:3::/56", "Ipv6CidrBlock", "8")
	shows(t, c.Must("DescribeVSwitchAttributes", "VSwitchId", vsw), "2408:3:0:8::/64", "Ipv6CidrBlock")
	for _, tt := range []describeTest{
		{"v6", []string{"EnableIpv6", "true"}, vsw}, {"not v6", []string{"EnableIpv6", "false", "VpcId", id}, ""},
	} {
		answer := c.Must("DescribeVSwitches", tt.params...)
		if got := apitest.List(answer, "VSwitchId", "VSwitches", "VSwitch"); fmt.Sprint(got) != fmt.Sprintf("[%s]", tt.want) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestDefaultNetworkWithItsVSwitch(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	made := c.Must("CreateDefaultVpc", "EnableDefaultVSwitch", "true", "ZoneId", "z-a")
	shows(t, made, "z-a", "DefaultVSwitchs", 0, "ZoneId")
	c.Pass(time.Minute)
	for action, list := range map[string][2]string{"DescribeVpcs": {"Vpcs", "Vpc"}, "DescribeVSwitches": {"VSwitches", "VSwitch"}} {
		answer := c.Must(action, "IsDefault", "true")
		shows(t, answer, 1, "TotalCount")
		shows(t, answer, made["VpcId"], list[0], list[1], 0, "VpcId")
		all := c.Must(action)["TotalCount"].(float64)
		shows(t, c.Must(action, "IsDefault", "false"), all-1, "TotalCount")
	}
	shows(t, c.Must("DescribeVpcs", "EnableIpv6", "true"), "vpc-1", "Vpcs", "Vpc", 0, "VpcId")
	shows(t, c.Must("DescribeVpcs", "VpcOwnerId", "7"), 0, "TotalCount")
	shows(t, c.Must("DescribeVSwitches", "VSwitchOwnerId", "7"), 0, "TotalCount")
}

func TestNatGatewayReadsBackAsItWasSent(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.Must("CreateNatGateway", "VpcId", "vpc-1", "VSwitchId", "vsw-a", "NatType", "Enhanced", "NetworkType", "intranet",
		"PrivateLinkEnabled", "true", "PrivateLinkMode", "FullNat", "SecurityProtectionEnabled", "true", "AccessMode.ModeValue", "tunnel",
		"AccessMode.TunnelType", "geneve", "ResourceGroupId", "rg-1")["NatGatewayId"].(string)
	c.Pass(time.Minute)
	c.Must("ModifyNatGatewayAttribute", "NatGatewayId", id, "EnableSessionLog", "true", "LogDelivery.LogDestination", "acs:log:x",
		"LogDelivery.LogDeliveryType", "sls")
	answer := c.Must("DescribeNatGateways", "NatGatewayIds.1", id, "PrivateLinkEnabled", "true")
	for name, want := range map[string]any{"PrivateLinkMode": "FullNat", "SecurityProtectionEnabled": true, "EnableSessionLog": "true",
		"ResourceGroupId": "rg-1"} {
		shows(t, answer, want, "NatGateways", "NatGateway", 0, name)
	}
	attribute := c.Must("GetNatGatewayAttribute", "NatGatewayId", id)
	shows(t, attribute, "tunnel", "AccessMode", "ModeValue")
	shows(t, attribute, "geneve", "AccessMode", "TunnelType")
	shows(t, attribute, "acs:log:x", "LogDelivery", "LogDestination")
	shows(t, c.Must("DescribeNatGateways", "PrivateLinkEnabled", "false"), 0, "TotalCount")
	shows(t, c.Must("DescribeNatGateways", "NatGatewayIds.1", "ngw-none"), 0, "TotalCount")
}

func TestPackageTakesAddressWithItsLimit(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.Must("CreateCommonBandwidthPackage", "Bandwidth", "100", "SecurityProtectionTypes.1", "AntiDDoS_Enhanced", "Zone",
		"z-a")["BandwidthPackageId"].(string)
	eip := c.Must("AllocateEipAddress")["AllocationId"].(string)
	add := []string{"BandwidthPackageId", id, "IpInstanceId", eip}
	if _, code := c.Call("AddCommonBandwidthPackageIp", append(slices.Clone(add), "BandwidthPackageBandwidth",
		"101")...); code != "InvalidBandwidth.Exceed" {
		t.Errorf("too much: %q", code)
	}
	c.Must("AddCommonBandwidthPackageIp", append(add, "BandwidthPackageBandwidth", "7")...)
	shows(t, c.Must("DescribeEipAddresses"), "7", "EipAddresses", "EipAddress", 0, "Bandwidth")
	shows(t, c.Must("DescribeCommonBandwidthPackages", "SecurityProtectionEnabled", "true"), 1, "TotalCount")
	shows(t, c.Must("DescribeCommonBandwidthPackages", "SecurityProtectionEnabled", "false"), 0, "TotalCount")
}

func TestParametersThatCannotBe(t *testing.T) {
	t.Parallel()
	vsw := []string{"VpcId", "vpc-1", "ZoneId", "z-a", "CidrBlock", "192.168.8.0/24", "Ipv6CidrBlock", "1"}
	associate := func(more ...string) []string {
		return append([]string{"AllocationId", "eip-1", "InstanceId", "192.168.0.77", "InstanceType", "IpAddress"}, more...)
	}
	free := func(c *apitest.Caller) {
		c.Cloud.Eips["eip-1"] = &state.Eip{ID: "eip-1", Address: "47.1.2.3", Status: "Available"}
	}
	tests := []refusal{
		{"pool of the manager", nil, "CreateVpc", []string{"Ipv4IpamPoolId", "ipam-pool-1"}, "ResourceNotFound.IpamPool"},
		{"pool of the manager", nil, "CreateVpc", []string{"Ipv6IpamPoolId", "ipam-pool-1", "EnableIpv6", "true"}, "ResourceNotFound.IpamPool"},
		{"pool of the manager", nil, "AssociateVpcCidrBlock", []string{"VpcId", "vpc-1", "IpamPoolId", "ipam-pool-1"},
			"ResourceNotFound.IpamPool"},
		{"line", nil, "CreateVpc", []string{"EnableIpv6", "true", "Ipv6Isp", "Pigeon"}, "InvalidParameter"},
		{"block of another VPC", nil, "CreateVSwitch", append(vsw, "VpcIpv6CidrBlock", "2409::/56"), "InvalidParameter"},
		{"block of another VPC", nil, "ModifyVSwitchAttribute", []string{"VSwitchId", "vsw-a", "Ipv6CidrBlock", "1", "VpcIpv6CidrBlock",
			"2409::/56"}, "InvalidParameter"},
		{"zone", nil, "CreateDefaultVpc", []string{"EnableDefaultVSwitch", "true", "ZoneId", "z-none"}, "InvalidZoneId.NotFound"},
		{"private address", nil, "AllocateEipAddress", []string{"IpAddress", "10.0.0.1"}, "InvalidParameter"},
		{"address of another", free, "AllocateEipAddress", []string{"IpAddress", "47.1.2.3"}, "InvalidParameter"},
		{"id of another", free, "AllocateEipAddress", []string{"InstanceId", "eip-1"}, "InvalidParameter"},
		{"net", nil, "AllocateEipAddress", []string{"Netmode", "hybrid"}, "InvalidParameter"},
		{"key", nil, "DescribeEipAddresses", []string{"Filter.1.Key", "x", "Filter.1.Value", "2020-01-01T00:00Z"}, "InvalidParameter"},
		{"time", nil, "DescribeEipAddresses", []string{"Filter.1.Key", "CreationStartTime", "Filter.1.Value", "x"}, "InvalidParameter"},
		{"no VPC", free, "AssociateEipAddress", associate(), "InvalidParameter"},
		{"other region", free, "AssociateEipAddress", associate("VpcId", "vpc-1", "InstanceRegionId", "mars"), "InvalidParameter"},
		{"unknown VPC", free, "AssociateEipAddress", associate("VpcId", "vpc-none"), "InvalidVpcId.NotFound"},
	}
	for action, id := range map[string]string{
		"DescribeVpcs": "", "DescribeVSwitches": "", "DescribeEipAddresses": "", "DescribeCommonBandwidthPackages": "",
		"DescribeNatGateways": "", "DescribeVpcAttribute": "VpcId", "DescribeVSwitchAttributes": "VSwitchId",
	} {
		params := []string{"DryRun", "true"}
		if id != "" {
			params = append(params, id, map[string]string{"VpcId": "vpc-1", "VSwitchId": "vsw-a"}[id])
		}
		tests = append(tests, refusal{"dry run", nil, action, params, "DryRunOperation"})
	}
	testRefusals(t, tests)
}
