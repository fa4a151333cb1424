// Package acl serves AccessControlListService: access control lists of listeners.
package acl

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

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

// describe reads one list with its entries and uses now.
func (s *Service) describe(ctx context.Context, id string) (*slbv1.AccessControlList, error) {
	var list *slbv1.AccessControlList // as on the first page
	first, entries := 0, map[netip.Prefix]*slbv1.AccessControlEntry{}
	err := cloud.Numbered(ctx, cloud.Params{"AclId": id}, pageSize, func(p cloud.Params) (int, int, error) {
		p["Page"] = p["PageNumber"] // This action alone calls it so.
		delete(p, "PageNumber")
		page, total := &slbv1.AccessControlList{}, 0
		answer := fields(page)
		answer["TotalAclEntry"] = &total
		answer["AclEntrys"] = cloud.Fields{"AclEntry": cloud.Each(&page.Entries, decodeEntry)}
		answer["RelatedListeners"] = cloud.Fields{"RelatedListener": cloud.Each(&page.Uses, decodeUse)}
		if err := s.product.Read(ctx, "DescribeAccessControlListAttribute", p, &answer); err != nil {
			return 0, 0, err
		}
		if list == nil {
			list, first = page, total
		}
		if total != first {
			return 0, 0, changedMeanwhile(id)
		}
		for _, e := range page.GetEntries() {
			network, err := parseNetwork(e.GetCidr())
			if err != nil {
				return 0, 0, fmt.Errorf("decode access control list %s: %w", id, err)
			}
			e.Cidr, entries[network] = network.String(), e
		}
		return len(page.GetEntries()), total, nil
	})
	if err != nil {
		return nil, err
	}
	if len(entries) != first {
		return nil, changedMeanwhile(id)
	}
	list.Entries = nil
	for _, network := range slices.SortedFunc(maps.Keys(entries), netip.Prefix.Compare) {
		list.Entries = append(list.Entries, entries[network])
	}
	return list, nil
}

// changedMeanwhile is the error of a read whose pages do not belong together: an entry may be missing.
func changedMeanwhile(id string) error {
	return &rpcerr.Error{
		Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, RetryAfter: time.Second, API: "slb/DescribeAccessControlListAttribute",
		Message: fmt.Sprintf("the entries of access control list %s changed while they were read", id),
	}
}

// parseNetwork reads a network, or an address, which stands for a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a network", text)
	}
	return network.Masked(), nil
}

// describeAll reads all pages of DescribeAccessControlLists, ordered by id.
func (s *Service) describeAll(ctx context.Context, filters cloud.Params) ([]*slbv1.AccessControlList, error) {
	found, err := cloud.Listing[*slbv1.AccessControlList]{
		Action: "DescribeAccessControlLists", Items: "Acls.Acl", Decode: decode, PerPage: pageSize,
	}.Numbered(ctx, s.product.API, filters)
	return cloud.Distinct(found, (*slbv1.AccessControlList).GetAclId), err
}

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
