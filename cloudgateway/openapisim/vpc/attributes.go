package vpc

import (
	"net/netip"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// attributeActions change what can be changed of things that are there, and report whether an address is free.
func attributeActions() []api.Action {
	return []api.Action{
		api.Write("ModifyVpcAttribute", api.On(settledVpc, modifyVpc),
			api.Words(`InvalidVpcId.NotFound IncorrectVpcStatus InvalidVpcName.Malformed InvalidVpcDiscription.Malformed
				InvalidIpv6CidrBlock.Malformed MissingParam.EnableIpv6 InvalidParameter`), api.Optional("RegionId"),
			api.Required("VpcId"), api.Optional("VpcName"), api.Optional("Description"), api.Flag("EnableIPv6"),
			api.Optional("Ipv6CidrBlock"), api.Optional("CidrBlock"), api.Flag("EnableDnsHostname"), ipv6Line()),
		api.Write("ModifyVSwitchAttribute", api.On(settledVSwitch, modifyVSwitch),
			api.Words(`InvalidVSwitchId.NotFound IncorrectVSwitchStatus InvalidVSwitchName.Malformed
				InvalidVSwitchDiscription.Malformed OperationFailed.VpcIpv6Disabled OperationFailed.Ipv6CidrBlockExisted
				InvalidParameter`),
			api.Optional("RegionId"), api.Required("VSwitchId"), api.Optional("VSwitchName"),
			api.Optional("Description"), api.Flag("EnableIPv6"), api.Number("Ipv6CidrBlock", 0, 255), api.Optional("VpcIpv6CidrBlock")),
		api.Write("ModifyRouteTableAttributes", api.On(tableByID, modifyRouteTable),
			api.Words(`InvalidRouteTableId.NotFound InvalidParameter.RouteTableName.Malformed
				InvalidParameter.Description.Malformed`), region(), api.Required("RouteTableId"),
			api.Optional("RouteTableName"), api.Optional("Description"), api.Flag("RoutePropagationEnable")),
		api.Read("CheckCanAllocateVpcPrivateIpAddress", api.On(vswitchByID, checkCanAllocate),
			api.Words("InvalidVSwitchId.NotFound InvalidParameter"), region(), api.Required("VSwitchId"),
			api.Required("PrivateIpAddress"), api.OneOf("IpVersion", "IPV4", "IPV6")),
	}
}

func modifyVpc(c *api.Context, v *state.Vpc) (any, *api.Error) {
	if err := checkVpcTexts(c, "EnableIPv6"); err != nil {
		return nil, err
	}
	if c.Has("CidrBlock") && (v.Default || !holdsVSwitches(c, v, c.Get("CidrBlock"))) { // that of the default VPC can't be changed
		return nil, api.Invalid("CidrBlock")
	}
	if c.Has("EnableIPv6") && !c.True("EnableIPv6") {
		for _, vsw := range vswitchesOf(c.State, v.ID) {
			if vsw.Ipv6Cidr != "" {
				return nil, api.Invalid("EnableIPv6")
			}
		}
		v.Ipv6Cidrs = nil
	}
	if c.True("EnableIPv6") && len(v.Ipv6Cidrs) == 0 {
		assignIPv6(c, v)
	}
	c.SetText("CidrBlock", &v.CidrBlock)
	c.SetFlag("EnableDnsHostname", &v.DNSHostname)
	c.SetText("VpcName", &v.Name)
	c.SetText("Description", &v.Description)
	return nil, nil
}

// holdsVSwitches reports whether a VPC can have another block: all its vSwitches have to be in it, or in a further one.
func holdsVSwitches(c *api.Context, v *state.Vpc, text string) bool {
	if !validBlock(text, 8, 28) {
		return false
	}
	for _, vsw := range vswitchesOf(c.State, v.ID) {
		subnet, err := netip.ParsePrefix(vsw.CidrBlock)
		inside := func(block string) bool {
			whole, err := netip.ParsePrefix(block)
			return err == nil && whole.Bits() <= subnet.Bits() && whole.Overlaps(subnet)
		}
		if err == nil && !inside(text) && !slices.ContainsFunc(v.SecondaryCidrs, inside) {
			return false
		}
	}
	return true
}

func modifyVSwitch(c *api.Context, v *state.VSwitch) (any, *api.Error) {
	if err := checkVSwitchTexts(c); err != nil {
		return nil, err
	}
	ipv6 := v.Ipv6Cidr
	switch network := c.State.Vpcs[v.VpcID]; {
	case c.Has("EnableIPv6") && !c.True("EnableIPv6"):
		ipv6 = ""
	case c.Has("Ipv6CidrBlock") && network != nil:
		block, err := ipv6Subnet(c, network, v.ID)
		if err != nil {
			return nil, err
		}
		ipv6 = block
	}
	v.Ipv6Cidr, v.PendingUntil = ipv6, pendingUntil(c)
	c.SetText("VSwitchName", &v.Name)
	c.SetText("Description", &v.Description)
	return nil, nil
}

func modifyRouteTable(c *api.Context, table *state.RouteTable) (any, *api.Error) {
	if err := checkTableTexts(c); err != nil {
		return nil, err
	}
	c.SetText("RouteTableName", &table.Name)
	c.SetText("Description", &table.Description)
	if c.Has("RoutePropagationEnable") {
		table.PropagationOff = !c.True("RoutePropagationEnable")
	}
	return nil, nil
}

func checkCanAllocate(c *api.Context, v *state.VSwitch) (any, *api.Error) {
	addr, err := netip.ParseAddr(c.Get("PrivateIpAddress"))
	if err != nil || c.Has("IpVersion") && addr.Is6() != (c.Get("IpVersion") == "IPV6") {
		return nil, api.Invalid("PrivateIpAddress")
	}
	text := v.CidrBlock
	if addr.Is6() {
		text = v.Ipv6Cidr
	}
	block, err := netip.ParsePrefix(text)
	free := err == nil && subnet.Usable(block, addr) && !subnet.Used(c.State, v)[addr.String()]
	return api.Object{"CanAllocate", free}, nil
}
