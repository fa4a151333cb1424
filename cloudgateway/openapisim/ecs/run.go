package ecs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func runActions() []api.Action {
	return []api.Action{api.Write("RunInstances", clienttoken.Once("ecs/RunInstances", showRun, runInstances),
		api.Words(`MissingParameter InvalidParameter InvalidImageId.NotFound InvalidInstanceType.ValueNotSupported
			ImageNotSupportInstanceType InvalidSystemDiskCategory.ValueNotSupported InvalidVSwitchId.NotFound
			IncorrectVSwitchStatus InvalidSecurityGroupId.NotFound InvalidParameter.Mismatch
			InvalidOperation.MultiGroupType JoinedGroupLimitExceed InvalidPrivateIpAddress.Malformed
			InvalidPrivateIpAddress.Duplicated InvalidVSwitchId.IpNotEnough InvalidInstanceName.Malformed
			InvalidDescription.Malformed InvalidPassword.Malformed InvalidTagKey.Malformed InvalidTagValue.Malformed
			Duplicate.TagKey QuotaExceed.Tags IdempotentParameterMismatch DryRunOperation`), region(),
		api.Optional("ImageId"), api.Optional("ImageFamily"), api.Optional("InstanceType"), api.Optional("VSwitchId"),
		api.Optional("ZoneId"), api.Optional("SecurityGroupId"), api.Param{Name: "SecurityGroupIds", Kind: api.Strings},
		api.Optional("InstanceName"), api.Optional("HostName"), api.Optional("Description"), api.Flag("UniqueSuffix"),
		api.Number("Amount", 1, 100), api.Number("MinAmount", 1, 100), api.Optional("PrivateIpAddress"),
		api.Number("InternetMaxBandwidthOut", 0, 100),
		api.OneOf("InternetChargeType", "PayByBandwidth", "PayByTraffic"),
		api.OneOf("InstanceChargeType", "PostPaid", "PrePaid"),
		api.OneOf("SpotStrategy", "NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"), api.Optional("KeyPairName"),
		api.Optional("Password"), api.Optional("SystemDisk.Category"), api.Flag("DeletionProtection"),
		api.Optional("DeploymentSetId"), api.Optional("ResourceGroupId"), tags.Uncounted(), api.Optional("ClientToken"),
		api.Flag("DryRun"))}
}

// launch is what a call of RunInstances asks for.
type launch struct {
	image     image
	vswitch   *state.VSwitch
	groups    []string
	tags      []state.Tag
	addresses []string // one for each instance
}

// runInstances makes instances that come up by the clock: Pending, Starting, Running. Each has its primary interface and its
// address from the beginning.
func runInstances(c *api.Context) (string, *api.Error) {
	var l launch
	for _, check := range []func(*api.Context, *launch) *api.Error{
		checkMachine, checkPlace, checkGroups, checkLabels, findAddresses,
	} {
		if err := check(c, &l); err != nil {
			return "", err
		}
	}
	if c.True("DryRun") {
		return "", api.DryRun()
	}
	var ids []string
	for n, address := range l.addresses {
		ids = append(ids, l.add(c, n, address).ID)
	}
	return strings.Join(ids, ","), nil
}

func showRun(_ *api.Context, ids string) any {
	return api.Object{"InstanceIdSets", api.Object{"InstanceIdSet", strings.Split(ids, ",")}, "OrderId", "", "TradePrice", 0}
}

// checkMachine finds the image and checks that it runs on the instance type.
func checkMachine(c *api.Context, l *launch) *api.Error {
	switch {
	case !c.Has("ImageId") && !c.Has("ImageFamily"):
		return api.Missing("ImageId")
	case !c.Has("InstanceType"):
		return api.Missing("InstanceType")
	}
	all := images()
	at := slices.IndexFunc(all, func(i image) bool {
		return i.id == c.Get("ImageId") || !c.Has("ImageId") && i.family == c.Get("ImageFamily")
	})
	machine, sold := onSale(c.Get("InstanceType"))
	category := c.Get("SystemDisk.Category")
	switch {
	case at < 0:
		return api.NotFound("InvalidImageId.NotFound", "The specified ImageId does not exist.")
	case !sold:
		return forbidden("InvalidInstanceType.ValueNotSupported", "The specified InstanceType does not exist or beyond the permitted range.")
	case !all[at].runsOn(machine):
		return forbidden("ImageNotSupportInstanceType", "The specified image does not support the specified instance type.")
	case category != "" && !slices.Contains(diskCategories(), category):
		return forbidden("InvalidSystemDiskCategory.ValueNotSupported", "The specified parameter \"SystemDisk.Category\" is not valid.")
	}
	l.image = all[at]
	return nil
}

