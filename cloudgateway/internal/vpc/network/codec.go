package network

import (
	"slices"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads a VPC in the answers to DescribeVpcAttribute and DescribeVpcs.
func decode(item []byte) (*vpcv1.Vpc, error) {
	v, six := &vpcv1.Vpc{}, ""
	err := cloud.Decode(item, cloud.Fields{
		"VpcId":               &v.VpcId,
		"VpcName":             &v.Name,
		"Description":         &v.Description,
		"Status":              &v.Status,
		"IsDefault":           &v.IsDefault,
		"ResourceGroupId":     &v.ResourceGroupId,
		"Tags":                cloud.TagsInto(&v.Tags),
		"CidrBlock":           &v.CidrBlock,
		"Ipv6CidrBlock":       &six,
		"SecondaryCidrBlocks": cloud.Fields{"SecondaryCidrBlock": &v.SecondaryCidrBlocks},
		"Ipv6CidrBlocks":      cloud.Fields{"Ipv6CidrBlock": cloud.Texts(&v.Ipv6CidrBlocks, "Ipv6CidrBlock")},
	})
	if six != "" && !slices.Contains(v.GetIpv6CidrBlocks(), six) {
		v.Ipv6CidrBlocks = append(v.Ipv6CidrBlocks, six)
	}
	return v, err
}
