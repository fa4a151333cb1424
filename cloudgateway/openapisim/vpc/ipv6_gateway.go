package vpc

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of IPv6 gateways. That of an unknown gateway and its status are the ones that NLB and Terraform's provider know; the others are
// unproven.
const (
	noIpv6Gateway    = "ResourceNotFound.Ipv6Gateway"
	wrongIpv6Gateway = "IncorrectStatus.Ipv6Gateway"
	hasIpv6Gateway   = "ResourceAlreadyExist.Ipv6Gateway"
	ipv6NotEnabled   = "OperationFailed.VpcIpv6Disabled"
	ipv6GatewayInUse = "DependencyViolation.Ipv6InternetBandwidth"
	noIpv6Address    = "ResourceNotFound.Ipv6Address"
	noBandwidth      = "ResourceNotFound.Ipv6InternetBandwidth"
	hasBandwidth     = "ResourceAlreadyExist.Ipv6InternetBandwidth"
	noEgressRule     = "ResourceNotFound.Ipv6EgressOnlyRule"
	hasEgressRule    = "ResourceAlreadyExist.Ipv6EgressOnlyRule"
	ipv6AddressWord  = "Ipv6Address"
)

func ipv6GatewayActions() []api.Action {
	id, token, dryRun := api.Required("Ipv6GatewayId"), api.Optional("ClientToken"), api.Flag("DryRun")
	name, text, bandwidth := api.Optional("Name"), api.Optional("Description"), api.Required("Ipv6InternetBandwidthId")
	texts := []string{"InvalidName.Malformed", "InvalidDescription.Malformed"}
	return []api.Action{
		api.Write("CreateIpv6Gateway", clienttoken.Once("vpc/CreateIpv6Gateway", showIpv6Gateway, api.On(settledVpc, createIpv6Gateway)),
			newTagCodes(append(texts, "InvalidVpcId.NotFound", "IncorrectVpcStatus", hasIpv6Gateway, ipv6NotEnabled,
				"IdempotentParameterMismatch")...), region(), api.Required("VpcId"), name, text, api.Optional("ResourceGroupId"),
			api.OneOf("Spec", "Small", "Medium", "Large"), token, tags.Param()),
		api.Read("DescribeIpv6Gateways", describeIpv6Gateways, nil, append(listing.Params(maxPage), region(), api.Optional("Ipv6GatewayId"),
			name, api.Optional("VpcId"), api.Optional("ResourceGroupId"))...),
		api.Read("DescribeIpv6GatewayAttribute", describeIpv6Gateway, nil, region(), id),
		api.Write("ModifyIpv6GatewayAttribute", clienttoken.Once("vpc/ModifyIpv6GatewayAttribute", nil,
			api.On(settledIpv6Gateway, renameGateway("Name", "Description"))), append(texts, noIpv6Gateway, wrongIpv6Gateway, "DryRunOperation",
			"IdempotentParameterMismatch"), region(), id, name, text, dryRun, token),
		api.Write("DeleteIpv6Gateway", clienttoken.Once("vpc/DeleteIpv6Gateway", nil, api.On(settledIpv6Gateway, deleteIpv6Gateway)),
			[]string{noIpv6Gateway, wrongIpv6Gateway, ipv6GatewayInUse, "DryRunOperation", "IdempotentParameterMismatch"}, region(), id, dryRun,
			token),
		api.Read("DescribeIpv6Addresses", describeIpv6Addresses, nil, append(listing.Params(maxPage), region(),
			api.Optional("Ipv6AddressId"), api.Optional(ipv6AddressWord), api.Optional("VpcId"), api.Optional("VSwitchId"),
			api.Optional("AssociatedInstanceId"), api.OneOf("AssociatedInstanceType", "EcsInstance", "NetworkInterface"), api.Optional("Name"),
			api.OneOf("NetworkType", "Private", "Public"), api.Optional("Ipv6InternetBandwidthId"), api.Flag("IncludeReservationData"),
			api.Optional("ResourceGroupId"), api.OneOf("AddressType", ipv6AddressType, "IPv6Prefix"), api.Flag("ServiceManaged"),
			tags.Param())...),
		api.Write("AllocateIpv6InternetBandwidth", clienttoken.Once("vpc/AllocateIpv6InternetBandwidth", showIpv6Bandwidth,
			api.On(settledIpv6Gateway, allocateIpv6Bandwidth)),
			[]string{noIpv6Gateway, wrongIpv6Gateway, noIpv6Address, hasBandwidth, "DryRunOperation", "IdempotentParameterMismatch"}, region(), id,
			api.Required("Ipv6AddressId"), must(api.Number("Bandwidth", 1, 5000)), api.OneOf("InternetChargeType", payByBandwidth, payByTraffic),
			token, dryRun),
		api.Write("ModifyIpv6InternetBandwidth", clienttoken.Once("vpc/ModifyIpv6InternetBandwidth", nil,
			api.On(bandwidthByID, modifyIpv6Bandwidth)), []string{noBandwidth, "DryRunOperation", "IdempotentParameterMismatch"}, region(),
			bandwidth, api.Optional("Ipv6AddressId"), must(api.Number("Bandwidth", 1, 5000)), token, dryRun),
		api.Write("DeleteIpv6InternetBandwidth", clienttoken.Once("vpc/DeleteIpv6InternetBandwidth", nil,
			api.On(bandwidthByID, deleteIpv6Bandwidth)), []string{noBandwidth, "DryRunOperation", "IdempotentParameterMismatch"}, region(),
			bandwidth, api.Optional("Ipv6AddressId"), token, dryRun),
		api.Write("CreateIpv6EgressOnlyRule", clienttoken.Once("vpc/CreateIpv6EgressOnlyRule", clienttoken.Show("Ipv6EgressRuleId"),
			api.On(settledIpv6Gateway, createEgressRule)), append(texts, noIpv6Gateway, wrongIpv6Gateway, noIpv6Address, hasEgressRule,
			"IdempotentParameterMismatch"), region(), id, api.Required("InstanceId"), api.OneOf("InstanceType", ipv6AddressWord), name, text, token),
		api.Read("DescribeIpv6EgressOnlyRules", describeEgressRules, nil, append(listing.Params(maxPage), region(), id,
			api.Optional("Ipv6EgressOnlyRuleId"), api.Optional("InstanceId"), api.OneOf("InstanceType", ipv6AddressWord), name)...),
		api.Write("DeleteIpv6EgressOnlyRule", clienttoken.Once("vpc/DeleteIpv6EgressOnlyRule", nil, deleteEgressRule),
			[]string{noEgressRule, "IdempotentParameterMismatch"}, region(), api.Required("Ipv6EgressOnlyRuleId"), token),
	}
}

