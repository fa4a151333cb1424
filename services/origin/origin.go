// Package origin says whose a connection is, for bounds that hold for each client.
package origin

import (
	"net"
	"net/netip"
)

// Of is the IPv4 address of a client, or the /64 network of its IPv6 address, of which one host has as many addresses as it likes. What
// is no address with a port is given as it is.
func Of(a net.Addr) string {
	const network = 64
	parsed, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	address := parsed.Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.WithZone("").Prefix(network)
	if err != nil {
		return a.String()
	}
	return prefix.String()
}
