package loadbalancer

import (
	"strings"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
)

const consoleProtection = "ConsoleProtection"

// zoneParams encode zones.
func zoneParams(p cloud.Params, zones []*nlbv1.ZoneMapping) cloud.Params {
	items := make([]cloud.Params, len(zones))
	for i, z := range zones {
		items[i] = cloud.Params{
			"ZoneId": z.GetZoneId(), "VSwitchId": z.GetVswitchId(), "AllocationId": z.GetAllocationId(),
			"PrivateIPv4Address": z.GetPrivateIpv4Address(),
		}
	}
	return nlb.Structs(p, "ZoneMappings", items)
}

func createParams(r *nlbv1.CreateLoadBalancerRequest) cloud.Params {
	p := cloud.Tags(zoneParams(cloud.Params{}, r.GetZoneMappings()), r.GetTags()).
		With("LoadBalancerName", r.GetName()).
		With("VpcId", r.GetVpcId()).
		With("AddressType", cloud.Word(r.GetAddressType())).
		With("AddressIpVersion", family(r.GetIpVersion())).
		With("BandwidthPackageId", r.GetBandwidthPackageId()).
		With("ResourceGroupId", r.GetResourceGroupId()).
		List("SecurityGroupIds", r.GetSecurityGroupIds())
	if r.GetDeletionProtection().GetEnabled() {
		p.With("DeletionProtectionConfig.Enabled", "true").With("DeletionProtectionConfig.Reason", r.GetDeletionProtection().GetReason())
	}
	if r.GetModificationProtection().GetEnabled() {
		p.With("ModificationProtectionConfig.Status", consoleProtection).
			With("ModificationProtectionConfig.Reason", r.GetModificationProtection().GetReason())
	}
	return p
}

// family is the cloud's word, which has a small letter where its documents don't say so.
func family(v nlbv1.IpVersion) string { return strings.Replace(cloud.Word(v), "Ipv4", "ipv4", 1) }

// protectionParams encode what is to be protected, if anything is said of it.
func protectionParams(deletion, modification *nlbv1.Protection) cloud.Params {
	p := cloud.Params{}
	if deletion != nil {
		p.Bool("DeletionProtectionEnabled", new(deletion.GetEnabled())).With("DeletionProtectionReason", deletion.GetReason())
	}
	if modification != nil {
		p.With("ModificationProtectionStatus", "NonProtection")
		if modification.GetEnabled() {
			p.With("ModificationProtectionStatus", consoleProtection).With("ModificationProtectionReason", modification.GetReason())
		}
	}
	return p
}

// decode reads one instance in the answer to ListLoadBalancers.
func decode(item []byte) (*nlbv1.LoadBalancer, error) {
	lb := &nlbv1.LoadBalancer{DeletionProtection: &nlbv1.Protection{}, ModificationProtection: &nlbv1.Protection{}}
	err := cloud.Decode(item, cloud.Fields{
		"LoadBalancerId":             cloud.Required(&lb.LoadBalancerId),
		"LoadBalancerName":           &lb.Name,
		"LoadBalancerStatus":         cloud.Via(&lb.Status, cloud.Named),
		"LoadBalancerBusinessStatus": cloud.Via(&lb.BusinessStatus, cloud.Named),
		"DNSName":                    &lb.DnsName,
		"VpcId":                      &lb.VpcId,
		"AddressType":                cloud.Via(&lb.AddressType, cloud.Named),
		"AddressIpVersion":           cloud.Via(&lb.IpVersion, cloud.Named),
		"Ipv6AddressType":            cloud.Via(&lb.Ipv6AddressType, cloud.Named),
		"ZoneMappings":               cloud.Each(&lb.ZoneMappings, decodeZone),
		"SecurityGroupIds":           &lb.SecurityGroupIds,
		"BandwidthPackageId":         &lb.BandwidthPackageId,
		"CrossZoneEnabled":           &lb.CrossZoneEnabled,
		"Cps":                        &lb.Cps,
		"DeletionProtectionConfig":   cloud.Fields{"Enabled": &lb.DeletionProtection.Enabled, "Reason": &lb.DeletionProtection.Reason},
		"ModificationProtectionConfig": cloud.Fields{
			"Status": cloud.Via(&lb.ModificationProtection.Enabled, func(word string) bool { return strings.EqualFold(word, consoleProtection) }),
			"Reason": &lb.ModificationProtection.Reason,
		},
		"ResourceGroupId": &lb.ResourceGroupId,
		"CreateTime":      cloud.Via(&lb.CreationTime, cloud.Time),
		"Tags":            cloud.TagsInto(&lb.Tags),
	})
	if lb.GetIpVersion() != nlbv1.IpVersion_IP_VERSION_DUAL_STACK {
		lb.Ipv6AddressType = nlbv1.AddressType_ADDRESS_TYPE_UNSPECIFIED // the cloud says Intranet of those that have no IPv6
	}
	return lb, err
}

func decodeZone(item []byte) (*nlbv1.ZoneMapping, error) {
	z, first := &nlbv1.ZoneMapping{}, true
	return z, cloud.Decode(item, cloud.Fields{
		"ZoneId": &z.ZoneId, "VSwitchId": &z.VswitchId,
		"Status": cloud.Via(&z.Shifted, func(word string) bool { return strings.EqualFold(word, "Shifted") }),
		"LoadBalancerAddresses": cloud.Each(new([]bool), func(address []byte) (bool, error) {
			if !first {
				return false, nil // An instance has one interface in a zone.
			}
			first = false
			return true, cloud.Decode(address, cloud.Fields{
				"EniId": &z.NetworkInterfaceId, "PrivateIPv4Address": &z.PrivateIpv4Address, "PublicIPv4Address": &z.PublicIpv4Address,
				"Ipv6Address": &z.Ipv6Address, "AllocationId": &z.AllocationId,
			})
		}),
	})
}
