package networkinterface

import (
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

// interfaceAnswer is one interface in the answer to DescribeNetworkInterfaces.
type interfaceAnswer struct {
	NetworkInterfaceID string `json:"NetworkInterfaceId"`
	InstanceID         string `json:"InstanceId"`
	Attachment         struct {
		InstanceID string `json:"InstanceId"`
	}
	Type             string
	Status           string
	VpcID            string `json:"VpcId"`
	VSwitchID        string `json:"VSwitchId"`
	ZoneID           string `json:"ZoneId"`
	PrivateIPAddress string `json:"PrivateIpAddress"`
	SourceDestCheck  *bool
	PrivateIPSets    struct {
		PrivateIPSet []struct {
			PrivateIPAddress string `json:"PrivateIpAddress"`
		} `json:"PrivateIpSet"`
	} `json:"PrivateIpSets"`
	Ipv6Sets ecs.Ipv6Sets

	NetworkInterfaceName string
	Description          string
	MacAddress           string
	CreationTime         string
	ResourceGroupID      string `json:"ResourceGroupId"`
	DeleteOnRelease      *bool
	ServiceManaged       bool
	SecurityGroupIDs     struct {
		SecurityGroupID []string `json:"SecurityGroupId"`
	} `json:"SecurityGroupIds"`
	AssociatedPublicIP struct {
		PublicIPAddress string `json:"PublicIpAddress"`
	} `json:"AssociatedPublicIp"`
	Ipv4PrefixSets struct {
		Ipv4PrefixSet []struct{ Ipv4Prefix string }
	}
	Ipv6PrefixSets struct {
		Ipv6PrefixSet []struct{ Ipv6Prefix string }
	}
	Tags cloud.TagList
}

func (a interfaceAnswer) decode() *ecsv1.NetworkInterface {
	n := &ecsv1.NetworkInterface{
		NetworkInterfaceId: a.NetworkInterfaceID,
		InstanceId:         a.InstanceID,
		Type:               a.Type,
		Status:             a.Status,
		VpcId:              a.VpcID,
		VswitchId:          a.VSwitchID,
		ZoneId:             a.ZoneID,
		PrimaryIp:          a.PrivateIPAddress,
		Ipv6Addresses:      a.Ipv6Sets.Addresses(),
		SourceDestCheck:    a.SourceDestCheck,

		Name:             a.NetworkInterfaceName,
		Description:      a.Description,
		MacAddress:       a.MacAddress,
		SecurityGroupIds: a.SecurityGroupIDs.SecurityGroupID,
		ResourceGroupId:  a.ResourceGroupID,
		Tags:             a.Tags.Decode(),
		DeleteOnRelease:  a.DeleteOnRelease,
		Eip:              a.AssociatedPublicIP.PublicIPAddress,
		ServiceManaged:   a.ServiceManaged,
		CreationTime:     cloud.Time(a.CreationTime),
	}
	for _, p := range a.Ipv4PrefixSets.Ipv4PrefixSet {
		n.Ipv4Prefixes = append(n.Ipv4Prefixes, p.Ipv4Prefix)
	}
	for _, p := range a.Ipv6PrefixSets.Ipv6PrefixSet {
		n.Ipv6Prefixes = append(n.Ipv6Prefixes, p.Ipv6Prefix)
	}
	if n.GetInstanceId() == "" {
		n.InstanceId = a.Attachment.InstanceID
	}
	for _, p := range a.PrivateIPSets.PrivateIPSet {
		n.PrivateIps = append(n.PrivateIps, p.PrivateIPAddress)
	}
	if len(n.GetPrivateIps()) == 0 && n.GetPrimaryIp() != "" {
		n.PrivateIps = []string{n.GetPrimaryIp()}
	}
	return n
}
