// Package network serves NetworkService: VPCs.
package network

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

// vpcsPerCall is how many ids DescribeVpcs takes (VPC API reference).
const vpcsPerCall = 20

// Service implements vpcv1.NetworkServiceServer.
type Service struct {
	vpcv1.UnimplementedNetworkServiceServer

	api   cloud.API
	vpcs  *batch.Cache[*vpcv1.Vpc]
	lists *batch.Cache[[]*vpcv1.Vpc] // by filter
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	return &Service{
		api: p.API, vpcs: cloud.NewCache[*vpcv1.Vpc](p.Shared, "vpcs"), lists: cloud.NewCache[[]*vpcv1.Vpc](p.Shared, "vpc_lists"),
	}
}

// GetVpc reads one VPC.
func (s *Service) GetVpc(ctx context.Context, r *vpcv1.GetVpcRequest) (*vpcv1.GetVpcResponse, error) {
	id := r.GetVpcId()
	found, err := s.vpcs.Get(ctx, id, r.GetMaxAge().AsDuration(), func(ctx context.Context) (*vpcv1.Vpc, error) {
		a := answer{VpcID: id}
		if err := s.api.Read(ctx, "DescribeVpcAttribute", cloud.Params{"VpcId": id}, &a); err != nil {
			return nil, err
		}
		return a.decode(), nil
	})
	return cloud.Answer(&vpcv1.GetVpcResponse{Vpc: found}, err)
}

// ListVpcs reads every VPC that matches, ordered by id.
func (s *Service) ListVpcs(ctx context.Context, r *vpcv1.ListVpcsRequest) (*vpcv1.ListVpcsResponse, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.VpcIds = nil, cloud.Sorted(r.GetVpcIds())
	found, err := s.lists.Get(ctx, vpc.ListKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.Vpc, error) { return s.list(ctx, r) })
	return cloud.Answer(&vpcv1.ListVpcsResponse{Vpcs: found}, err)
}

func (s *Service) list(ctx context.Context, r *vpcv1.ListVpcsRequest) ([]*vpcv1.Vpc, error) {
	var found []*vpcv1.Vpc
	for _, ids := range vpc.ChunksOf(r.GetVpcIds(), vpcsPerCall) {
		filter := cloud.Tags(cloud.Params{}, r.GetTags()).With("VpcId", strings.Join(ids, ",")).With("VpcName", r.GetName())
		err := cloud.Numbered(ctx, filter, vpc.PageSize, func(p cloud.Params) (int, int, error) {
			var page struct {
				TotalCount int
				Vpcs       struct{ Vpc []answer }
			}
			if err := s.api.Read(ctx, "DescribeVpcs", p, &page); err != nil {
				return 0, 0, err
			}
			for _, a := range page.Vpcs.Vpc {
				found = append(found, a.decode())
			}
			return len(page.Vpcs.Vpc), page.TotalCount, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return cloud.SortedBy(found, (*vpcv1.Vpc).GetVpcId), nil
}
