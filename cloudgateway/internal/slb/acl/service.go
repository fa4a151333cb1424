// Package acl serves AccessControlListService: access control lists of listeners.
package acl

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (SLB API reference).
const (
	pageSize       = 50 // DescribeAccessControlLists, DescribeAccessControlListAttribute
	entriesPerCall = 50 // AddAccessControlListEntry, RemoveAccessControlListEntry
)

// kind describes access control lists. The cloud's filter by name also finds names that contain the name.
func (s *Service) kind() cloud.Kind[slbv1.AccessControlList] {
	return cloud.Kind[slbv1.AccessControlList]{
		Name: "access control list", Cache: "acls", NotFound: rpcerr.AclNotFound, IDs: "acl_ids",
		Listing: cloud.Listing[*slbv1.AccessControlList]{
			Action: "DescribeAccessControlLists", Items: "Acls.Acl", Decode: decode, ID: (*slbv1.AccessControlList).GetAclId, PerPage: pageSize,
		},
		Filters: map[string]cloud.Filter{
			"acl_ids": cloud.Here(), "name": cloud.Param("AclName"), "ip_version": cloud.Param("AddressIPVersion").Lower(),
		},
		SameName: true,
		Read:     s.describe,
	}
}

// Service implements slbv1.AccessControlListServiceServer.
type Service struct {
	slbv1.UnimplementedAccessControlListServiceServer

	product *slb.Product
	writes  *write.Serial
	acls    *cloud.Collection[slbv1.AccessControlList]
	ledger  *write.Ledger
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{product: p, writes: write.NewSerial(p.Locks), ledger: write.NewLedger()}
	s.acls = cloud.NewCollection(p.API, p.Shared, s.kind())
	s.writes.OnWrite(s.acls.Forget)
	p.OnWrite(func(string) { s.acls.ForgetItems() }) // A list shows the listeners that use it.
	return s
}

// Owner is how the scopes of callers see access control lists.
func (s *Service) Owner() cloud.Owner { return s.acls }

// GetAccessControlList reads one list with its entries and uses.
func (s *Service) GetAccessControlList(
	ctx context.Context, r *slbv1.GetAccessControlListRequest,
) (*slbv1.GetAccessControlListResponse, error) {
	found, err := s.acls.Get(ctx, r.GetAclId(), r.GetMaxAge())
	return cloud.Answer(&slbv1.GetAccessControlListResponse{AccessControlList: found}, err)
}

