package instance

import (
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one instance in the answer to DescribeInstances.
func decode(item []byte) (*ecsv1.Instance, error) {
	i := &ecsv1.Instance{}
	var interfaces []networkInterface
	err := cloud.Decode(item, cloud.Fields{
		"InstanceId":         &i.InstanceId,
		"RegionId":           &i.RegionId,
		"ZoneId":             &i.ZoneId,
		"InstanceType":       &i.InstanceType,
		"InstanceName":       &i.Name,
		"HostName":           &i.HostName,
		"Status":             &i.Status,
		"InstanceChargeType": cloud.Via(&i.ChargeType, cloud.Named),
		"SpotStrategy":       &i.SpotStrategy,
		"InnerIpAddress":     cloud.Fields{"IpAddress": &i.InnerIps},
		"PublicIpAddress":    cloud.Fields{"IpAddress": &i.PublicIps},
		"EipAddress":         cloud.Fields{"IpAddress": &i.Eip},
		"VpcAttributes": cloud.Fields{
			"VpcId": &i.VpcId, "VSwitchId": &i.VswitchId, "PrivateIpAddress": cloud.Fields{"IpAddress": &i.PrivateIps},
		},
		"NetworkInterfaces":  cloud.Fields{"NetworkInterface": cloud.Each(&interfaces, decodeInterface)},
		"SecurityGroupIds":   cloud.Fields{"SecurityGroupId": &i.SecurityGroupIds},
		"OperationLocks":     cloud.Fields{"LockReason": cloud.Texts(&i.LockReasons, "LockReason")},
		"Tags":               cloud.TagsInto(&i.Tags),
		"Description":        &i.Description,
		"ResourceGroupId":    &i.ResourceGroupId,
		"DeploymentSetId":    &i.DeploymentSetId,
		"ImageId":            &i.ImageId,
		"Cpu":                &i.CpuCount,
		"Memory":             &i.MemoryMib,
		"GPUAmount":          &i.GpuCount,
		"GPUSpec":            &i.GpuType,
		"OSType":             &i.OsType,
		"OSName":             &i.OsName,
		"CreationTime":       cloud.Via(&i.CreationTime, cloud.Time),
		"StartTime":          cloud.Via(&i.StartTime, cloud.Time),
		"ExpiredTime":        cloud.Via(&i.ExpirationTime, cloud.Time),
		"AutoReleaseTime":    cloud.Via(&i.AutoReleaseTime, cloud.Time),
		"DeletionProtection": &i.DeletionProtection,
		"StoppedMode":        cloud.Via(&i.StoppedMode, cloud.Named),
	})
	if i.GetChargeType() != commonv1.ChargeType_CHARGE_TYPE_PRE_PAID {
		i.ExpirationTime = nil // It may be a date that stands for never.
	}
	for _, n := range interfaces {
		i.NetworkInterfaceIds = append(i.NetworkInterfaceIds, n.id)
		// Instances with a single interface do not always say that it is the primary one.
		if n.kind == "Primary" || len(interfaces) == 1 {
			i.PrimaryNetworkInterfaceId, i.Ipv6Addresses = n.id, n.six
		}
	}
	return i, err
}

// networkInterface is what an instance shows of one of its interfaces.
type networkInterface struct {
	id, kind string
	six      []string // addresses
}

func decodeInterface(item []byte) (n networkInterface, err error) {
	err = cloud.Decode(item, cloud.Fields{
		"NetworkInterfaceId": &n.id, "Type": &n.kind, "Ipv6Sets": cloud.Fields{"Ipv6Set": cloud.Texts(&n.six, "Ipv6Address")},
	})
	return n, err
}
