package routetable

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// tableAnswer is one table in the answer to DescribeRouteTableList.
type tableAnswer struct {
	RouteTableID    string `json:"RouteTableId"`
	VpcID           string `json:"VpcId"`
	RouteTableType  string
	RouteTableName  string
	Description     string
	Status          string
	ResourceGroupID string `json:"ResourceGroupId"`
	VSwitchIDs      struct {
		VSwitchID []string `json:"VSwitchId"`
	} `json:"VSwitchIds"`
	Tags cloud.TagList
}

func (a tableAnswer) decode() *vpcv1.RouteTable {
	return &vpcv1.RouteTable{
		RouteTableId:    a.RouteTableID,
		VpcId:           a.VpcID,
		Type:            a.RouteTableType,
		Name:            a.RouteTableName,
		Description:     a.Description,
		Status:          a.Status,
		ResourceGroupId: a.ResourceGroupID,
		VswitchIds:      a.VSwitchIDs.VSwitchID,
		Tags:            a.Tags.Decode(),
	}
}
