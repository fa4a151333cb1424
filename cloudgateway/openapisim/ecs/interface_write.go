package ecs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The statuses of a network interface.
const (
	creating  = "Creating"
	available = "Available"
	attaching = "Attaching"
	inUse     = "InUse"
	detaching = "Detaching"
)

// The types of network interfaces.
const (
	primaryInterface   = "Primary"
	secondaryInterface = "Secondary"
	trunkInterface     = "Trunk"
)

// secondaryIPs is how many further addresses an interface can have that is attached to nothing.
const secondaryIPs = 49

func interfaceWriteActions() []api.Action {
	id, instance := api.Required("NetworkInterfaceId"), api.Required("InstanceId")
	ten := func(name string) api.Param { return api.Param{Name: name, Kind: api.Strings, Max: 10} }
	return []api.Action{
		api.Write("CreateNetworkInterface", clienttoken.Once("ecs/CreateNetworkInterface", showInterface, createInterface),
			append(addressCodes(), api.Words(`MissingParameter InvalidParameter InvalidParameter.Conflict InvalidVSwitchId.NotFound
				IncorrectVSwitchStatus InvalidSecurityGroupId.NotFound InvalidOperation.VpcMismatch
				InvalidOperation.MultiGroupType JoinedGroupLimitExceed InvalidNetworkInterfaceName.Malformed
				InvalidDescription.Malformed InvalidTagKey.Malformed InvalidTagValue.Malformed Duplicate.TagKey
				QuotaExceed.Tags IdempotentParameterMismatch`)...),
			region(), api.Required("VSwitchId"), api.Optional("SecurityGroupId"),
			api.Param{Name: "SecurityGroupIds", Kind: api.Strings}, api.Optional("PrimaryIpAddress"), ten("PrivateIpAddress"),
			api.Number("SecondaryPrivateIpAddressCount", 1, secondaryIPs), ten("Ipv6Address"), api.Number("Ipv6AddressCount", 1, 10),
			ten("Ipv4Prefix"), api.Number("Ipv4PrefixCount", 1, 10), ten("Ipv6Prefix"), api.Number("Ipv6PrefixCount", 1, 10),
			api.Optional("NetworkInterfaceName"), api.Optional("Description"),
			api.OneOf("InstanceType", secondaryInterface, trunkInterface),
			api.OneOf("NetworkInterfaceTrafficMode", "Standard", "HighPerformance"), api.Number("QueueNumber", 1, 2048),
			api.Optional("ResourceGroupId"), api.Flag("DeleteOnRelease"), api.Flag("SourceDestCheck"), tags.Uncounted(),
			api.Optional("ClientToken")),
		api.Write("DeleteNetworkInterface", api.On(interfaceByID, deleteInterface),
			api.Words(`InvalidEniId.NotFound InvalidOperation.InvalidEniState InvalidOperation.InvalidEniType
				InvalidOperation.EniServiceManaged`), region(), id),
		api.Write("AttachNetworkInterface", api.On2(interfaceAndInstance, attachInterface),
			api.Words(`InvalidEniId.NotFound InvalidEcsId.NotFound InvalidOperation.InvalidEniState
				InvalidOperation.InvalidEniType InvalidOperation.InvalidEcsState InvalidOperation.AvailabilityZoneMismatch
				InvalidOperation.VpcMismatch EniPerInstanceLimitExceeded InvalidOperation.Ipv4CountExceeded
				InvalidOperation.Ipv6CountExceeded InvalidOperation.EniServiceManaged`), region(), id, instance),
		api.Write("DetachNetworkInterface", api.On2(interfaceAndInstance, detachInterface),
			api.Words(`InvalidEniId.NotFound InvalidEcsId.NotFound InvalidOperation.InvalidEniState
				InvalidOperation.DetachPrimaryEniNotAllowed InvalidOperation.InvalidEcsState
				InvalidOperation.EniServiceManaged`), region(), id, instance),
	}
}

// settleInterfaces completes the changes of network interfaces that have ended.
func settleInterfaces(c *api.Context) (next time.Time) {
	for _, eni := range c.State.Interfaces {
		if !eni.SettleAt.IsZero() && !c.Now.Before(eni.SettleAt) {
			eni.Status, eni.SettleTo, eni.SettleAt = eni.SettleTo, "", time.Time{}
			if eni.Status == available {
				eni.InstanceID = ""
			}
		}
		next = api.Earlier(next, eni.SettleAt)
	}
	return next
}

