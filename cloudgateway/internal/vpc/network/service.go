// Package network serves NetworkService: VPCs.
package network

import (
	"context"
	"fmt"
	"strings"

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
	vpcs  *batch.Reader[string, *vpcv1.Vpc]
	lists *batch.Reader[string, []*vpcv1.Vpc] // by filter
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
	found, err := s.vpcs.Do(ctx, id, r.GetMaxAge().AsDuration(), func(ctx context.Context) (*vpcv1.Vpc, error) {
		v := &vpcv1.Vpc{}
		err := s.api.Read(ctx, "DescribeVpcAttribute", cloud.Params{"VpcId": id}, cloud.One(&v, decode))
		v.VpcId = id // The answer need not repeat it.
		return v, err
	})
	return cloud.Answer(&vpcv1.GetVpcResponse{Vpc: found}, err)
}

// ListVpcs reads every VPC that matches, ordered by id.
func (s *Service) ListVpcs(ctx context.Context, r *vpcv1.ListVpcsRequest) (*vpcv1.ListVpcsResponse, error) {
	ids, filter := cloud.Sorted(r.GetVpcIds()), cloud.Tags(cloud.Params{}, r.GetTags()).With("VpcName", r.GetName())
	list := cloud.Listing[*vpcv1.Vpc]{Action: "DescribeVpcs", Items: "Vpcs.Vpc", Decode: decode, PerPage: vpc.PageSize, ID: (*vpcv1.Vpc).GetVpcId}
	key := fmt.Sprintf("%q %q", filter, ids)
	found, err := s.lists.Do(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.Vpc, error) {
		found, err := cloud.InChunks(ids, vpcsPerCall, func(some []string) ([]*vpcv1.Vpc, error) {
			return list.Numbered(ctx, s.api, cloud.Params{}.Merge(filter).With("VpcId", strings.Join(some, ",")))
		})
		return cloud.Distinct(found, (*vpcv1.Vpc).GetVpcId), err
	})
	return cloud.Answer(&vpcv1.ListVpcsResponse{Vpcs: found}, err)
}
