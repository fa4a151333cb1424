package vpc

import (
	"cmp"
	"net/netip"
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of NAT gateways. Those of dependencies but the one for addresses are unproven.
const (
	noNat         = "InvalidNatGatewayId.NotFound"
	wrongNat      = "IncorrectStatus.NatGateway"
	natHasEips    = "DependencyViolation.EIPS"
	natHasEntries = "DependencyViolation.NatEntry"
	protectedNat  = "OperationDenied.DeletionProtection"
)

// The words of NAT gateways that are used in several places.
const (
	enhanced   = "Enhanced"
	internet   = "internet"
	intranet   = "intranet"
	payByLcu   = "PayByLcu"
	multiBound = "MULTI_BINDED"
	fullNat    = "FullNat"
)

func natActions() []api.Action {
	id, token := api.Required("NatGatewayId"), api.Optional("ClientToken")
	spec := api.OneOf("Spec", "Small", "Middle", "Large", "XLarge.1")
	modes := api.OneOf("EipBindMode", multiBound, "NAT")
	return []api.Action{
		api.Write("CreateNatGateway", clienttoken.Once("vpc/CreateNatGateway", showNat, api.On(settledVpc, createNat)),
			newTagCodes("InvalidVpcId.NotFound", "IncorrectVpcStatus", "InvalidVSwitchId.NotFound", "IncorrectVSwitchStatus",
				"InvalidName.Malformed", "InvalidDescription.Malformed", "MissingParameter", "IdempotentParameterMismatch"), region(),
			api.Required("VpcId"), api.Optional("VSwitchId"), api.Optional("Name"), api.Optional("Description"),
			api.OneOf("NatType", enhanced), api.OneOf("NetworkType", internet, intranet), spec, modes,
			api.OneOf("InternetChargeType", payByLcu, "PayBySpec"), api.OneOf("InstanceChargeType", postPaid), api.Flag("IcmpReplyEnabled"),
			api.Flag("PrivateLinkEnabled"), api.OneOf("PrivateLinkMode", fullNat), api.Flag("SecurityProtectionEnabled"),
			api.OneOf("AccessMode.ModeValue", "route", "tunnel"), api.OneOf("AccessMode.TunnelType", "geneve"),
			api.Optional("ResourceGroupId"), token, tags.Param()),
		api.Read("DescribeNatGateways", describeNats, tagFilterCodes(dryRun), append(listing.Params(maxPage), region(),
			api.Optional("NatGatewayId"), api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("ZoneId"), api.Optional("Name"),
			api.OneOf("NatType", enhanced, "Normal"), api.OneOf("NetworkType", internet, intranet), api.Optional("Spec"),
			api.Optional("ResourceGroupId"), api.OneOf("Status", creating, available, modifying, deleting),
			api.OneOf("InstanceChargeType", postPaid, prePaid), api.Flag("PrivateLinkEnabled"), api.Flag("DryRun"),
			api.Param{Name: "NatGatewayIds", Kind: api.Strings, Max: 20}, tags.Param())...),
		api.Read("GetNatGatewayAttribute", api.On(natByID, getNat), []string{noNat}, region(), id),
		api.Write("ModifyNatGatewayAttribute", api.On(settledNat, modifyNat),
			[]string{noNat, wrongNat, "InvalidName.Malformed", "InvalidDescription.Malformed"}, region(), id, api.Optional("Name"),
			api.Optional("Description"), modes, api.Flag("IcmpReplyEnabled"), api.OneOf("PrivateLinkMode", fullNat),
			api.Flag("SecurityProtectionEnabled"), api.Flag("EnableSessionLog"), api.Optional("LogDelivery.LogDestination"),
			api.OneOf("LogDelivery.LogDeliveryType", "sls")),
		api.Write("ModifyNatGatewaySpec", clienttoken.Once("vpc/ModifyNatGatewaySpec", nil, api.On(settledNat, modifyNatSpec)),
			[]string{noNat, wrongNat, "IdempotentParameterMismatch"}, region(), id, must(spec), token),
		api.Write("UpdateNatGatewayNatType",
			clienttoken.Once("vpc/UpdateNatGatewayNatType", nil, api.On(settledNat, updateNatType)), []string{noNat, wrongNat,
				"InvalidVSwitchId.NotFound", "IncorrectVSwitchStatus", "IdempotentParameterMismatch", dryRun}, region(), id,
			must(api.OneOf("NatType", enhanced)), api.Required("VSwitchId"), api.Flag("DryRun"), token),
		api.Write("DeleteNatGateway", api.On(settledNat, deleteNat), []string{noNat, wrongNat, natHasEips, natHasEntries, protectedNat}, region(),
			id, api.Flag("Force")),
		api.Read("ListEnhanhcedNatGatewayAvailableZones", listNatZones, nil, region(),
			api.OneOf("AcceptLanguage", "zh-CN", "en-US", "ja")),
	}
}

func natByID(c *api.Context) (*state.NatGateway, *api.Error) {
	return api.Named(c, c.State.NatGateways, "NatGatewayId", func() *api.Error {
		return api.NotFound(noNat, "The specified NAT gateway does not exist.")
	})
}

// settledNat is natByID for what a NAT gateway refuses on its way between two states.
func settledNat(c *api.Context) (*state.NatGateway, *api.Error) {
	n, err := natByID(c)
	if err == nil && !ready(&n.Stage) {
		err = api.BadRequest(wrongNat, "The status of the NAT gateway does not support this operation.")
	}
	return n, err
}

func checkNatTexts(c *api.Context) *api.Error {
	switch {
	case !validName(c.Get("Name")):
		return malformed("InvalidName.Malformed", "Name")
	case !validDescription(c.Get("Description")):
		return malformed("InvalidDescription.Malformed", "Description")
	}
	return nil
}

// natVSwitch is the vSwitch that a call gives to a NAT gateway in a VPC.
func natVSwitch(c *api.Context, vpcID string) (*state.VSwitch, *api.Error) {
	switch vsw := c.State.VSwitches[c.Get("VSwitchId")]; {
	case vsw == nil || vsw.VpcID != vpcID:
		return nil, vswitchNotFound()
	case !vsw.PendingUntil.IsZero():
		return nil, wrongVSwitchStatus()
	default:
		return vsw, nil
	}
}

// moveNat gives a NAT gateway an address in a vSwitch.
func moveNat(c *api.Context, n *state.NatGateway, vsw *state.VSwitch) {
	n.VSwitchID = vsw.ID
	if block, err := netip.ParsePrefix(vsw.CidrBlock); err == nil {
		n.PrivateIP, _ = subnet.Free(block, subnet.Used(c.State, vsw))
	}
}

// updateNatType makes an enhanced gateway of an old one, in a vSwitch. Terraform calls it also to move an enhanced one.
func updateNatType(c *api.Context, n *state.NatGateway) (string, *api.Error) {
	vsw, err := natVSwitch(c, n.VpcID)
	switch {
	case err != nil:
		return "", err
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	n.NatType = c.Get("NatType")
	if n.VSwitchID != vsw.ID {
		moveNat(c, n, vsw)
	}
	begin(c, &n.Stage, modifying)
	return n.ID, nil
}

func createNat(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if !c.Has("VSwitchId") { // of enhanced ones, and others are not sold
		return "", api.Missing("VSwitchId")
	}
	vsw, err := natVSwitch(c, v.ID)
	if err != nil {
		return "", err
	}
	if err := checkNatTexts(c); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	n := &state.NatGateway{
		ID: c.NewID("ngw-bp1"), VpcID: v.ID, VSwitchID: vsw.ID, Name: c.Get("Name"), Description: c.Get("Description"),
		NatType: c.Get("NatType"), NetworkType: c.Get("NetworkType"), InternetChargeType: c.Get("InternetChargeType"), Spec: c.Get("Spec"),
		EipBindMode: c.Get("EipBindMode"), IcmpReplyOff: c.Has("IcmpReplyEnabled") && !c.True("IcmpReplyEnabled"),
		PrivateLink: c.True("PrivateLinkEnabled"), PrivateLinkMode: c.Get("PrivateLinkMode"),
		Protected: c.True("SecurityProtectionEnabled"), AccessMode: c.Get("AccessMode.ModeValue"), TunnelType: c.Get("AccessMode.TunnelType"),
		ResourceGroupID: c.Get("ResourceGroupId"),
		SnatTableID:     c.NewID("stb-bp1"), ForwardTableID: c.NewID("ftb-bp1"), Tags: labels,
		Created: c.Now,
	}
	moveNat(c, n, vsw)
	c.Keep("", &n.Spelling)
	begin(c, &n.Stage, creating)
	c.State.NatGateways[n.ID] = n
	return n.ID, nil
}

func showNat(c *api.Context, id string) any {
	n := cmp.Or(c.State.NatGateways[id], &state.NatGateway{})
	return api.Object{
		"NatGatewayId", id, "SnatTableIds", api.Object{"SnatTableId", listed(n.SnatTableID)},
		"ForwardTableIds", api.Object{"ForwardTableId", listed(n.ForwardTableID)},
		"BandwidthPackageIds", api.Object{"BandwidthPackageId", []string{}},
		"FullNatTableIds", api.Object{"FullNatTableId", []string{}},
	}
}

// listed is the list of a text, empty without one.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// natsOf are the NAT gateways of a VPC.
func natsOf(c *state.Cloud, vpcID string) []*state.NatGateway {
	return listing.Find(c.NatGateways, func(n *state.NatGateway) bool { return n.VpcID == vpcID })
}

// addressesOf are the elastic addresses of an instance.
func addressesOf(c *state.Cloud, instanceID string) []*state.Eip {
	return listing.Find(c.Eips, func(e *state.Eip) bool { return e.InstanceID == instanceID })
}

func natGroup(c *api.Context, n *state.NatGateway) string {
	return cmp.Or(n.ResourceGroupID, groupOfVpc(c, n.VpcID))
}

func zoneOf(c *state.Cloud, vswitchID string) string {
	if vsw := c.VSwitches[vswitchID]; vsw != nil {
		return vsw.ZoneID
	}
	return ""
}

func privateInfo(c *api.Context, n *state.NatGateway) api.Object {
	return api.Object{
		"VswitchId", n.VSwitchID, "PrivateIpAddress", n.PrivateIP, "IzNo", zoneOf(c.State, n.VSwitchID), "EniInstanceId", "", "EniType", "",
		"MaxBandwidth", 5120, "MaxSessionQuota", 2_000_000, "MaxSessionEstablishRate", 100_000,
	}
}

func natAddresses(c *api.Context, n *state.NatGateway) []api.Object {
	return api.Objects(addressesOf(c.State, n.ID), func(e *state.Eip) api.Object {
		status := "Idle"
		if natUser(c.State, n.ID, e.Address) != "" {
			status = "UsedBySnatTable"
		}
		return api.Object{
			"AllocationId", e.ID, "IpAddress", e.Address, "UsingStatus", status, "PrivateIpAddress", "", "ApAccessEnabled", false,
			"SnatEntryEnabled", true,
		}
	})
}

// natUser is the entry of a NAT gateway that uses an address, or "".
func natUser(c *state.Cloud, natID, address string) string {
	for _, e := range c.SnatEntries {
		for _, ip := range e.IPs {
			if e.NatGatewayID == natID && ip == address {
				return e.ID
			}
		}
	}
	for _, e := range c.ForwardEntries {
		if e.NatGatewayID == natID && e.ExternalIP == address {
			return e.ID
		}
	}
	return ""
}

func natCommon(c *api.Context, n *state.NatGateway) api.Object {
	return api.Object{
		"NatGatewayId", n.ID, "Name", n.Name, "Description", n.Description, "VpcId", n.VpcID, "RegionId", c.Region, "Status", n.Stage.Status,
		"BusinessStatus", "Normal", "NatType", n.Spelling.Of("NatType", cmp.Or(n.NatType, enhanced)), "NetworkType",
		n.Spelling.Of("NetworkType", cmp.Or(n.NetworkType, internet)), "CreationTime", creationTime(n.Created), "ExpiredTime", "",
		"ResourceGroupId", natGroup(c, n), "EcsMetricEnabled", false, "PrivateLinkEnabled", n.PrivateLink, "PrivateLinkMode",
		n.Spelling.Of("PrivateLinkMode", n.PrivateLinkMode), "AccessMode", api.Object{
			"ModeValue", n.Spelling.Of("ModeValue", n.AccessMode), "TunnelType", n.Spelling.Of("TunnelType", n.TunnelType),
		},
	}
}

func newNatView(c *api.Context, n *state.NatGateway) api.Object {
	return append(natCommon(c, n),
		"InstanceChargeType", postPaid, "InternetChargeType", n.Spelling.Of("InternetChargeType", cmp.Or(n.InternetChargeType, payByLcu)),
		"Spec", n.Spelling.Of("Spec", n.Spec), "AutoPay", false, "DeletionProtection", n.DeletionProtection,
		"EipBindMode", n.Spelling.Of("EipBindMode", cmp.Or(n.EipBindMode, multiBound)), "IcmpReplyEnabled", !n.IcmpReplyOff,
		"SecurityProtectionEnabled", n.Protected, "EnableSessionLog", strconv.FormatBool(n.SessionLog),
		"NatGatewayPrivateInfo", privateInfo(c, n),
		"SnatTableIds", api.Object{"SnatTableId", listed(n.SnatTableID)},
		"ForwardTableIds", api.Object{"ForwardTableId", listed(n.ForwardTableID)},
		"FullNatTableIds", api.Object{"FullNatTableId", []string{}}, "BandwidthPackageIds", api.Object{"BandwidthPackageId", []string{}},
		"IpLists", api.Object{"IpList", natAddresses(c, n)}, "Tags", tags.Shorts(n.Tags))
}

func describeNats(c *api.Context) (any, *api.Error) {
	filter, err := tagCodes().FilterOf(c)
	if err != nil {
		return nil, err
	}
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	ids := c.List("NatGatewayIds")
	matching := listing.Find(c.State.NatGateways, func(n *state.NatGateway) bool {
		return listing.Match(c.Get("NatGatewayId"), n.ID) && listing.Match(c.Get("VpcId"), n.VpcID) &&
			listing.Match(c.Get("VSwitchId"), n.VSwitchID) && listing.Match(c.Get("ZoneId"), zoneOf(c.State, n.VSwitchID)) &&
			listing.Match(c.Get("Name"), n.Name) && listing.Match(c.Get("NatType"), cmp.Or(n.NatType, enhanced)) &&
			listing.Match(c.Get("NetworkType"), cmp.Or(n.NetworkType, internet)) && listing.Match(c.Get("Spec"), n.Spec) &&
			listing.Match(c.Get("ResourceGroupId"), natGroup(c, n)) && listing.Match(c.Get("Status"), n.Stage.Status) &&
			listing.Match(c.Get("InstanceChargeType"), postPaid) && listing.Among(ids, n.ID) &&
			c.MatchFlag("PrivateLinkEnabled", n.PrivateLink) && filter.Match(n.Tags)
	})
	return listing.Answer(c, matching, "NatGateways", "NatGateway", func(n *state.NatGateway) api.Object { return newNatView(c, n) })
}

func getNat(c *api.Context, n *state.NatGateway) (any, *api.Error) {
	snats, forwards := len(snatsOf(c.State, n.ID)), len(forwardsOf(c.State, n.ID))
	return append(natCommon(c, n),
		"SnatTable", api.Object{"SnatTableId", n.SnatTableID, "SnatEntryCount", snats},
		"ForwardTable", api.Object{"ForwardTableId", n.ForwardTableID, "ForwardEntryCount", forwards},
		"FullNatTable", api.Object{"FullNatTableId", "", "FullNatEntryCount", 0},
		"BillingConfig", api.Object{
			"InstanceChargeType", postPaid, "InternetChargeType", n.Spelling.Of("InternetChargeType", cmp.Or(n.InternetChargeType, payByLcu)),
			"AutoPay", "false", "Spec", n.Spelling.Of("Spec", n.Spec),
		},
		"PrivateInfo", privateInfo(c, n), "DeletionProtectionInfo", api.Object{"Enabled", n.DeletionProtection},
		"EnableSessionLog", n.SessionLog, "LogDelivery", api.Object{
			"LogDestination", n.LogDestination, "LogDeliveryType", n.LogDeliveryType, "DeliverLogsStatus", "", "DeliverLogsErrorMessage", "",
		}, "IpList", natAddresses(c, n)), nil // the list is flat in the cloud, too
}

func modifyNat(c *api.Context, n *state.NatGateway) (any, *api.Error) {
	if err := checkNatTexts(c); err != nil {
		return nil, err
	}
	c.SetText("Name", &n.Name)
	c.SetText("Description", &n.Description)
	c.SetText("EipBindMode", &n.EipBindMode)
	c.Keep("", &n.Spelling)
	c.SetText("PrivateLinkMode", &n.PrivateLinkMode)
	c.SetFlag("SecurityProtectionEnabled", &n.Protected)
	c.SetFlag("EnableSessionLog", &n.SessionLog)
	c.SetText("LogDelivery.LogDestination", &n.LogDestination)
	c.SetText("LogDelivery.LogDeliveryType", &n.LogDeliveryType)
	if c.Has("IcmpReplyEnabled") {
		n.IcmpReplyOff = !c.True("IcmpReplyEnabled")
	}
	return nil, nil
}

func modifyNatSpec(c *api.Context, n *state.NatGateway) (string, *api.Error) {
	c.SetText("Spec", &n.Spec)
	c.Keep("", &n.Spelling)
	begin(c, &n.Stage, modifying)
	return n.ID, nil
}

// deleteNat refuses a gateway with addresses or entries unless it is forced, which frees the addresses and deletes the entries.
func deleteNat(c *api.Context, n *state.NatGateway) (any, *api.Error) {
	addresses, snats, forwards := addressesOf(c.State, n.ID), snatsOf(c.State, n.ID), forwardsOf(c.State, n.ID)
	switch {
	case n.DeletionProtection:
		return nil, api.BadRequest(protectedNat, "The NAT gateway is protected from deletion.")
	case len(snats)+len(forwards) > 0 && !c.True("Force"):
		return nil, api.BadRequest(natHasEntries, "The NAT gateway still has SNAT or DNAT entries.")
	case len(addresses) > 0 && !c.True("Force"):
		return nil, api.BadRequest(natHasEips, "The NAT gateway still has elastic IP addresses.")
	}
	for _, e := range snats {
		delete(c.State.SnatEntries, e.ID)
	}
	for _, e := range forwards {
		delete(c.State.ForwardEntries, e.ID)
	}
	for _, e := range addresses {
		e.Status, e.BusyUntil = unassociating, c.Now.Add(c.Settings.EipAssociating)
		settleIfFast(c, e)
	}
	begin(c, &n.Stage, deleting)
	return nil, nil
}

func listNatZones(c *api.Context) (any, *api.Error) {
	return api.Object{"Zones", api.Objects(regions.Zones(c), func(id string) api.Object {
		return api.Object{"ZoneId", id, "LocalName", id}
	})}, nil
}
