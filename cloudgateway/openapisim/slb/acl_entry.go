package slb

import (
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func aclEntryActions() []api.Action {
	return []api.Action{
		{
			Name: "AddAccessControlListEntry", Mutating: true, Handle: addACLEntries,
			Params: []api.Param{region(), required("AclId"), jsonText("AclEntrys")},
			Codes: []string{
				"AclEntryExceedLimit", "AclEntryIllegal", "AclNotExist", "InvalidParam.AclEntryExists", "InvalidParam.Comment",
				"InvalidParameter", "MissingParameter",
			},
		},
		{
			Name: "RemoveAccessControlListEntry", Mutating: true, Handle: removeACLEntries,
			Params: []api.Param{region(), required("AclId"), jsonText("AclEntrys")},
			Codes:  []string{"AclEntryEmpty", "AclEntryExceedLimit", "AclEntryIllegal", "AclNotExist", "InvalidParameter", "MissingParameter"},
		},
	}
}

// aclEntries reads the parameter AclEntrys, [{"entry":"10.0.0.0/8","comment":"…"}].
func aclEntries(c *api.Context, acl *state.Acl) ([]state.AclEntry, *api.Error) {
	items, ok := parseObjects(c.Get("AclEntrys"))
	switch {
	case !ok:
		return nil, invalid("AclEntrys")
	case len(items) == 0:
		return nil, missing("AclEntrys")
	case len(items) > c.Settings.Quotas.AclEntriesPerCall:
		return nil, api.BadRequest("AclEntryExceedLimit", "The number of entries in one call exceeds %d.", c.Settings.Quotas.AclEntriesPerCall)
	}
	var out []state.AclEntry
	for _, item := range items {
		prefix, ok := parseCIDR(item["entry"])
		switch {
		case !ok || prefix.Addr().Is6() != (acl.IPVersion == "ipv6"):
			return nil, api.BadRequest("AclEntryIllegal", "The specified entry %s is not valid.", item["entry"])
		case !lengthOf(0, 256)(item["comment"]):
			return nil, api.BadRequest("InvalidParam.Comment", "The comment of the entry %s is not valid.", item["entry"])
		}
		out = append(out, state.AclEntry{Entry: prefix.String(), Comment: item["comment"]})
	}
	return out, nil
}

// parseCIDR reads a network, or an address, which stands for a network of one.
func parseCIDR(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err == nil
}

func addACLEntries(c *api.Context) (any, *api.Error) {
	acl, err := accessControlList(c)
	if err != nil {
		return nil, err
	}
	more, err := aclEntries(c, acl)
	if err != nil {
		return nil, err
	}
	entries := slices.Clone(acl.Entries)
	for _, e := range more {
		if slices.ContainsFunc(entries, func(o state.AclEntry) bool { return o.Entry == e.Entry }) {
			return nil, api.BadRequest("InvalidParam.AclEntryExists", "The entry %s exists already.", e.Entry)
		}
		entries = append(entries, e)
	}
	if limit := c.Settings.Quotas.AclEntries; len(entries) > limit {
		return nil, api.BadRequest("AclEntryExceedLimit", "The number of entries of the Acl exceeds the quota of %d.", limit)
	}
	acl.Entries = entries
	return nil, nil
}

// removeACLEntries ignores entries that are not there, but refuses to work on an empty list.
func removeACLEntries(c *api.Context) (any, *api.Error) {
	acl, err := accessControlList(c)
	if err != nil {
		return nil, err
	}
	gone, err := aclEntries(c, acl)
	if err != nil {
		return nil, err
	}
	if len(acl.Entries) == 0 {
		return nil, api.BadRequest("AclEntryEmpty", "The Acl has no entry.")
	}
	acl.Entries = slices.DeleteFunc(acl.Entries, func(e state.AclEntry) bool {
		return slices.ContainsFunc(gone, func(g state.AclEntry) bool { return g.Entry == e.Entry })
	})
	return nil, nil
}
