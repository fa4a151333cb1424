package nlb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const shifted = "Shifted"

func zoneActions() []api.Action {
	id, zones, zone := required(api.Optional("LoadBalancerId")), structs("ZoneMappings", 10), structs("ZoneMappings", 1)
	common := []string{noBalancer, balancerMade, balancerBusy, balancerStatus, lockConflict}
	shift := append(slices.Clone(common), "InvalidZones")
	return []api.Action{
		write("UpdateLoadBalancerZones", api.On(freeBalancer, updateZones), append(slices.Clone(common),
			illegal, "DuplicatedParam.AllocationId", "InvalidZones", "Mismatch.ZoneIdAndVswitchId", "MissingParam.ZoneMappings",
			"OperationDenied.ProtectedPrivateIPv4AddressChanged", "OperationDenied.ZoneVSwitchChanged", "OperationFailed.DuplicateZones.",
			"OperationFailed.vSwitchNotSupportIpv6", "ResourceAlreadyAssociated.AllocationId", "ResourceInConfiguring.VswitchId",
			"ResourceInUse.IP", "ResourceNotEnough.VSwitchIp", "ResourceNotFound.VSwitch", "UnauthorizedZone",
		), id, required(zones)),
		write("UpdateLoadBalancerAddressTypeConfig", api.On(freeBalancer, updateAddressType), append(slices.Clone(common),
			illegal, "DuplicatedParam.AllocationId", "Mismatch.ZoneIdAndVswitchId", "OperationDenied.AddressTypeNotChanged",
			"ResourceAlreadyAssociated.AllocationId",
		), id, required(api.OneOf("AddressType", internet, intranet)), zones),
		write("StartShiftLoadBalancerZones", shiftZones(active, shifted), shift, id, required(zone)),
		write("CancelShiftLoadBalancerZones", shiftZones(shifted, active), shift, id, required(zone)),
	}
}

// updateZones changes the set of zones. A zone that stays gets the EIP and the private address of the call, if it names others: no
// document says so, but the acceptance tests of Terraform's provider exchange both in one call.
func updateZones(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	wanted := mappings(c)
	if err := checkZones(c, lb, wanted, lb.Zones); err != nil {
		return nil, err
	}
	what := configure(lb)
	what.apply = func() {
		keep := func(z *state.NLBZone) bool {
			return slices.ContainsFunc(wanted, func(m mapping) bool { return m.zoneID == z.ZoneID })
		}
		for _, z := range lb.Zones {
			if !keep(z) {
				takePublic(c, z)
			}
		}
		lb.Zones = slices.DeleteFunc(lb.Zones, func(z *state.NLBZone) bool { return !keep(z) })
		for _, m := range wanted {
			if z := zoneOf(lb.Zones, m.zoneID); z == nil {
				addZone(c, lb, m)
			} else {
				exchange(c, lb, z, m)
			}
		}
	}
	return what, nil
}

// exchange gives a zone that stays the addresses that a call names.
func exchange(c *api.Context, lb *state.NLB, z *state.NLBZone, m mapping) {
	if m.privateIP != "" {
		z.PrivateIP = m.privateIP
	}
	if lb.AddressType == internet && m.allocationID != "" && m.allocationID != z.AllocationID {
		takePublic(c, z)
		givePublic(c, z, m.allocationID)
	}
}

func updateAddressType(c *api.Context, lb *state.NLB) (*change, *api.Error) {
	to := c.Get("AddressType")
	if to == lb.AddressType {
		return nil, fail("OperationDenied.AddressTypeNotChanged")
	}
	eips, seen := map[string]string{}, map[string]bool{}
	public := *lb
	public.AddressType = to
	for _, m := range mappings(c) {
		z := zoneOf(lb.Zones, m.zoneID)
		switch {
		case z == nil || m.vswitchID != z.VSwitchID:
			return nil, fail("Mismatch.ZoneIdAndVswitchId")
		case m.allocationID != "" && seen[m.allocationID]:
			return nil, fail("DuplicatedParam.AllocationId")
		}
		if err := checkEip(c, &public, m.allocationID); err != nil {
			return nil, err
		}
		eips[m.zoneID], seen[m.allocationID] = m.allocationID, true
	}
	what := configure(lb)
	what.apply = func() {
		c.Keep("", &lb.Spelling)
		lb.AddressType = to
		for _, z := range lb.Zones {
			if to == internet {
				givePublic(c, z, eips[z.ZoneID])
			} else {
				takePublic(c, z)
			}
		}
		if to == intranet {
			lb.BandwidthPackageID = ""
		}
	}
	return what, nil
}

// shiftZones takes a zone out of the DNS name, or back in. One zone at least stays in it. The page of the first action takes one zone in a
// call; that of the other doesn't say.
func shiftZones(from, to string) func(*api.Context) (*change, *api.Error) {
	return func(c *api.Context) (*change, *api.Error) {
		lb, err := freeBalancer(c)
		if err != nil {
			return nil, err
		}
		var chosen []*state.NLBZone
		for _, m := range mappings(c) {
			z := zoneOf(lb.Zones, m.zoneID)
			if z == nil || z.VSwitchID != m.vswitchID || z.Status != from || slices.Contains(chosen, z) {
				return nil, fail("InvalidZones")
			}
			chosen = append(chosen, z)
		}
		left := slices.ContainsFunc(lb.Zones, func(z *state.NLBZone) bool { return z.Status == active && !slices.Contains(chosen, z) })
		if to == shifted && !left {
			return nil, fail("InvalidZones")
		}
		return light(lb, func() {
			for _, z := range chosen {
				z.Status = to
			}
		}), nil
	}
}

func regionActions() []api.Action {
	language := api.OneOf("AcceptLanguage", "zh-CN", "en-US", "ja")
	return []api.Action{
		read("DescribeRegions", describeRegions, nil, language, api.Optional("ServiceCode"), api.Optional("ClientToken")),
		read("DescribeZones", describeZones, nil, language, api.Optional("ServiceCode"), api.Optional("ClientToken")),
	}
}

func describeRegions(c *api.Context) (any, *api.Error) {
	return api.Object{"Regions", api.Objects(c.Regions, func(id string) api.Object {
		return api.Object{"RegionId", id, "RegionEndpoint", "nlb." + id + ".aliyuncs.com", "LocalName", id}
	})}, nil
}

func describeZones(c *api.Context) (any, *api.Error) {
	return api.Object{"Zones", api.Objects(offered(c), func(id string) api.Object {
		return api.Object{"ZoneId", id, "LocalName", id}
	})}, nil
}
