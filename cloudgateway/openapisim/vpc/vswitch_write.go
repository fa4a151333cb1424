package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func vswitchWriteActions() []api.Action {
	return []api.Action{
		api.Write("CreateVSwitch", clienttoken.Once("vpc/CreateVSwitch", clienttoken.Show("VSwitchId"), api.On(settledVpc, createVSwitch)),
			newTagCodes("InvalidVpcId.NotFound", "InvalidZoneId.NotFound", "IncorrectVpcStatus", "InvalidVSwitchName.Malformed",
				"InvalidVSwitchDiscription.Malformed", "InvalidCidrBlock.Malformed", "InvalidCirdrBlock.MaskLength", "IllegalParam.CidrBlock",
				"InvalidCidrBlock.Overlapped", "RouteConflict.AlreadyExist", "OperationFailed.VpcIpv6Disabled",
				"OperationFailed.Ipv6CidrBlockExisted", "QuotaExceeded.VSwitch", "TaskConflict", "IdempotentParameterMismatch", "InvalidParameter"),
			api.Optional("RegionId"),
			api.Param{Name: "VpcId", Required: true, Missing: missing("MissingParam.vpcId", "VpcId")},
			api.Required("ZoneId"), api.Required("CidrBlock"), api.Optional("VSwitchName"), api.Optional("Description"),
			api.Number("Ipv6CidrBlock", 0, 255), api.Optional("VpcIpv6CidrBlock"), api.Optional("ClientToken"), tags.Param()),
		api.Write("DeleteVSwitch", api.On(settledVSwitch, deleteVSwitch),
			api.Words(`InvalidVSwitchId.NotFound IncorrectVSwitchStatus DependencyViolation DependencyViolation.HaVip DependencyViolation.RouteTable
				TaskConflict DryRunOperation`), api.Optional("RegionId"), api.Required("VSwitchId"), api.Flag("DryRun")),
	}
}

func createVSwitch(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if !knownZone(c, c.Get("ZoneId")) {
		return "", unknownZone()
	}
	if err := checkVSwitchTexts(c); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	subnet, err := checkSubnet(c.State, v, c.Get("CidrBlock"))
	if err != nil {
		return "", err
	}
	ipv6, err := ipv6Subnet(c, v, "")
	if err != nil {
		return "", err
	}
	if quota := c.Settings.Quotas.VSwitches; len(vswitchesOf(c.State, v.ID)) >= quota {
		return "", api.BadRequest("QuotaExceeded.VSwitch", "VSwitch quota exceeded: a VPC can have %d.", quota)
	}
	if busy(c.State, v.ID) {
		return "", taskConflict()
	}
	vsw := addVSwitch(c, &state.VSwitch{
		VpcID: v.ID, Name: c.Get("VSwitchName"), Description: c.Get("Description"), CidrBlock: subnet.String(), Ipv6Cidr: ipv6, Tags: labels,
	})
	return vsw.ID, nil
}

// addVSwitch gives a new vSwitch its id, the zone of the call, and the entries that the cloud makes for it.
func addVSwitch(c *api.Context, vsw *state.VSwitch) *state.VSwitch {
	return addVSwitchIn(c, c.Get("ZoneId"), vsw)
}

// addVSwitchIn is addVSwitch in a zone that the call doesn't have to name.
func addVSwitchIn(c *api.Context, zone string, vsw *state.VSwitch) *state.VSwitch {
	vsw.ID, vsw.ZoneID, vsw.PendingUntil, vsw.Created = c.NewID("vsw-bp1"), zone, pendingUntil(c), c.Now
	if table := systemTable(c.State, vsw.VpcID); table != nil {
		vsw.RouteTableID = table.ID
	}
	c.State.VSwitches[vsw.ID] = vsw
	for _, table := range tablesOf(c.State, vsw.VpcID) {
		addSystemEntry(c, table, vsw.CidrBlock)
	}
	return vsw
}

func checkVSwitchTexts(c *api.Context) *api.Error {
	switch {
	case !validName(c.Get("VSwitchName")):
		return malformed("InvalidVSwitchName.Malformed", "VSwitchName")
	case !validDescription(c.Get("Description")):
		return malformed("InvalidVSwitchDiscription.Malformed", "Description")
	}
	return nil
}

// knownZone accepts the zones in which there is a vSwitch, and those that are named as zones of the region are.
func knownZone(c *api.Context, zone string) bool {
	if strings.HasPrefix(zone, c.Region+"-") {
		return true
	}
	for _, v := range c.State.VSwitches {
		if v.ZoneID == zone {
			return true
		}
	}
	return false
}

func vswitchesOf(c *state.Cloud, vpcID string) []*state.VSwitch {
	var out []*state.VSwitch
	for _, v := range c.VSwitches {
		if v.VpcID == vpcID {
			out = append(out, v)
		}
	}
	return out
}

