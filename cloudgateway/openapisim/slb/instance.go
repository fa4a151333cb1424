package slb

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Values of load balancer parameters.
const (
	payBySpec       = "PayBySpec"
	elasticSpec     = "slb.lcu.elastic"
	payByCLCU       = "PayByCLCU"
	payByTraffic    = "paybytraffic"
	payByBandwidth  = "paybybandwidth"
	payOnDemand     = "PayOnDemand"
	prePay          = "PrePay"
	internet        = "internet"
	intranet        = "intranet"
	on              = "on"
	off             = "off"
	nonProtection   = "NonProtection"
	consoleProtect  = "ConsoleProtection"
	greatestTraffic = 5120 // Mbit/s, the greatest bandwidth that can be set

	defaultName          = "auto_named_slb"
	defaultResourceGroup = state.DefaultResourceGroup

	creation = "slb/CreateLoadBalancer" // the operation that takes a ClientToken
)

func specs() []string {
	return []string{"slb.s1.small", "slb.s2.small", "slb.s2.medium", "slb.s3.small", "slb.s3.medium", "slb.s3.large", "slb.s4.large"}
}

func instanceActions() []api.Action {
	return []api.Action{
		api.Write("CreateLoadBalancer", clienttoken.Once(creation, created, createLoadBalancer),
			api.Words(`ActionNotAllowed Duplicate.TagKey IdempotentParameterMismatch IllegalParam.InstanceChargeType
				IllegalParam.SpecType InvalidParam.ModificationProtectionReason
				InvalidParam.ModificationProtectionStatus InvalidParam.TagKey InvalidParam.TagValue InvalidParameter
				InvalidParameter.Bandwidth InvalidParameter.Mismatch InvalidVSwitchId.NotFound InvalidVpcId.NotExist
				MissingParam.LoadBalancerSpec MissingParam.TagKey MissingParam.VSwitchId MissingParameter OverQuota
				SizeLimitExceeded.Tag VSwitchAvailableIpNotExist`), append(subscriptionParams(), region(), api.Optional("Address"),
				api.OneOf("AddressIPVersion", "ipv4", "ipv6"), api.OneOf("AddressType", internet, intranet),
				api.Number("Bandwidth", 0, 0), api.Optional("ClientToken"), api.OneOf("DeleteProtection", on, off),
				api.Optional("InstanceChargeType"), api.OneOf("InternetChargeType", payByTraffic, payByBandwidth),
				api.Optional("LoadBalancerName"), api.Optional("LoadBalancerSpec"), api.Optional("MasterZoneId"),
				api.Optional("SlaveZoneId"), api.Optional("ModificationProtectionStatus"),
				api.Optional("ModificationProtectionReason"), api.OneOf("PayType", payOnDemand, prePay),
				api.Optional("ResourceGroupId"), tags.Uncounted(), api.Optional("VpcId"), api.Optional("VSwitchId"))...),
		api.Write("DeleteLoadBalancer", api.On(loadBalancer, deleteLoadBalancer),
			api.Words("InvalidChargeType InvalidLoadBalancerId.NotFound OperationDenied.DeleteProtectionIsOn"),
			region(), api.Required("LoadBalancerId")),
	}
}

func createLoadBalancer(c *api.Context) (string, *api.Error) {
	lb, err := newLoadBalancer(c)
	if err != nil {
		return "", err
	}
	if limit := c.Settings.Quotas.LoadBalancers; len(c.State.LoadBalancers) >= limit {
		return "", api.BadRequest("OverQuota", "The number of load balancers exceeds the quota of %d.", limit)
	}
	vsw := c.State.VSwitches[lb.VSwitchID] // nil for an internet load balancer
	if vsw == nil {
		lb.Address = internetAddress(c, lb.AddressIPVersion)
	} else if lb.Address, err = intranetAddress(c, vsw, c.Get("Address")); err != nil {
		return "", err
	}
	lb.ID = c.NewID("lb-bp1")
	c.State.LoadBalancers[lb.ID] = lb
	return lb.ID, nil
}

func created(c *api.Context, id string) any {
	lb := c.State.LoadBalancers[id]
	if lb == nil { // deleted since; a repeated call still names it
		lb = &state.LoadBalancer{ID: id, Name: c.Get("LoadBalancerName")}
	}
	return api.Object{
		"LoadBalancerId", lb.ID, "LoadBalancerName", lb.Name, "Address", lb.Address,
		"AddressIPVersion", lb.Spelling.Of("AddressIPVersion", lb.AddressIPVersion), "NetworkType", lb.NetworkType, "VpcId", lb.VpcID,
		"VSwitchId", lb.VSwitchID, "ResourceGroupId", lb.ResourceGroupID,
	}
}

