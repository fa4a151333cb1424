package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/acl"
)

type accessControlLists struct {
	slbv1.UnimplementedAccessControlListServiceServer

	acl *acl.Client
}

func (s *accessControlLists) GetAccessControlList(
	ctx context.Context, r *slbv1.GetAccessControlListRequest,
) (*slbv1.GetAccessControlListResponse, error) {
	var c check
	c.id("acl_id", r.GetAclId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	list, err := s.acl.Get(ctx, r.GetAclId(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.GetAccessControlListResponse{AccessControlList: list}, nil
}

func (s *accessControlLists) ListAccessControlLists(
	ctx context.Context, r *slbv1.ListAccessControlListsRequest,
) (*slbv1.ListAccessControlListsResponse, error) {
	var c check
	c.ids("acl_ids", r.GetAclIds())
	c.text("name", r.GetName(), 0, 80)
	c.tags("tags", r.GetTags())
	enum(&c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	lists, err := s.acl.List(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.ListAccessControlListsResponse{AccessControlLists: lists}, nil
}

func (s *accessControlLists) CreateAccessControlList(
	ctx context.Context, r *slbv1.CreateAccessControlListRequest,
) (*slbv1.CreateAccessControlListResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.text("name", r.GetName(), 1, 80)
	enum(&c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
	c.optionalID("resource_group_id", r.GetResourceGroupId())
	c.tags("tags", r.GetTags())
	c.entries("entries", r.GetEntries(), r.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6)
	if err := c.err(); err != nil {
		return nil, err
	}
	id, err := s.acl.Create(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.CreateAccessControlListResponse{AclId: id}, nil
}

func (s *accessControlLists) UpdateAccessControlList(
	ctx context.Context, r *slbv1.UpdateAccessControlListRequest,
) (*slbv1.UpdateAccessControlListResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("acl_id", r.GetAclId())
	if r.Name != nil {
		c.text("name", r.GetName(), 1, 80)
	}
	six := slices.ContainsFunc(r.GetRemoveEntries(), isSix) ||
		slices.ContainsFunc(r.GetAddEntries(), func(e *slbv1.AccessControlEntry) bool { return isSix(e.GetCidr()) })
	c.entries("add_entries", r.GetAddEntries(), six)
	c.networks("remove_entries", "", r.GetRemoveEntries(), six)
	c.tagChanges(r.GetSetTags(), r.GetRemoveTagKeys())
	if r.ResourceGroupId != nil {
		c.id("resource_group_id", r.GetResourceGroupId())
	}
	if r.Name == nil && r.ResourceGroupId == nil && len(r.GetAddEntries())+len(r.GetRemoveEntries())+len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
		c.addf("name", "the request changes nothing; at least one change is required")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.acl.Update(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateAccessControlListResponse{}, nil
}

func (s *accessControlLists) DeleteAccessControlList(
	ctx context.Context, r *slbv1.DeleteAccessControlListRequest,
) (*slbv1.DeleteAccessControlListResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("acl_id", r.GetAclId())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.acl.Delete(ctx, r.GetAclId()); err != nil {
		return nil, err
	}
	return &slbv1.DeleteAccessControlListResponse{}, nil
}

// entries checks entries to be added, of IPv6 or IPv4.
func (c *check) entries(field string, entries []*slbv1.AccessControlEntry, six bool) {
	const longest = 256
	if !c.items(field, len(entries), maxItems) {
		return
	}
	cidrs := make([]string, len(entries))
	for i, e := range entries {
		cidrs[i] = e.GetCidr()
		c.text(fmt.Sprintf("%s[%d].comment", field, i), e.GetComment(), 0, longest)
	}
	c.networks(field, ".cidr", cidrs, six)
}

// networks checks that each network is of the family, and that none is there twice. They stand in field[i] or in a member of that.
func (c *check) networks(field, member string, cidrs []string, six bool) {
	if !c.items(field, len(cidrs), maxItems) {
		return
	}
	seen := make(map[string]string, len(cidrs))
	for i, cidr := range cidrs {
		at := fmt.Sprintf("%s[%d]%s", field, i, member)
		c.destination(at, cidr)
		if isSix(cidr) != six {
			c.addf(at, "%q is not of the list's family; a list takes either IPv4 or IPv6", shorten(cidr))
		}
		if first, ok := seen[cidr]; ok {
			c.addf(at, "is the same network as %s", first)
			continue
		}
		seen[cidr] = at
	}
}

func isSix(cidr string) bool { return strings.Contains(cidr, ":") }
