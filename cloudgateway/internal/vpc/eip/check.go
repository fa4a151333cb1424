package eip

import (
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(checkPeriod),
		check.Of(func(c *check.Request, r *vpcv1.AssociateEipRequest) {
			if r.GetInstanceType() != networkInterface && (r.GetPrivateIpAddress() != "" || r.GetMode() != "") {
				c.Addf("instance_type", "must be %s where private_ip_address or mode is given", networkInterface)
			}
		}),
	}
}

// checkPeriod checks for how long an EIP is paid.
func checkPeriod(c *check.Request, r *vpcv1.AllocateEipRequest) {
	const months, years = 9, 5
	least, most := int32(0), int32(months)
	if r.GetPricingCycle() == "Year" {
		most = years
	}
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

// networkInterface is the type of instance that has more than one address.
const networkInterface = "NetworkInterface"

// payBefore is what needs a period.
const payBefore = commonv1.ChargeType_CHARGE_TYPE_PRE_PAID