// settledIpv6Gateway finds the gateway of a call, which must not be on its way between two states.
func settledIpv6Gateway(c *api.Context) (*state.InternetGateway, *api.Error) {
	g, err := api.Named(c, c.State.Ipv6Gateways, "Ipv6GatewayId", gatewayNotFound(noIpv6Gateway))
	if err == nil && !ready(&g.Stage) {
		err = api.BadRequest(wrongIpv6Gateway, "The status of the IPv6 gateway does not support this operation.")
	}
	return g, err
}

func createIpv6Gateway(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if err := checkGatewayTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	switch g := gatewayOf(c.State.Ipv6Gateways, v.ID); {
	case g != nil:
		return "", api.BadRequest(hasIpv6Gateway, "The VPC has the IPv6 gateway %s already.", g.ID)
	case len(v.Ipv6Cidrs) == 0:
		return "", api.BadRequest(ipv6NotEnabled, "IPv6 is not enabled in the VPC.")
	}
	g := &state.InternetGateway{
		ID: c.NewID("ipv6gw-bp1"), VpcID: v.ID, Name: c.Get("Name"), Description: c.Get("Description"),
		ResourceGroupID: c.Get("ResourceGroupId"), Tags: labels, Created: c.Now,
	}
	begin(c, &g.Stage, pending)
	c.State.Ipv6Gateways[g.ID] = g
	return g.ID, nil
}