// newLoadBalancer checks the parameters and returns a load balancer that has neither an id nor an address yet.
func newLoadBalancer(c *api.Context) (*state.LoadBalancer, *api.Error) {
	lb := &state.LoadBalancer{
		Name:               cmp.Or(c.Get("LoadBalancerName"), defaultName),
		AddressIPVersion:   cmp.Or(c.Get("AddressIPVersion"), "ipv4"),
		InstanceChargeType: cmp.Or(c.Get("InstanceChargeType"), usualCharge(c)),
		InternetChargeType: cmp.Or(c.Get("InternetChargeType"), payByTraffic),
		PayType:            cmp.Or(c.Get("PayType"), payOnDemand),
		DeleteProtection:   cmp.Or(c.Get("DeleteProtection"), off),
		ModificationStatus: cmp.Or(c.Get("ModificationProtectionStatus"), nonProtection),
		ModificationReason: c.Get("ModificationProtectionReason"),
		ResourceGroupID:    cmp.Or(c.Get("ResourceGroupId"), defaultResourceGroup),
		Created:            c.Now,
		Status:             active,
	}
	if d := c.Settings.LoadBalancerActive; d > 0 {
		lb.Status, lb.ActiveAt = inactive, c.Now.Add(d)
	}
	keepIndexed(c, lb)
	c.Keep("", &lb.Spelling)
	var err *api.Error
	if lb.Tags, err = newTags(c); err != nil {
		return nil, err
	}
	for _, check := range []func(*api.Context, *state.LoadBalancer) *api.Error{setNetwork, setZones, setCharges, checkProtection} {
		if err := check(c, lb); err != nil {
			return nil, err
		}
	}
	if !validName(lb.Name) {
		return nil, api.Invalid("LoadBalancerName")
	}
	return lb, nil
}

