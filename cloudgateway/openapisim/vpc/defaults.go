package vpc

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/regions"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The codes for what can be there only once. No document at hand has them.
const (
	defaultVpcExists     = "Forbidden.DefaultVpcExist"
	noDefaultVpc         = "InvalidDefaultVpc.NotFound"
	defaultVSwitchExists = "Forbidden.DefaultVSwitchExist"
)

// defaultBlock is that of the default VPC, and each default vSwitch has a /20 of it.
const defaultBlock = "172.31.0.0/16"

// defaultActions make the one VPC of a region that things are in for which none is named, and one vSwitch of it in each zone.
func defaultActions() []api.Action {
	return []api.Action{
		api.Write("CreateDefaultVpc", clienttoken.Once("vpc/CreateDefaultVpc", newCreatedDefaultVpc, createDefaultVpc),
			[]string{defaultVpcExists, "QuotaExceeded.Vpc", "IdempotentParameterMismatch", "MissingParam.EnableIpv6",
				"InvalidIpv6CidrBlock.Malformed", "InvalidZoneId.NotFound"},
			region(), api.Flag("EnableIpv6"), api.Optional("Ipv6CidrBlock"), api.Optional("ResourceGroupId"), api.Optional("ClientToken"),
			api.Flag("EnableDefaultVSwitch"), api.Optional("ZoneId")),
		api.Write("CreateDefaultVSwitch", clienttoken.Once("vpc/CreateDefaultVSwitch", clienttoken.Show("VSwitchId"),
			api.On(settledDefault, createDefaultVSwitch)), []string{noDefaultVpc, "IncorrectVpcStatus", defaultVSwitchExists,
			"InvalidZoneId.NotFound",
			"OperationFailed.VpcIpv6Disabled", "OperationFailed.Ipv6CidrBlockExisted", "QuotaExceeded.VSwitch", "TaskConflict",
			"IdempotentParameterMismatch"}, region(), api.Required("ZoneId"), api.Number("Ipv6CidrBlock", 0, 255), api.Optional("ClientToken")),
	}
}

// defaultVpc is the default VPC, or nil.
func defaultVpc(c *state.Cloud) *state.Vpc {
	for _, v := range c.Vpcs {
		if v.Default {
			return v
		}
	}
	return nil
}

// EnsureDefault returns the default VPC of the region for what names none. The cloud makes it if there is none.
func EnsureDefault(c *api.Context) *state.Vpc {
	if v := defaultVpc(c.State); v != nil {
		return v
	}
	v := addVpc(c, &state.Vpc{CidrBlock: defaultBlock, Default: true})
	v.PendingUntil, v.ResourceGroupID = time.Time{}, ""
	return v
}

func createDefaultVpc(c *api.Context) (string, *api.Error) {
	switch v := defaultVpc(c.State); {
	case v != nil:
		return "", api.BadRequest(defaultVpcExists, "The region has the default VPC %s.", v.ID)
	case len(c.State.Vpcs) >= c.Settings.Quotas.Vpcs:
		return "", tooManyVpcs(c)
	}
	if err := checkVpcTexts(c, "EnableIpv6"); err != nil {
		return "", err
	}
	zone := cmp.Or(c.Get("ZoneId"), regions.Zones(c)[0])
	if !knownZone(c, zone) {
		return "", unknownZone()
	}
	v := addVpc(c, &state.Vpc{CidrBlock: defaultBlock, Default: true})
	if c.True("EnableDefaultVSwitch") {
		block, err := freeDefaultBlock(c.State, v)
		if err != nil {
			return "", err
		}
		addVSwitchIn(c, zone, &state.VSwitch{VpcID: v.ID, CidrBlock: block.String(), Default: true})
	}
	return v.ID, nil
}

func newCreatedDefaultVpc(c *api.Context, id string) any {
	made := listing.Find(c.State.VSwitches, func(vsw *state.VSwitch) bool { return vsw.VpcID == id && vsw.Default })
	return append(createdVpc(c, id), "DefaultVSwitchs", api.Objects(made, func(vsw *state.VSwitch) api.Object {
		return api.Object{"VSwitchId", vsw.ID, "ZoneId", vsw.ZoneID}
	}))
}

func settledDefault(c *api.Context) (*state.Vpc, *api.Error) {
	switch v := defaultVpc(c.State); {
	case v == nil:
		return nil, api.NotFound(noDefaultVpc, "The region has no default VPC.")
	case !v.PendingUntil.IsZero():
		return nil, incorrectVpcStatus()
	default:
		return v, nil
	}
}

// createDefaultVSwitch gives a zone the first /20 of the default VPC that is free.
func createDefaultVSwitch(c *api.Context, v *state.Vpc) (string, *api.Error) {
	if !knownZone(c, c.Get("ZoneId")) {
		return "", unknownZone()
	}
	for _, vsw := range vswitchesOf(c.State, v.ID) {
		if vsw.Default && vsw.ZoneID == c.Get("ZoneId") {
			return "", api.BadRequest(defaultVSwitchExists, "The zone has the default VSwitch %s.", vsw.ID)
		}
	}
	ipv6, err := ipv6Subnet(c, v, "")
	if err != nil {
		return "", err
	}
	block, err := freeDefaultBlock(c.State, v)
	switch {
	case err != nil:
		return "", err
	case busy(c.State, v.ID):
		return "", taskConflict()
	}
	return addVSwitch(c, &state.VSwitch{VpcID: v.ID, CidrBlock: block.String(), Ipv6Cidr: ipv6, Default: true}).ID, nil
}

func freeDefaultBlock(c *state.Cloud, v *state.Vpc) (netip.Prefix, *api.Error) {
	whole, err := netip.ParsePrefix(v.CidrBlock)
	if err != nil || !whole.Addr().Is4() {
		return whole, api.Invalid("ZoneId")
	}
	first := whole.Addr().As4()
	for n := range 16 {
		block := fmt.Sprintf("%d.%d.%d.0/20", first[0], first[1], n*16)
		if subnet, err := checkSubnet(c, v, block); err == nil {
			return subnet, nil
		}
	}
	return whole, api.BadRequest("QuotaExceeded.VSwitch", "The default VPC has no block for a further VSwitch.")
}
