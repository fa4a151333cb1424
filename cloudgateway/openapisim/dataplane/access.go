package dataplane

import (
	"net/netip"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// access decides which clients a listener takes. The zero value takes all.
type access struct {
	white    bool
	prefixes []netip.Prefix
}

// newAccess returns the access control of a listener. Lists without entries take everybody, white ones too: the cloud does
// not lock a listener whose list is still to be filled.
func newAccess(c *state.Cloud, l *state.Listener) access {
	if l.Attributes["AclStatus"] != "on" {
		return access{}
	}
	a := access{white: l.Attributes["AclType"] == "white"}
	for _, id := range l.AclIDs {
		acl := c.Acls[id]
		if acl == nil {
			continue
		}
		for _, e := range acl.Entries {
			if prefix, ok := parsePrefix(e.Entry); ok {
				a.prefixes = append(a.prefixes, prefix)
			}
		}
	}
	return a
}

// parsePrefix reads a prefix or a single address.
func parsePrefix(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), true
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

func (a access) admits(client netip.Addr) bool {
	if len(a.prefixes) == 0 {
		return true
	}
	for _, prefix := range a.prefixes {
		if prefix.Contains(client) {
			return a.white
		}
	}
	return !a.white
}
