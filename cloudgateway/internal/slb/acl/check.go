package acl

import (
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *slbv1.CreateAccessControlListRequest) {
			checkNetworks(c, "entries", ".cidr", networks(r.GetEntries()), r.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6)
		}),
		check.Of(func(c *check.Request, r *slbv1.UpdateAccessControlListRequest) {
			added, removed := networks(r.GetAddEntries()), r.GetRemoveEntries()
			six := slices.ContainsFunc(slices.Concat(added, removed), isSix)
			checkNetworks(c, "add_entries", ".cidr", added, six)
			checkNetworks(c, "remove_entries", "", removed, six)
		}),
	}
}

func networks(entries []*slbv1.AccessControlEntry) []string {
	cidrs := make([]string, len(entries))
	for i, e := range entries {
		cidrs[i] = e.GetCidr()
	}
	return cidrs
}

// checkNetworks checks that each network is of the family, and that none is there twice. They stand in field[i] or in a member of that.
func checkNetworks(c *check.Request, field, member string, cidrs []string, six bool) {
	seen := make(map[string]string, len(cidrs))
	for i, cidr := range cidrs {
		at := fmt.Sprintf("%s[%d]%s", field, i, member)
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
