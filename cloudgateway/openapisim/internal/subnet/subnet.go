// Package subnet knows which addresses of a vSwitch are taken and which can be handed out, for every product that takes some.
package subnet

import (
	"net/netip"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Used returns the addresses of a vSwitch that something has: instances, network interfaces, load balancers and NAT
// gateways.
func Used(c *state.Cloud, vsw *state.VSwitch) map[string]bool {
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
