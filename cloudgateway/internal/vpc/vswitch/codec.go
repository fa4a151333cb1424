package vswitch

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one vSwitch in the answer to DescribeVSwitches.
func decode(item []byte) (*vpcv1.VSwitch, error) {
	v := &vpcv1.VSwitch{}
	return v, cloud.Decode(item, cloud.Fields{
		"VSwitchId":               &v.VswitchId,
		"VSwitchName":             &v.Name,
		"VpcId":                   &v.VpcId,
		"ZoneId":                  &v.ZoneId,
		"CidrBlock":               &v.CidrBlock,
		"Ipv6CidrBlock":           &v.Ipv6CidrBlock,
		"AvailableIpAddressCount": &v.AvailableIpCount,
		"Description":             &v.Description,
		"Status":                  &v.Status,
		"IsDefault":               &v.IsDefault,
		"ResourceGroupId":         &v.ResourceGroupId,
		"RouteTable":              cloud.Fields{"RouteTableId": &v.RouteTableId},
		"Tags":                    cloud.TagsInto(&v.Tags),
	})
}
