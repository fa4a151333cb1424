package eip

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

func notFound(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.EipNotFound, API: "vpc/DescribeEipAddresses",
		Message: fmt.Sprintf("there is no EIP %s in this region, or the gateway may not see it", id),
	}
}

// fetch reads at most perCall EIPs; one that does not exist is not in the answer.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*vpcv1.Eip, error) {
	list, err := s.describe(ctx, cloud.Params{"AllocationId": strings.Join(cloud.Sorted(ids), ",")})
	if err != nil {
		return nil, err
	}
	return cloud.ByKey(list, (*vpcv1.Eip).GetAllocationId), nil
}

// describe reads all pages of DescribeEipAddresses.
func (s *Service) describe(ctx context.Context, filter cloud.Params) ([]*vpcv1.Eip, error) {
	var found []*vpcv1.Eip
	err := cloud.Numbered(ctx, filter, perPage, func(p cloud.Params) (int, int, error) {
		var page struct {
			TotalCount   int
			EipAddresses struct{ EipAddress []answer }
		}
		if err := s.api.Read(ctx, "DescribeEipAddresses", p, &page); err != nil {
			return 0, 0, err
		}
		for _, a := range page.EipAddresses.EipAddress {
			found = append(found, a.decode())
		}
		return len(page.EipAddresses.EipAddress), page.TotalCount, nil
	})
	return cloud.SortedBy(found, (*vpcv1.Eip).GetAllocationId), err
}
