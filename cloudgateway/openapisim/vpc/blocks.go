package vpc

import (
	"net/netip"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// maxBlocks is the number of further blocks that a VPC can have of each version.
const maxBlocks = 5

// blockTaken is the code for a block that overlaps with one that the VPC has. The code for too many of them is unproven.
const (
	blockTaken    = "OperationDenied.CidrConflictWithExistCidr"
	tooManyBlocks = "QuotaExceeded.VpcCidrBlock"
)

// blockActions give VPCs further blocks and take them away, and link VPCs with the classic network, in which nothing is here.
func blockActions() []api.Action {
	return []api.Action{
		api.Write("AssociateVpcCidrBlock", api.On(settledVpc, addBlock),
			[]string{"InvalidVpcId.NotFound", "IncorrectVpcStatus", "InvalidParameter", "MissingParameter", blockTaken, tooManyBlocks, noIpamPool},
			region(),
			api.Required("VpcId"), api.OneOf("IpVersion", "IPV4", "IPV6"), api.Optional("SecondaryCidrBlock"), api.Optional("IPv6CidrBlock"),
			ipv6Line(), api.OneOf("IPv6CidrType", "Public"), api.Optional("IpamPoolId"), api.Number("SecondaryCidrMask", 8, 28)),
		api.Write("UnassociateVpcCidrBlock", api.On(settledVpc, removeBlock),
			api.Words("InvalidVpcId.NotFound IncorrectVpcStatus InvalidParameter MissingParameter DependencyViolation.VSwitch"), region(),
			api.Required("VpcId"), api.Optional("SecondaryCidrBlock"), api.Optional("IPv6CidrBlock")),
		api.Write("EnableVpcClassicLink", api.On(settledVpc, linkClassic(true)), api.Words("InvalidVpcId.NotFound IncorrectVpcStatus"),
			region(), api.Required("VpcId"), api.Optional("ClientToken")),
		api.Write("DisableVpcClassicLink", api.On(settledVpc, linkClassic(false)), api.Words("InvalidVpcId.NotFound IncorrectVpcStatus"),
			region(), api.Required("VpcId"), api.Optional("ClientToken")),
	}
}

func addBlock(c *api.Context, v *state.Vpc) (any, *api.Error) {
	if c.Has("IpamPoolId") {
		return nil, unknownIpamPool()
	}
	if c.Has("IPv6CidrBlock") || strings.EqualFold(c.Get("IpVersion"), "IPV6") {
		return nil, addIPv6Block(c, v)
	}
	text := c.Get("SecondaryCidrBlock")
	switch {
	case text == "":
		return nil, api.Missing("SecondaryCidrBlock")
	case !validBlock(text, 8, 28):
		return nil, api.Invalid("SecondaryCidrBlock")
	case len(v.SecondaryCidrs) >= maxBlocks:
		return nil, api.BadRequest(tooManyBlocks, "A VPC can have %d secondary IPv4 CIDR blocks.", maxBlocks)
	}
	for _, present := range append([]string{v.CidrBlock}, v.SecondaryCidrs...) {
		if overlap(present, text) {
			return nil, api.BadRequest(blockTaken, "The CIDR block overlaps with %s of the VPC.", present)
		}
	}
	v.SecondaryCidrs = append(slices.Clone(v.SecondaryCidrs), text)
	return nil, nil
}

// addIPv6Block gives a VPC the IPv6 block of the call, or one of the cloud's.
func addIPv6Block(c *api.Context, v *state.Vpc) *api.Error {
	text := c.Get("IPv6CidrBlock")
	switch prefix, err := netip.ParsePrefix(text); {
	case text != "" && (err != nil || !prefix.Addr().Is6() || prefix.Bits() != 56):
		return api.Invalid("IPv6CidrBlock")
	case len(v.Ipv6Cidrs) > maxBlocks: // the first one is no secondary one
		return api.BadRequest(tooManyBlocks, "A VPC can have %d secondary IPv6 CIDR blocks.", maxBlocks)
	case slices.ContainsFunc(v.Ipv6Cidrs, func(present string) bool { return overlap(present, text) }):
		return api.BadRequest(blockTaken, "The VPC has the IPv6 CIDR block %s already.", text)
	}
	if text == "" {
		text = newIPv6Block(c)
	}
	v.Ipv6Cidrs = append(slices.Clone(v.Ipv6Cidrs), text)
	setLine(c, v, text)
	return nil
}

// overlap reports whether two blocks have an address in common; a text that is no block has none.
func overlap(a, b string) bool {
	one, errOne := netip.ParsePrefix(a)
	other, errOther := netip.ParsePrefix(b)
	return errOne == nil && errOther == nil && one.Overlaps(other)
}

func removeBlock(c *api.Context, v *state.Vpc) (any, *api.Error) {
	blocks, name, of := &v.SecondaryCidrs, "SecondaryCidrBlock", func(vsw *state.VSwitch) string { return vsw.CidrBlock }
	if c.Has("IPv6CidrBlock") {
		blocks, name, of = &v.Ipv6Cidrs, "IPv6CidrBlock", func(vsw *state.VSwitch) string { return vsw.Ipv6Cidr }
	}
	text := c.Get(name)
	at := slices.Index(*blocks, text)
	switch {
	case text == "":
		return nil, api.Missing(name)
	case at < 0:
		return nil, api.Invalid(name)
	}
	for _, vsw := range vswitchesOf(c.State, v.ID) {
		if overlap(of(vsw), text) {
			return nil, api.BadRequest("DependencyViolation.VSwitch", "VSwitch %s lies in the CIDR block.", vsw.ID)
		}
	}
	*blocks = slices.Delete(slices.Clone(*blocks), at, at+1)
	return nil, nil
}

func linkClassic(on bool) func(*api.Context, *state.Vpc) (any, *api.Error) {
	return func(_ *api.Context, v *state.Vpc) (any, *api.Error) {
		v.ClassicLink = on
		return nil, nil
	}
}
