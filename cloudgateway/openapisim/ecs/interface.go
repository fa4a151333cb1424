package ecs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func interfaceActions() []api.Action {
	list := func(name string) api.Param { return api.Param{Name: name, Kind: api.Strings, Limit: idsPerCall} }
	return []api.Action{
		api.Read("DescribeNetworkInterfaces", describeInterfaces, nil, append(listing.Params(1000), api.Flag("ServiceManaged"),
			region(), list("NetworkInterfaceId"), list("PrivateIpAddress"), list("Ipv6Address"), tags.Param(),
			api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("InstanceId"), api.Optional("PrimaryIpAddress"),
			api.Optional("NetworkInterfaceName"), api.Optional("SecurityGroupId"), api.Optional("ResourceGroupId"),
			api.Optional("Status"), api.OneOf("Type", primaryInterface, secondaryInterface, trunkInterface),
			api.Optional("NextToken"), api.Param{Name: "MaxResults", Kind: api.Int},
		)...),
		api.Write("ModifyNetworkInterfaceAttribute", api.On(interfaceByID, modifyInterface),
			api.Words(`InvalidEniId.NotFound InvalidOperation.InvalidEniState InvalidSecurityGroupId.NotFound
				InvalidOperation.VpcMismatch InvalidOperation.MultiGroupType JoinedGroupLimitExceed
				InvalidNetworkInterfaceName.Malformed InvalidDescription.Malformed InvalidOperation.EniServiceManaged`), region(),
			api.Required("NetworkInterfaceId"), api.Flag("SourceDestCheck"), api.Optional("NetworkInterfaceName"),
			api.Optional("Description"), api.Param{Name: "SecurityGroupId", Kind: api.Strings},
			api.Flag("DeleteOnRelease"), api.Number("QueueNumber", 1, 2048)),
		api.Read("DescribeNetworkInterfaceAttribute", api.On(shownInterface, describeInterfaceAttribute),
			api.Words("InvalidEniId.NotFound"), region(), api.Required("NetworkInterfaceId"), api.Optional("Attribute")),
	}
}

func newPrivateIPSets(eni *state.NetworkInterface) api.Object {
	return api.Object{"PrivateIpSet", api.Objects(eni.PrivateIPs, func(ip string) api.Object {
		return api.Object{"PrivateIpAddress", ip, "Primary", ip == eni.PrimaryIP}
	})}
}

// sets wraps texts in two lists of names.
func sets(texts []string, outer, inner string) api.Object {
	return api.Object{outer, api.Objects(texts, func(text string) api.Object { return api.Object{inner, text} })}
}

func newIPv6Sets(eni *state.NetworkInterface) api.Object {
	return sets(eni.Ipv6Addresses, "Ipv6Set", "Ipv6Address")
}

func newInterfaceView(c *api.Context, eni *state.NetworkInterface) api.Object {
	return api.Object{
		"NetworkInterfaceId", eni.ID, "NetworkInterfaceName", eni.Name, "NetworkInterfaceTrafficMode", cmp.Or(eni.TrafficMode, "Standard"),
		"Type", eni.Type, "Status", eni.Status, "InstanceId", eni.InstanceID, "VpcId", eni.VpcID,
		"VSwitchId", eni.VSwitchID, "ZoneId", eni.ZoneID, "MacAddress", eni.MacAddress,
		"PrivateIpAddress", eni.PrimaryIP, "OwnerId", c.Account, "Description", eni.Description,
		"ResourceGroupId", cmp.Or(eni.ResourceGroupID, state.DefaultResourceGroup), "CreationTime", interfaceCreated(eni),
		"SourceDestCheck", eni.SourceDestCheck,
		"DeleteOnRelease", !eni.KeepOnRelease, "ServiceManaged", eni.ServiceManaged, "PrivateIpSets", newPrivateIPSets(eni),
		"Ipv6Sets", newIPv6Sets(eni), "Ipv4PrefixSets", sets(eni.Ipv4Prefixes, "Ipv4PrefixSet", "Ipv4Prefix"),
		"Ipv6PrefixSets", sets(eni.Ipv6Prefixes, "Ipv6PrefixSet", "Ipv6Prefix"), "SecurityGroupIds", newSecurityGroupIDs(eni.SecurityGroupIDs),
		"AssociatedPublicIp", newPublicIP(c, eni), "Attachment", api.Object{
			"InstanceId", api.NonZero(eni.InstanceID), "DeviceIndex", 0, "NetworkCardIndex", 0, "TrunkNetworkInterfaceId", "",
		},
		"QueueNumber", cmp.Or(eni.QueueNumber, queues), "Tags", tags.Longs(eni.Tags),
	}
}

// queues is how many queues an interface has that nobody gave others.
const queues = 2

// newPublicIP shows the elastic address of the primary address of an interface, if it has one.
func newPublicIP(c *api.Context, eni *state.NetworkInterface) api.Object {
	for _, eip := range c.State.Eips {
		if eip.InstanceID == eni.ID && (eip.PrivateIP == "" || eip.PrivateIP == eni.PrimaryIP) {
			return api.Object{"AllocationId", eip.ID, "PublicIpAddress", eip.Address}
		}
	}
	return api.Object{}
}