func showIpv6Gateway(c *api.Context, id string) any {
	g := cmp.Or(c.State.Ipv6Gateways[id], &state.InternetGateway{})
	return api.Object{"Ipv6GatewayId", id, "ResourceGroupId", gatewayGroup(c, g)}
}

func newIpv6GatewayView(c *api.Context, g *state.InternetGateway) api.Object {
	return api.Object{
		"Ipv6GatewayId", g.ID, "Name", g.Name, "Description", g.Description, "VpcId", g.VpcID, "RegionId", c.Region, "Status", g.Stage.Status,
		"BusinessStatus", "Normal", "Spec", "", "InstanceChargeType", postPaid, "CreationTime", creationTime(g.Created), "ExpiredTime", "",
		"ResourceGroupId", gatewayGroup(c, g), "Tags", tags.Shorts(g.Tags),
	}
}

func describeIpv6Gateways(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.Ipv6Gateways, func(g *state.InternetGateway) bool {
		return listing.Match(c.Get("Ipv6GatewayId"), g.ID) && listing.Match(c.Get("Name"), g.Name) && listing.Match(c.Get("VpcId"), g.VpcID) &&
			listing.Match(c.Get("ResourceGroupId"), gatewayGroup(c, g))
	})
	return listing.Answer(c, matching, "Ipv6Gateways", "Ipv6Gateway",
		func(g *state.InternetGateway) api.Object { return newIpv6GatewayView(c, g) })
}

// describeIpv6Gateway answers with empty members for a gateway that is not there: Terraform's provider waits for the end of one until this
// call shows no status.
func describeIpv6Gateway(c *api.Context) (any, *api.Error) {
	g := c.State.Ipv6Gateways[c.Get("Ipv6GatewayId")]
	if g == nil {
		gone := newIpv6GatewayView(c, &state.InternetGateway{})
		for _, name := range []string{"BusinessStatus", "InstanceChargeType", "CreationTime", "ResourceGroupId"} {
			gone.Set(name, "")
		}
		return append(gone, "GatewayRouteTableId", ""), nil
	}
	return append(newIpv6GatewayView(c, g), "GatewayRouteTableId", g.RouteTableID), nil
}

