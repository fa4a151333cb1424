package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of the entries of NAT gateways. Those for addresses that the gateway doesn't have, and for entries on their way between two states,
// are the ones that Terraform's provider repeats a call on; those for what is there already are unproven.
const (
	noSnatTable     = "InvalidSnatTableId.NotFound"
	noSnatEntry     = "InvalidSnatEntryId.NotFound"
	noForwardTable  = "InvalidForwardTableId.NotFound"
	noForwardEntry  = "InvalidForwardEntryId.NotFound"
	snatElsewhere   = "EIP_NOT_IN_GATEWAY"
	forwardNoIP     = "InvalidIp.NotInNatgw"
	wrongSnat       = "IncorretSnatEntryStatus" // spelt so
	wrongForward    = "IncorretForwardEntryStatus"
	sourceTaken     = "Forbidden.SourceCIDR.Duplicated"
	forwardTaken    = "Forbidden.ExternalIp.Duplicated"
	usedBySnat      = "InvalidIpStatus.HasBeenUsedBySnatTable"
	usedByForward   = "InvalidIpStatus.HasBeenUsedByForwardEntry"
	anyWord         = "Any"
	anyPort         = "any"
	snatTableParam  = "SnatTableId"
	forwardTableKey = "ForwardTableId"
)

func natEntryActions() []api.Action {
	snatTable, snatID, token := api.Required(snatTableParam), api.Required("SnatEntryId"), api.Optional("ClientToken")
	table, id, name := api.Required(forwardTableKey), api.Required("ForwardEntryId"), api.Optional("ForwardEntryName")
	protocols := api.OneOf("IpProtocol", "TCP", "UDP", anyWord)
	return []api.Action{
		api.Write("CreateSnatEntry", clienttoken.Once("vpc/CreateSnatEntry", clienttoken.Show("SnatEntryId"), api.On(snatTableByID, createSnat)),
			[]string{noSnatTable, wrongNat, "InvalidVSwitchId.NotFound", "InvalidParameter", "MissingParameter", snatElsewhere, sourceTaken,
				"InvalidSnatEntryName.Malformed", "IdempotentParameterMismatch"},
			region(), snatTable, api.Required("SnatIp"), api.Optional("SourceVSwitchId"), api.Optional("SourceCIDR"), api.Optional("SnatEntryName"),
			api.Number("EipAffinity", 0, 1), token),
		api.Read("DescribeSnatTableEntries", describeSnats, nil, append(listing.Params(maxPage), region(), api.Optional(snatTableParam),
			api.Optional("NatGatewayId"), api.Optional("SnatEntryId"), api.Optional("SnatEntryName"), api.Optional("SnatIp"),
			api.Optional("SourceCIDR"), api.Optional("SourceVSwitchId"))...),
		api.Write("ModifySnatEntry", clienttoken.Once("vpc/ModifySnatEntry", nil, api.On2(snatEntry, modifySnat)),
			[]string{noSnatTable, wrongNat, noSnatEntry, wrongSnat, snatElsewhere, "InvalidSnatEntryName.Malformed",
				"IdempotentParameterMismatch"}, region(), snatTable, snatID, api.Optional("SnatIp"), api.Optional("SnatEntryName"),
			api.Number("EipAffinity", 0, 1), token),
		api.Write("DeleteSnatEntry", clienttoken.Once("vpc/DeleteSnatEntry", nil, api.On2(snatEntry, deleteSnat)),
			[]string{noSnatTable, wrongNat, noSnatEntry, wrongSnat, "IdempotentParameterMismatch"}, region(), snatTable, snatID, token),
		api.Write("CreateForwardEntry", clienttoken.Once("vpc/CreateForwardEntry", clienttoken.Show("ForwardEntryId"),
			api.On(forwardTableByID, createForward)),
			[]string{noForwardTable, wrongNat, "InvalidParameter", forwardNoIP, forwardTaken, "InvalidForwardEntryName.Malformed",
				"IdempotentParameterMismatch"}, region(), table, api.Required("ExternalIp"), api.Required("ExternalPort"),
			api.Required("InternalIp"), api.Required("InternalPort"), must(protocols), name, api.Flag("PortBreak"), token),
		api.Read("DescribeForwardTableEntries", describeForwards, nil, append(listing.Params(maxPage), region(),
			api.Optional(forwardTableKey), api.Optional("NatGatewayId"), api.Optional("ForwardEntryId"), name, api.Optional("ExternalIp"),
			api.Optional("ExternalPort"), api.Optional("InternalIp"), api.Optional("InternalPort"), protocols)...),
		api.Write("ModifyForwardEntry", clienttoken.Once("vpc/ModifyForwardEntry", nil, api.On2(forwardEntry, modifyForward)),
			[]string{noForwardTable, wrongNat, noForwardEntry, wrongForward, "InvalidParameter", forwardNoIP, forwardTaken,
				"InvalidForwardEntryName.Malformed", "IdempotentParameterMismatch"}, region(), table, id, api.Optional("ExternalIp"),
			api.Optional("ExternalPort"), api.Optional("InternalIp"), api.Optional("InternalPort"), protocols, name, api.Flag("PortBreak"), token),
		api.Write("DeleteForwardEntry", clienttoken.Once("vpc/DeleteForwardEntry", nil, api.On2(forwardEntry, deleteForward)),
			[]string{noForwardTable, wrongNat, noForwardEntry, wrongForward, "IdempotentParameterMismatch"}, region(), table, id, token),
	}
}

