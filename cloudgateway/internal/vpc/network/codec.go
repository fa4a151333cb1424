package network

import (
	"slices"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// answer is a VPC in the answers to DescribeVpcAttribute and DescribeVpcs.
type answer struct {
	VpcID               string `json:"VpcId"`
	VpcName             string
	Description         string
	Status              string
	IsDefault           bool
	ResourceGroupID     string `json:"ResourceGroupId"`
	Tags                cloud.TagList
	CidrBlock           string
	Ipv6CidrBlock       string
	SecondaryCidrBlocks struct{ SecondaryCidrBlock []string }
	Ipv6CidrBlocks      struct {
		Ipv6CidrBlock []struct{ Ipv6CidrBlock string }
	}
}

func (a answer) decode() *vpcv1.Vpc {
	v := &vpcv1.Vpc{
		VpcId:               a.VpcID,
		Name:                a.VpcName,
		Description:         a.Description,
		Status:              a.Status,
		IsDefault:           a.IsDefault,
		ResourceGroupId:     a.ResourceGroupID,
		Tags:                a.Tags.Decode(),
		CidrBlock:           a.CidrBlock,
		SecondaryCidrBlocks: a.SecondaryCidrBlocks.SecondaryCidrBlock,
	}
	for _, b := range a.Ipv6CidrBlocks.Ipv6CidrBlock {
		v.Ipv6CidrBlocks = append(v.Ipv6CidrBlocks, b.Ipv6CidrBlock)
	}
	if six := a.Ipv6CidrBlock; six != "" && !slices.Contains(v.GetIpv6CidrBlocks(), six) {
		v.Ipv6CidrBlocks = append(v.Ipv6CidrBlocks, six)
	}
	return v
}
