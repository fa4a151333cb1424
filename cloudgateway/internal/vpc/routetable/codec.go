package routetable

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one table in the answer to DescribeRouteTableList.
func decode(item []byte) (*vpcv1.RouteTable, error) {
	t := &vpcv1.RouteTable{}
	return t, cloud.Decode(item, cloud.Fields{
		"RouteTableId":    &t.RouteTableId,
		"VpcId":           &t.VpcId,
		"RouteTableType":  &t.Type,
		"RouteTableName":  &t.Name,
		"Description":     &t.Description,
		"Status":          &t.Status,
		"ResourceGroupId": &t.ResourceGroupId,
		"VSwitchIds":      cloud.Fields{"VSwitchId": &t.VswitchIds},
		"Tags":            cloud.TagsInto(&t.Tags),
	})
}
