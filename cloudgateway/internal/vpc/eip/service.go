// Package eip serves EipService: elastic IP addresses. Reads of single EIPs that come at about the same time share calls.
package eip

import (
	"context"
	"fmt"
	"slices"
	"strings"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits of DescribeEipAddresses (VPC API reference).
const (
	perCall = 50 // ids or addresses
	perPage = 100
)

// Service implements vpcv1.EipServiceServer.
type Service struct {
	vpcv1.UnimplementedEipServiceServer

	api    cloud.API
	writes *write.Serial
	eips   *batch.Reader[string, *vpcv1.Eip]   // nil: there is no such EIP
	lists  *batch.Reader[string, []*vpcv1.Eip] // by filter
}

// New makes a Service.
func New(p *vpc.Product) *Service {
	s := &Service{api: p.API, writes: write.NewSerial(p.Locks), lists: cloud.NewCache[[]*vpcv1.Eip](p.Shared, "eip_lists")}
	s.eips = cloud.NewReader(p.Shared, "eips", perCall, 0, s.fetch)
	s.writes.OnWrite(func(id string) {
		s.eips.Invalidate(id)
		s.lists.Clear()
	})
	return s
}

// GetEip reads one EIP.
func (s *Service) GetEip(ctx context.Context, r *vpcv1.GetEipRequest) (*vpcv1.GetEipResponse, error) {
	found, err := s.eips.Get(ctx, r.GetAllocationId(), r.GetMaxAge().AsDuration())
	if err == nil && found == nil {
		err = notFound(r.GetAllocationId())
	}
	return cloud.Answer(&vpcv1.GetEipResponse{Eip: found}, err)
}

// ListEips reads every EIP that matches, ordered by id.
func (s *Service) ListEips(ctx context.Context, r *vpcv1.ListEipsRequest) (*vpcv1.ListEipsResponse, error) {
	found, err := s.list(ctx, r)
	return cloud.Answer(&vpcv1.ListEipsResponse{Eips: found}, err)
}

func (s *Service) list(ctx context.Context, r *vpcv1.ListEipsRequest) ([]*vpcv1.Eip, error) {
	ids, addresses, maxAge := cloud.Sorted(r.GetAllocationIds()), cloud.Sorted(r.GetIpAddresses()), r.GetMaxAge().AsDuration()
	filter := cloud.Tags(cloud.Params{}, r.GetTags()).
		With("Status", r.GetStatus()).
		With("EipName", r.GetName()).
		With("AssociatedInstanceType", r.GetAssociatedInstanceType()).
		With("AssociatedInstanceId", r.GetAssociatedInstanceId()).
		With("ISP", r.GetIsp()).
		With("ChargeType", cloud.ChargeTypes()[r.GetInstanceChargeType()]).
		With("ResourceGroupId", r.GetResourceGroupId())
	if len(ids) > 0 && len(addresses)+len(filter) == 0 {
		found, err := batch.Values(s.eips.GetMany(ctx, ids, maxAge))
		return slices.DeleteFunc(found, func(e *vpcv1.Eip) bool { return e == nil }), err
	}
	key := fmt.Sprintf("%q %q %q", filter, ids, addresses)
	return s.lists.Do(ctx, key, maxAge, func(ctx context.Context) ([]*vpcv1.Eip, error) {
		found, err := cloud.InChunks(ids, perCall, func(ids []string) ([]*vpcv1.Eip, error) {
			return cloud.InChunks(addresses, perCall, func(addresses []string) ([]*vpcv1.Eip, error) {
				return s.describe(ctx, cloud.Params{}.Merge(filter).
					With("AllocationId", strings.Join(ids, ",")).With("EipAddress", strings.Join(addresses, ",")))
			})
		})
		return cloud.SortedBy(found, (*vpcv1.Eip).GetAllocationId), err
	})
}

// fetch reads at most perCall EIPs; one that does not exist is not in the answer.
func (s *Service) fetch(ctx context.Context, ids []string) (map[string]*vpcv1.Eip, error) {
	list, err := s.describe(ctx, cloud.Params{"AllocationId": strings.Join(cloud.Sorted(ids), ",")})
	return cloud.ByKey(list, (*vpcv1.Eip).GetAllocationId), err
}

// describe reads all pages of DescribeEipAddresses.
func (s *Service) describe(ctx context.Context, filter cloud.Params) ([]*vpcv1.Eip, error) {
	return cloud.Listing[*vpcv1.Eip]{
		Action: "DescribeEipAddresses", Items: "EipAddresses.EipAddress", Decode: decode, PerPage: perPage,
	}.Numbered(ctx, s.api, filter)
}

func notFound(id string) error {
	return cloud.NotFound(rpcerr.EipNotFound, "vpc/DescribeEipAddresses", "EIP "+id)
}
