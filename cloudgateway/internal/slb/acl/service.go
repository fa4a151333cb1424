// Package acl serves AccessControlListService: access control lists of listeners.
package acl

import (
	"context"
	"fmt"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (SLB API reference).
const (
	pageSize       = 50 // DescribeAccessControlLists, DescribeAccessControlListAttribute
	entriesPerCall = 50 // AddAccessControlListEntry, RemoveAccessControlListEntry
)

// Service implements slbv1.AccessControlListServiceServer.
type Service struct {
	slbv1.UnimplementedAccessControlListServiceServer

	product  *slb.Product
	writes   *write.Serial
	lists    *batch.Reader[string, *slbv1.AccessControlList]   // by id, with entries
	listings *batch.Reader[string, []*slbv1.AccessControlList] // by filter
	ledger   *write.Ledger
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{
		product: p, writes: write.NewSerial(p.Locks),
		lists:    cloud.NewCache[*slbv1.AccessControlList](p.Shared, "acls"),
		listings: cloud.NewCache[[]*slbv1.AccessControlList](p.Shared, "acl_lists"),
		ledger:   write.NewLedger(),
	}
	s.writes.OnWrite(func(id string) {
		s.lists.Invalidate(id)
		s.listings.Clear()
	})
	return s
}

// GetAccessControlList reads one list with its entries and uses.
func (s *Service) GetAccessControlList(
	ctx context.Context, r *slbv1.GetAccessControlListRequest,
) (*slbv1.GetAccessControlListResponse, error) {
	found, err := s.lists.Do(ctx, r.GetAclId(), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) (*slbv1.AccessControlList, error) { return s.describe(ctx, r.GetAclId()) })
	return cloud.Answer(&slbv1.GetAccessControlListResponse{AccessControlList: found}, err)
}

// ListAccessControlLists reads every list that matches, ordered by id.
func (s *Service) ListAccessControlLists(
	ctx context.Context, r *slbv1.ListAccessControlListsRequest,
) (*slbv1.ListAccessControlListsResponse, error) {
	filters := cloud.Tags(cloud.Params{}.
		With("AclName", r.GetName()).
		With("AddressIPVersion", slb.IPVersions()[r.GetIpVersion()]).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	found, err := s.listings.Do(ctx, fmt.Sprintf("%q", filters), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.AccessControlList, error) { return s.describeAll(ctx, filters) })
	if err != nil {
		return nil, err
	}
	ids := r.GetAclIds()
	found = slices.DeleteFunc(slices.Clone(found), func(list *slbv1.AccessControlList) bool {
		// The cloud's filter also finds names that contain the name.
		return r.GetName() != "" && list.GetName() != r.GetName() || len(ids) > 0 && !slices.Contains(ids, list.GetAclId())
	})
	return &slbv1.ListAccessControlListsResponse{AccessControlLists: found}, nil
}

// UpdateAccessControlList changes what is present in the request.
func (s *Service) UpdateAccessControlList(
	ctx context.Context, r *slbv1.UpdateAccessControlListRequest,
) (*slbv1.UpdateAccessControlListResponse, error) {
	id := r.GetAclId()
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		if r.Name != nil {
			params := cloud.Params{"AclId": id, "AclName": r.GetName()}
			if err := s.product.Set(ctx, "SetAccessControlListAttribute", params, nil); err != nil {
				return err
			}
		}
		if err := s.apply(ctx, id, changes(r)); err != nil {
			return err
		}
		return s.product.ChangeMetadata(ctx, "acl", id, rpcerr.AclNotFound, r)
	})
	return cloud.Answer(&slbv1.UpdateAccessControlListResponse{}, err)
}

// DeleteAccessControlList removes a list.
func (s *Service) DeleteAccessControlList(
	ctx context.Context, r *slbv1.DeleteAccessControlListRequest,
) (*slbv1.DeleteAccessControlListResponse, error) {
	id := r.GetAclId()
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		err := s.product.Set(ctx, "DeleteAccessControlList", cloud.Params{"AclId": id}, nil)
		return cloud.Unless(err, rpcerr.AclNotFound)
	})
	return cloud.Answer(&slbv1.DeleteAccessControlListResponse{}, err)
}