func snatsOf(c *state.Cloud, natID string) []*state.SnatEntry {
	return listing.Find(c.SnatEntries, func(e *state.SnatEntry) bool { return e.NatGatewayID == natID })
}

func forwardsOf(c *state.Cloud, natID string) []*state.ForwardEntry {
	return listing.Find(c.ForwardEntries, func(e *state.ForwardEntry) bool { return e.NatGatewayID == natID })
}

// natOfTable is the gateway that has a table, which must not be on its way between two states.
func natOfTable(c *api.Context, code string, table func(*state.NatGateway) string, param string) (*state.NatGateway, *api.Error) {
	for _, n := range c.State.NatGateways {
		switch {
		case table(n) != c.Get(param):
		case !ready(&n.Stage):
			return nil, api.BadRequest(wrongNat, "The status of the NAT gateway does not support this operation.")
		default:
			return n, nil
		}
	}
	return nil, api.NotFound(code, "The specified table does not exist.")
}

func snatTableByID(c *api.Context) (*state.NatGateway, *api.Error) {
	return natOfTable(c, noSnatTable, func(n *state.NatGateway) string { return n.SnatTableID }, snatTableParam)
}

func forwardTableByID(c *api.Context) (*state.NatGateway, *api.Error) {
	return natOfTable(c, noForwardTable, func(n *state.NatGateway) string { return n.ForwardTableID }, forwardTableKey)
}

// snatEntry finds a table and an entry of it that can be changed.
func snatEntry(c *api.Context) (*state.NatGateway, *state.SnatEntry, *api.Error) {
	n, err := snatTableByID(c)
	if err != nil {
		return nil, nil, err
	}
	e := c.State.SnatEntries[c.Get("SnatEntryId")]
	if e == nil || e.NatGatewayID != n.ID {
		return nil, nil, api.NotFound(noSnatEntry, "The specified SNAT entry does not exist.")
	}
	return n, e, settledEntry(&e.Stage, wrongSnat)
}

// settledEntry refuses the change of an entry that is on its way into another status.
func settledEntry(s *state.Stage, code string) *api.Error {
	if !ready(s) {
		return api.BadRequest(code, "The status of the entry does not support this operation.")
	}
	return nil
}

// snatAddresses reads the addresses of an entry, which the gateway must have.
func snatAddresses(c *api.Context, n *state.NatGateway) ([]string, *api.Error) {
	ips := listing.CommaList(c.Get("SnatIp"))
	for _, ip := range ips {
		if !hasElastic(c.State, n.ID, ip) {
			return nil, api.BadRequest(snatElsewhere, "The address %s is not one of the NAT gateway.", ip)
		}
	}
	return ips, nil
}

func hasElastic(c *state.Cloud, natID, ip string) bool {
	return slices.ContainsFunc(addressesOf(c, natID), func(e *state.Eip) bool { return e.Address == ip && e.Status == inUse })
}

// snatSource is the block that an entry lets out, and the vSwitch whose block it is.
func snatSource(c *api.Context, n *state.NatGateway) (cidr, vswitchID string, err *api.Error) {
	if id := c.Get("SourceVSwitchId"); id != "" {
		vsw := c.State.VSwitches[id]
		if vsw == nil || vsw.VpcID != n.VpcID {
			return "", "", vswitchNotFound()
		}
		return vsw.CidrBlock, id, nil
	}
	if !c.Has("SourceCIDR") {
		return "", "", api.Missing("SourceVSwitchId")
	}
	prefix, bad := netip.ParsePrefix(c.Get("SourceCIDR"))
	if bad != nil || !prefix.Addr().Is4() {
		return "", "", api.Invalid("SourceCIDR")
	}
	return prefix.String(), "", nil
}

