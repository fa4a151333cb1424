package vswitch

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// answer is one vSwitch in the answer to DescribeVSwitches.
type answer struct {
	VSwitchID               string `json:"VSwitchId"`
	VSwitchName             string
	VpcID                   string `json:"VpcId"`
	ZoneID                  string `json:"ZoneId"`
	CidrBlock               string
	Ipv6CidrBlock           string
	AvailableIPAddressCount int64 `json:"AvailableIpAddressCount"`
	Description             string
	Status                  string
	IsDefault               bool
	ResourceGroupID         string `json:"ResourceGroupId"`
	RouteTable              struct {
		RouteTableID string `json:"RouteTableId"`
	}
	Tags cloud.TagList
}

func (a answer) decode() *vpcv1.VSwitch {
	return &vpcv1.VSwitch{
		VswitchId:        a.VSwitchID,
		VpcId:            a.VpcID,
		ZoneId:           a.ZoneID,
		CidrBlock:        a.CidrBlock,
		AvailableIpCount: a.AvailableIPAddressCount,
		Name:             a.VSwitchName,
		Description:      a.Description,
		Status:           a.Status,
		Ipv6CidrBlock:    a.Ipv6CidrBlock,
		RouteTableId:     a.RouteTable.RouteTableID,
		IsDefault:        a.IsDefault,
		ResourceGroupId:  a.ResourceGroupID,
		Tags:             a.Tags.Decode(),
	}
}
