package vswitch

import (
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const link = "https://example.com"
	create := func(cidr string) *vpcv1.CreateVSwitchRequest {
		return &vpcv1.CreateVSwitchRequest{RequestId: "r", VpcId: "vpc-1", ZoneId: "cn-a", CidrBlock: cidr, Ipv6Subnet: new(int32(255))}
	}
	mask := func(cidr string) []string {
		return []string{`cidr_block: "` + cidr + `" must be an IPv4 range with a mask of 16 to 29 bits`}
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &vpcv1.GetVSwitchRequest{VswitchId: "vsw-1"}},
		{Request: &vpcv1.GetVSwitchRequest{}, Want: []string{"vswitch_id: is required"}},
		{Name: "of a VPC", Request: &vpcv1.ListVSwitchesRequest{VpcId: "vpc-1"}},
		{Name: "by id", Request: &vpcv1.ListVSwitchesRequest{VswitchIds: []string{"vsw-1"}}},
		{Name: "of a zone", Request: &vpcv1.ListVSwitchesRequest{ZoneId: "cn-a"}},
		{Name: "by name", Request: &vpcv1.ListVSwitchesRequest{Name: "n"}},
		{Name: "by tag", Request: &vpcv1.ListVSwitchesRequest{Tags: []*commonv1.Tag{{Key: "a"}}}},
		{Name: "of all", Request: &vpcv1.ListVSwitchesRequest{}},
		{Request: &vpcv1.ListVSwitchesRequest{VpcId: "v 1", VswitchIds: []string{""}, ZoneId: "c a", Name: link}, Want: []string{
			`vpc_id: "v 1" is not an id of the cloud`, "vswitch_ids[0]: is required", `zone_id: "c a" is not an id of the cloud`,
			"name: must not begin with http:// or https://",
		}},
		{Name: "of the widest", Request: create("10.0.0.0/16")},
		{Name: "of the narrowest", Request: create("10.0.0.8/29")},
		{Name: "too wide", Request: create("10.0.0.0/15"), Want: mask("10.0.0.0/15")},
		{Name: "too narrow", Request: create("10.0.0.0/30"), Want: mask("10.0.0.0/30")},
		{Name: "of IPv6", Request: create("fd00::/16"), Want: mask("fd00::/16")},
		{Name: "of no range", Request: create("10.0.0.0"), Want: []string{`cidr_block: "10.0.0.0" is not of the form "10.1.2.0/24"`}},
		{Request: &vpcv1.CreateVSwitchRequest{CidrBlock: "10.0.0.0/24", Ipv6Subnet: new(int32(256)), Name: link,
			Description: link}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "vpc_id: is required", "zone_id: is required",
			"ipv6_subnet: 256 is out of range, must be 0 to 255",
			"name: must not begin with http:// or https://", "description: must not begin with http:// or https://",
		}},
		{Request: &vpcv1.DeleteVSwitchRequest{VpcId: "vpc-1", VswitchId: "vsw-1"}},
		{Request: &vpcv1.DeleteVSwitchRequest{}, Want: []string{"vswitch_id: is required"}},
	})
}
