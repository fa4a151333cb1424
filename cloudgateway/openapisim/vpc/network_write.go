package vpc

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func networkWriteActions() []api.Action {
	return []api.Action{
		api.Write(createVpcAction, clienttoken.Once("vpc/"+createVpcAction, newCreatedVpc, createVpc),
			newTagCodes("InvalidParameter", "InvalidVpcName.Malformed", "InvalidVpcDiscription.Malformed",
				"InvalidIpv6CidrBlock.Malformed", "MissingParam.EnableIpv6", "QuotaExceeded.Vpc", "IdempotentParameterMismatch", dryRun, noIpamPool),
			region(), api.Optional("CidrBlock"), api.Optional("VpcName"), api.Optional("Description"),
			api.Flag("EnableIpv6"), api.Optional("Ipv6CidrBlock"), api.Optional("ClientToken"), api.Flag("DryRun"),
			api.Optional("ResourceGroupId"),
			api.Optional("UserCidr"), api.Flag("EnableDnsHostname"), ipv6Line(),
			api.Optional("Ipv4IpamPoolId"), api.Number("Ipv4CidrMask", 8, 28), api.Optional("Ipv6IpamPoolId"), api.Number("Ipv6CidrMask", 56, 56),
			tags.Param()),
		api.Write(deleteVpcAction, clienttoken.Once("vpc/"+deleteVpcAction, nil, api.On(settledVpc, deleteVpc)),
			api.Words(`InvalidVpcId.NotFound IncorrectVpcStatus TaskConflict DependencyViolation.VSwitch
				DependencyViolation.RouteTable DependencyViolation.RouteEntry DependencyViolation.SecurityGroup
				DependencyViolation.Instance
				DependencyViolation.Ipv4Gateway DependencyViolation.Ipv6Gateway IncorrectStatus.VpcDhcpStatus
				IdempotentParameterMismatch DryRunOperation`), api.Optional("RegionId"), api.Required("VpcId"),
			api.Flag("ForceDelete"), api.Optional("ClientToken"), api.Flag("DryRun")),
	}
}

// The operations under which client tokens are remembered are "vpc/" and the name of the action.
const (
	createVpcAction = "CreateVpc"
	deleteVpcAction = "DeleteVpc"
)

// defaultCidr is the block of a VPC for which none is asked.
const defaultCidr = "172.16.0.0/12"

