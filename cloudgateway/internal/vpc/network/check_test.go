package network

import (
	"testing"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	checktest.Run(t, nil, []checktest.Case{
		{Request: &vpcv1.GetVpcRequest{VpcId: "vpc-1"}},
		{Request: &vpcv1.GetVpcRequest{}, Want: []string{"vpc_id: is required"}},
		{Name: "of all", Request: &vpcv1.ListVpcsRequest{}},
		{Request: &vpcv1.ListVpcsRequest{VpcIds: []string{"vpc-1", ""}, Name: "http://x"}, Want: []string{
			"vpc_ids[1]: is required", "name: must not begin with http:// or https://",
		}},
	})
}
