package slb

import (
	"fmt"
	"net/netip"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// internetAddress returns a public address that no load balancer has.
func internetAddress(c *api.Context, version string) string {
	if c.Traffic != nil && version != "ipv6" {
		if address, ok := c.TrafficAddress(c.Traffic.Internet); ok {
			return address
		}
	}
	for {
		c.State.Sequence++
		n := c.Number("47")
		address := fmt.Sprintf("47.%d.%d.%d", 96+n/(256*254)%32, n/254%256, 1+n%254)
		if version == "ipv6" {
			address = fmt.Sprintf("2408:4005:3c0::%x:%x", n>>16&0xffff, n&0xffff)
		}
		if c.Count != nil && version != "ipv6" {
			address = fmt.Sprintf("47.0.%d.%d", n>>8, n&0xff)
		}
		if !addressTaken(c, address) {
			return address
		}
	}
}

func addressTaken(c *api.Context, address string) bool {
	for _, lb := range c.State.LoadBalancers {
		if lb.Address == address {
			return true
		}
	}
	return false
}

// intranetAddress returns the wanted address of a vSwitch, or a free one if none is wanted. The caller takes it.
func intranetAddress(c *api.Context, vsw *state.VSwitch, wanted string) (string, *api.Error) {
	prefix, err := netip.ParsePrefix(vsw.CidrBlock)
	if err != nil {
		return "", api.BadRequest("InvalidParameter", "The CIDR block of the specified VSwitch is not valid.")
	}
	used := subnet.Used(c.State, vsw)
	if wanted != "" {
		addr, err := netip.ParseAddr(wanted)
		switch {
		case err != nil || !subnet.Usable(prefix, addr):
			return "", api.BadRequest("InvalidParameter", "The IP address is not in subnet.")
		case used[addr.String()]:
			return "", api.BadRequest("InvalidParameter", "The vpc Ip is exist.")
		}
		return addr.String(), nil
	}
	if c.Traffic != nil && !prefix.Addr().IsLoopback() {
		if address, ok := c.TrafficAddress(c.Traffic.Intranet); ok {
			return address, nil
		}
	}
	if address, ok := subnet.Free(prefix, used); ok {
		return address, nil
	}
	return "", api.BadRequest("VSwitchAvailableIpNotExist", "The specified VSwitch has no available IP address.")
}