// ListAccessControlLists reads every list that matches, ordered by id.
func (s *Service) ListAccessControlLists(
	ctx context.Context, r *slbv1.ListAccessControlListsRequest,
) (*slbv1.ListAccessControlListsResponse, error) {
	found, err := s.acls.List(ctx, r)
	return cloud.Answer(&slbv1.ListAccessControlListsResponse{AccessControlLists: found}, err)
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
	entries, err := cloud.Numbered(ctx, cloud.Params{"AclId": id}, pageSize, (*slbv1.AccessControlEntry).GetCidr,
		func(p cloud.Params) ([]*slbv1.AccessControlEntry, int, error) {
			p["Page"] = p["PageNumber"] // This action alone calls it so.
			delete(p, "PageNumber")
			page, total := &slbv1.AccessControlList{}, 0
			answer := fields(page)
			answer["TotalAclEntry"] = &total
			answer["AclEntrys"] = cloud.Fields{"AclEntry": cloud.Each(&page.Entries, decodeEntry)}
			answer["RelatedListeners"] = cloud.Fields{"RelatedListener": cloud.Each(&page.Uses, decodeUse)}
			err := s.product.Read(ctx, "DescribeAccessControlListAttribute", p, &answer)
			if list == nil {
				list = page
			}
			return page.GetEntries(), total, err
		})
	if err != nil {
		return nil, err
	}
	networks := make(map[netip.Prefix]*slbv1.AccessControlEntry, len(entries))
	for _, e := range entries {
		network, err := parseNetwork(e.GetCidr())
		if err != nil {
			return nil, fmt.Errorf("decode access control list %s: %w", id, err)
		}
		e.Cidr, networks[network] = network.String(), e
	}
	list.Entries = nil
	for _, network := range slices.SortedFunc(maps.Keys(networks), netip.Prefix.Compare) {
		list.Entries = append(list.Entries, networks[network])
	}
	return list, nil
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

// CreateAccessControlList makes a list with its entries. A repetition of a request that failed half-way goes on with the list of that.
func (s *Service) CreateAccessControlList(
	ctx context.Context, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.CreateAccessControlListResponse, error) {
	name := fmt.Sprintf("access control list %q", r.GetName())
	// Of two creations of the same name at the same time, neither could determine whose a list is.
	unlock, err := cloud.Lock(ctx, s.product.Locks, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	defer s.acls.ForgetLists()
	creation := write.Create[slbv1.AccessControlList]{
		Ledger: s.ledger, Key: write.KeyOf(ctx, r.GetRequestId(), r.GetName()), API: "slb/CreateAccessControlList", Name: name,
		Send: func(ctx context.Context) (*slbv1.AccessControlList, error) { return s.create(ctx, r) },
		Find: func(ctx context.Context) ([]*slbv1.AccessControlList, error) { return s.find(ctx, r) },
		Read: s.acls.Look,
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
		With("AddressIPVersion", slb.Word(r.GetIpVersion())).
		With("ResourceGroupId", r.GetResourceGroupId()), r.GetTags())
	var made *slbv1.AccessControlList
	err := s.product.Send(ctx, "CreateAccessControlList", params, cloud.One(&made, decode))
	return made, err
}

// find reads the lists of the name, family, resource group and tags of the request that have no entries.
func (s *Service) find(ctx context.Context, r *slbv1.CreateAccessControlListRequest) ([]*slbv1.AccessControlList, error) {
	named, err := s.acls.Find(ctx, cloud.Params{"AclName": r.GetName()})
	if err != nil {
		return nil, err
	}
	named = slices.DeleteFunc(named, func(list *slbv1.AccessControlList) bool { return !fits(list, r) })
	empty := func(list *slbv1.AccessControlList) bool { return len(list.GetEntries()) == 0 }
	return write.Existing(ctx, named, (*slbv1.AccessControlList).GetAclId, s.acls.Look, empty)
}

// fits reports whether a list is as the request wants it, entries aside.
func fits(list *slbv1.AccessControlList, r *slbv1.CreateAccessControlListRequest) bool {
	six := slbv1.IpVersion_IP_VERSION_IPV6
	return list.GetName() == r.GetName() && (list.GetIpVersion() == six) == (r.GetIpVersion() == six) &&
		(r.GetResourceGroupId() == "" || list.GetResourceGroupId() == r.GetResourceGroupId()) && cloud.SameTags(list.GetTags(), r.GetTags())
}

const (
	add    = "AddAccessControlListEntry"
	remove = "RemoveAccessControlListEntry"
)

// change is an action on some entries.
type change struct {
	action  string
	entries []*slbv1.AccessControlEntry
}

// changes gives the order of a request's changes. Entries are added before others are removed, since a white list without entries
// lets every client in; but one that is to be removed and added can only be added after that.
func changes(r *slbv1.UpdateAccessControlListRequest) []change {
	var before, gone, after []*slbv1.AccessControlEntry
	leaving := make(map[string]bool, len(r.GetRemoveEntries()))
	for _, cidr := range r.GetRemoveEntries() {
		leaving[cidr] = true
		gone = append(gone, &slbv1.AccessControlEntry{Cidr: cidr})
	}
	for _, e := range r.GetAddEntries() {
		if r.GetRemoveFirst() || leaving[e.GetCidr()] {
			after = append(after, e)
		} else {
			before = append(before, e)
		}
	}
	return []change{{add, before}, {remove, gone}, {add, after}}
}

// apply makes changes in their order, as many entries per call as the cloud takes.
func (s *Service) apply(ctx context.Context, id string, changes []change) error {
	for _, all := range changes {
		for entries := range slices.Chunk(all.entries, entriesPerCall) {
			if err := s.applyOne(ctx, id, change{all.action, entries}); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOne makes a change that fits into one call. The cloud refuses the whole call when an entry of it is there already, or gone
// already; it is then sent again without those.
func (s *Service) applyOne(ctx context.Context, id string, todo change) error {
	fewer := false
	return write.Attempt{
		Send: func(ctx context.Context) error {
			fewer = false
			return s.send(ctx, id, todo)
		},
		Doubtful: contradicts,
		Done: func(ctx context.Context) (bool, error) {
			there, err := s.describe(ctx, id)
			if err != nil {
				return false, err
			}
			rest := todo.rest(there.GetEntries())
			fewer = len(rest) < len(todo.entries)
			todo.entries = rest
			return len(rest) == 0, nil
		},
		Again: func(error) bool { return fewer },
		Doubt: "an entry is there or gone already, but reading which one failed",
	}.Run(ctx)
}

// contradicts reports whether the cloud refused a change since an entry is there already, or gone already.
func contradicts(err error) bool {
	reason := rpcerr.ReasonOf(err)
	return reason == rpcerr.AlreadyExists || reason == rpcerr.NotFoundReason
}

// rest gives the entries that still have to be changed.
func (ch change) rest(there []*slbv1.AccessControlEntry) []*slbv1.AccessControlEntry {
	present := make(map[string]bool, len(there))
	for _, e := range there {
		present[e.GetCidr()] = true
	}
	return slices.DeleteFunc(slices.Clone(ch.entries), func(e *slbv1.AccessControlEntry) bool {
		return present[e.GetCidr()] == (ch.action == add)
	})
}

// send makes one call. Made twice, the second is refused as contradicting what is there, which does no harm.
func (s *Service) send(ctx context.Context, id string, todo change) error {
	type entry struct {
		Entry   string `json:"entry"`
		Comment string `json:"comment,omitempty"`
	}
	list := make([]entry, len(todo.entries))
	for i, e := range todo.entries {
		list[i] = entry{Entry: e.GetCidr(), Comment: e.GetComment()}
	}
	call := cloud.Write(openapi.SLB, todo.action, cloud.Params{"AclId": id})
	call.Form = cloud.Params{}.JSON("AclEntrys", list) // fifty comments may be longer than a URL
	call.Idempotent = true
	_, err := s.product.Caller.Do(ctx, call, nil)
	return err
}
