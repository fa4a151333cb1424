package networkinterface

import (
	"cmp"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one interface in the answer to DescribeNetworkInterfaces.
func decode(item []byte) (*ecsv1.NetworkInterface, error) {
	n, attachedTo := &ecsv1.NetworkInterface{}, ""
	err := cloud.Decode(item, cloud.Fields{
		"NetworkInterfaceId":   &n.NetworkInterfaceId,
		"InstanceId":           &n.InstanceId,
		"Attachment":           cloud.Fields{"InstanceId": &attachedTo},
		"Type":                 &n.Type,
		"Status":               &n.Status,
		"VpcId":                &n.VpcId,
		"VSwitchId":            &n.VswitchId,
		"ZoneId":               &n.ZoneId,
		"PrivateIpAddress":     &n.PrimaryIp,
		"SourceDestCheck":      &n.SourceDestCheck,
		"PrivateIpSets":        cloud.Fields{"PrivateIpSet": cloud.Texts(&n.PrivateIps, "PrivateIpAddress")},
		"Ipv6Sets":             cloud.Fields{"Ipv6Set": cloud.Texts(&n.Ipv6Addresses, "Ipv6Address")},
		"NetworkInterfaceName": &n.Name,
		"Description":          &n.Description,
		"MacAddress":           &n.MacAddress,
		"CreationTime":         cloud.Via(&n.CreationTime, cloud.Time),
		"ResourceGroupId":      &n.ResourceGroupId,
		"DeleteOnRelease":      &n.DeleteOnRelease,
		"ServiceManaged":       &n.ServiceManaged,
		"SecurityGroupIds":     cloud.Fields{"SecurityGroupId": &n.SecurityGroupIds},
		"AssociatedPublicIp":   cloud.Fields{"PublicIpAddress": &n.Eip},
		"Ipv4PrefixSets":       cloud.Fields{"Ipv4PrefixSet": cloud.Texts(&n.Ipv4Prefixes, "Ipv4Prefix")},
		"Ipv6PrefixSets":       cloud.Fields{"Ipv6PrefixSet": cloud.Texts(&n.Ipv6Prefixes, "Ipv6Prefix")},
		"Tags":                 cloud.TagsInto(&n.Tags),
	})
	n.InstanceId = cmp.Or(n.GetInstanceId(), attachedTo)
	if len(n.GetPrivateIps()) == 0 && n.GetPrimaryIp() != "" {
		n.PrivateIps = []string{n.GetPrimaryIp()}
	}
	return n, err
}
