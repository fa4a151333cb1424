package slb

import (
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func aclEntryActions() []api.Action {
	return []api.Action{
		api.Write("AddAccessControlListEntry", api.On2(aclEntries, addACLEntries),
			api.Words(`AclEntryExceedLimit AclEntryIllegal AclEntryProcessing AclNotExist InvalidParam.AclEntryExists
				InvalidParam.Comment InvalidParameter MissingParameter`), region(), api.Required("AclId"),
			jsonText("AclEntrys")),
		api.Write("RemoveAccessControlListEntry", api.On2(aclEntries, removeACLEntries),
			api.Words(`AclEntryEmpty AclEntryExceedLimit AclEntryIllegal AclEntryProcessing AclNotExist InvalidParameter
				MissingParameter`), region(), api.Required("AclId"), jsonText("AclEntrys")),
	}
}

// aclEntries returns the list of a change and the entries of the parameter AclEntrys, [{"entry":"10.0.0.0/8","comment":"…"}].
func aclEntries(c *api.Context) (*state.Acl, []state.AclEntry, *api.Error) {
	acl, err := accessControlList(c)
	if err != nil {
		return nil, nil, err
	}
	items, ok := parseObjects(c.Get("AclEntrys"))
	switch {
	case c.Now.Before(acl.BusyUntil), !c.Hold(acl.ID):
		return nil, nil, api.BadRequest("AclEntryProcessing", "The entries of the Acl are being processed, try again later.")
	case !ok:
		return nil, nil, api.Invalid("AclEntrys")
	case len(items) == 0:
		return nil, nil, api.Missing("AclEntrys")
	case len(items) > c.Settings.Quotas.AclEntriesPerCall:
		return nil, nil, api.BadRequest("AclEntryExceedLimit", "The number of entries in one call exceeds %d.",
			c.Settings.Quotas.AclEntriesPerCall)
	}
	var out []state.AclEntry
	for _, item := range items {
		prefix, ok := parseCIDR(item["entry"])
		if !ok || prefix.Addr().Is6() != (acl.IPVersion == "ipv6") {
			return nil, nil, api.BadRequest("AclEntryIllegal", "The specified entry %s is not valid.", item["entry"])
		}
		out = append(out, state.AclEntry{Entry: prefix.String(), Comment: item["comment"]})
	}
	return acl, out, nil
}

// setEntries completes a change, and opens the window in which the list refuses the next one, if there is to be one.
func setEntries(c *api.Context, acl *state.Acl, entries []state.AclEntry) {
	acl.Entries = entries
	if d := c.Settings.AclBusyAfterWrite; d > 0 {
		acl.BusyUntil = c.Now.Add(d)
	}
}

// parseCIDR reads a network, or an address, which stands for a network of one.
func parseCIDR(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err == nil
}

func addACLEntries(c *api.Context, acl *state.Acl, more []state.AclEntry) (any, *api.Error) {
	entries := slices.Clone(acl.Entries)
	for _, e := range more {
		switch {
		case !lengthOf(0, 256)(e.Comment):
			return nil, api.BadRequest("InvalidParam.Comment", "The comment of the entry %s is not valid.", e.Entry)
		case slices.ContainsFunc(entries, func(o state.AclEntry) bool { return o.Entry == e.Entry }):
			return nil, api.BadRequest("InvalidParam.AclEntryExists", "The entry %s exists already.", e.Entry)
		}
		entries = append(entries, e)
	}
	if limit := c.Settings.Quotas.AclEntries; len(entries) > limit {
		return nil, api.BadRequest("AclEntryExceedLimit", "The number of entries of the Acl exceeds the quota of %d.", limit)
	}
	setEntries(c, acl, entries)
	return nil, nil
}

// removeACLEntries ignores entries that are not there, but refuses to work on an empty list.
func removeACLEntries(c *api.Context, acl *state.Acl, gone []state.AclEntry) (any, *api.Error) {
	if len(acl.Entries) == 0 {
		return nil, api.BadRequest("AclEntryEmpty", "The Acl has no entry.")
	}
	setEntries(c, acl, slices.DeleteFunc(acl.Entries, func(e state.AclEntry) bool {
		return slices.ContainsFunc(gone, func(g state.AclEntry) bool { return g.Entry == e.Entry })
	}))
	return nil, nil
}