func checkPlace(c *api.Context, l *launch) *api.Error {
	if !c.Has("VSwitchId") {
		return api.Missing("VSwitchId")
	}
	l.vswitch = c.State.VSwitches[c.Get("VSwitchId")]
	switch {
	case l.vswitch == nil:
		return api.NotFound("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	case c.Now.Before(l.vswitch.PendingUntil):
		return forbidden("IncorrectVSwitchStatus", "The current status of virtual switch does not support this operation.")
	case c.Has("ZoneId") && c.Get("ZoneId") != l.vswitch.ZoneID:
		return forbidden("InvalidParameter.Mismatch", "The specified VSwitch is not in the specified zone.")
	}
	return nil
}

func checkGroups(c *api.Context, l *launch) *api.Error {
	l.groups = c.List("SecurityGroupIds")
	if c.Has("SecurityGroupId") {
		l.groups = append(l.groups, c.Get("SecurityGroupId"))
	}
	switch {
	case len(l.groups) == 0:
		return api.Missing("SecurityGroupId")
	case len(l.groups) > groupsPerMember:
		return forbidden("JoinedGroupLimitExceed", "An instance can be in %d security groups.", groupsPerMember)
	}
	for _, id := range l.groups {
		switch g := c.State.SecurityGroups[id]; {
		case g == nil:
			return groupNotFound()
		case g.VpcID != l.vswitch.VpcID:
			return forbidden("InvalidParameter.Mismatch", "Specified security group and virtual switch are not in the same VPC.")
		case mixed(c.State, l.groups[0], g):
			return forbidden(mixedGroups, "An instance can't be in security groups of different types.")
		}
	}
	return nil
}

func checkLabels(c *api.Context, l *launch) *api.Error {
	name, description, password := c.Get("InstanceName"), c.Get("Description"), c.Get("Password")
	first, _ := utf8.DecodeRuneInString(name)
	l.tags = tags.FilterOf(c)
	switch length := utf8.RuneCountInString(name); {
	case name != "" && (length < 2 || length > 128 || !unicode.IsLetter(first) || link(name)):
		return api.BadRequest("InvalidInstanceName.Malformed", "The specified parameter \"InstanceName\" is not valid.")
	case utf8.RuneCountInString(description) > 256 || link(description):
		return api.BadRequest("InvalidDescription.Malformed", "The specified parameter \"Description\" is not valid.")
	case password != "" && (len(password) < 8 || len(password) > 30):
		return api.BadRequest("InvalidPassword.Malformed", "The specified parameter \"Password\" is not valid.")
	}
	if err := tagCodes().CheckNew(l.tags); err != nil {
		return err
	}
	if quota := c.Settings.Quotas.Tags; len(l.tags) > quota {
		return forbidden("QuotaExceed.Tags", "A resource can have %d tags.", quota)
	}
	return nil
}

// findAddresses takes as many addresses of the vSwitch as there are to be instances, at least MinAmount.
func findAddresses(c *api.Context, l *launch) *api.Error {
	amount := c.Int("Amount", 1)
	least := c.Int("MinAmount", amount)
	block, err := netip.ParsePrefix(l.vswitch.CidrBlock)
	if err != nil || least > amount || c.Has("PrivateIpAddress") && amount > 1 {
		return api.Invalid("Amount")
	}
	used := subnet.Used(c.State, l.vswitch)
	if wanted := c.Get("PrivateIpAddress"); wanted != "" {
		addr, err := netip.ParseAddr(wanted)
		switch {
		case err != nil || !subnet.Usable(block, addr):
			return api.BadRequest("InvalidPrivateIpAddress.Malformed", "Specified private IP address is malformed.")
		case used[addr.String()]:
			return forbidden("InvalidPrivateIpAddress.Duplicated", "Specified private IP address is duplicated.")
		}
		l.addresses = []string{addr.String()}
		return nil
	}
	for range amount {
		address, ok := subnet.Free(block, used)
		if !ok {
			break
		}
		used[address] = true
		l.addresses = append(l.addresses, address)
	}
	if len(l.addresses) < least {
		return forbidden("InvalidVSwitchId.IpNotEnough", "The specified VSwitch %q has not enough IpAddress.", l.vswitch.ID)
	}
	return nil
}

// add makes the instance with number n of the call.
func (l *launch) add(c *api.Context, n int, address string) *state.Instance {
	id := c.NewID("i-bp1")
	number := ""
	if c.True("UniqueSuffix") {
		number = fmt.Sprintf("%03d", n+1)
	}
	label := func(name, def string) string {
		if !c.Has(name) {
			return def
		}
		return c.Get(name) + number
	}
	i := &state.Instance{
		ID: id, Name: label("InstanceName", id), HostName: label("HostName", "iZ"+strings.TrimPrefix(id, "i-")+"Z"), ZoneID: l.vswitch.ZoneID,
		InstanceType: c.Get("InstanceType"), ImageID: l.image.id, KeyPairName: c.Get("KeyPairName"), Created: c.Now,
		ChargeType: cmp.Or(c.Get("InstanceChargeType"), "PostPaid"), SpotStrategy: cmp.Or(c.Get("SpotStrategy"), "NoSpot"),
		VpcID: l.vswitch.VpcID, VSwitchID: l.vswitch.ID, PrivateIPs: []string{address}, SecurityGroupIDs: slices.Clone(l.groups),
		InternetBandwidth: c.Int("InternetMaxBandwidthOut", 0), InternetChargeType: c.Get("InternetChargeType"),
		Description: c.Get("Description"), ResourceGroupID: c.Get("ResourceGroupId"), DeploymentSetID: c.Get("DeploymentSetId"),
		DeletionProtection: c.True("DeletionProtection"), Tags: slices.Clone(l.tags),
	}
	c.Keep("", &i.Spelling)
	eni := &state.NetworkInterface{
		ID: c.NewID("eni-bp1"), Type: "Primary", Status: "InUse", InstanceID: id, VpcID: i.VpcID, VSwitchID: i.VSwitchID, ZoneID: i.ZoneID,
		PrimaryIP: address, PrivateIPs: []string{address}, SourceDestCheck: true, SecurityGroupIDs: slices.Clone(l.groups),
		ResourceGroupID: i.ResourceGroupID, Created: c.Now,
	}
	sequence := c.State.Sequence
	eni.MacAddress = macAddress(c)
	if i.InternetBandwidth > 0 {
		i.PublicIPs = []string{fmt.Sprintf("8.%d.%d.%d", 136+sequence/(256*254)%8, sequence/254%256, 1+sequence%254)}
	}
	c.State.Instances[id], c.State.Interfaces[eni.ID] = i, eni
	begin(c, i, pending, starting, c.Settings.InstanceCreate)
	return i
}
