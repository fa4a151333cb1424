package nlb

import (
	"fmt"
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	internet  = "Internet"
	intranet  = "Intranet"
	ipv4      = "ipv4"
	dualStack = "DualStack"

	eipInUse     = "InUse"
	eipAvailable = "Available"
)

// mapping is one item of ZoneMappings.
type mapping struct {
	zoneID, vswitchID, privateIP, allocationID string
	localIPv4, localIPv6                       []string
}

func mappings(c *api.Context) []mapping {
	var out []mapping
	for _, prefix := range c.Prefixes("ZoneMappings") {
		out = append(out, mapping{
			zoneID: c.Get(prefix + "ZoneId"), vswitchID: c.Get(prefix + "VSwitchId"), privateIP: c.Get(prefix + "PrivateIPv4Address"),
			allocationID: c.Get(prefix + "AllocationId"), localIPv4: c.List(prefix + "Ipv4LocalAddresses"),
			localIPv6: c.List(prefix + "Ipv6LocalAddresses"),
		})
	}
	return out
}

// checkZones checks the zones that a load balancer is to have. Old are those that it has.
func checkZones(c *api.Context, lb *state.NLB, zones []mapping, old []*state.NLBZone) *api.Error {
	if len(zones) < 2 || len(zones) > 10 {
		return fail("InvalidZones")
	}
	seenZones, seenEips := map[string]bool{}, map[string]bool{}
	for _, m := range zones {
		if m.zoneID == "" || m.vswitchID == "" {
			return fail("MissingParam.ZoneMappings")
		}
		if !slices.Contains(offered(c), m.zoneID) {
			return fail("UnauthorizedZone")
		}
		if seenZones[m.zoneID] {
			return fail("OperationFailed.DuplicateZones.")
		}
		seenZones[m.zoneID] = true
		if m.allocationID != "" && seenEips[m.allocationID] {
			return fail("DuplicatedParam.AllocationId")
		}
		seenEips[m.allocationID] = true
		if err := checkZone(c, lb, m, zoneOf(old, m.zoneID)); err != nil {
			return err
		}
	}
	return nil
}

func zoneOf(zones []*state.NLBZone, id string) *state.NLBZone {
	if i := slices.IndexFunc(zones, func(z *state.NLBZone) bool { return z.ZoneID == id }); i >= 0 {
		return zones[i]
	}
	return nil
}

// offered are the zones in which load balancers can be.
func offered(c *api.Context) []string {
	return slices.DeleteFunc(regions.Zones(c), func(id string) bool { return slices.Contains(c.State.ZonesWithoutNLBs, id) })
}

// checkZone checks one zone. Old is nil for a new one.
func checkZone(c *api.Context, lb *state.NLB, m mapping, old *state.NLBZone) *api.Error {
	vsw := c.State.VSwitches[m.vswitchID]
	switch {
	case vsw == nil || vsw.VpcID != lb.VpcID:
		return fail("ResourceNotFound.VSwitch")
	case vsw.ZoneID != m.zoneID:
		return fail("Mismatch.ZoneIdAndVswitchId")
	}
	if old != nil {
		switch {
		case old.VSwitchID != m.vswitchID:
			return fail("OperationDenied.ZoneVSwitchChanged")
		case m.privateIP != "" && m.privateIP != old.PrivateIP && lb.Modification.On: // which ones the cloud protects is unproven
			return fail("OperationDenied.ProtectedPrivateIPv4AddressChanged")
		}
		if m.privateIP != "" && m.privateIP != old.PrivateIP {
			if _, err := privateAddress(c, vsw, m.privateIP); err != nil {
				return err
			}
		}
		if m.allocationID == old.AllocationID {
			return nil
		}
		return checkEip(c, lb, m.allocationID)
	}
	switch {
	case c.Now.Before(vsw.PendingUntil):
		return fail("ResourceInConfiguring.VswitchId")
	case lb.AddressIPVersion == dualStack && vsw.Ipv6Cidr == "":
		return fail("OperationFailed.vSwitchNotSupportIpv6")
	}
	if _, err := privateAddress(c, vsw, m.privateIP); err != nil {
		return err
	}
	return checkEip(c, lb, m.allocationID)
}

// checkEip checks that an EIP can be given to a load balancer.
func checkEip(c *api.Context, lb *state.NLB, id string) *api.Error {
	if id == "" {
		return nil
	}
	e := c.State.Eips[id]
	switch {
	case e == nil || lb.AddressType != internet:
		return fail(illegal)
	case e.Status != eipAvailable:
		return fail("ResourceAlreadyAssociated.AllocationId")
	}
	return nil
}

// privateAddress returns the wanted address of a vSwitch, or a free one if none is wanted. The caller takes it.
func privateAddress(c *api.Context, vsw *state.VSwitch, wanted string) (string, *api.Error) {
	block, err := netip.ParsePrefix(vsw.CidrBlock)
	if err != nil {
		return "", fail("ResourceNotEnough.VSwitchIp")
	}
	used := subnet.Used(c.State, vsw)
	if wanted == "" {
		if address, ok := subnet.Free(block, used); ok {
			return address, nil
		}
		return "", fail("ResourceNotEnough.VSwitchIp")
	}
	addr, err := netip.ParseAddr(wanted)
	switch {
	case err != nil || !subnet.Usable(block, addr):
		return "", fail(illegal)
	case used[addr.String()]:
		return "", fail("ResourceInUse.IP")
	}
	return addr.String(), nil
}

// addZone gives a load balancer an address in a zone. The mapping was checked.
func addZone(c *api.Context, lb *state.NLB, m mapping) {
	vsw := c.State.VSwitches[m.vswitchID]
	z := &state.NLBZone{ZoneID: m.zoneID, VSwitchID: m.vswitchID, Status: active, EniID: c.NewID("eni-"),
		Ipv4LocalAddresses: m.localIPv4, Ipv6LocalAddresses: m.localIPv6}
	z.PrivateIP, _ = privateAddress(c, vsw, m.privateIP)
	if prefix, err := netip.ParsePrefix(vsw.Ipv6Cidr); err == nil && lb.AddressIPVersion == dualStack {
		c.State.Sequence++
		raw := prefix.Masked().Addr().As16()
		n := c.State.Sequence
		raw[12], raw[13], raw[14], raw[15] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		z.Ipv6Address = netip.AddrFrom16(raw).String()
	}
	lb.Zones = append(lb.Zones, z)
	if lb.AddressType == internet {
		givePublic(c, z, m.allocationID)
	}
}

// givePublic gives a zone the EIP of the caller, or one that the cloud provides.
func givePublic(c *api.Context, z *state.NLBZone, allocationID string) {
	if e := c.State.Eips[allocationID]; e != nil {
		e.Status, e.InstanceID, e.InstanceType = eipInUse, z.EniID, "NetworkInterface"
		z.AllocationID, z.PublicIP = e.ID, e.Address
		return
	}
	z.AllocationID = c.NewID("eip-")
	n := c.Number("8")
	z.PublicIP = fmt.Sprintf("8.%d.%d.%d", 208+n/(256*254)%8, n/254%256, 1+n%254)
	if c.Traffic != nil {
		if address, ok := c.TrafficAddress(c.Traffic.Internet); ok {
			z.PublicIP = address
		}
	}
}

// takePublic takes the public address of a zone away. An EIP of the caller becomes free.
func takePublic(c *api.Context, z *state.NLBZone) {
	if e := c.State.Eips[z.AllocationID]; e != nil {
		e.Status, e.InstanceID, e.InstanceType = eipAvailable, "", ""
	}
	z.AllocationID, z.PublicIP = "", ""
}
