package loadbalancer

import (
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const id, most = "lb-1", 5120
	long := strings.Repeat("x", 81)
	tags := []*commonv1.Tag{{Key: "a"}}
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, ServerGroupIds: []string{"rsp-1"},
			ServerGroupNamePrefixes: []string{long[:80]}}},
		{Request: &slbv1.GetLoadBalancerRequest{View: 9, ServerGroupIds: []string{"rsp 1"},
			ServerGroupNamePrefixes: []string{"", long}}, Want: []string{
			"load_balancer_id: is required", "view: 9 is not known to this gateway", `server_group_ids[0]: "rsp 1" is not an id of the cloud`,
			"server_group_name_prefixes[0]: is 0 characters long, must be 1 to 80",
			"server_group_name_prefixes[1]: is 81 characters long, must be 1 to 80",
		}},
		{Name: "of too many prefixes", Request: &slbv1.GetLoadBalancerRequest{LoadBalancerId: id,
			ServerGroupNamePrefixes: make([]string, 20_001)}, Want: []string{
			"server_group_name_prefixes: has 20001 items, at most 20000 are allowed",
		}},
		{Name: "by id", Request: &slbv1.ListLoadBalancersRequest{LoadBalancerIds: []string{id}}},
		{Name: "by tag", Request: &slbv1.ListLoadBalancersRequest{Tags: tags}},
		{Name: "by another filter", Request: &slbv1.ListLoadBalancersRequest{Address: "10.0.0.1"}},
		{Name: "by the longest name", Request: &slbv1.ListLoadBalancersRequest{Name: strings.Repeat("x", 128)}},
		{Name: "by too long a name", Request: &slbv1.ListLoadBalancersRequest{Name: strings.Repeat("x", 129)}, Want: []string{
			"name: is 129 characters long, must be 0 to 128",
		}},
		{Name: "of all", Request: &slbv1.ListLoadBalancersRequest{}},
		{Request: &slbv1.ListLoadBalancersRequest{
			Name: "a,b", LoadBalancerIds: []string{""}, Address: "x", AddressType: 9, IpVersion: 9, VpcId: "v 1",
			VswitchId: "w 1", PrimaryZoneId: "m 1",
			StandbyZoneId: "s 1", ResourceGroupId: "r 1", ServerId: "i 1", ServerAddress: "i-1", Status: "busy", InternetChargeType: 9,
		}, Want: []string{
			`name: "a,b" contains a comma, which the cloud takes for a list`, "load_balancer_ids[0]: is required",
			`address: "x" is not an IP address`,
			"address_type: 9 is not known to this gateway", "ip_version: 9 is not known to this gateway", `vpc_id: "v 1" is not an id of the cloud`,
			`vswitch_id: "w 1" is not an id of the cloud`, `primary_zone_id: "m 1" is not an id of the cloud`,
			`standby_zone_id: "s 1" is not an id of the cloud`, `resource_group_id: "r 1" is not an id of the cloud`,
			`server_id: "i 1" is not an id of the cloud`, `server_address: "i-1" is not an IP address`,
			`status: "busy" is not one of active, inactive, locked`, "internet_charge_type: 9 is not known to this gateway",
		}},
		{Request: &slbv1.ListAvailableZonesRequest{}},
		{Request: &slbv1.ListAvailableZonesRequest{AddressType: 9, IpVersion: 9}, Want: []string{
			"address_type: 9 is not known to this gateway", "ip_version: 9 is not known to this gateway",
		}},
		{Name: "with defaults", Request: &slbv1.CreateLoadBalancerRequest{RequestId: "r"}},
		{Name: "on the internet", Request: &slbv1.CreateLoadBalancerRequest{
			RequestId: "r", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small", BandwidthMbps: most,
			InstanceChargeType:     slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC,
			ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: long[:80]},
		}},
		{Name: "on the internet in a vSwitch", Request: &slbv1.CreateLoadBalancerRequest{
			RequestId: "r", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, VswitchId: "vsw-1",
		}, Want: []string{"vswitch_id: is for intranet instances only"}},
		{Name: "in a vSwitch", Request: &slbv1.CreateLoadBalancerRequest{
			RequestId: "r", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, VswitchId: "vsw-1", Address: "10.0.0.1",
		}},
		{Request: &slbv1.CreateLoadBalancerRequest{
			RequestId: "not ascii: é", Name: long, AddressType: slbv1.AddressType_ADDRESS_TYPE_INTRANET, IpVersion: 9,
			Address: "1.2.3", VpcId: "v 1",
			PrimaryZoneId: "m 1", StandbyZoneId: "s 1", InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC,
			InternetChargeType: 9, BandwidthMbps: most + 1, ModificationProtection: &slbv1.ModificationProtection{Reason: "x"},
			ResourceGroupId: "r 1",
		}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "name: is 81 characters long, must be 0 to 80",
			"ip_version: 9 is not known to this gateway", `address: "1.2.3" is not an IP address`, `vpc_id: "v 1" is not an id of the cloud`,
			"vswitch_id: is required for an intranet instance", `primary_zone_id: "m 1" is not an id of the cloud`,
			`standby_zone_id: "s 1" is not an id of the cloud`, "spec: is required for PayBySpec",
			"internet_charge_type: 9 is not known to this gateway",
			"bandwidth_mbps: 5121 is out of range, must be 0 to 5120", "modification_protection.enabled: is required with reason",
			`resource_group_id: "r 1" is not an id of the cloud`,
		}},
		{Name: "with wrong words", Request: &slbv1.CreateLoadBalancerRequest{
			RequestId: "r", AddressType: 9, VswitchId: "w 1", Spec: "s 1", InstanceChargeType: 9,
			ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: long},
		}, Want: []string{
			"address_type: 9 is not known to this gateway", `vswitch_id: "w 1" is not an id of the cloud`, `spec: "s 1" is not an id of the cloud`,
			"instance_charge_type: 9 is not known to this gateway", "modification_protection.reason: is 81 characters long, must be 0 to 80",
		}},
		{Name: "of the name", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, Name: new("n")}},
		{Name: "of the charge type", Request: &slbv1.UpdateLoadBalancerRequest{
			LoadBalancerId: id, InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU.Enum(),
		}},
		{Name: "of the spec", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, Spec: new("slb.s1.small")}},
		{Name: "of the bandwidth", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id,
			InternetSpec: &slbv1.InternetSpec{BandwidthMbps: 1}}},
		{Name: "of the charge by traffic", Request: &slbv1.UpdateLoadBalancerRequest{
			LoadBalancerId: id, InternetSpec: &slbv1.InternetSpec{ChargeType: slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC},
		}},
		{Name: "of the deletion protection", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, DeleteProtection: new(false)}},
		{Name: "of the modification protection", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id,
			ModificationProtection: &slbv1.ModificationProtection{}}},
		{Name: "of a tag", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, SetTags: tags}},
		{Name: "without a tag", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, RemoveTagKeys: []string{"a"}}},
		{Name: "of the resource group", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, ResourceGroupId: new("rg-1")}},
		{Name: "of the status", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id, Active: new(false)}},
		{Name: "of nothing", Request: &slbv1.UpdateLoadBalancerRequest{LoadBalancerId: id}, Want: []string{
			"name: at least one of name, instance_charge_type, spec, internet_spec, delete_protection, modification_protection, " +
				"set_tags, remove_tag_keys, resource_group_id, active is required",
		}},
		{Request: &slbv1.UpdateLoadBalancerRequest{
			Name: new(""), Spec: new(""), InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_UNSPECIFIED.Enum(),
			InternetSpec: &slbv1.InternetSpec{}, ModificationProtection: &slbv1.ModificationProtection{Reason: "x"}, ResourceGroupId: new(""),
		}, Want: []string{
			"load_balancer_id: is required", "name: is 0 characters long, must be 1 to 80", "instance_charge_type: is required", "spec: is required",
			"internet_spec.charge_type: at least one of charge_type, bandwidth_mbps is required",
			"modification_protection.enabled: is required with reason",
			"resource_group_id: is required",
		}},
		{Name: "of wrong numbers", Request: &slbv1.UpdateLoadBalancerRequest{
			LoadBalancerId: id, InternetSpec: &slbv1.InternetSpec{ChargeType: 9, BandwidthMbps: most + 1},
		}, Want: []string{
			"internet_spec.charge_type: 9 is not known to this gateway", "internet_spec.bandwidth_mbps: 5121 is out of range, must be 0 to 5120",
		}},
		{Request: &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: id}},
		{Request: &slbv1.DeleteLoadBalancerRequest{}, Want: []string{"load_balancer_id: is required"}},
	})
}
