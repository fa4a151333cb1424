package routetable

import (
	"testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	const link = "https://example.com"
	required := []string{"vpc_id: is required", "route_table_id: is required", "vswitch_id: is required"}
	checktest.Run(t, nil, []checktest.Case{
		{Request: &vpcv1.ListRouteTablesRequest{VpcId: "vpc-1"}},
		{Request: &vpcv1.ListRouteTablesRequest{}, Want: []string{"vpc_id: is required"}},
		{Request: &vpcv1.CreateRouteTableRequest{RequestId: "r", VpcId: "vpc-1"}},
		{Request: &vpcv1.CreateRouteTableRequest{Name: link, Description: link}, Want: []string{
			"request_id: must be 1 to 64 printable ASCII characters", "vpc_id: is required",
			"name: must not begin with http:// or https://", "description: must not begin with http:// or https://",
		}},
		{Request: &vpcv1.DeleteRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1"}},
		{Request: &vpcv1.DeleteRouteTableRequest{}, Want: required[:2]},
		{Request: &vpcv1.AssociateRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1", VswitchId: "vsw-1"}},
		{Request: &vpcv1.AssociateRouteTableRequest{}, Want: required},
		{Request: &vpcv1.UnassociateRouteTableRequest{VpcId: "vpc-1", RouteTableId: "vtb-1", VswitchId: "vsw-1"}},
		{Request: &vpcv1.UnassociateRouteTableRequest{}, Want: required},
	})
}
