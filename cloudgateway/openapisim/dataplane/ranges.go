package dataplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// Ranges are where the addresses of load balancers come from: prefixes of IPv4, on loopback or with a local route, which makes all
// addresses of a prefix those of the machine.
type Ranges struct {
	Internet netip.Prefix // default 127.47.0.0/16
	Intranet netip.Prefix // default 127.48.0.0/16; for those whose vSwitch isn't on loopback itself
	// Servers are where servers may be besides loopback: the addresses of a network namespace or a bridge, since a kubelet accepts no
	// node address on loopback. Traffic and health checks are sent there.
	Servers []netip.Prefix
	// IPv6 are where the addresses of IPv6 are at which load balancers listen, besides ::1: blocks of vSwitches that this machine has a local
	// route for. The cloud chooses the addresses out of the blocks of vSwitches, not out of these.
	IPv6 []netip.Prefix
	// Transparent lets servers see the addresses of clients on other machines. The kernel lets a process with CAP_NET_ADMIN do so, and routes
	// have to bring the answers of the servers back to this machine.
	Transparent bool
}

// reaches reports whether traffic may be sent to an address.
func (r Ranges) reaches(addr netip.Addr) bool {
	return addr.IsLoopback() || slices.ContainsFunc(r.Servers, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// carries reports whether an address is one at which load balancers may listen.
func (r Ranges) carries(addr netip.Addr) bool {
	return addr.IsLoopback() || r.Internet.Contains(addr) || r.Intranet.Contains(addr) ||
		slices.ContainsFunc(r.IPv6, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Complete checks the ranges and fills in those that are not set.
func (r Ranges) Complete() (Ranges, error) {
	for _, p := range []struct {
		name     string
		prefix   *netip.Prefix
		fallback string
	}{{"internet", &r.Internet, "127.47.0.0/16"}, {"intranet", &r.Intranet, "127.48.0.0/16"}} {
		if !p.prefix.IsValid() {
			*p.prefix = netip.MustParsePrefix(p.fallback)
		}
		if addr := p.prefix.Addr(); !addr.Is4() || !addr.IsLoopback() && !addr.IsGlobalUnicast() || p.prefix.Bits() < 8 || p.prefix.Bits() > 24 {
			return Ranges{}, fmt.Errorf("%s range %s: it must be a prefix of IPv4 unicast with 8 to 24 bits", p.name, p.prefix)
		}
		*p.prefix = p.prefix.Masked()
	}
	for _, p := range r.IPv6 {
		if addr := p.Addr(); !addr.Is6() || addr.Is4In6() || !addr.IsGlobalUnicast() || p.Bits() < 32 {
			return Ranges{}, fmt.Errorf("range %s of IPv6: it must be a prefix of IPv6 unicast with at least 32 bits", p)
		}
	}
	if r.Internet.Overlaps(r.Intranet) {
		return Ranges{}, errors.New("the ranges " + r.Internet.String() + " and " + r.Intranet.String() + " overlap")
	}
	return r, nil
}

// Plane makes a data plane whose load balancers have addresses of the ranges.
func (r Ranges) Plane(cloud api.TrafficCloud, log *slog.Logger) (api.Plane, error) {
	complete, err := r.Complete()
	if err != nil {
		return nil, fmt.Errorf("data plane: %w", err)
	}
	return New(Config{Cloud: cloud, Ranges: complete, Logger: log})
}

// present reports an error for a range whose addresses are not the machine's, so that nothing could listen there.
func (r Ranges) present(ctx context.Context) error {
	for _, p := range []netip.Prefix{r.Internet, r.Intranet} {
		if !p.IsValid() {
			continue // of a plane for loopback only
		}
		conn, err := (&net.ListenConfig{}).ListenPacket(ctx, protoUDP, netip.AddrPortFrom(p.Addr().Next(), 0).String())
		if err != nil {
			return fmt.Errorf("addresses of %s are not this machine's; give it a local route (ip route add local %s dev lo): %w", p, p, err)
		}
		_ = conn.Close() // Nothing was sent.
	}
	for _, p := range r.IPv6 {
		if !ownIPv6(p) {
			return fmt.Errorf("addresses of %s are not this machine's; give it a local route (ip -6 route add local %s dev lo)", p, p)
		}
	}
	if r.Transparent {
		conn, err := (&net.ListenConfig{Control: transparent}).ListenPacket(ctx, protoUDP, "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("the kernel lets this process show servers no addresses of other machines; that takes CAP_NET_ADMIN: %w", err)
		}
		_ = conn.Close() // Nothing was sent.
	}
	return nil
}

// listenConfig listens at addresses of IPv6, too, that the machine has by a local route.
func listenConfig() *net.ListenConfig { return &net.ListenConfig{Control: freebind} }
