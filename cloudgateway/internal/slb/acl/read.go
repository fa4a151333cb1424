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

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

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
