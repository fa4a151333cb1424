package instance

import (
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

type addressList struct {
	IPAddress []string `json:"IpAddress"`
}

// instanceAnswer is one instance in the answer to DescribeInstances.
type instanceAnswer struct {
	InstanceID         string `json:"InstanceId"`
	RegionID           string `json:"RegionId"`
	ZoneID             string `json:"ZoneId"`
	InstanceType       string
	InstanceName       string
	HostName           string
	Status             string
	InstanceChargeType string
	SpotStrategy       string
	InnerIPAddress     addressList `json:"InnerIpAddress"`
	PublicIPAddress    addressList `json:"PublicIpAddress"`
	EipAddress         struct {
		IPAddress string `json:"IpAddress"`
	}
	VpcAttributes struct {
		VpcID            string      `json:"VpcId"`
		VSwitchID        string      `json:"VSwitchId"`
		PrivateIPAddress addressList `json:"PrivateIpAddress"`
	}
	NetworkInterfaces struct {
		NetworkInterface []struct {
			NetworkInterfaceID string `json:"NetworkInterfaceId"`
			Type               string
			Ipv6Sets           ecs.Ipv6Sets
		}
	}
	SecurityGroupIDs struct {
		SecurityGroupID []string `json:"SecurityGroupId"`
	} `json:"SecurityGroupIds"`
	OperationLocks struct {
		LockReason []struct{ LockReason string }
	}
	Tags cloud.TagList

	Description                                           string
	ResourceGroupID                                       string `json:"ResourceGroupId"`
	DeploymentSetID                                       string `json:"DeploymentSetId"`
	ImageID                                               string `json:"ImageId"`
	CPU                                                   int32  `json:"Cpu"`
	Memory                                                int32
	GPUAmount                                             int32
	GPUSpec                                               string
	OSType, OSName                                        string
	CreationTime, StartTime, ExpiredTime, AutoReleaseTime string
	DeletionProtection                                    bool
	StoppedMode                                           string
}

func (a instanceAnswer) decode() *ecsv1.Instance {
	instance := &ecsv1.Instance{
		InstanceId:   a.InstanceID,
		RegionId:     a.RegionID,
		ZoneId:       a.ZoneID,
		InstanceType: a.InstanceType,
		Status:       a.Status,
		ChargeType:   cloud.Named(cloud.ChargeTypes(), a.InstanceChargeType),
		SpotStrategy: a.SpotStrategy,
		VpcId:        a.VpcAttributes.VpcID,
		VswitchId:    a.VpcAttributes.VSwitchID,
		PrivateIps:   a.VpcAttributes.PrivateIPAddress.IPAddress,
		InnerIps:     a.InnerIPAddress.IPAddress,
		PublicIps:    a.PublicIPAddress.IPAddress,
		Eip:          a.EipAddress.IPAddress,
		Name:         a.InstanceName,
		HostName:     a.HostName,
		Tags:         a.Tags.Decode(),

		Description:        a.Description,
		ResourceGroupId:    a.ResourceGroupID,
		SecurityGroupIds:   a.SecurityGroupIDs.SecurityGroupID,
		DeploymentSetId:    a.DeploymentSetID,
		CpuCount:           a.CPU,
		MemoryMib:          a.Memory,
		GpuCount:           a.GPUAmount,
		GpuType:            a.GPUSpec,
		OsType:             a.OSType,
		OsName:             a.OSName,
		ImageId:            a.ImageID,
		CreationTime:       cloud.Time(a.CreationTime),
		StartTime:          cloud.Time(a.StartTime),
		AutoReleaseTime:    cloud.Time(a.AutoReleaseTime),
		DeletionProtection: a.DeletionProtection,
		StoppedMode:        stoppedMode(a.StoppedMode),
	}
	if a.InstanceChargeType == "PrePaid" { // Others have a date that stands for never.
		instance.ExpirationTime = cloud.Time(a.ExpiredTime)
	}
	for _, l := range a.OperationLocks.LockReason {
		instance.LockReasons = append(instance.LockReasons, l.LockReason)
	}
	interfaces := a.NetworkInterfaces.NetworkInterface
	for _, n := range interfaces {
		instance.NetworkInterfaceIds = append(instance.NetworkInterfaceIds, n.NetworkInterfaceID)
		// Instances with a single interface do not always say that it is the primary one.
		if n.Type == "Primary" || len(interfaces) == 1 {
			instance.PrimaryNetworkInterfaceId = n.NetworkInterfaceID
			instance.Ipv6Addresses = n.Ipv6Sets.Addresses()
		}
	}
	return instance
}

const (
	keepCharging = "KeepCharging"
	stopCharging = "StopCharging"
)

func stoppedMode(text string) ecsv1.StoppedMode {
	switch text {
	case keepCharging:
		return ecsv1.StoppedMode_STOPPED_MODE_KEEP_CHARGING
	case stopCharging:
		return ecsv1.StoppedMode_STOPPED_MODE_STOP_CHARGING
	}
	return ecsv1.StoppedMode_STOPPED_MODE_UNSPECIFIED
}
