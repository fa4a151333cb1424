package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Ranges are where the addresses of load balancers come from: prefixes of IPv4 loopback.
type Ranges struct {
	Internet netip.Prefix // default 127.47.0.0/16
	Intranet netip.Prefix // default 127.48.0.0/16; for those whose vSwitch isn't on loopback itself
	// Servers are where servers may be besides loopback: the addresses of a network namespace or a bridge, since a kubelet accepts no
	// node address on loopback. Traffic and health checks are sent there.
	Servers []netip.Prefix
}

// reaches reports whether traffic may be sent to an address.
func (r Ranges) reaches(addr netip.Addr) bool {
	return addr.IsLoopback() || slices.ContainsFunc(r.Servers, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Complete checks the ranges and fills in those that are not set.
func (r Ranges) Complete() (Ranges, error) {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	for _, p := range []struct {
		name     string
		prefix   *netip.Prefix
		fallback string
	}{{"internet", &r.Internet, "127.47.0.0/16"}, {"intranet", &r.Intranet, "127.48.0.0/16"}} {
		if !p.prefix.IsValid() {
			*p.prefix = netip.MustParsePrefix(p.fallback)
		}
		if !loopback.Contains(p.prefix.Addr()) || p.prefix.Bits() < 8 || p.prefix.Bits() > 24 {
			return Ranges{}, fmt.Errorf("%s range %s: it must be a part of %s with at most 24 bits", p.name, p.prefix, loopback)
		}
		*p.prefix = p.prefix.Masked()
	}
	if r.Internet.Overlaps(r.Intranet) {
		return Ranges{}, errors.New("the ranges " + r.Internet.String() + " and " + r.Intranet.String() + " overlap")
	}
	return r, nil
}
