package eip

import (
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const link, id = "https://example.com", "eip-1"
	const types = "EcsInstance, SlbInstance, Nat, HaVip, NetworkInterface"
	const prepaid = "CHARGE_TYPE_PRE_PAID"
	tags := []*commonv1.Tag{{Key: "a"}}
	paid := func(cycle string, period int32) *vpcv1.AllocateEipRequest {
		return &vpcv1.AllocateEipRequest{RequestId: "r", InstanceChargeType: payBefore, PricingCycle: cycle, Period: period}
	}
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &vpcv1.GetEipRequest{AllocationId: id}},
		{Request: &vpcv1.GetEipRequest{}, Want: []string{"allocation_id: is required"}},
		{Name: "of all", Request: &vpcv1.ListEipsRequest{}},
		{Name: "of an instance", Request: &vpcv1.ListEipsRequest{AssociatedInstanceType: "Nat", AssociatedInstanceId: "ngw-1"}},
		{Name: "of an instance of no type", Request: &vpcv1.ListEipsRequest{AssociatedInstanceId: "ngw-1"}, Want: []string{
			"associated_instance_type: is required with associated_instance_id",
		}},
		{Request: &vpcv1.ListEipsRequest{
			AllocationIds: []string{""}, IpAddresses: []string{"x"}, Status: "Idle", Name: strings.Repeat("x", 129), AssociatedInstanceType: "Car",
			AssociatedInstanceId: "c 1", Isp: "B P", InstanceChargeType: 9, ResourceGroupId: "r 1",
		}, Want: []string{
			"allocation_ids[0]: is required", `ip_addresses[0]: "x" is not an IP address`,
			`status: "Idle" is not one of Available, Associating, InUse, Unassociating, Releasing`, "name: is 129 characters long, must be 0 to 128",
			`associated_instance_type: "Car" is not one of ` + types, `associated_instance_id: "c 1" is not an id of the cloud`,
			`isp: "B P" is not an id of the cloud`, "instance_charge_type: 9 is not known to this gateway",
			`resource_group_id: "r 1" is not an id of the cloud`,
		}},
		{Request: &vpcv1.AllocateEipRequest{RequestId: "r", BandwidthMbps: 1000}},
		{Request: &vpcv1.AllocateEipRequest{
			BandwidthMbps: 1001, InternetChargeType: 9, InstanceChargeType: 9, Isp: "B P", Name: link, Description: link, ResourceGroupId: "r 1",
		}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "bandwidth_mbps: 1001 is out of range, must be 0 to 1000",
			"internet_charge_type: 9 is not known to this gateway", "instance_charge_type: 9 is not known to this gateway",
			`isp: "B P" is not an id of the cloud`, "name: must not begin with http:// or https://",
			"description: must not begin with http:// or https://", `resource_group_id: "r 1" is not an id of the cloud`,
		}},
		{Name: "for nine months", Request: paid("Month", 9)},
		{Name: "for ten months", Request: paid("Month", 10), Want: []string{"period: 10 is out of range, must be 1 to 9"}},
		{Name: "for no month", Request: paid("Month", 0), Want: []string{"period: 0 is out of range, must be 1 to 9"}},
		{Name: "for five years", Request: paid("Year", 5)},
		{Name: "for six years", Request: paid("Year", 6), Want: []string{"period: 6 is out of range, must be 1 to 5"}},
		{Name: "for decades", Request: paid("Decade", 1), Want: []string{`pricing_cycle: "Decade" is not one of Month, Year`}},
		{Name: "in advance for how long", Request: paid("", 0), Want: []string{"pricing_cycle: must be Month or Year for " + prepaid}},
		{Name: "for a period, not in advance", Request: &vpcv1.AllocateEipRequest{RequestId: "r", Period: 1}, Want: []string{
			"instance_charge_type: must be " + prepaid + " where pricing_cycle or period is given",
		}},
		{Name: "by months, not in advance", Request: &vpcv1.AllocateEipRequest{RequestId: "r", PricingCycle: "Month"}, Want: []string{
			"instance_charge_type: must be " + prepaid + " where pricing_cycle or period is given",
		}},
		{Name: "of the name", Request: &vpcv1.UpdateEipRequest{AllocationId: id, Name: new("n")}},
		{Name: "of the description", Request: &vpcv1.UpdateEipRequest{AllocationId: id, Description: new("d")}},
		{Name: "of the bandwidth", Request: &vpcv1.UpdateEipRequest{AllocationId: id, BandwidthMbps: new(int32(1))}},
		{Name: "of a tag", Request: &vpcv1.UpdateEipRequest{AllocationId: id, SetTags: tags}},
		{Name: "without a tag", Request: &vpcv1.UpdateEipRequest{AllocationId: id, RemoveTagKeys: []string{"a"}}},
		{Name: "of nothing", Request: &vpcv1.UpdateEipRequest{AllocationId: id}, Want: []string{
			"name: at least one of name, description, bandwidth_mbps, set_tags, remove_tag_keys is required",
		}},
		{Request: &vpcv1.UpdateEipRequest{Name: new(""), Description: new(""), BandwidthMbps: new(int32(0))}, Want: []string{
			"allocation_id: is required", "name: is 0 characters long, must be 1 to 128", "description: is 0 characters long, must be 1 to 256",
			"bandwidth_mbps: 0 is out of range, must be 1 to 1000",
		}},
		{Request: &vpcv1.AssociateEipRequest{AllocationId: id, InstanceId: "i-1", InstanceType: "EcsInstance"}},
		{Name: "to an interface", Request: &vpcv1.AssociateEipRequest{
			AllocationId: id, InstanceId: "eni-1", InstanceType: "NetworkInterface", PrivateIpAddress: "10.0.0.1", Mode: "BINDED",
		}},
		{Name: "with an address of no interface", Request: &vpcv1.AssociateEipRequest{
			AllocationId: id, InstanceId: "i-1", InstanceType: "EcsInstance", PrivateIpAddress: "x",
		}, Want: []string{
			`private_ip_address: "x" is not an IP address`, "instance_type: must be NetworkInterface where private_ip_address or mode is given",
		}},
		{Name: "with a mode of no interface", Request: &vpcv1.AssociateEipRequest{
			AllocationId: id, InstanceId: "i-1", InstanceType: "EcsInstance", Mode: "LOOSE",
		}, Want: []string{
			`mode: "LOOSE" is not one of NAT, BINDED, MULTI_BINDED`,
			"instance_type: must be NetworkInterface where private_ip_address or mode is given",
		}},
		{Request: &vpcv1.AssociateEipRequest{InstanceType: "Car"}, Want: []string{
			"allocation_id: is required", "instance_id: is required", `instance_type: "Car" is not one of ` + types,
		}},
		{Name: "to no type", Request: &vpcv1.AssociateEipRequest{AllocationId: id, InstanceId: "i-1"},
			Want: []string{"instance_type: is required, one of " + types}},
		{Request: &vpcv1.UnassociateEipRequest{AllocationId: id}},
		{Request: &vpcv1.UnassociateEipRequest{InstanceId: "i 1"}, Want: []string{"allocation_id: is required",
			`instance_id: "i 1" is not an id of the cloud`}},
		{Request: &vpcv1.ReleaseEipRequest{AllocationId: id}},
		{Request: &vpcv1.ReleaseEipRequest{}, Want: []string{"allocation_id: is required"}},
	})
}