// checkSubnet reads the block of a new vSwitch, which must lie in the VPC and be free.
func checkSubnet(c *state.Cloud, v *state.Vpc, text string) (netip.Prefix, *api.Error) {
	subnet, err := netip.ParsePrefix(text)
	if err != nil || subnet != subnet.Masked() || !subnet.Addr().Is4() {
		return subnet, malformedCidr(text)
	}
	if subnet.Bits() < 16 || subnet.Bits() > 29 {
		return subnet, api.BadRequest("InvalidCirdrBlock.MaskLength", "The mask of the CIDR block must be between 16 and 29.")
	}
	inside := slices.ContainsFunc(append([]string{v.CidrBlock}, v.SecondaryCidrs...), func(block string) bool {
		whole, err := netip.ParsePrefix(block)
		return err == nil && whole.Bits() <= subnet.Bits() && whole.Overlaps(subnet)
	})
	if !inside {
		return subnet, api.BadRequest("IllegalParam.CidrBlock", "The CIDR block does not lie in a block of the VPC.")
	}
	for _, other := range vswitchesOf(c, v.ID) {
		if taken, err := netip.ParsePrefix(other.CidrBlock); err == nil && taken.Overlaps(subnet) {
			return subnet, api.BadRequest("InvalidCidrBlock.Overlapped", "The CIDR block overlaps with that of VSwitch %s.", other.ID)
		}
	}
	for _, table := range tablesOf(c, v.ID) {
		for _, e := range table.Entries {
			to, err := netip.ParsePrefix(e.Cidr)
			if err == nil && e.Type == custom && subnet.Bits() <= to.Bits() && subnet.Overlaps(to) {
				return subnet, api.BadRequest("RouteConflict.AlreadyExist", "Route entry %s leads to %s.", e.ID, e.Cidr)
			}
		}
	}
	return subnet, nil
}

// ipv6Subnet is the block of which the parameter gives the last eight bits. It may be that of the vSwitch with the id own.
func ipv6Subnet(c *api.Context, v *state.Vpc, own string) (string, *api.Error) {
	if !c.Has("Ipv6CidrBlock") {
		return "", nil
	}
	if len(v.Ipv6Cidrs) == 0 {
		return "", api.BadRequest("OperationFailed.VpcIpv6Disabled", "IPv6 is not enabled in the VPC.")
	}
	of := cmp.Or(c.Get("VpcIpv6CidrBlock"), v.Ipv6Cidrs[0])
	if !slices.Contains(v.Ipv6Cidrs, of) {
		return "", api.Invalid("VpcIpv6CidrBlock")
	}
	whole, err := netip.ParsePrefix(of)
	if err != nil {
		return "", api.Invalid("Ipv6CidrBlock")
	}
	number, _ := strconv.ParseUint(c.Get("Ipv6CidrBlock"), 10, 8) // the range is checked by the table
	address := whole.Addr().As16()
	address[7] = byte(number)
	block := netip.PrefixFrom(netip.AddrFrom16(address), 64).String()
	for _, other := range vswitchesOf(c.State, v.ID) {
		if other.Ipv6Cidr == block && other.ID != own {
			return "", api.BadRequest("OperationFailed.Ipv6CidrBlockExisted", "VSwitch %s has the IPv6 CIDR block already.", other.ID)
		}
	}
	return block, nil
}

// vswitchByID returns the vSwitch of the parameter VSwitchId.
func vswitchByID(c *api.Context) (*state.VSwitch, *api.Error) {
	return api.Named(c, c.State.VSwitches, "VSwitchId", vswitchNotFound)
}

// settledVSwitch is vswitchByID for what a vSwitch refuses while it is made.
func settledVSwitch(c *api.Context) (*state.VSwitch, *api.Error) {
	v, err := vswitchByID(c)
	if err == nil && !v.PendingUntil.IsZero() {
		err = api.BadRequest("IncorrectVSwitchStatus", "Current VSwitch status does not support this operation.")
	}
	return v, err
}

func deleteVSwitch(c *api.Context, v *state.VSwitch) (any, *api.Error) {
	if user := vswitchUser(c.State, v); user != "" {
		return nil, api.BadRequest("DependencyViolation", "Specified object has dependent resources: %s.", user)
	}
	table := c.State.RouteTables[v.RouteTableID]
	switch {
	case haVipIn(c.State, v.ID) != "":
		return nil, api.BadRequest("DependencyViolation.HaVip", "The VSwitch still has %s.", haVipIn(c.State, v.ID))
	case table != nil && table.Type == custom:
		return nil, api.BadRequest("DependencyViolation.RouteTable", "Route table %s is associated with the VSwitch.", table.ID)
	case c.True("DryRun"):
		return nil, api.DryRun()
	case busy(c.State, v.VpcID):
		return nil, taskConflict()
	}
	delete(c.State.VSwitches, v.ID)
	for _, table := range tablesOf(c.State, v.VpcID) {
		table.Entries = slices.DeleteFunc(table.Entries, func(e *state.RouteEntry) bool { return e.Type == system && e.Cidr == v.CidrBlock })
	}
	return nil, nil
}

// vswitchUser is something that has an address of the vSwitch, or "".
func vswitchUser(c *state.Cloud, v *state.VSwitch) string {
	for _, i := range c.Instances {
		if i.VSwitchID == v.ID {
			return i.ID
		}
	}
	for _, eni := range c.Interfaces {
		if eni.VSwitchID == v.ID {
			return eni.ID
		}
	}
	for _, lb := range c.LoadBalancers {
		if lb.VSwitchID == v.ID {
			return lb.ID
		}
	}
	for _, lb := range c.NLBs {
		if slices.ContainsFunc(lb.Zones, func(z *state.NLBZone) bool { return z.VSwitchID == v.ID }) {
			return lb.ID
		}
	}
	for _, n := range c.NatGateways {
		if n.VSwitchID == v.ID {
			return n.ID
		}
	}
	for _, r := range c.CidrReservations {
		if r.VSwitchID == v.ID {
			return r.ID
		}
	}
	return ""
}

func vswitchNotFound() *api.Error {
	return api.NotFound("InvalidVSwitchId.NotFound", "Specified virtual switch does not exist.")
}

func unknownZone() *api.Error {
	return api.NotFound("InvalidZoneId.NotFound", "Specified value of ZoneId does not exist.")
}