func describeInterfaceAttribute(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	return newInterfaceView(c, eni), nil
}

func describeInterfaces(c *api.Context) (any, *api.Error) {
	ids, ips, ipv6s := c.List("NetworkInterfaceId"), c.List("PrivateIpAddress"), c.List("Ipv6Address")
	filter := tags.FilterOf(c)
	match := func(eni *state.NetworkInterface) bool {
		return listing.Among(ids, eni.ID) && listing.Among(ips, eni.PrivateIPs...) && listing.Among(ipv6s, eni.Ipv6Addresses...) &&
			listing.Match(c.Get("VpcId"), eni.VpcID) && listing.Match(c.Get("VSwitchId"), eni.VSwitchID) &&
			listing.Match(c.Get("InstanceId"), eni.InstanceID) && listing.Match(c.Get("PrimaryIpAddress"), eni.PrimaryIP) &&
			listing.Match(c.Get("NetworkInterfaceName"), eni.Name) && inGroup(c.Get("SecurityGroupId"), eni.SecurityGroupIDs) &&
			listing.Match(c.Get("ResourceGroupId"), cmp.Or(eni.ResourceGroupID, state.DefaultResourceGroup)) &&
			listing.Match(c.Get("Status"), eni.Status) && listing.Match(c.Get("Type"), eni.Type) &&
			c.MatchFlag("ServiceManaged", eni.ServiceManaged) && filter.Match(eni.Tags)
	}
	matching := listing.Find(c.State.Interfaces, match)
	if managed := managedInterfaces(c.State); len(managed) > 0 {
		matching = append(matching, listing.Find(managed, match)...)
		slices.SortFunc(matching, func(a, b *state.NetworkInterface) int { return strings.Compare(a.ID, b.ID) })
	}
	interfaces, answer, ok := page(c, matching, func(e *state.NetworkInterface) string { return e.ID },
		min(max(c.Int("MaxResults", minResults), minResults), 500))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return append(answer, "NetworkInterfaceSets", api.Object{
		"NetworkInterfaceSet", api.Objects(interfaces, func(eni *state.NetworkInterface) api.Object { return newInterfaceView(c, eni) }),
	}), nil
}

// interfaceCreated shows when an interface was made. A seed doesn't have to say.
func interfaceCreated(eni *state.NetworkInterface) string {
	if eni.Created.IsZero() {
		return "2026-01-01T00:00:00Z"
	}
	return eni.Created.UTC().Format(time.RFC3339)
}

// shownInterface returns the network interface of the parameter NetworkInterfaceId.
func shownInterface(c *api.Context) (*state.NetworkInterface, *api.Error) {
	eni, err := api.Named(c, c.State.Interfaces, "NetworkInterfaceId", interfaceNotFound)
	if err == nil {
		return eni, nil
	}
	if managed := managedInterface(c.State, c.Get("NetworkInterfaceId")); managed != nil {
		return managed, nil
	}
	return nil, err
}

// interfaceByID is shownInterface for what is refused of an interface that a service of the cloud manages.
func interfaceByID(c *api.Context) (*state.NetworkInterface, *api.Error) {
	eni, err := shownInterface(c)
	if err == nil && eni.ServiceManaged {
		return nil, forbidden("InvalidOperation.EniServiceManaged", "The operation is not allowed on a network interface of a service.")
	}
	return eni, err
}

func modifyInterface(c *api.Context, eni *state.NetworkInterface) (any, *api.Error) {
	if eni.Status != "Available" && eni.Status != "InUse" {
		return nil, wrongInterfaceState()
	}
	groups := c.List("SecurityGroupId")
	if err := checkInterfaceGroups(c, groups, eni.VpcID); err != nil {
		return nil, err
	}
	if err := checkInterfaceTexts(c.Get("NetworkInterfaceName"), c.Get("Description")); err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		eni.SecurityGroupIDs = groups
	}
	c.SetText("NetworkInterfaceName", &eni.Name)
	c.SetText("Description", &eni.Description)
	if c.Has("DeleteOnRelease") {
		eni.KeepOnRelease = !c.True("DeleteOnRelease")
	}
	c.SetFlag("SourceDestCheck", &eni.SourceDestCheck)
	c.SetInt("QueueNumber", &eni.QueueNumber)
	return nil, nil
}

func interfaceNotFound() *api.Error {
	return api.NotFound("InvalidEniId.NotFound", "The specified EniId does not exist.")
}

func wrongInterfaceState() *api.Error {
	return api.BadRequest("InvalidOperation.InvalidEniState", "The operation is not permitted in the current state of the network interface.")
}

// interfacesOf returns the interfaces attached to instances, the primary one first.
func interfacesOf(c *state.Cloud, instances []*state.Instance) map[string][]*state.NetworkInterface {
	out := make(map[string][]*state.NetworkInterface, len(instances))
	for _, i := range instances {
		out[i.ID] = nil
	}
	for _, eni := range c.Interfaces {
		if attached, wanted := out[eni.InstanceID]; wanted {
			out[eni.InstanceID] = append(attached, eni)
		}
	}
	for _, attached := range out {
		slices.SortFunc(attached, func(a, b *state.NetworkInterface) int {
			return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID)) // Primary before Secondary
		})
	}
	return out
}
