// Package network serves NetworkService: VPCs.
package network

import (
	"context"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

// kind describes VPCs.
func kind(api cloud.API) cloud.Kind[vpcv1.Vpc] {
	const perCall = 20 // ids of DescribeVpcs (VPC API reference)
	return cloud.Kind[vpcv1.Vpc]{
		Name: "VPC", Cache: "vpcs", NotFound: rpcerr.VpcNotFound, IDs: "vpc_ids",
		Listing: cloud.Listing[*vpcv1.Vpc]{
			Action: "DescribeVpcs", Items: "Vpcs.Vpc", Decode: decode, ID: (*vpcv1.Vpc).GetVpcId, PerPage: vpc.PageSize,
		},
		Filters: map[string]cloud.Filter{"vpc_ids": cloud.CommaList("VpcId", perCall), "name": cloud.Param("VpcName")},
		Read: func(ctx context.Context, id string) (*vpcv1.Vpc, error) {
			v := &vpcv1.Vpc{}
			err := api.Read(ctx, "DescribeVpcAttribute", cloud.Params{"VpcId": id}, cloud.One(&v, decode))
			v.VpcId = id // The answer need not repeat it.
			return v, err
		},
	}
}

// Service implements vpcv1.NetworkServiceServer.
type Service struct {
	vpcv1.UnimplementedNetworkServiceServer

	vpcs *cloud.Collection[vpcv1.Vpc]
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	return &Service{vpcs: cloud.NewCollection(p.API, p.Shared, kind(p.API))}
}

// Owner is how the scopes of callers see VPCs.
func (s *Service) Owner() cloud.Owner { return s.vpcs }

// GetVpc reads one VPC.
func (s *Service) GetVpc(ctx context.Context, r *vpcv1.GetVpcRequest) (*vpcv1.GetVpcResponse, error) {
	found, err := s.vpcs.Get(ctx, r.GetVpcId(), r.GetMaxAge())
	return cloud.Answer(&vpcv1.GetVpcResponse{Vpc: found}, err)
}

// ListVpcs reads every VPC that matches, ordered by id.
func (s *Service) ListVpcs(ctx context.Context, r *vpcv1.ListVpcsRequest) (*vpcv1.ListVpcsResponse, error) {
	found, err := s.vpcs.List(ctx, r)
	return cloud.Answer(&vpcv1.ListVpcsResponse{Vpcs: found}, err)
}