func createVpc(c *api.Context) (string, *api.Error) {
	cidr := cmp.Or(c.Get("CidrBlock"), defaultCidr)
	if err := checkVpcTexts(c, "EnableIpv6"); err != nil {
		return "", err
	}
	labels, err := newTags(c)
	if err != nil {
		return "", err
	}
	switch {
	case c.Has("Ipv4IpamPoolId") || c.Has("Ipv6IpamPoolId"):
		return "", unknownIpamPool()
	case !validBlock(cidr, 8, 28):
		return "", api.Invalid("CidrBlock")
	case !validUserCidrs(listing.CommaList(c.Get("UserCidr"))):
		return "", api.Invalid("UserCidr")
	}
	if len(c.State.Vpcs) >= c.Settings.Quotas.Vpcs {
		return "", tooManyVpcs(c)
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	v := addVpc(c, &state.Vpc{
		Name: c.Get("VpcName"), Description: c.Get("Description"), CidrBlock: cidr, Tags: labels,
		UserCidrs: listing.CommaList(c.Get("UserCidr")), DNSHostname: c.True("EnableDnsHostname"),
	})
	return v.ID, nil
}

// addVpc gives a new VPC its id and what the cloud makes with it.
func addVpc(c *api.Context, v *state.Vpc) *state.Vpc {
	v.ID, v.PendingUntil, v.Created, v.ResourceGroupID = c.NewID("vpc-bp1"), pendingUntil(c), c.Now, c.Get("ResourceGroupId")
	if c.True("EnableIpv6") {
		assignIPv6(c, v)
	}
	c.State.Vpcs[v.ID] = v
	addTable(c, &state.RouteTable{VpcID: v.ID, Type: system, Created: c.Now})
	return v
}

func tooManyVpcs(c *api.Context) *api.Error {
	return api.BadRequest("QuotaExceeded.Vpc", "VPC quota exceeded: a region can have %d.", c.Settings.Quotas.Vpcs)
}

// checkVpcTexts checks what can be said of a VPC. Actions spell the parameter that switches IPv6 on differently.
func checkVpcTexts(c *api.Context, enable string) *api.Error {
	switch {
	case !validName(c.Get("VpcName")):
		return malformed("InvalidVpcName.Malformed", "VpcName")
	case !validDescription(c.Get("Description")):
		return malformed("InvalidVpcDiscription.Malformed", "Description")
	case c.Has("Ipv6CidrBlock") && !c.True(enable):
		return api.BadRequest("MissingParam.EnableIpv6", "EnableIpv6 must be true together with Ipv6CidrBlock.")
	}
	if prefix, err := netip.ParsePrefix(c.Get("Ipv6CidrBlock")); c.Has("Ipv6CidrBlock") &&
		(err != nil || !prefix.Addr().Is6() || prefix.Bits() != 56) {
		return malformed("InvalidIpv6CidrBlock.Malformed", "Ipv6CidrBlock")
	}
	return nil
}

// assignIPv6 gives a VPC the IPv6 block of the call, or one of the cloud's.
func assignIPv6(c *api.Context, v *state.Vpc) {
	block := cmp.Or(c.Get("Ipv6CidrBlock"), newIPv6Block(c))
	v.Ipv6Cidrs = []string{block}
	setLine(c, v, block)
}

// ipv6Line is the parameter for the line of an IPv6 block.
func ipv6Line() api.Param {
	return api.OneOf("Ipv6Isp", line, "ChinaMobile", "ChinaUnicom", "ChinaTelecom")
}

// setLine gives an IPv6 block of a VPC the line of the call.
func setLine(c *api.Context, v *state.Vpc, block string) {
	if !c.Has("Ipv6Isp") {
		return
	}
	v.Ipv6Isps = maps.Clone(v.Ipv6Isps)
	if v.Ipv6Isps == nil {
		v.Ipv6Isps = map[string]string{}
	}
	v.Ipv6Isps[block] = c.Get("Ipv6Isp")
}

// noIpamPool is the code for a pool of the IP address manager, which is another product: there are none here. Unproven.
const noIpamPool = "ResourceNotFound.IpamPool"

func unknownIpamPool() *api.Error {
	return api.NotFound(noIpamPool, "The specified IPAM pool does not exist.")
}

// newIPv6Block is one that the cloud has not given away yet.
func newIPv6Block(c *api.Context) string {
	c.State.Sequence++
	return fmt.Sprintf("2408:4005:%x:%x00::/56", c.State.Sequence>>8&0xffff, c.State.Sequence&0xff)
}

func newCreatedVpc(c *api.Context, id string) any { return createdVpc(c, id) }

func createdVpc(c *api.Context, id string) api.Object {
	table := ""
	if own := systemTable(c.State, id); own != nil {
		table = own.ID
	}
	return api.Object{"VpcId", id, "VRouterId", "vrt-" + state.Suffix(id), "RouteTableId", table, "ResourceGroupId", groupOfVpc(c, id)}
}

// vpcByID returns the VPC of the parameter VpcId.
func vpcByID(c *api.Context) (*state.Vpc, *api.Error) {
	return api.Named(c, c.State.Vpcs, "VpcId", vpcNotFound)
}

// settledVpc is vpcByID for what a VPC refuses while it is made.
func settledVpc(c *api.Context) (*state.Vpc, *api.Error) {
	v, err := vpcByID(c)
	if err == nil && !v.PendingUntil.IsZero() {
		err = incorrectVpcStatus()
	}
	return v, err
}

func deleteVpc(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if err := checkUnused(c.State, v.ID, c.True("ForceDelete")); err != nil {
		return "", err
	}
	switch _, a := dhcpOf(c.State, v.ID); {
	case a != nil && !ready(&a.Stage):
		return "", api.BadRequest(vpcChangesDhcp, "The VPC gets or loses a DHCP options set.")
	case c.True("DryRun"):
		return "", api.DryRun()
	case busy(c.State, v.ID):
		return "", taskConflict()
	}
	for _, table := range tablesOf(c.State, v.ID) {
		delete(c.State.RouteTables, table.ID)
	}
	forgetDhcp(c.State, v.ID)
	delete(c.State.Vpcs, v.ID)
	return v.ID, nil
}

// checkUnused refuses to delete a VPC that has something in it. Custom entries of its system table may be deleted by force.
func checkUnused(c *state.Cloud, vpcID string, force bool) *api.Error {
	dependency := func(kind, id string) *api.Error {
		return api.BadRequest("DependencyViolation."+kind, "The VPC still has %s.", id)
	}
	for _, vsw := range c.VSwitches {
		if vsw.VpcID == vpcID {
			return dependency("VSwitch", vsw.ID)
		}
	}
	for _, i := range c.Instances {
		if i.VpcID == vpcID {
			return dependency("Instance", i.ID)
		}
	}
	for _, group := range c.SecurityGroups {
		if group.VpcID == vpcID {
			return dependency("SecurityGroup", group.ID)
		}
	}
	for kind, gateways := range map[string]map[string]*state.InternetGateway{ipv4GatewayWord: c.Ipv4Gateways, "Ipv6Gateway": c.Ipv6Gateways} {
		if g := gatewayOf(gateways, vpcID); g != nil {
			return dependency(kind, g.ID)
		}
	}
	for _, table := range tablesOf(c, vpcID) {
		if table.Type == custom {
			return dependency("RouteTable", table.ID)
		}
		for _, e := range table.Entries {
			if e.Type == custom && !force {
				return dependency("RouteEntry", e.ID)
			}
		}
	}
	return nil
}

// validBlock reports whether text is an IPv4 block that a VPC can have, with a mask in the range: besides the private ones any block but
// those of the cloud's services, of multicast, of loopback and of links, and parts of them.
func validBlock(text string, shortest, longest int) bool {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix != prefix.Masked() || !prefix.Addr().Is4() || prefix.Bits() < shortest || prefix.Bits() > longest {
		return false
	}
	for _, taken := range []string{"100.64.0.0/10", "224.0.0.0/4", "127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/8"} {
		if prefix.Overlaps(netip.MustParsePrefix(taken)) {
			return false
		}
	}
	return true
}

// validUserCidrs reports whether these are the blocks that a VPC can take for private: three at most.
func validUserCidrs(blocks []string) bool {
	for _, block := range blocks {
		if prefix, err := netip.ParsePrefix(block); err != nil || !prefix.Addr().Is4() {
			return false
		}
	}
	return len(blocks) <= 3
}

// validName holds for all things of VPC: names are optional, and no links.
func validName(name string) bool {
	return utf8.RuneCountInString(name) <= 128 && !link(name)
}

func validDescription(text string) bool {
	return utf8.RuneCountInString(text) <= 256 && !link(text)
}

func link(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

func malformed(code, name string) *api.Error {
	return api.BadRequest(code, "The specified parameter %q is not valid.", name)
}

func vpcNotFound() *api.Error {
	return api.NotFound("InvalidVpcId.NotFound", "Specified VPC does not exist.")
}

func incorrectVpcStatus() *api.Error {
	return api.BadRequest("IncorrectVpcStatus", "Current VPC status does not support this operation.")
}
