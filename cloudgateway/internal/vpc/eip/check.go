package eip

import (
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.GetEipRequest) { c.ID("allocation_id", r.GetAllocationId()) }),
		check.Of(func(c *check.Request, r *vpcv1.ListEipsRequest) {
			c.IDs("allocation_ids", r.GetAllocationIds())
			c.Addresses("ip_addresses", r.GetIpAddresses())
			c.OneOf("status", r.GetStatus(), "Available", "Associating", "InUse", "Unassociating", "Releasing")
			c.Text("name", r.GetName(), 0, 128)
			c.OneOf("associated_instance_type", r.GetAssociatedInstanceType(), InstanceTypes()...)
			c.OptionalID("associated_instance_id", r.GetAssociatedInstanceId())
			if r.GetAssociatedInstanceId() != "" && r.GetAssociatedInstanceType() == "" {
				c.Addf("associated_instance_type", "is required with associated_instance_id")
			}
			c.OptionalID("isp", r.GetIsp())
			check.Enum(c, "instance_charge_type", r.GetInstanceChargeType(), commonv1.ChargeType_name, false)
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
		}),
		check.Of(func(c *check.Request, r *vpcv1.AllocateEipRequest) {
			c.RequestID(r.GetRequestId())
			bandwidth(c, r.GetBandwidthMbps(), 0)
			check.Enum(c, "internet_charge_type", r.GetInternetChargeType(), vpcv1.InternetChargeType_name, false)
			check.Enum(c, "instance_charge_type", r.GetInstanceChargeType(), commonv1.ChargeType_name, false)
			period(c, r)
			c.OptionalID("isp", r.GetIsp())
			c.Name(r.GetName(), 0)
			c.Description(r.GetDescription(), 0)
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
		}),
		check.Of(func(c *check.Request, r *vpcv1.UpdateEipRequest) {
			c.ID("allocation_id", r.GetAllocationId())
			if r.Name != nil {
				c.Name(r.GetName(), 1)
			}
			if r.Description != nil {
				c.Description(r.GetDescription(), 1)
			}
			if r.BandwidthMbps != nil {
				bandwidth(c, r.GetBandwidthMbps(), 1)
			}
			if r.Name == nil && r.Description == nil && r.BandwidthMbps == nil && len(r.GetSetTags()) == 0 && len(r.GetRemoveTagKeys()) == 0 {
				c.Addf("name", "the request changes nothing; at least one attribute is required")
			}
		}),
		check.Of(func(c *check.Request, r *vpcv1.AssociateEipRequest) {
			c.ID("allocation_id", r.GetAllocationId())
			c.ID("instance_id", r.GetInstanceId())
			if r.GetInstanceType() == "" {
				c.Addf("instance_type", "is required, one of %s", strings.Join(InstanceTypes(), ", "))
			}
			c.OneOf("instance_type", r.GetInstanceType(), InstanceTypes()...)
			if r.GetPrivateIpAddress() != "" {
				c.Address("private_ip_address", r.GetPrivateIpAddress())
			}
			c.OneOf("mode", r.GetMode(), "NAT", "BINDED", "MULTI_BINDED")
			if r.GetInstanceType() != networkInterface && (r.GetPrivateIpAddress() != "" || r.GetMode() != "") {
				c.Addf("instance_type", "must be %s where private_ip_address or mode is given", networkInterface)
			}
		}),
		check.Of(func(c *check.Request, r *vpcv1.UnassociateEipRequest) {
			c.ID("allocation_id", r.GetAllocationId())
			c.OptionalID("instance_id", r.GetInstanceId())
		}),
		check.Of(func(c *check.Request, r *vpcv1.ReleaseEipRequest) { c.ID("allocation_id", r.GetAllocationId()) }),
	}
}

// InstanceTypes are what an EIP can be bound to.
func InstanceTypes() []string {
	return []string{"EcsInstance", "SlbInstance", "Nat", "HaVip", networkInterface}
}

// period checks for how long an EIP is paid.
func period(c *check.Request, r *vpcv1.AllocateEipRequest) {
	const months, years = 9, 5
	least, most := int32(0), int32(months)
	if r.GetPricingCycle() == "Year" {
		most = years
	}
	c.OneOf("pricing_cycle", r.GetPricingCycle(), "Month", "Year")
	switch inAdvance := r.GetInstanceChargeType() == payBefore; {
	case inAdvance && r.GetPricingCycle() == "":
		c.Addf("pricing_cycle", "must be Month or Year for %s", payBefore)
	case inAdvance:
		least = 1
	case r.GetPricingCycle() != "" || r.GetPeriod() != 0:
		c.Addf("instance_charge_type", "must be %s where pricing_cycle or period is given", payBefore)
	}
	c.Number("period", r.GetPeriod(), least, most)
}

// bandwidth checks a bandwidth in Mbit/s.
func bandwidth(c *check.Request, value, least int32) {
	const most = 1000
	c.Number("bandwidth_mbps", value, least, most)
}

// networkInterface is the type of instance that has more than one address.
const networkInterface = "NetworkInterface"

// payBefore is what needs a period.
const payBefore = commonv1.ChargeType_CHARGE_TYPE_PRE_PAID