// setNetwork decides where the load balancer stands. A vSwitch alone means intranet.
func setNetwork(c *api.Context, lb *state.LoadBalancer) *api.Error {
	lb.AddressType = c.Get("AddressType")
	if lb.AddressType == "" {
		lb.AddressType = internet
		if c.Has("VSwitchId") {
			lb.AddressType = intranet
		}
	}
	if lb.AddressType == internet {
		lb.NetworkType = "classic"
		return nil
	}
	switch vsw := c.State.VSwitches[c.Get("VSwitchId")]; {
	case lb.AddressIPVersion == "ipv6":
		return api.BadRequest("InvalidParameter", "An intranet load balancer does not support AddressIPVersion ipv6.")
	case c.Has("VpcId") && c.State.Vpcs[c.Get("VpcId")] == nil:
		return api.BadRequest("InvalidVpcId.NotExist", "The specified VpcId does not exist.")
	case !c.Has("VSwitchId"):
		return api.BadRequest("MissingParam.VSwitchId", "The parameter VSwitchId is required for an intranet load balancer.")
	case vsw == nil:
		return api.BadRequest("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	case c.Has("VpcId") && vsw.VpcID != c.Get("VpcId"):
		return api.BadRequest("InvalidParameter.Mismatch", "The specified VSwitch is not in the specified VPC.")
	default:
		lb.NetworkType, lb.VpcID, lb.VSwitchID = "vpc", vsw.VpcID, vsw.ID
		return nil
	}
}

func setZones(c *api.Context, lb *state.LoadBalancer) *api.Error {
	all := regions.Zones(c)
	lb.MasterZoneID, lb.SlaveZoneID = c.Get("MasterZoneId"), c.Get("SlaveZoneId")
	for _, name := range []string{"MasterZoneId", "SlaveZoneId"} {
		if c.Has(name) && !strings.HasPrefix(c.Get(name), c.Region) {
			return api.Invalid(name)
		}
	}
	if lb.MasterZoneID == "" {
		lb.MasterZoneID = all[0]
		if vsw := c.State.VSwitches[lb.VSwitchID]; vsw != nil && vsw.ZoneID != "" {
			lb.MasterZoneID = vsw.ZoneID
		}
	}
	if lb.SlaveZoneID == "" {
		i := slices.IndexFunc(all, func(zone string) bool { return zone != lb.MasterZoneID })
		lb.SlaveZoneID = all[i]
	}
	return nil
}

func setCharges(c *api.Context, lb *state.LoadBalancer) *api.Error {
	if lb.AddressType == intranet && lb.InternetChargeType == payByBandwidth {
		return api.BadRequest("ActionNotAllowed", "The Intranet LB's InternetChargeType is not allowed change to paybybandwidth")
	}
	if err := checkSold(c, lb); err != nil {
		return err
	}
	switch lb.InstanceChargeType {
	case payByCLCU:
		if lb.InternetChargeType == payByBandwidth {
			return api.Invalid("InternetChargeType")
		}
	case payBySpec:
		lb.Spec = c.Get("LoadBalancerSpec")
		if lb.Spec == "" {
			return api.BadRequest("MissingParam.LoadBalancerSpec", "The parameter LoadBalancerSpec is required.")
		}
		if !slices.Contains(specs(), lb.Spec) {
			return api.BadRequest("IllegalParam.SpecType", "The specified LoadBalancerSpec %s is not valid.", lb.Spec)
		}
	default:
		return api.BadRequest("IllegalParam.InstanceChargeType", "The specified InstanceChargeType is not valid.")
	}
	if lb.PayType == prePay {
		if err := checkSubscription(c, lb); err != nil {
			return err
		}
		lb.PaidUntil = paidUntil(c) // an order for a new load balancer counts as paid, whatever AutoPay says
	}
	lb.Bandwidth = greatestTraffic
	if lb.InternetChargeType == payByBandwidth {
		lb.Bandwidth = 1
	}
	if c.Has("Bandwidth") {
		lb.Bandwidth = c.Int("Bandwidth", 0)
		if lb.Bandwidth < 1 || lb.Bandwidth > greatestTraffic {
			return invalidBandwidth()
		}
	}
	return nil
}

// usualCharge is how a load balancer is charged if the call doesn't say: by use, or by its specification when these were sold. A
// specification alone is ignored: the existing controllers' own tests make load balancers so, months after the end of sale, and could not
// run if it were refused.
func usualCharge(c *api.Context) string {
	if c.Settings.SpecificationsNotSold {
		return payByCLCU
	}
	return payBySpec
}

// checkSold refuses ways of charging that new load balancers can't have any more. The documents of CreateLoadBalancer list the
// codes for values that are not allowed; which of them answers here is not published.
func checkSold(c *api.Context, lb *state.LoadBalancer) *api.Error {
	switch {
	case lb.InstanceChargeType == payBySpec && c.Settings.SpecificationsNotSold:
		return api.BadRequest("IllegalParam.InstanceChargeType",
			"The specified InstanceChargeType is not valid: new load balancers are PayByCLCU.")
	case lb.PayType == prePay && c.Settings.SubscriptionsNotSold:
		return api.Invalid("PayType")
	}
	return nil
}

func invalidBandwidth() *api.Error {
	return api.BadRequest("InvalidParameter.Bandwidth", "The specified Bandwidth is not in the range of 1 to %d.", greatestTraffic)
}

func checkProtection(_ *api.Context, lb *state.LoadBalancer) *api.Error {
	if lb.ModificationStatus != nonProtection && lb.ModificationStatus != consoleProtect {
		return api.BadRequest("InvalidParam.ModificationProtectionStatus", "The specified ModificationProtectionStatus is not valid.")
	}
	if utf8.RuneCountInString(lb.ModificationReason) > 80 {
		return api.BadRequest("InvalidParam.ModificationProtectionReason",
			"The specified ModificationProtectionReason is longer than 80 characters.")
	}
	if lb.ModificationStatus == nonProtection {
		lb.ModificationReason = ""
	}
	return nil
}

func validName(name string) bool {
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= 80
}

func deleteLoadBalancer(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	switch {
	case lb.DeleteProtection == on:
		return nil, api.BadRequest("OperationDenied.DeleteProtectionIsOn", "The operation is not allowed because delete protection is on.")
	case lb.PayType == prePay:
		return nil, api.BadRequest("InvalidChargeType", "A subscription load balancer cannot be deleted.")
	}
	for _, g := range slices.Collect(c.State.Groups(lb.ID)) {
		c.State.RemoveGroup(g)
	}
	c.State.Attach(lb.ID, nil, lb.DefaultServers)
	for _, eip := range c.State.Eips {
		if eip.InstanceID == lb.ID {
			eip.InstanceID, eip.InstanceType, eip.Status, eip.BusyUntil = "", "", "Available", time.Time{}
		}
	}
	delete(c.State.LoadBalancers, lb.ID)
	return nil, nil
}
