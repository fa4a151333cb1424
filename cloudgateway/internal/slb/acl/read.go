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
	var first *entriesAnswer
	entries := map[netip.Prefix]*slbv1.AccessControlEntry{}
	err := cloud.Numbered(ctx, cloud.Params{"AclId": id}, pageSize, func(p cloud.Params) (int, int, error) {
		p["Page"] = p["PageNumber"] // This action alone calls it so.
		delete(p, "PageNumber")
		var answer entriesAnswer
		if err := s.product.Read(ctx, "DescribeAccessControlListAttribute", p, &answer); err != nil {
			return 0, 0, err
		}
		if first == nil {
			first = &answer
		}
		if answer.TotalAclEntry != first.TotalAclEntry {
			return 0, 0, changedMeanwhile(id)
		}
		for _, e := range answer.AclEntrys.AclEntry {
			network, err := parseNetwork(e.AclEntryIP)
			if err != nil {
				return 0, 0, fmt.Errorf("decode access control list %s: %w", id, err)
			}
			entries[network] = &slbv1.AccessControlEntry{Cidr: network.String(), Comment: e.AclEntryComment}
		}
		return len(answer.AclEntrys.AclEntry), answer.TotalAclEntry, nil
	})
	if err != nil {
		return nil, err
	}
	if len(entries) != first.TotalAclEntry {
		return nil, changedMeanwhile(id)
	}
	list := first.decode()
	for _, network := range slices.SortedFunc(maps.Keys(entries), netip.Prefix.Compare) {
		list.Entries = append(list.Entries, entries[network])
	}
	list.Uses = first.uses()
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
	found := map[string]*slbv1.AccessControlList{}
	err := cloud.Numbered(ctx, filters, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount int
			Acls       struct{ Acl []listAnswer }
		}
		if err := s.product.Read(ctx, "DescribeAccessControlLists", p, &answer); err != nil {
			return 0, 0, err
		}
		for _, a := range answer.Acls.Acl {
			found[a.AclID] = a.decode()
		}
		return len(answer.Acls.Acl), answer.TotalCount, nil
	})
	if err != nil {
		return nil, err
	}
	return cloud.SortedBy(slices.Collect(maps.Values(found)), (*slbv1.AccessControlList).GetAclId), nil
}