func createSnat(c *api.Context, n *state.NatGateway) (string, *api.Error) {
	cidr, vswitch, err := snatSource(c, n)
	if err != nil {
		return "", err
	}
	ips, err := snatAddresses(c, n)
	switch {
	case err != nil:
		return "", err
	case !validName(c.Get("SnatEntryName")):
		return "", malformed("InvalidSnatEntryName.Malformed", "SnatEntryName")
	case slices.ContainsFunc(snatsOf(c.State, n.ID), func(e *state.SnatEntry) bool { return e.SourceCidr == cidr }):
		return "", api.BadRequest(sourceTaken, "The table has an entry for %s already.", cidr)
	}
	e := &state.SnatEntry{
		ID: c.NewID("snat-bp1"), NatGatewayID: n.ID, Name: c.Get("SnatEntryName"), SourceCidr: cidr, VSwitchID: vswitch, IPs: ips,
		EipAffinity: c.Int("EipAffinity", 0) == 1,
	}
	begin(c, &e.Stage, pending)
	c.State.SnatEntries[e.ID] = e
	return e.ID, nil
}

func describeSnats(c *api.Context) (any, *api.Error) {
	table := func(e *state.SnatEntry) string {
		return cmp.Or(c.State.NatGateways[e.NatGatewayID], &state.NatGateway{}).SnatTableID
	}
	matching := listing.Find(c.State.SnatEntries, func(e *state.SnatEntry) bool {
		return listing.Match(c.Get(snatTableParam), table(e)) && listing.Match(c.Get("NatGatewayId"), e.NatGatewayID) &&
			listing.Match(c.Get("SnatEntryId"), e.ID) && listing.Match(c.Get("SnatEntryName"), e.Name) &&
			listing.Among(listing.CommaList(c.Get("SnatIp")), e.IPs...) && listing.Match(c.Get("SourceCIDR"), e.SourceCidr) &&
			listing.Match(c.Get("SourceVSwitchId"), e.VSwitchID)
	})
	return listing.Answer(c, matching, "SnatTableEntries", "SnatTableEntry", func(e *state.SnatEntry) api.Object {
		affinity := "0"
		if e.EipAffinity {
			affinity = "1"
		}
		return api.Object{
			"SnatEntryId", e.ID, "SnatEntryName", e.Name, "SnatTableId", table(e), "NatGatewayId", e.NatGatewayID, "Status", e.Stage.Status,
			"SnatIp", strings.Join(e.IPs, ","), "SourceCIDR", e.SourceCidr, "SourceVSwitchId", e.VSwitchID, "EipAffinity", affinity,
			"NetworkInterfaceId", "",
		}
	})
}

func modifySnat(c *api.Context, n *state.NatGateway, e *state.SnatEntry) (string, *api.Error) {
	ips, err := snatAddresses(c, n)
	switch {
	case err != nil:
		return "", err
	case !validName(c.Get("SnatEntryName")):
		return "", malformed("InvalidSnatEntryName.Malformed", "SnatEntryName")
	}
	if len(ips) > 0 {
		e.IPs = ips
	}
	c.SetText("SnatEntryName", &e.Name)
	if c.Has("EipAffinity") {
		e.EipAffinity = c.Int("EipAffinity", 0) == 1
	}
	begin(c, &e.Stage, modifying)
	return e.ID, nil
}

func deleteSnat(c *api.Context, _ *state.NatGateway, e *state.SnatEntry) (string, *api.Error) {
	begin(c, &e.Stage, deleting)
	return e.ID, nil
}

// forwardEntry finds a table and an entry of it that can be changed.
func forwardEntry(c *api.Context) (*state.NatGateway, *state.ForwardEntry, *api.Error) {
	n, err := forwardTableByID(c)
	if err != nil {
		return nil, nil, err
	}
	e := c.State.ForwardEntries[c.Get("ForwardEntryId")]
	if e == nil || e.NatGatewayID != n.ID {
		return nil, nil, api.NotFound(noForwardEntry, "The specified DNAT entry does not exist.")
	}
	return n, e, settledEntry(&e.Stage, wrongForward)
}