// turn lets an interface pass through a status on the way to another one.
func turn(c *api.Context, eni *state.NetworkInterface, passing, final string) {
	eni.Status, eni.SettleTo, eni.SettleAt = passing, final, c.Now.Add(c.Settings.InterfaceChange)
	settleInterfaces(c)
}

func showInterface(c *api.Context, id string) any {
	eni := c.State.Interfaces[id]
	if eni == nil { // it was deleted since the call that is repeated
		return api.Object{"NetworkInterfaceId", id}
	}
	return newInterfaceView(c, eni)
}

func createInterface(c *api.Context) (string, *api.Error) {
	vswitch := c.State.VSwitches[c.Get("VSwitchId")]
	switch {
	case vswitch == nil:
		return "", api.NotFound("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	case c.Now.Before(vswitch.PendingUntil):
		return "", api.BadRequest("IncorrectVSwitchStatus", "The current status of the vSwitch does not support this operation.")
	}
	groups, err := newGroups(c, vswitch.VpcID)
	if err != nil {
		return "", err
	}
	if err := checkInterfaceTexts(c.Get("NetworkInterfaceName"), c.Get("Description")); err != nil {
		return "", err
	}
	tagged := tags.FilterOf(c)
	if err := checkNewTags(c, tagged); err != nil {
		return "", err
	}
	given, err := newPool(c, vswitch).take(c, 1)
	if err != nil {
		return "", err
	}
	id := c.NewID("eni-bp1")
	eni := &state.NetworkInterface{
		ID: id, Type: cmp.Or(c.Get("InstanceType"), secondaryInterface), VpcID: vswitch.VpcID, VSwitchID: vswitch.ID,
		ZoneID: vswitch.ZoneID, MacAddress: macAddress(c), PrimaryIP: given.ips[0], Name: c.Get("NetworkInterfaceName"),
		Description: c.Get("Description"), SecurityGroupIDs: groups, ResourceGroupID: c.Get("ResourceGroupId"), Tags: tagged,
		SourceDestCheck: c.True("SourceDestCheck"), KeepOnRelease: c.Has("DeleteOnRelease") && !c.True("DeleteOnRelease"),
		QueueNumber: c.Int("QueueNumber", 0), TrafficMode: c.Get("NetworkInterfaceTrafficMode"), Created: c.Now,
	}
	given.addTo(eni)
	c.State.Interfaces[id] = eni
	turn(c, eni, creating, available)
	return id, nil
}

// macAddress makes one of the number of the last id.
func macAddress(c *api.Context) string {
	n := c.State.Sequence
	return fmt.Sprintf("00:16:3e:%02x:%02x:%02x", byte(n>>16), byte(n>>8), byte(n))
}

// newGroups are the security groups of a new interface, given as one or as a list.
func newGroups(c *api.Context, vpcID string) ([]string, *api.Error) {
	groups := c.List("SecurityGroupIds")
	switch one := c.Get("SecurityGroupId"); {
	case one != "" && len(groups) > 0:
		return nil, conflict("SecurityGroupId and SecurityGroupIds.N can't be given together.")
	case one != "":
		groups = []string{one}
	case len(groups) == 0:
		return nil, api.Missing("SecurityGroupId")
	}
	return groups, checkInterfaceGroups(c, groups, vpcID)
}

// checkInterfaceGroups refuses security groups that an interface in a VPC can't be in together.
func checkInterfaceGroups(c *api.Context, groups []string, vpcID string) *api.Error {
	if len(groups) > groupsPerMember {
		return api.BadRequest("JoinedGroupLimitExceed", "A network interface can be in %d security groups.", groupsPerMember)
	}
	for _, id := range groups {
		switch g := c.State.SecurityGroups[id]; {
		case g == nil:
			return groupNotFound()
		case mixed(c.State, groups[0], g):
			return forbidden(mixedGroups, "A network interface can't be in security groups of different types.")
		case g.VpcID != vpcID:
			return forbidden("InvalidOperation.VpcMismatch", "The network interface and security group %s are not in the same VPC.", id)
		}
	}
	return nil
}

func checkInterfaceTexts(name, description string) *api.Error {
	if name != "" && !validName(name) {
		return api.BadRequest("InvalidNetworkInterfaceName.Malformed", "The specified parameter \"NetworkInterfaceName\" is not valid.")
	}
	if utf8.RuneCountInString(description) > 256 || link(description) {
		return api.BadRequest("InvalidDescription.Malformed", "The specified parameter \"Description\" is not valid.")
	}
	return nil
}

// validName reports whether a name begins with a letter and has 2 to 128 characters.
func validName(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	length := utf8.RuneCountInString(name)
	return length >= 2 && length <= 128 && unicode.IsLetter(first) && !link(name)
}

// checkNewTags refuses tags that nothing new can have.
func checkNewTags(c *api.Context, tagged []state.Tag) *api.Error {
	if err := tagCodes().CheckNew(tagged); err != nil {
		return err
	}
	if quota := c.Settings.Quotas.Tags; len(tagged) > quota {
		return forbidden("QuotaExceed.Tags", "A resource can have %d tags.", quota)
	}
	return nil
}

func deleteInterface(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	switch {
	case eni.Type == primaryInterface:
		return nil, wrongInterfaceType()
	case eni.Status != available:
		return nil, wrongInterfaceState()
	}
	leaveServers(c, map[string]bool{eni.ID: true})
	for _, eip := range c.State.Eips {
		if eip.InstanceID == eni.ID {
			eip.Status, eip.InstanceID, eip.InstanceType, eip.PrivateIP = available, "", "", ""
		}
	}
	delete(c.State.Interfaces, eni.ID)
	return nil, nil
}

func wrongInterfaceType() *api.Error {
	return forbidden("InvalidOperation.InvalidEniType", "The operation is not permitted for network interfaces of this type.")
}

// interfaceAndInstance returns what NetworkInterfaceId and InstanceId name.
func interfaceAndInstance(c *api.Context) (*state.NetworkInterface, *state.Instance, *api.Error) {
	eni, err := interfaceByID(c)
	if err != nil {
		return nil, nil, err
	}
	i, err := api.Named(c, c.State.Instances, "InstanceId", func() *api.Error {
		return api.NotFound("InvalidEcsId.NotFound", "The specified EcsId is not found.")
	})
	return eni, i, err
}

// still reports whether interfaces can be attached to an instance, and detached from it.
func still(i *state.Instance) bool {
	return i.SettleAt.IsZero() && (i.Status == running || i.Status == stopped)
}

func wrongInstanceState() *api.Error {
	return api.BadRequest("InvalidOperation.InvalidEcsState", "The operation is not allowed in the current ECS state.")
}

// attachInterface attaches an interface to an instance whose type has room for one more, and for all of its addresses.
func attachInterface(c *api.Context, eni *state.NetworkInterface, i *state.Instance) (any, *api.Error) {
	size := sizeOf(i.InstanceType)
	attached := len(interfacesOf(c.State, []*state.Instance{i})[i.ID])
	switch {
	case eni.Type == primaryInterface:
		return nil, wrongInterfaceType()
	case eni.Status != available:
		return nil, wrongInterfaceState()
	case !still(i):
		return nil, wrongInstanceState()
	case eni.VpcID != i.VpcID:
		return nil, forbidden("InvalidOperation.VpcMismatch", "The network interface and the instance are not in the same VPC.")
	case eni.ZoneID != i.ZoneID:
		return nil, forbidden("InvalidOperation.AvailabilityZoneMismatch", "The network interface and the instance are not in the same zone.")
	case attached >= size.interfaces:
		return nil, forbidden("EniPerInstanceLimitExceeded", "An instance of the type %s can have %d network interfaces, and has %d.",
			i.InstanceType, size.interfaces, attached)
	}
	if err := checkAddressCounts(eni, size.ips); err != nil {
		return nil, err
	}
	eni.InstanceID = i.ID
	turn(c, eni, attaching, inUse)
	return nil, nil
}

func detachInterface(c *api.Context, eni *state.NetworkInterface, i *state.Instance) (any, *api.Error) {
	switch {
	case eni.Type == primaryInterface:
		return nil, api.BadRequest("InvalidOperation.DetachPrimaryEniNotAllowed",
			"Detaching primary ENI from ECS instance is not allowed.")
	case eni.Status != inUse || eni.InstanceID != i.ID:
		return nil, wrongInterfaceState()
	case !still(i):
		return nil, wrongInstanceState()
	}
	turn(c, eni, detaching, available)
	return nil, nil
}

// addressesOf are the addresses that a call has given, as one text, which the token of the call remembers.
func addressesOf(lists ...[]string) string { return strings.Join(slices.Concat(lists...), ",") }
