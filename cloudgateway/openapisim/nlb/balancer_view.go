package nlb

import (
	"cmp"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	normalBusiness = "Normal"
	healthy        = "Healthy"
)

// tagsOf shows tags in lists of load balancers and listeners.
func tagsOf(tags []state.Tag) []api.Object {
	return api.Objects(tags, func(t state.Tag) api.Object { return api.Object{"Key", t.Key, "Value", t.Value} })
}

// twiceNamed shows tags everywhere else: clients of version 1 of the SDK read Key and Value, those of version 2 TagKey and TagValue.
func twiceNamed(tags []state.Tag) []api.Object {
	return api.Objects(tags, func(t state.Tag) api.Object {
		return api.Object{"Key", t.Key, "Value", t.Value, "TagKey", t.Key, "TagValue", t.Value}
	})
}

// account is the id of the account as a number; 0 if it is none.
func account(c *api.Context) int64 {
	id, _ := strconv.ParseInt(c.Account, 10, 64)
	return id
}

func showBalancer(c *api.Context, lb *state.NLB, tags []api.Object) api.Object {
	modification := nonProtection
	if lb.Modification.On {
		modification = consoleProtection
	}
	return api.Spelled(lb.Spelling, api.Object{
		"RegionId", c.Region, "LoadBalancerId", lb.ID, "LoadBalancerName", lb.Name, "LoadBalancerType", balancerType,
		"AddressType", lb.AddressType, "AddressIpVersion", lb.AddressIPVersion, "Ipv6AddressType", cmp.Or(lb.Ipv6AddressType, intranet),
		"LoadBalancerStatus", lb.Status, "LoadBalancerBusinessStatus", cmp.Or(lb.BusinessStatus, normalBusiness),
		"VpcId", lb.VpcID, "CreateTime", stamp(lb.Created),
		"ResourceGroupId", lb.ResourceGroupID, "DNSName", lb.DNSName, "BandwidthPackageId", lb.BandwidthPackageID,
		"CrossZoneEnabled", !lb.CrossZoneOff, "TrafficAffinityEnabled", false, "Cps", api.NonZero(lb.Cps),
		"SecurityGroupIds", lb.SecurityGroupIDs, "LoadBalancerBillingConfig", api.Object{"PayType", payType},
		"DeletionProtectionConfig", showProtection("Enabled", lb.Deletion.On, lb.Deletion),
		"ModificationProtectionConfig", showProtection("Status", modification, lb.Modification),
		"OperationLocks", []api.Object{}, "ZoneMappings", api.Objects(lb.Zones, showZone), "Tags", tags,
	})
}

func showProtection(name string, value any, p state.NLBProtection) api.Object {
	return api.Object{name, value, "EnabledTime", stamp(p.Since), "Reason", p.Reason}
}

func showZone(z *state.NLBZone) api.Object {
	eipType, six := "", ""
	if z.PublicIP != "" {
		eipType = "Common"
	}
	if z.Ipv6Address != "" {
		six = healthy
	}
	return api.Object{
		"ZoneId", z.ZoneID, "VSwitchId", z.VSwitchID, "Status", z.Status, "EipType", eipType,
		"LoadBalancerAddresses", []api.Object{{
			"EniId", z.EniID, "PrivateIPv4Address", z.PrivateIP, "PrivateIPv4HcStatus", healthy, "Ipv6Address", z.Ipv6Address,
			"PrivateIPv6HcStatus", six, "AllocationId", z.AllocationID, "PublicIPv4Address", z.PublicIP,
			"Ipv4LocalAddresses", z.Ipv4LocalAddresses, "Ipv6LocalAddresses", z.Ipv6LocalAddresses,
		}},
	}
}