// checkForward refuses what an entry can't be: old is what it was, if it was there.
func checkForward(c *api.Context, n *state.NatGateway, e, old *state.ForwardEntry) *api.Error {
	internal, err := netip.ParseAddr(e.InternalIP)
	switch {
	case !hasElastic(c.State, n.ID, e.ExternalIP):
		return api.BadRequest(forwardNoIP, "The address %s is not one of the NAT gateway.", e.ExternalIP)
	case err != nil || !internal.Is4():
		return api.Invalid("InternalIp")
	case !validForwardPort(e.ExternalPort):
		return api.Invalid("ExternalPort")
	case !validForwardPort(e.InternalPort):
		return api.Invalid("InternalPort")
	case !validName(e.Name):
		return malformed("InvalidForwardEntryName.Malformed", "ForwardEntryName")
	}
	for _, other := range forwardsOf(c.State, n.ID) {
		if other != old && other.ExternalIP == e.ExternalIP && other.ExternalPort == e.ExternalPort &&
			(other.Protocol == e.Protocol || other.Protocol == anyWord || e.Protocol == anyWord) {
			return api.BadRequest(forwardTaken, "DNAT entry %s has the address and the port already.", other.ID)
		}
	}
	return nil
}

// validForwardPort accepts "any", a port, and a range of them such as 10/20.
func validForwardPort(text string) bool {
	if strings.EqualFold(text, anyPort) {
		return true
	}
	last := 0
	for part := range strings.SplitSeq(text, "/") {
		port, err := strconv.Atoi(part)
		if err != nil || port <= last || port > 65535 {
			return false
		}
		last = port
	}
	return strings.Count(text, "/") <= 1
}

func createForward(c *api.Context, n *state.NatGateway) (string, *api.Error) {
	e := &state.ForwardEntry{
		NatGatewayID: n.ID, Name: c.Get("ForwardEntryName"), ExternalIP: c.Get("ExternalIp"), ExternalPort: c.Get("ExternalPort"),
		InternalIP: c.Get("InternalIp"), InternalPort: c.Get("InternalPort"), Protocol: c.Get("IpProtocol"),
	}
	if err := checkForward(c, n, e, nil); err != nil {
		return "", err
	}
	e.ID = c.NewID("fwd-bp1")
	c.Keep("", &e.Spelling)
	begin(c, &e.Stage, pending)
	c.State.ForwardEntries[e.ID] = e
	return e.ID, nil
}

func describeForwards(c *api.Context) (any, *api.Error) {
	table := func(e *state.ForwardEntry) string {
		return cmp.Or(c.State.NatGateways[e.NatGatewayID], &state.NatGateway{}).ForwardTableID
	}
	matching := listing.Find(c.State.ForwardEntries, func(e *state.ForwardEntry) bool {
		return listing.Match(c.Get(forwardTableKey), table(e)) && listing.Match(c.Get("NatGatewayId"), e.NatGatewayID) &&
			listing.Match(c.Get("ForwardEntryId"), e.ID) && listing.Match(c.Get("ForwardEntryName"), e.Name) &&
			listing.Match(c.Get("ExternalIp"), e.ExternalIP) && listing.Match(c.Get("ExternalPort"), e.ExternalPort) &&
			listing.Match(c.Get("InternalIp"), e.InternalIP) && listing.Match(c.Get("InternalPort"), e.InternalPort) &&
			listing.Match(c.Get("IpProtocol"), e.Protocol)
	})
	return listing.Answer(c, matching, "ForwardTableEntries", "ForwardTableEntry", func(e *state.ForwardEntry) api.Object {
		return api.Object{
			"ForwardEntryId", e.ID, "ForwardEntryName", e.Name, "ForwardTableId", table(e), "NatGatewayId", e.NatGatewayID,
			"Status", e.Stage.Status, "ExternalIp", e.ExternalIP, "ExternalPort", e.ExternalPort, "InternalIp", e.InternalIP,
			"InternalPort", e.InternalPort, "IpProtocol", e.Spelling.Of("IpProtocol", e.Protocol),
		}
	})
}

func modifyForward(c *api.Context, n *state.NatGateway, e *state.ForwardEntry) (string, *api.Error) {
	changed := *e
	c.SetText("ForwardEntryName", &changed.Name)
	c.SetText("ExternalIp", &changed.ExternalIP)
	c.SetText("ExternalPort", &changed.ExternalPort)
	c.SetText("InternalIp", &changed.InternalIP)
	c.SetText("InternalPort", &changed.InternalPort)
	c.SetText("IpProtocol", &changed.Protocol)
	if err := checkForward(c, n, &changed, e); err != nil {
		return "", err
	}
	*e = changed
	c.Keep("", &e.Spelling)
	begin(c, &e.Stage, modifying)
	return e.ID, nil
}

func deleteForward(c *api.Context, _ *state.NatGateway, e *state.ForwardEntry) (string, *api.Error) {
	begin(c, &e.Stage, deleting)
	return e.ID, nil
}
