package dataplane

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// Options of sockets that the standard library has no names for.
const (
	ipv6Freebind    = 78
	ipv6Transparent = 75
)

// supported reports whether this system can listen on any address of loopback without configuration.
func supported() error { return nil }

// localRoute marks routes to the machine itself in /proc/net/ipv6_route.
const localRoute = 0x80000000

// ownIPv6 reports whether a local route makes all addresses of a range of IPv6 those of the machine. That one can be listened at shows
// nothing: see freebind.
func ownIPv6(want netip.Prefix) bool {
	table, err := os.ReadFile("/proc/net/ipv6_route")
	if err != nil {
		return false // the machine has no IPv6
	}
	for line := range strings.Lines(string(table)) {
		var raw []byte
		var bits, flags int
		var skip string
		if n, _ := fmt.Sscanf(line, "%32x %x %s %s %s %s %s %s %x", &raw, &bits, &skip, &skip, &skip, &skip, &skip, &skip, &flags); n < 9 {
			continue
		}
		to, ok := netip.AddrFromSlice(raw)
		if ok && flags&localRoute != 0 && bits <= want.Bits() && netip.PrefixFrom(to, bits).Contains(want.Addr()) {
			return true
		}
	}
	return false
}

// freebind lets a socket of IPv6 be bound to an address that no interface has. Of IPv4 a local route is enough.
func freebind(network, _ string, c syscall.RawConn) error {
	if !ofIPv6(network) {
		return nil
	}
	return setOption(c, syscall.SOL_IPV6, ipv6Freebind)
}

// transparent lets a socket be bound to an address of another machine.
func transparent(network, _ string, c syscall.RawConn) error {
	if ofIPv6(network) {
		return setOption(c, syscall.SOL_IPV6, ipv6Transparent)
	}
	return setOption(c, syscall.SOL_IP, syscall.IP_TRANSPARENT)
}

func ofIPv6(network string) bool { return network[len(network)-1] == '6' }

func setOption(c syscall.RawConn, level, option int) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), level, option, 1) }); err != nil {
		return err
	}
	return failed
}
