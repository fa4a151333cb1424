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
			Duplicate.TagKey QuotaExceed.Tags IdempotentParameterMismatch DryRunOperation InvalidUserData.SizeExceeded
			InvalidUserData.Base64FormatInvalid InvalidKeyPairName.NotFound InvalidDeploymentSetId.NotFound InvalidSystemDiskSize.ValueNotSupported
			InvalidDataDiskCategory.ValueNotSupported InvalidDataDiskSize.ValueNotSupported InvalidSnapshotId.NotFound
			InvalidPerformanceLevel.Malformed InvalidVSwitch.Ipv6NotTurnOn InvalidIp.Address
			InvalidIp.IpAssigned InvalidIp.IpRepeated InvalidParameter.Conflict InvalidOperation.Ipv6CountExceeded
			InvalidLaunchTemplate.NotFound InvalidLaunchTemplateVersion.NotFound InvalidParam.NetworkInterface
			InvalidNetworkInterfaceName.Malformed InvalidParameter.NotMatch
			InvalidVSwitchId.IpInvalid InvalidEniId.NotFound InvalidOperation.InvalidEniState`), runParams()...)}
}

func runParams() []api.Param {
	return []api.Param{region(),
		api.Optional("ImageId"), api.Optional("ImageFamily"), api.Optional("InstanceType"), api.Optional("VSwitchId"),
		api.Optional("ZoneId"), api.Optional("SecurityGroupId"), api.Param{Name: "SecurityGroupIds", Kind: api.Strings},
		api.Optional("InstanceName"), api.Optional("HostName"), api.Optional("Description"), api.Flag("UniqueSuffix"),
		api.Number("Amount", 1, 100), api.Number("MinAmount", 1, 100), api.Optional("PrivateIpAddress"),
		api.Number("InternetMaxBandwidthOut", 0, 100),
		api.OneOf("InternetChargeType", "PayByBandwidth", "PayByTraffic"),
		api.OneOf("InstanceChargeType", "PostPaid", "PrePaid"),
		api.OneOf("SpotStrategy", "NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"), api.Optional("KeyPairName"),
		api.Optional("Password"), api.Flag("PasswordInherit"), api.Optional("SystemDisk.Category"), api.Optional("SystemDisk.Size"),
		api.Optional("SystemDisk.DiskName"), api.Optional("SystemDisk.Description"), api.Optional("SystemDisk.PerformanceLevel"),
		api.Flag("SystemDisk.Encrypted"), api.Optional("SystemDisk.KMSKeyId"), api.Optional("SystemDisk.ProvisionedIops"),
		api.Flag("SystemDisk.BurstingEnabled"), api.Param{Name: "DataDisk", Kind: api.Structs, Max: disksPerInstance},
		api.Param{Name: "Ipv6Address", Kind: api.Strings, Max: 10}, api.Number("Ipv6AddressCount", 1, 10),
		api.OneOf("IoOptimized", "optimized", "none"), api.Flag("DeletionProtection"),
		api.Optional("UserData"), api.Optional("RamRoleName"), api.Optional("SpotPriceLimit"), api.Number("SpotDuration", 0, 6),
		api.OneOf("SpotInterruptionBehavior", "Terminate", "Stop"), api.Optional("AutoReleaseTime"),
		api.OneOf("CreditSpecification", "Standard", "Unlimited"), api.OneOf("HttpEndpoint", "enabled", "disabled"),
		api.OneOf("HttpTokens", "optional", "required"), api.Number("HttpPutResponseHopLimit", 1, 64),
		api.Number("InternetMaxBandwidthIn", 0, 1000), api.OneOf("SecurityEnhancementStrategy", "Active", "Deactive"),
		api.Flag("ImageOptions.LoginAsNonRoot"), api.Flag("NetworkOptions.EnableJumboFrame"), api.Number("Period", 1, 60),
		api.OneOf("PeriodUnit", "Week", "Month"), api.Flag("AutoRenew"), api.Number("AutoRenewPeriod", 1, 60),
		api.Optional("DeploymentSetId"), api.Optional("ResourceGroupId"), tags.Uncounted(), api.Optional("ClientToken"),
		api.Param{Name: "NetworkInterface", Kind: api.Structs, Max: 2, Members: interfaceMembers()},
		api.Optional("LaunchTemplateId"), api.Optional("LaunchTemplateName"), api.Optional("LaunchTemplateVersion"), api.Flag("DryRun"),
	}
}

// launch is what a call of RunInstances asks for.
type launch struct {
	image     image
	vswitch   *state.VSwitch
	groups    []string
	tags      []state.Tag
	addresses []string // one for each instance
	ipv6s     []string // as many for each instance
	disks     []*state.Disk

	primary, secondary *interfaceWish // of NetworkInterface.N
	second             secondInterface
}

// runInstances makes instances that come up by the clock: Pending, Starting, Running. Each has its primary interface and its
// address from the beginning.
func runInstances(c *api.Context) (string, *api.Error) {
	c, err := withTemplate(c)
	if err != nil {
		return "", err
	}
	var l launch
	for _, check := range []func(*api.Context, *launch) *api.Error{
		checkMachine, readInterfaces, checkPlace, checkGroups, checkLabels, checkUserData, checkDisks, findAddresses, findIPv6,
		findSecondary,
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
	found, err := imageFor(c.Get("ImageId"), c.Get("ImageFamily"), c.Get("InstanceType"))
	l.image = found
	return err
}

// imageFor finds an image by its id, or by its family, and checks that it runs on an instance type.
func imageFor(id, familyName, instanceType string) (image, *api.Error) {
	all := images()
	at := slices.IndexFunc(all, func(i image) bool { return i.id == id || id == "" && i.family == familyName })
	machine, sold := onSale(instanceType)
	switch {
	case at < 0:
		return image{}, api.NotFound("InvalidImageId.NotFound", "The specified ImageId does not exist.")
	case !sold:
		return image{}, forbidden("InvalidInstanceType.ValueNotSupported",
			"The specified InstanceType does not exist or beyond the permitted range.")
	case !all[at].runsOn(machine):
		return image{}, forbidden("ImageNotSupportInstanceType", "The specified image does not support the specified instance type.")
	}
	return all[at], nil
}

func checkPlace(c *api.Context, l *launch) *api.Error {
	id := cmp.Or(c.Get("VSwitchId"), l.primary.get("VSwitchId"))
	if id == "" {
		return api.Missing("VSwitchId")
	}
	var err *api.Error
	if l.vswitch, err = launchVSwitch(c, id); err != nil {
		return err
	}
	if c.Has("ZoneId") && c.Get("ZoneId") != l.vswitch.ZoneID {
		return forbidden("InvalidParameter.Mismatch", "The specified VSwitch is not in the specified zone.")
	}
	return nil
}

// launchVSwitch finds a vSwitch that is ready for new instances.
func launchVSwitch(c *api.Context, id string) (*state.VSwitch, *api.Error) {
	switch found := c.State.VSwitches[id]; {
	case found == nil:
		return nil, api.NotFound("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	case c.Now.Before(found.PendingUntil):
		return nil, forbidden("IncorrectVSwitchStatus", "The current status of virtual switch does not support this operation.")
	default:
		return found, nil
	}
}

func checkGroups(c *api.Context, l *launch) *api.Error {
	l.groups = append(c.List("SecurityGroupIds"), l.primary.groups()...)
	if c.Has("SecurityGroupId") {
		l.groups = append(l.groups, c.Get("SecurityGroupId"))
	}
	if len(l.groups) == 0 {
		return api.Missing("SecurityGroupId")
	}
	return checkInstanceGroups(c, l.groups, l.vswitch.VpcID)
}

// checkInstanceGroups refuses security groups that an instance in a VPC can't be in together.
func checkInstanceGroups(c *api.Context, groups []string, vpcID string) *api.Error {
	if len(groups) > groupsPerMember {
		return forbidden("JoinedGroupLimitExceed", "An instance can be in %d security groups.", groupsPerMember)
	}
	for _, id := range groups {
		switch g := c.State.SecurityGroups[id]; {
		case g == nil:
			return groupNotFound()
		case g.VpcID != vpcID:
			return forbidden("InvalidParameter.Mismatch", "Specified security group and virtual switch are not in the same VPC.")
		case mixed(c.State, groups[0], g):
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
	case c.Has("KeyPairName") && c.State.KeyPairs[c.Get("KeyPairName")] == nil:
		return keyPairNotFound()
	case c.Has("DeploymentSetId") && c.State.DeploymentSets[c.Get("DeploymentSetId")] == nil:
		return deploymentSetNotFound()
	}
	return checkNewTags(c, l.tags)
}

// checkDisks reads SystemDisk and DataDisk.N.
func checkDisks(c *api.Context, l *launch) *api.Error {
	system, err := diskWish{kind: systemDisk, prefix: "SystemDisk", get: func(name string) string {
		return c.Get("SystemDisk." + name)
	}}.disk(c, l.vswitch.ZoneID)
	if err != nil {
		return err
	}
	system.ImageID, system.DeleteWithInstance, system.Device = l.image.id, true, "/dev/xvda"
	l.disks = []*state.Disk{system}
	for n, item := range c.Items("DataDisk") {
		d, err := diskWish{kind: dataDisk, prefix: "DataDisk", get: func(name string) string {
			return item[strings.ToLower(name)]
		}}.disk(c, l.vswitch.ZoneID)
		if err != nil {
			return err
		}
		d.DeleteWithInstance = !strings.EqualFold(item["deletewithinstance"], "false")
		d.Device = cmp.Or(item["device"], fmt.Sprintf("/dev/xvd%c", 'b'+n))
		l.disks = append(l.disks, d)
	}
	return nil
}

// findIPv6 takes the IPv6 addresses of the primary interfaces of all instances.
func findIPv6(c *api.Context, l *launch) *api.Error {
	wanted := append(c.List("Ipv6Address"), l.primary.list("Ipv6Address")...)
	each := c.Int("Ipv6AddressCount", l.primary.count("Ipv6AddressCount"))
	var err *api.Error
	l.ipv6s, err = newIPv6(l, newPool(c, l.vswitch), wanted, each, sizeOf(c.Get("InstanceType")).ips)
	return err
}

// findAddresses takes as many addresses of the vSwitch as there are to be instances, at least MinAmount.
func findAddresses(c *api.Context, l *launch) *api.Error {
	amount := c.Int("Amount", 1)
	least := c.Int("MinAmount", amount)
	block, err := netip.ParsePrefix(l.vswitch.CidrBlock)
	wanted := cmp.Or(c.Get("PrivateIpAddress"), l.primary.get("PrimaryIpAddress"))
	if err != nil || least > amount || wanted != "" && amount > 1 {
		return api.Invalid("Amount")
	}
	used := subnet.Used(c.State, l.vswitch)
	if wanted != "" {
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
		DeletionProtection: c.True("DeletionProtection"), Tags: slices.Clone(l.tags), Attributes: sentAttributes(c),
	}
	c.Keep("", &i.Spelling)
	for _, wished := range l.disks {
		d := *wished
		d.ID, d.InstanceID, d.Status, d.Attached = c.NewID("d-bp1"), id, diskInUse, c.Now
		d.ResourceGroupID = i.ResourceGroupID
		c.State.Disks[d.ID] = &d
	}
	each := len(l.ipv6s) / len(l.addresses)
	eni := &state.NetworkInterface{
		ID: c.NewID("eni-bp1"), Type: "Primary", Status: "InUse", InstanceID: id, VpcID: i.VpcID, VSwitchID: i.VSwitchID, ZoneID: i.ZoneID,
		PrimaryIP: address, PrivateIPs: []string{address}, SourceDestCheck: true, SecurityGroupIDs: slices.Clone(l.groups),
		ResourceGroupID: i.ResourceGroupID, Created: c.Now, Ipv6Addresses: slices.Clone(l.ipv6s[n*each : (n+1)*each]),
	}
	sequence := c.State.Sequence
	eni.MacAddress = macAddress(c)
	l.primary.settings(eni)
	if i.InternetBandwidth > 0 {
		i.PublicIPs = []string{publicIP(sequence)}
	}
	c.State.Instances[id], c.State.Interfaces[eni.ID] = i, eni
	l.addSecondary(c, n, i)
	begin(c, i, pending, starting, c.Settings.InstanceCreate)
	return i
}

// publicIP is an address of the cloud itself, of the number of the last id.
func publicIP(sequence int64) string {
	return fmt.Sprintf("8.%d.%d.%d", 136+sequence/(256*254)%8, sequence/254%256, 1+sequence%254)
}
