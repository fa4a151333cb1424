package acl

import (
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.GetAccessControlListRequest) { c.ID("acl_id", r.GetAclId()) }),
		check.Of(func(c *check.Request, r *slbv1.ListAccessControlListsRequest) {
			c.IDs("acl_ids", r.GetAclIds())
			c.Text("name", r.GetName(), 0, 80)
			check.Enum(c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
		}),
		check.Of(func(c *check.Request, r *slbv1.CreateAccessControlListRequest) {
			c.RequestID(r.GetRequestId())
			c.Text("name", r.GetName(), 1, 80)
			check.Enum(c, "ip_version", r.GetIpVersion(), slbv1.IpVersion_name, false)
			c.OptionalID("resource_group_id", r.GetResourceGroupId())
			checkEntries(c, "entries", r.GetEntries(), r.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6)
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateAccessControlListRequest) {
			c.ID("acl_id", r.GetAclId())
			if r.Name != nil {
				c.Text("name", r.GetName(), 1, 80)
			}
			six := slices.ContainsFunc(r.GetRemoveEntries(), isSix) ||
				slices.ContainsFunc(r.GetAddEntries(), func(e *slbv1.AccessControlEntry) bool { return isSix(e.GetCidr()) })
			checkEntries(c, "add_entries", r.GetAddEntries(), six)
			checkNetworks(c, "remove_entries", "", r.GetRemoveEntries(), six)
			if r.ResourceGroupId != nil {
				c.ID("resource_group_id", r.GetResourceGroupId())
			}
			if r.Name == nil && r.ResourceGroupId == nil && len(r.GetAddEntries())+len(r.GetRemoveEntries())+len(r.GetSetTags())+len(r.GetRemoveTagKeys()) == 0 {
				c.Addf("name", "the request changes nothing; at least one change is required")
			}
		}),
		check.Of(func(c *check.Request, r *slbv1.DeleteAccessControlListRequest) { c.ID("acl_id", r.GetAclId()) }),
	}
}

// checkEntries checks entries to be added, of IPv6 or IPv4.
func checkEntries(c *check.Request, field string, entries []*slbv1.AccessControlEntry, six bool) {
	const longest = 256
	if !c.Items(field, len(entries), check.MaxItems) {
		return
	}
	cidrs := make([]string, len(entries))
	for i, e := range entries {
		cidrs[i] = e.GetCidr()
		c.Text(fmt.Sprintf("%s[%d].comment", field, i), e.GetComment(), 0, longest)
	}
	checkNetworks(c, field, ".cidr", cidrs, six)
}

// checkNetworks checks that each network is of the family, and that none is there twice. They stand in field[i] or in a member of that.
func checkNetworks(c *check.Request, field, member string, cidrs []string, six bool) {
	if !c.Items(field, len(cidrs), check.MaxItems) {
		return
	}
	seen := make(map[string]string, len(cidrs))
	for i, cidr := range cidrs {
		at := fmt.Sprintf("%s[%d]%s", field, i, member)
		c.Network(at, cidr)
		if isSix(cidr) != six {
			c.Addf(at, "%q is not of the list's family; a list takes either IPv4 or IPv6", check.Shorten(cidr))
		}
		if first, ok := seen[cidr]; ok {
			c.Addf(at, "is the same network as %s", first)
			continue
		}
		seen[cidr] = at
	}
}

func isSix(cidr string) bool { return strings.Contains(cidr, ":") }
