// Package subnet knows which addresses of a vSwitch are taken and which can be handed out, for every product that takes some.
package subnet

import (
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Used returns the addresses of a vSwitch that nothing gets by itself: those of Taken, and those that are reserved for prefixes.
func Used(c *state.Cloud, vsw *state.VSwitch) map[string]bool {
	used := Taken(c, vsw)
	for _, block := range Reserved(c, vsw.ID) {
		if block.Addr().Is4() {
			for _, address := range addresses(block.String()) {
				used[address] = true
			}
		}
	}
	return used
}

// Reserved are the blocks of a vSwitch from which network interfaces get their prefixes.
func Reserved(c *state.Cloud, vswitchID string) []netip.Prefix {
	var blocks []netip.Prefix
	for _, r := range c.CidrReservations {
		if block, err := netip.ParsePrefix(r.Cidr); err == nil && r.VSwitchID == vswitchID {
			blocks = append(blocks, block)
		}
	}
	slices.SortFunc(blocks, netip.Prefix.Compare)
	return blocks
}

// Next is the block behind another one, of the same size; behind the last of all it is not valid.
func Next(block netip.Prefix) netip.Prefix {
	raw := block.Masked().Addr().AsSlice()
	for bit := block.Bits() - 1; bit >= 0; bit-- { // add one to the bits of the mask, from the right
		one := byte(1) << (7 - bit%8)
		raw[bit/8] ^= one
		if raw[bit/8]&one != 0 {
			addr, _ := netip.AddrFromSlice(raw) // of the same length as before
			return netip.PrefixFrom(addr, block.Bits())
		}
	}
	return netip.Prefix{}
}

// Taken returns the addresses of a vSwitch that something has: instances, network interfaces, load balancers, NAT gateways and HaVips.
func Taken(c *state.Cloud, vsw *state.VSwitch) map[string]bool {
	used := map[string]bool{}
	add := func(ips ...string) {
		for _, ip := range ips {
			used[ip] = true
		}
	}
	for _, i := range c.Instances {
		if i.VSwitchID == vsw.ID {
			add(i.PrivateIPs...)
		}
	}
	for _, eni := range c.Interfaces {
		if eni.VSwitchID == vsw.ID {
			add(eni.PrivateIPs...)
			add(eni.Ipv6Addresses...)
			for _, prefix := range eni.Ipv4Prefixes {
				add(addresses(prefix)...)
			}
		}
	}
	for _, lb := range c.LoadBalancers {
		if lb.VSwitchID == vsw.ID {
			add(lb.Address)
		}
	}
	for _, lb := range c.NLBs {
		for _, z := range lb.Zones {
			if z.VSwitchID == vsw.ID {
				add(z.PrivateIP)
			}
		}
	}
	for _, gateway := range c.NatGateways {
		if gateway.VSwitchID == vsw.ID {
			add(gateway.PrivateIP)
		}
	}
	for _, h := range c.HaVips {
		if h.VSwitchID == vsw.ID {
			add(h.Address)
		}
	}
	return used
}

// Usable reports whether a vSwitch with this block hands an address out: the cloud keeps the first one and the last three.
func Usable(block netip.Prefix, addr netip.Addr) bool {
	if !block.Contains(addr) || addr == block.Masked().Addr() {
		return false
	}
	for range 3 {
		if addr = addr.Next(); !block.Contains(addr) {
			return false
		}
	}
	return true
}

// Free returns the first address of a block that can be handed out and is not used, or false if there is none.
func Free(block netip.Prefix, used map[string]bool) (string, bool) {
	for addr := block.Masked().Addr(); block.Contains(addr); addr = addr.Next() {
		if text := addr.String(); Usable(block, addr) && !used[text] {
			return text, true
		}
	}
	return "", false
}

// addresses are those of a block; a block that is none has none.
func addresses(block string) []string {
	prefix, err := netip.ParsePrefix(block)
	if err != nil {
		return nil
	}
	var all []string
	for addr := prefix.Masked().Addr(); prefix.Contains(addr); addr = addr.Next() {
		all = append(all, addr.String())
	}
	return all
}