func deleteIpv6Gateway(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
	for _, b := range c.State.Ipv6Bandwidths {
		if b.GatewayID == g.ID {
			return "", api.BadRequest(ipv6GatewayInUse, "The IPv6 address %s has bandwidth of the gateway.", b.AddressID)
		}
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	for id, r := range c.State.EgressRules {
		if r.GatewayID == g.ID {
			delete(c.State.EgressRules, id)
		}
	}
	begin(c, &g.Stage, deleting)
	return g.ID, nil
}

// ipv6Address is an IPv6 address that a network interface has. Its id is made of the address, so that it stays the same.
type ipv6Address struct {
	id, address string
	eni         *state.NetworkInterface
}

func ipv6AddressID(address string) string { return "ipv6-" + strings.ReplaceAll(address, ":", "x") }

// ipv6Addresses are those of all network interfaces, by id.
func ipv6Addresses(c *state.Cloud) []ipv6Address {
	var all []ipv6Address
	for _, eni := range c.Interfaces {
		for _, address := range eni.Ipv6Addresses {
			all = append(all, ipv6Address{ipv6AddressID(address), address, eni})
		}
	}
	slices.SortFunc(all, func(a, b ipv6Address) int { return strings.Compare(a.id, b.id) })
	return all
}

// addressInVpc reports whether a VPC has an IPv6 address with an id.
func addressInVpc(c *state.Cloud, vpcID, id string) bool {
	return slices.ContainsFunc(ipv6Addresses(c), func(a ipv6Address) bool { return a.id == id && a.eni.VpcID == vpcID })
}

func bandwidthOf(c *state.Cloud, addressID string) *state.Ipv6Bandwidth {
	for _, b := range c.Ipv6Bandwidths {
		if b.AddressID == addressID {
			return b
		}
	}
	return nil
}

// associatedWith is what an address belongs to: the instance whose primary interface has it, else the interface.
func associatedWith(a ipv6Address) (kind, id string) {
	if a.eni.Type == "Primary" && a.eni.InstanceID != "" {
		return ecsInstance, a.eni.InstanceID
	}
	return eniInstance, a.eni.ID
}

// ipv6AddressType is what all addresses are: there are no prefixes of interfaces, and no tags of addresses.
const ipv6AddressType = "IPv6Address"

func describeIpv6Addresses(c *api.Context) (any, *api.Error) {
	network := func(a ipv6Address) string {
		if bandwidthOf(c.State, a.id) != nil {
			return "Public"
		}
		return "Private"
	}
	matching := slices.DeleteFunc(ipv6Addresses(c.State), func(a ipv6Address) bool {
		kind, id := associatedWith(a)
		b := cmp.Or(bandwidthOf(c.State, a.id), &state.Ipv6Bandwidth{})
		return !listing.Match(c.Get("Ipv6AddressId"), a.id) || !listing.Match(c.Get(ipv6AddressWord), a.address) ||
			!listing.Match(c.Get("VpcId"), a.eni.VpcID) || !listing.Match(c.Get("VSwitchId"), a.eni.VSwitchID) ||
			!listing.Match(c.Get("AssociatedInstanceId"), id) || !listing.Match(c.Get("AssociatedInstanceType"), kind) ||
			!listing.Match(c.Get("Name"), "") || !listing.Match(c.Get("NetworkType"), network(a)) ||
			!listing.Match(c.Get("Ipv6InternetBandwidthId"), b.ID) ||
			!listing.Match(c.Get("ResourceGroupId"), groupOfVpc(c, a.eni.VpcID)) ||
			!listing.Match(c.Get("AddressType"), ipv6AddressType) || c.True("ServiceManaged") || !tags.FilterOf(c).Match(nil)
	})
	return listing.Answer(c, matching, "Ipv6Addresses", ipv6AddressWord, func(a ipv6Address) api.Object {
		kind, id := associatedWith(a)
		gateway := cmp.Or(gatewayOf(c.State.Ipv6Gateways, a.eni.VpcID), &state.InternetGateway{})
		b, business := bandwidthOf(c.State, a.id), "Normal"
		if b == nil {
			b, business = &state.Ipv6Bandwidth{}, ""
		}
		return api.Object{
			"Ipv6AddressId", a.id, ipv6AddressWord, a.address, "Ipv6AddressName", "", "Ipv6AddressDescription", "", "Status", available,
			"AllocationTime", creationTime(a.eni.Created), "VpcId", a.eni.VpcID, "VSwitchId", a.eni.VSwitchID, "AssociatedInstanceId", id,
			"AssociatedInstanceType", kind, "NetworkType", network(a), "AddressType", ipv6AddressType, "Ipv6Isp", line,
			"Ipv6GatewayId", gateway.ID, "RealBandwidth", b.Bandwidth, "ResourceGroupId", groupOfVpc(c, a.eni.VpcID), "ServiceManaged", 0,
			"Ipv6InternetBandwidth", api.Object{
				"Ipv6InternetBandwidthId", b.ID, "Bandwidth", b.Bandwidth, "BusinessStatus", business,
				"InternetChargeType", chargeOf(b), "InstanceChargeType", postPaid, "HasReservationData", false,
			},
			"Tags", api.Object{"Tag", []string{}},
		}
	})
}

func chargeOf(b *state.Ipv6Bandwidth) string {
	if b.ID == "" {
		return ""
	}
	return cmp.Or(b.InternetChargeType, payByBandwidth)
}

func allocateIpv6Bandwidth(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
	address := c.Get("Ipv6AddressId")
	switch {
	case !addressInVpc(c.State, g.VpcID, address):
		return "", api.NotFound(noIpv6Address, "The specified IPv6 address does not exist.")
	case bandwidthOf(c.State, address) != nil:
		return "", api.BadRequest(hasBandwidth, "The IPv6 address has bandwidth already.")
	case c.True("DryRun"):
		return "", api.DryRun()
	}
	b := &state.Ipv6Bandwidth{
		ID: c.NewID("ipv6bw-bp1"), AddressID: address, GatewayID: g.ID, Bandwidth: c.Int("Bandwidth", 0),
		InternetChargeType: c.Get("InternetChargeType"),
	}
	c.State.Ipv6Bandwidths[b.ID] = b
	return b.ID, nil
}

func showIpv6Bandwidth(c *api.Context, id string) any {
	return api.Object{"InternetBandwidthId", id, "Ipv6AddressId", c.Get("Ipv6AddressId")}
}

func bandwidthByID(c *api.Context) (*state.Ipv6Bandwidth, *api.Error) {
	return api.Named(c, c.State.Ipv6Bandwidths, "Ipv6InternetBandwidthId", func() *api.Error {
		return api.NotFound(noBandwidth, "The specified IPv6 internet bandwidth does not exist.")
	})
}

func modifyIpv6Bandwidth(c *api.Context, b *state.Ipv6Bandwidth) (string, *api.Error) {
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	c.SetInt("Bandwidth", &b.Bandwidth)
	return b.ID, nil
}

func deleteIpv6Bandwidth(c *api.Context, b *state.Ipv6Bandwidth) (string, *api.Error) {
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	delete(c.State.Ipv6Bandwidths, b.ID)
	return b.ID, nil
}

func createEgressRule(c *api.Context, g *state.InternetGateway) (string, *api.Error) {
	if err := checkGatewayTexts(c, "Name", "Description"); err != nil {
		return "", err
	}
	if !addressInVpc(c.State, g.VpcID, c.Get("InstanceId")) {
		return "", api.NotFound(noIpv6Address, "The specified IPv6 address does not exist.")
	}
	for _, r := range c.State.EgressRules {
		if r.AddressID == c.Get("InstanceId") {
			return "", api.BadRequest(hasEgressRule, "The IPv6 address has the egress-only rule %s already.", r.ID)
		}
	}
	r := &state.EgressRule{
		ID: c.NewID("ipv6py-bp1"), GatewayID: g.ID, AddressID: c.Get("InstanceId"), Name: c.Get("Name"), Description: c.Get("Description"),
	}
	begin(c, &r.Stage, creating)
	c.State.EgressRules[r.ID] = r
	return r.ID, nil
}

func describeEgressRules(c *api.Context) (any, *api.Error) {
	matching := listing.Find(c.State.EgressRules, func(r *state.EgressRule) bool {
		return r.GatewayID == c.Get("Ipv6GatewayId") && listing.Match(c.Get("Ipv6EgressOnlyRuleId"), r.ID) &&
			listing.Match(c.Get("InstanceId"), r.AddressID) && listing.Match(c.Get("Name"), r.Name)
	})
	return listing.Answer(c, matching, "Ipv6EgressOnlyRules", "Ipv6EgressOnlyRule", func(r *state.EgressRule) api.Object {
		return api.Object{
			"Ipv6EgressOnlyRuleId", r.ID, "Name", r.Name, "Description", r.Description, "InstanceId", r.AddressID,
			"InstanceType", ipv6AddressWord, "Status", r.Stage.Status,
		}
	})
}

func deleteEgressRule(c *api.Context) (string, *api.Error) {
	r := c.State.EgressRules[c.Get("Ipv6EgressOnlyRuleId")]
	if r == nil {
		return "", api.NotFound(noEgressRule, "The specified egress-only rule does not exist.")
	}
	begin(c, &r.Stage, deleting)
	return r.ID, nil
}
