package vpc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// A bandwidth package is made, gets addresses, loses them and goes, as terraform does it.
func TestBandwidthPackageLife(t *testing.T) {
	t.Parallel()
	c := newEipCaller(t)
	create := []string{"Bandwidth", "20", "Name", "shared", "Tag.1.Key", "k", "Tag.1.Value", "v", "ClientToken", "t"}
	id := c.Must("CreateCommonBandwidthPackage", create...)["BandwidthPackageId"].(string)
	if again := c.Must("CreateCommonBandwidthPackage", create...)["BandwidthPackageId"]; again != id || !strings.HasPrefix(id, "cbwp-") {
		t.Errorf("made %s, and %v with the same token", id, again)
	}
	member := []string{"BandwidthPackageId", id, "IpInstanceId", "eip-1", "ClientToken", "m"}
	c.Must("AddCommonBandwidthPackageIp", member...)
	c.Must("AddCommonBandwidthPackageIp", member...)
	c.Cloud.NLBs["nlb-1"] = &state.NLB{
		ID: "nlb-1", BandwidthPackageID: id, Zones: []*state.NLBZone{{ZoneID: "z-a", AllocationID: "eip-of-nlb", PublicIP: "8.1.1.1"}},
	}
	shown := apitest.List(c.Must("DescribeCommonBandwidthPackages", "Tag.1.Key", "k"), "Name", "CommonBandwidthPackages",
		"CommonBandwidthPackage")
	if !cmp.Equal(shown, []string{"shared"}) {
		t.Errorf("by its tag %v is found", shown)
	}
	if got := addresses(c, id); got != "eip-1 eip-of-nlb" {
		t.Errorf("its addresses are %s", got)
	}
	if got := apitest.List(c.Must("DescribeEipAddresses", "AllocationId", "eip-1"), "BandwidthPackageId", "EipAddresses",
		"EipAddress"); !cmp.Equal(got, []string{id}) {
		t.Errorf("the address is in %v", got)
	}
	c.Must("TagResources", "ResourceType", "COMMONBANDWIDTHPACKAGE", "ResourceId.1", id, "Tag.1.Key", "more")
	if got := len(c.Cloud.BandwidthPackages[id].Tags); got != 2 {
		t.Errorf("it has %d tags", got)
	}
	if _, code := c.Call("DeleteCommonBandwidthPackage", "BandwidthPackageId", id); code != "DependencyViolation.BandwidthPackageIps" {
		t.Errorf("deleted with addresses in it: %q", code)
	}
	remove := []string{"BandwidthPackageId", id, "IpInstanceId", "eip-1", "ClientToken", "r"}
	c.Must("RemoveCommonBandwidthPackageIp", remove...)
	c.Must("RemoveCommonBandwidthPackageIp", remove...)
	c.Must("AddCommonBandwidthPackageIp", "BandwidthPackageId", id, "IpInstanceId", "eip-2")
	c.Must("ReleaseEipAddress", "AllocationId", "eip-2")
	if got := addresses(c, id); got != "eip-of-nlb" {
		t.Errorf("its addresses are %s", got)
	}
	c.Must("DeleteCommonBandwidthPackage", "BandwidthPackageId", id, "Force", "true")
	if left := c.Cloud.NLBs["nlb-1"].BandwidthPackageID; left != "" || len(c.Cloud.BandwidthPackages) != 0 {
		t.Errorf("%d packages are left, and the load balancer has %q", len(c.Cloud.BandwidthPackages), left)
	}
}

// addresses are the ids of the addresses in a package.
func addresses(c *apitest.Caller, id string) string {
	answer := c.Must("DescribeCommonBandwidthPackages", "BandwidthPackageId", id)
	packages := answer["CommonBandwidthPackages"].(map[string]any)["CommonBandwidthPackage"].([]any)
	return strings.Join(apitest.List(packages[0].(map[string]any), "AllocationId", "PublicIpAddresses", "PublicIpAddresse"), " ")
}

