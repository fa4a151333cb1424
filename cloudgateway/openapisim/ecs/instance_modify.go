package ecs

import (
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/subnet"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// instanceModifyActions change instances, beside those of their life.
func instanceModifyActions() []api.Action {
	instance := api.Required("InstanceId")
	missing, busy := []string{"InvalidInstanceId.NotFound"}, []string{"InvalidInstanceId.NotFound", "IncorrectInstanceStatus"}
	once := func(action string, do func(*api.Context) (string, *api.Error)) api.Handler {
		return clienttoken.Once("ecs/"+action, nil, do)
	}
	return []api.Action{
		api.Write("ModifyInstanceAttribute", once("ModifyInstanceAttribute", modifyInstance), append(missing, api.Words(
			`InvalidInstanceName.Malformed InvalidDescription.Malformed InvalidPassword.Malformed InvalidUserData.SizeExceeded
			InvalidUserData.Base64FormatInvalid InvalidSecurityGroupId.NotFound InvalidParameter.Mismatch JoinedGroupLimitExceed
			InvalidOperation.MultiGroupType IdempotentParameterMismatch`)...), instance, api.Optional("InstanceName"),
			api.Optional("Description"), api.Optional("HostName"), api.Optional("Password"), api.Optional("UserData"),
			api.OneOf("CreditSpecification", "Standard", "Unlimited"), api.Flag("EnableJumboFrame"), api.Flag("DeletionProtection"),
			api.Param{Name: "SecurityGroupIds", Kind: api.Strings}, api.Optional("ClientToken")),
		api.Write("RebootInstance", api.On(inStatus(running), unlessDry(rebootInstance)), append(busy, "DryRunOperation"), instance,
			api.Flag("ForceStop"), api.Flag("DryRun")),
		api.Write("ModifyInstanceSpec", once("ModifyInstanceSpec", api.On(instanceForSpec, unlessDry(modifyInstanceSpec))), append(busy,
			api.Words(`InvalidInstanceType.ValueNotSupported ImageNotSupportInstanceType IdempotentParameterMismatch
				DryRunOperation`)...), instance,
			api.Optional("InstanceType"), api.Number("InternetMaxBandwidthOut", 0, 100), api.Number("InternetMaxBandwidthIn", 0, 1000),
			api.Flag("Async"), api.Flag("AllowMigrateAcrossZone"), api.Flag("DryRun"), api.Optional("ClientToken")),
		api.Write("ModifyPrepayInstanceSpec", once("ModifyPrepayInstanceSpec", api.On(instanceForSpec, modifyInstanceSpec)), append(busy,
			api.Words("InvalidInstanceType.ValueNotSupported ImageNotSupportInstanceType IdempotentParameterMismatch")...), instance,
			api.Optional("RegionId"), api.Required("InstanceType"), api.OneOf("OperatorType", "upgrade", "downgrade"), api.Flag("AutoPay"),
			api.Optional("ClientToken")),
		api.Write("ModifyInstanceNetworkSpec", once("ModifyInstanceNetworkSpec", modifyNetworkSpec),
			append(missing, "IdempotentParameterMismatch"), instance, api.Number("InternetMaxBandwidthOut", 0, 200),
			api.Number("InternetMaxBandwidthIn", 0, 1000), api.OneOf("NetworkChargeType", "PayByTraffic", "PayByBandwidth"),
			api.Flag("AllocatePublicIp"), api.Flag("AutoPay"), api.Optional("ClientToken")),
		api.Write("AllocatePublicIpAddress", api.On(instanceByID, allocatePublicIP),
			append(busy, "AllocatedAlready", "InvalidInternetMaxBandwidthOut.ValueNotSupported"), instance),
		api.Write("ModifyInstanceVpcAttribute", api.On(inStatus(stopped), modifyInstanceVpc), append(busy, api.Words(
			`InvalidVSwitchId.NotFound InvalidParameter.Mismatch InvalidPrivateIpAddress.Malformed
			InvalidPrivateIpAddress.Duplicated InvalidVSwitchId.IpNotEnough InvalidSecurityGroupId.NotFound MissingParameter
			InvalidOperation.MultiGroupType JoinedGroupLimitExceed`)...), instance, api.Required("VSwitchId"), api.Optional("VpcId"),
			api.Optional("PrivateIpAddress"), api.Param{Name: "SecurityGroupId", Kind: api.Strings}),
		api.Write("ModifyInstanceChargeType", api.On(instancesByIDs, modifyChargeType),
			api.Words("InvalidInstanceId.NotFound InvalidParameter DryRunOperation"), region(),
			api.Param{Name: "InstanceIds", Kind: api.JSON, Required: true}, api.OneOf("InstanceChargeType", "PrePaid", "PostPaid"),
			api.Number("Period", 1, 60), api.OneOf("PeriodUnit", "Week", "Month"), api.Flag("IncludeDataDisks"), api.Flag("AutoPay"),
			api.Flag("DryRun"), api.Optional("ClientToken")),
		api.Write("ModifyInstanceAutoReleaseTime", api.On(instanceByID, modifyReleaseTime),
			append(missing, "InvalidAutoReleaseTime.Malformed"), api.Optional("RegionId"), instance, api.Optional("AutoReleaseTime")),
		api.Write("ModifyInstanceAutoRenewAttribute", modifyRenewal, append(missing, "InvalidInstanceChargeType.NotSupport"), region(),
			instance, api.OneOf("RenewalStatus", "AutoRenewal", "Normal", "NotRenewal"), api.Flag("AutoRenew"), api.Number("Duration", 1, 60),
			api.OneOf("PeriodUnit", "Week", "Month", "Year")),
		api.Write("ModifyInstanceMetadataOptions", api.On(instanceByID, modifyMetadata), missing, region(), instance,
			api.Param{Name: "HttpEndpoint", Required: true, Enum: []string{"enabled", "disabled"}},
			api.OneOf("HttpTokens", "optional", "required"), api.Number("HttpPutResponseHopLimit", 1, 64)),
		api.Write("ModifyInstanceMaintenanceAttributes", modifyMaintenance, append(missing, "InvalidParameter"), region(),
			api.Param{Name: "InstanceId", Kind: api.Strings, Required: true, Max: maxResults},
			api.Param{Name: "MaintenanceWindow", Kind: api.Structs, Max: 1}, api.OneOf("ActionOnMaintenance", maintenanceActions()...),
			api.Flag("NotifyOnMaintenance")),
		api.Write("ModifyInstanceDeployment", api.On(instanceByID, modifyDeployment),
			append(missing, "InvalidDeploymentSetId.NotFound"), region(), instance, api.Optional("DeploymentSetId"),
			api.Flag("RemoveFromDeploymentSet"), api.Flag("Force"), api.Optional("ClientToken")),
		api.Write("JoinResourceGroup", joinResourceGroup, api.Words("InvalidResourceType.NotFound InvalidResourceId.NotFound"), region(),
			api.Required("ResourceType"), api.Required("ResourceId"), api.Required("ResourceGroupId")),
	}
}

// modifyInstance changes what an instance is called, and replaces all of its security groups, if the call names some.
func modifyInstance(c *api.Context) (string, *api.Error) {
	i, err := instanceByID(c)
	if err != nil {
		return "", err
	}
	password := c.Get("Password")
	switch description := c.Get("Description"); {
	case c.Has("InstanceName") && !validName(c.Get("InstanceName")):
		return "", api.BadRequest("InvalidInstanceName.Malformed", "The specified parameter \"InstanceName\" is not valid.")
	case utf8.RuneCountInString(description) > 256 || link(description):
		return "", api.BadRequest("InvalidDescription.Malformed", "The specified parameter \"Description\" is not valid.")
	case password != "" && (len(password) < 8 || len(password) > 30):
		return "", api.BadRequest("InvalidPassword.Malformed", "The specified parameter \"Password\" is not valid.")
	}
	if err := userData(c); err != nil {
		return "", err
	}
	if groups := c.List("SecurityGroupIds"); len(groups) > 0 {
		if err := checkInstanceGroups(c, groups, i.VpcID); err != nil {
			return "", err
		}
		setGroups(c, i, groups)
	}
	c.SetText("InstanceName", &i.Name)
	setSent(c, "Description", &i.Description)
	c.SetText("HostName", &i.HostName)
	c.SetFlag("DeletionProtection", &i.DeletionProtection)
	setAttributes(c, i, "UserData", "UserData", "CreditSpecification", "CreditSpecification", "EnableJumboFrame",
		"NetworkOptions.EnableJumboFrame")
	return i.ID, nil
}

// primaryOf is the primary interface of an instance; a cloud made by hand may have none.
func primaryOf(c *api.Context, i *state.Instance) *state.NetworkInterface {
	for _, eni := range interfacesOf(c.State, []*state.Instance{i})[i.ID] {
		if eni.Type == primaryInterface {
			return eni
		}
	}
	return nil
}

// setGroups puts an instance and its primary interface into security groups and out of all others.
func setGroups(c *api.Context, i *state.Instance, groups []string) {
	i.SecurityGroupIDs = slices.Clone(groups)
	if eni := primaryOf(c, i); eni != nil {
		eni.SecurityGroupIDs = slices.Clone(groups)
	}
}

func rebootInstance(c *api.Context, i *state.Instance) (any, *api.Error) {
	begin(c, i, stopping, starting, c.Settings.InstanceStop)
	return nil, nil
}

// instanceForSpec finds an instance that can be of the type that the call names.
func instanceForSpec(c *api.Context) (*state.Instance, *api.Error) {
	i, err := inStatus(stopped)(c)
	if err == nil && c.Has("InstanceType") {
		_, err = imageFor(imageOf(i), "", c.Get("InstanceType"))
	}
	return i, err
}

func modifyInstanceSpec(c *api.Context, i *state.Instance) (string, *api.Error) {
	c.SetText("InstanceType", &i.InstanceType)
	setBandwidth(c, i)
	return i.ID, nil
}

// setBandwidth changes the bandwidth of an instance. Without any it has no public address.
func setBandwidth(c *api.Context, i *state.Instance) {
	c.SetInt("InternetMaxBandwidthOut", &i.InternetBandwidth)
	setAttributes(c, i, "InternetMaxBandwidthIn", "InternetMaxBandwidthIn")
	if i.InternetBandwidth == 0 {
		i.PublicIPs = nil
	}
}

func modifyNetworkSpec(c *api.Context) (string, *api.Error) {
	i, err := instanceByID(c)
	if err != nil {
		return "", err
	}
	c.SetText("NetworkChargeType", &i.InternetChargeType)
	setBandwidth(c, i)
	if c.True("AllocatePublicIp") && i.InternetBandwidth > 0 && len(i.PublicIPs) == 0 {
		c.State.Sequence++
		i.PublicIPs = []string{publicIP(c.State.Sequence)}
	}
	return i.ID, nil
}

func allocatePublicIP(c *api.Context, i *state.Instance) (any, *api.Error) {
	switch {
	case !still(i):
		return nil, incorrectStatus()
	case len(i.PublicIPs) > 0 || i.EipID != "":
		return nil, forbidden("AllocatedAlready", "The specified instance has a public address already.")
	case i.InternetBandwidth == 0:
		return nil, forbidden("InvalidInternetMaxBandwidthOut.ValueNotSupported", "The instance has no outgoing bandwidth.")
	}
	c.State.Sequence++
	i.PublicIPs = []string{publicIP(c.State.Sequence)}
	return api.Object{"IpAddress", i.PublicIPs[0]}, nil
}

// modifyInstanceVpc moves a stopped instance to another vSwitch of its zone, or to another address. In another VPC it is in other groups.
func modifyInstanceVpc(c *api.Context, i *state.Instance) (any, *api.Error) {
	vswitch := c.State.VSwitches[c.Get("VSwitchId")]
	groups := c.List("SecurityGroupId")
	switch {
	case vswitch == nil:
		return nil, api.NotFound("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	case vswitch.ZoneID != i.ZoneID:
		return nil, forbidden("InvalidParameter.Mismatch", "The vSwitch is in another zone than the instance.")
	case vswitch.VpcID != i.VpcID && c.Get("VpcId") != vswitch.VpcID:
		return nil, forbidden("InvalidParameter.Mismatch", "The vSwitch is in another VPC, which VpcId does not name.")
	case vswitch.VpcID != i.VpcID && len(groups) == 0:
		return nil, api.Missing("SecurityGroupId")
	}
	if len(groups) > 0 {
		if err := checkInstanceGroups(c, groups, vswitch.VpcID); err != nil {
			return nil, err
		}
	}
	address, err := addressIn(c, vswitch, c.Get("PrivateIpAddress"))
	if err != nil {
		return nil, err
	}
	i.VpcID, i.VSwitchID, i.PrivateIPs = vswitch.VpcID, vswitch.ID, []string{address}
	if eni := primaryOf(c, i); eni != nil {
		eni.VpcID, eni.VSwitchID, eni.PrimaryIP, eni.PrivateIPs = vswitch.VpcID, vswitch.ID, address, []string{address}
	}
	if len(groups) > 0 {
		setGroups(c, i, groups)
	}
	return nil, nil
}

// addressIn is a wanted address of a vSwitch, or a free one.
func addressIn(c *api.Context, vswitch *state.VSwitch, wanted string) (string, *api.Error) {
	block, _ := netip.ParsePrefix(vswitch.CidrBlock)
	used := subnet.Used(c.State, vswitch)
	if wanted == "" {
		address, ok := subnet.Free(block, used)
		if !ok {
			return "", ipNotEnough()
		}
		return address, nil
	}
	addr, err := netip.ParseAddr(wanted)
	switch {
	case err != nil || !subnet.Usable(block, addr):
		return "", api.BadRequest("InvalidPrivateIpAddress.Malformed", "Specified private IP address is malformed.")
	case used[addr.String()]:
		return "", forbidden("InvalidPrivateIpAddress.Duplicated", "Specified private IP address is duplicated.")
	}
	return addr.String(), nil
}

func modifyChargeType(c *api.Context, instances []*state.Instance) (any, *api.Error) {
	if c.True("DryRun") {
		return nil, api.DryRun()
	}
	for _, i := range instances {
		i.ChargeType = "PrePaid" // what the documents have as the default
		c.SetText("InstanceChargeType", &i.ChargeType)
		setAttributes(c, i, "Period", "Period", "PeriodUnit", "PeriodUnit")
	}
	return api.Object{"OrderId", "", "FeeOfInstances", api.Object{"FeeOfInstance", []api.Object{}}}, nil
}

// modifyReleaseTime sets when an instance is released; without a time it is never.
func modifyReleaseTime(c *api.Context, i *state.Instance) (any, *api.Error) {
	if text := c.Get("AutoReleaseTime"); text != "" {
		if at, err := time.Parse(time.RFC3339, text); err != nil || at.Before(c.Now) {
			return nil, api.BadRequest("InvalidAutoReleaseTime.Malformed", "The specified AutoReleaseTime is no time to come.")
		}
	}
	setAttribute(i, "AutoReleaseTime", c.Get("AutoReleaseTime"))
	return nil, nil
}

func modifyRenewal(c *api.Context) (any, *api.Error) {
	ids := listing.CommaList(c.Get("InstanceId"))
	for _, id := range ids {
		switch i := c.State.Instances[id]; {
		case i == nil:
			return nil, instanceNotFound()
		case i.ChargeType != "PrePaid":
			return nil, forbidden("InvalidInstanceChargeType.NotSupport", "Only instances that are paid in advance are renewed.")
		}
	}
	for _, id := range ids {
		setAttributes(c, c.State.Instances[id], "AutoRenew", "AutoRenew", "RenewalStatus", "RenewalStatus", "Duration", "AutoRenewPeriod",
			"PeriodUnit", "PeriodUnit")
	}
	return nil, nil
}

func modifyMetadata(c *api.Context, i *state.Instance) (any, *api.Error) {
	setAttributes(c, i, "HttpEndpoint", "HttpEndpoint", "HttpTokens", "HttpTokens", "HttpPutResponseHopLimit", "HttpPutResponseHopLimit")
	return nil, nil
}

func modifyMaintenance(c *api.Context) (any, *api.Error) {
	ids := c.List("InstanceId")
	for _, id := range ids {
		if c.State.Instances[id] == nil {
			return nil, instanceNotFound()
		}
	}
	var windows []string
	for _, window := range c.Items("MaintenanceWindow") {
		for _, text := range []string{window["starttime"], window["endtime"]} {
			if _, err := time.Parse("15:04:05Z", text); err != nil {
				return nil, api.Invalid("MaintenanceWindow")
			}
		}
		windows = append(windows, window["starttime"]+"/"+window["endtime"])
	}
	for _, id := range ids {
		i := c.State.Instances[id]
		setAttributes(c, i, "ActionOnMaintenance", "ActionOnMaintenance", "NotifyOnMaintenance", "NotifyOnMaintenance")
		if len(windows) > 0 {
			setAttribute(i, "MaintenanceWindow", strings.Join(windows, ","))
		}
	}
	return nil, nil
}

func modifyDeployment(c *api.Context, i *state.Instance) (any, *api.Error) {
	switch set := c.State.DeploymentSets[c.Get("DeploymentSetId")]; {
	case c.True("RemoveFromDeploymentSet"):
		i.DeploymentSetID = ""
	case set == nil:
		return nil, deploymentSetNotFound()
	default:
		i.DeploymentSetID = set.ID
	}
	return nil, nil
}

// joinResourceGroup moves a thing to a resource group. The primary interface and the system disk of an instance go with it.
func joinResourceGroup(c *api.Context) (any, *api.Error) {
	id, group := c.Get("ResourceId"), c.Get("ResourceGroupId")
	var at *string
	switch s := c.State; c.Get("ResourceType") {
	case "instance":
		if i := s.Instances[id]; i != nil {
			at = &i.ResourceGroupID
			if eni := primaryOf(c, i); eni != nil {
				eni.ResourceGroupID = group
			}
		}
	case "securitygroup":
		if g := s.SecurityGroups[id]; g != nil {
			at = &g.ResourceGroupID
		}
	case "eni":
		if eni := s.Interfaces[id]; eni != nil {
			at = &eni.ResourceGroupID
		}
	case "disk":
		if d := s.Disks[id]; d != nil {
			at = &d.ResourceGroupID
		}
	case "snapshot":
		if snapshot := s.Snapshots[id]; snapshot != nil {
			at = &snapshot.ResourceGroupID
		}
	case "keypair":
		if k := s.KeyPairs[id]; k != nil {
			at = &k.ResourceGroupID
		}
	default:
		return nil, api.NotFound("InvalidResourceType.NotFound", "The ResourceType %s is not simulated.", c.Get("ResourceType"))
	}
	if at == nil {
		return nil, api.NotFound("InvalidResourceId.NotFound", "The specified ResourceId does not exist.")
	}
	*at = group
	return nil, nil
}
