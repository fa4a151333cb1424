package acl

import (
	"context"
	"fmt"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// CreateAccessControlList makes a list with its entries. A repetition of a request that failed half-way goes on with the list of that.
func (s *Service) CreateAccessControlList(
	ctx context.Context, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.CreateAccessControlListResponse, error) {
	name := fmt.Sprintf("access control list %q", r.GetName())
	// Of two creations of the same name at the same time, neither could tell whose a list is.
	unlock, err := cloud.Lock(ctx, s.product.Locks, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.listings.Clear()
	creation := write.Create[slbv1.AccessControlList]{
		Ledger: s.ledger, Key: write.KeyOf(ctx, r.GetRequestId(), r.GetName()), API: "slb/CreateAccessControlList", Name: name,
		Send: func(ctx context.Context) (*slbv1.AccessControlList, error) { return s.create(ctx, r) },
		Find: func(ctx context.Context) ([]*slbv1.AccessControlList, error) { return s.find(ctx, r) },
		Read: s.read,
		ID:   (*slbv1.AccessControlList).GetAclId,
	}
	list, err := creation.Run(ctx)
	if err != nil {
		return nil, err
	}
	id := list.GetAclId()
	missing := change{add, r.GetEntries()}.rest(list.GetEntries())
	if err := s.writes.Do(ctx, id, func(ctx context.Context) error { return s.apply(ctx, id, []change{{add, missing}}) }); err != nil {
		return nil, fmt.Errorf("add entries to the new access control list %s: %w", id, err)
	}
	s.ledger.End(creation.Key)
	return &slbv1.CreateAccessControlListResponse{AclId: id}, nil
}

// create makes the list without entries.
func (s *Service) create(ctx context.Context, r *slbv1.CreateAccessControlListRequest) (*slbv1.AccessControlList, error) {
	params := cloud.Tags(cloud.Params{"AclName": r.GetName()}.
		With("AddressIPVersion", slb.IPVersions()[r.GetIpVersion()]).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	var made *slbv1.AccessControlList
	err := s.product.Send(ctx, "CreateAccessControlList", params, cloud.One(&made, decode))
	return made, err
}

// read reads a list now; nil if it is gone.
func (s *Service) read(ctx context.Context, id string) (*slbv1.AccessControlList, error) {
	list, err := s.describe(ctx, id)
	return list, cloud.Unless(err, rpcerr.AclNotFound)
}

// find reads the lists of the name, family, resource group and tags of the request that have no entries.
func (s *Service) find(ctx context.Context, r *slbv1.CreateAccessControlListRequest) ([]*slbv1.AccessControlList, error) {
	named, err := s.describeAll(ctx, cloud.Params{"AclName": r.GetName()})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, n := range named {
		if fits(n, r) {
			ids = append(ids, n.GetAclId())
		}
	}
	return write.Existing(ctx, ids, s.read, func(list *slbv1.AccessControlList) bool { return len(list.GetEntries()) == 0 })
}

// fits reports whether a list is as the request wants it, entries aside.
func fits(list *slbv1.AccessControlList, r *slbv1.CreateAccessControlListRequest) bool {
	six := slbv1.IpVersion_IP_VERSION_IPV6
	return list.GetName() == r.GetName() && (list.GetIpVersion() == six) == (r.GetIpVersion() == six) &&
		(r.GetResourceGroupId() == "" || list.GetResourceGroupId() == r.GetResourceGroupId()) && cloud.SameTags(list.GetTags(), r.GetTags())
}