func TestBandwidthPackageRefusals(t *testing.T) {
	t.Parallel()
	made := func(c *apitest.Caller) {
		c.Cloud.BandwidthPackages["cbwp-1"] = &state.BandwidthPackage{ID: "cbwp-1", Bandwidth: 5, AllocationIDs: []string{"eip-1"}}
		c.Cloud.Eips["eip-1"], c.Cloud.Eips["eip-2"] = &state.Eip{ID: "eip-1"}, &state.Eip{ID: "eip-2"}
	}
	of := func(id, address string) []string { return []string{"BandwidthPackageId", id, "IpInstanceId", address} }
	used := func(action, address string) func(*apitest.Caller) {
		return func(c *apitest.Caller) {
			made(c)
			c.Must(action, append(of("cbwp-1", address), "ClientToken", "t")...)
		}
	}
	testRefusals(t, []refusal{
		{"no bandwidth", nil, "CreateCommonBandwidthPackage", nil, "MissingParameter"},
		{"bandwidth", nil, "CreateCommonBandwidthPackage", []string{"Bandwidth", "0"}, "InvalidParameter"},
		{"name", nil, "CreateCommonBandwidthPackage", []string{"Bandwidth", "5", "Name", "http://x"}, "InvalidName.Malformed"},
		{"description", nil, "CreateCommonBandwidthPackage", []string{"Bandwidth", "5", "Description", "http://x"},
			"InvalidDescription.Malformed"},
		{"other package with the token", func(c *apitest.Caller) {
			c.Must("CreateCommonBandwidthPackage", "Bandwidth", "6", "ClientToken", "t")
		}, "CreateCommonBandwidthPackage", []string{"Bandwidth", "5", "ClientToken", "t"}, "IdempotentParameterMismatch"},
		{"filter", nil, "DescribeCommonBandwidthPackages", []string{"Tag.1.Key", "acs:x"}, "InvalidTagKey"},
		{"filter value", nil, "DescribeCommonBandwidthPackages", []string{"Tag.1.Key", "k", "Tag.1.Value", "http://x"}, "InvalidTagValue"},
		{"unknown", nil, "AddCommonBandwidthPackageIp", of("cbwp-none", "eip-1"), "InvalidBandwidthPackageId.NotFound"},
		{"unknown", nil, "RemoveCommonBandwidthPackageIp", of("cbwp-none", "eip-1"), "InvalidBandwidthPackageId.NotFound"},
		{"unknown", nil, "DeleteCommonBandwidthPackage", []string{"BandwidthPackageId", "cbwp-none"}, "InvalidBandwidthPackageId.NotFound"},
		{"with addresses", made, "DeleteCommonBandwidthPackage", []string{"BandwidthPackageId", "cbwp-1"},
			"DependencyViolation.BandwidthPackageIps"},
		{"unknown address", made, "AddCommonBandwidthPackageIp", of("cbwp-1", "eip-none"), "InvalidAllocationId.NotFound"},
		{"twice", made, "AddCommonBandwidthPackageIp", of("cbwp-1", "eip-1"), "IpInstanceId.AlreadyInBandwidthPackage"},
		{"not in it", made, "RemoveCommonBandwidthPackageIp", of("cbwp-1", "eip-2"), "OperationUnsupported.IpNotInCbwp"},
		{
			"other address with the token", used("AddCommonBandwidthPackageIp", "eip-2"), "AddCommonBandwidthPackageIp",
			append(of("cbwp-1", "eip-1"), "ClientToken", "t"), "IdempotentParameterMismatch",
		},
		{
			"other address with the token", used("RemoveCommonBandwidthPackageIp", "eip-1"), "RemoveCommonBandwidthPackageIp",
			append(of("cbwp-1", "eip-2"), "ClientToken", "t"), "IdempotentParameterMismatch",
		},
	})
}

// Nothing new gets tags that the cloud keeps for itself, or more than it can have.
func TestTagsOfNewThings(t *testing.T) {
	t.Parallel()
	for action, params := range map[string][]string{
		"CreateVpc":                    nil,
		"CreateVSwitch":                {"VpcId", "vpc-1", "ZoneId", "z-a", "CidrBlock", "192.168.8.0/24"},
		"CreateRouteTable":             {"VpcId", "vpc-1"},
		"AllocateEipAddress":           nil,
		"AllocateEipAddressPro":        nil,
		"CreateNatGateway":             {"VpcId", "vpc-1", "VSwitchId", "vsw-a"},
		"CreateIpv4Gateway":            {"VpcId", "vpc-1"},
		"CreateIpv6Gateway":            {"VpcId", "vpc-1"},
		"CreateCommonBandwidthPackage": {"Bandwidth", "5"},
		"CreateHaVip":                  {"VSwitchId", "vsw-a"},
		"CreateVpcPrefixList":          nil,
		"CreateDhcpOptionsSet":         nil,
		"CreateVSwitchCidrReservation": {"VSwitchId", "vsw-a", "VSwitchCidrReservationMask", "28"},
		"CreatePublicIpAddressPool":    nil,
	} {
		with := func(more ...string) []string { return append(more, params...) }
		testRefusals(t, []refusal{
			{"reserved key", nil, action, with("Tag.1.Key", "acs:k"), "InvalidTagKey"},
			{"reserved key", nil, action, with("Tag.1.Key", "aliyunk"), "InvalidTagKey"},
			{"no key", nil, action, with("Tag.1.Value", "v"), "InvalidTagKey"},
			{"value", nil, action, with("Tag.1.Key", "k", "Tag.1.Value", "https://x"), "InvalidTagValue"},
			{"twice", nil, action, with("Tag.1.Key", "k", "Tag.2.Key", "k"), "Forbidden.TagKey.Duplicated"},
			{
				"too many", func(c *apitest.Caller) { c.Settings.Quotas.Tags = 1 }, action,
				with("Tag.1.Key", "k", "Tag.2.Key", "l"), "SizeLimitExceeded.TagNum",
			},
		})
	}
}
