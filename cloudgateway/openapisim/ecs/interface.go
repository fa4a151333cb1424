package ecs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func interfaceActions() []api.Action {
	list := func(name string) api.Param { return api.Param{Name: name, Kind: api.Strings, Limit: idsPerCall} }
	return []api.Action{
		api.Read("DescribeNetworkInterfaces", describeInterfaces, nil, append(listing.Params(1000),
			region(), list("NetworkInterfaceId"), list("PrivateIpAddress"), list("Ipv6Address"), tags.Param(),
			api.Optional("VpcId"), api.Optional("VSwitchId"), api.Optional("InstanceId"), api.Optional("PrimaryIpAddress"),
			api.Optional("NetworkInterfaceName"), api.Optional("SecurityGroupId"), api.Optional("ResourceGroupId"),
			api.Optional("Status"), api.OneOf("Type", "Primary", "Secondary"),
			api.Optional("NextToken"), api.Number("MaxResults", 10, 500),
		)...),
		api.Write("ModifyNetworkInterfaceAttribute", modifyInterface,
			api.Words(`InvalidEniId.NotFound InvalidOperation.InvalidEniState InvalidSecurityGroupId.NotFound
				InvalidOperation.VpcMismatch InvalidOperation.MultiGroupType JoinedGroupLimitExceed`), region(),
			api.Required("NetworkInterfaceId"), api.Flag("SourceDestCheck"), api.Optional("NetworkInterfaceName"),
			api.Optional("Description"), api.Param{Name: "SecurityGroupId", Kind: api.Strings},
			api.Flag("DeleteOnRelease")),
	}
}

type privateIPSets struct {
	PrivateIPSet []privateIPSet `json:"PrivateIpSet"`
}

type privateIPSet struct {
	PrivateIPAddress string `json:"PrivateIpAddress"`
	Primary          bool   `json:"Primary"`
}

func newPrivateIPSets(eni *state.NetworkInterface) privateIPSets {
	sets := privateIPSets{PrivateIPSet: make([]privateIPSet, 0, len(eni.PrivateIPs))}
	for _, ip := range eni.PrivateIPs {
		sets.PrivateIPSet = append(sets.PrivateIPSet, privateIPSet{PrivateIPAddress: ip, Primary: ip == eni.PrimaryIP})
	}
	return sets
}

type ipv6Sets struct {
	IPv6Set []ipv6Set `json:"Ipv6Set"`
}

type ipv6Set struct {
	IPv6Address string `json:"Ipv6Address"`
}

func newIPv6Sets(eni *state.NetworkInterface) ipv6Sets {
	sets := ipv6Sets{IPv6Set: make([]ipv6Set, 0, len(eni.Ipv6Addresses))}
	for _, ip := range eni.Ipv6Addresses {
		sets.IPv6Set = append(sets.IPv6Set, ipv6Set{IPv6Address: ip})
	}
	return sets
}

type ipv4PrefixSets struct {
	IPv4PrefixSet []ipv4PrefixSet `json:"Ipv4PrefixSet"`
}

type ipv4PrefixSet struct {
	IPv4Prefix string `json:"Ipv4Prefix"`
}

func newIPv4PrefixSets(eni *state.NetworkInterface) ipv4PrefixSets {
	sets := ipv4PrefixSets{IPv4PrefixSet: make([]ipv4PrefixSet, 0, len(eni.Ipv4Prefixes))}
	for _, prefix := range eni.Ipv4Prefixes {
		sets.IPv4PrefixSet = append(sets.IPv4PrefixSet, ipv4PrefixSet{IPv4Prefix: prefix})
	}
	return sets
}

type ipv6PrefixSets struct {
	IPv6PrefixSet []ipv6PrefixSet `json:"Ipv6PrefixSet"`
}

type ipv6PrefixSet struct {
	IPv6Prefix string `json:"Ipv6Prefix"`
}

func newIPv6PrefixSets(eni *state.NetworkInterface) ipv6PrefixSets {
	sets := ipv6PrefixSets{IPv6PrefixSet: make([]ipv6PrefixSet, 0, len(eni.Ipv6Prefixes))}
	for _, prefix := range eni.Ipv6Prefixes {
		sets.IPv6PrefixSet = append(sets.IPv6PrefixSet, ipv6PrefixSet{IPv6Prefix: prefix})
	}
	return sets
}

type interfaceView struct {
	NetworkInterfaceID          string            `json:"NetworkInterfaceId"`
	NetworkInterfaceName        string            `json:"NetworkInterfaceName"`
	NetworkInterfaceTrafficMode string            `json:"NetworkInterfaceTrafficMode"`
	Type                        string            `json:"Type"`
	Status                      string            `json:"Status"`
	InstanceID                  string            `json:"InstanceId"`
	VpcID                       string            `json:"VpcId"`
	VSwitchID                   string            `json:"VSwitchId"`
	ZoneID                      string            `json:"ZoneId"`
	MacAddress                  string            `json:"MacAddress"`
	PrivateIPAddress            string            `json:"PrivateIpAddress"`
	OwnerID                     string            `json:"OwnerId"`
	Description                 string            `json:"Description"`
	ResourceGroupID             string            `json:"ResourceGroupId"`
	SourceDestCheck             bool              `json:"SourceDestCheck"`
	DeleteOnRelease             bool              `json:"DeleteOnRelease"`
	ServiceManaged              bool              `json:"ServiceManaged"`
	PrivateIPSets               privateIPSets     `json:"PrivateIpSets"`
	IPv6Sets                    ipv6Sets          `json:"Ipv6Sets"`
	IPv4PrefixSets              ipv4PrefixSets    `json:"Ipv4PrefixSets"`
	IPv6PrefixSets              ipv6PrefixSets    `json:"Ipv6PrefixSets"`
	SecurityGroupIDs            securityGroupIDs  `json:"SecurityGroupIds"`
	AssociatedPublicIP          map[string]string `json:"AssociatedPublicIp"`
	Attachment                  map[string]any    `json:"Attachment"`
	Tags                        tags.LongList     `json:"Tags"`
}

func newInterfaceView(c *api.Context, eni *state.NetworkInterface) interfaceView {
	v := interfaceView{
		NetworkInterfaceID: eni.ID, NetworkInterfaceTrafficMode: "Standard", Type: eni.Type, Status: eni.Status,
		InstanceID: eni.InstanceID, VpcID: eni.VpcID, VSwitchID: eni.VSwitchID, ZoneID: eni.ZoneID, MacAddress: eni.MacAddress,
		PrivateIPAddress: eni.PrimaryIP, OwnerID: c.Account, SourceDestCheck: eni.SourceDestCheck, DeleteOnRelease: !eni.KeepOnRelease,
		PrivateIPSets: newPrivateIPSets(eni), IPv6Sets: newIPv6Sets(eni),
		NetworkInterfaceName: eni.Name, Description: eni.Description, ResourceGroupID: eni.ResourceGroupID,
		IPv4PrefixSets: newIPv4PrefixSets(eni), IPv6PrefixSets: newIPv6PrefixSets(eni),
		SecurityGroupIDs: newSecurityGroupIDs(eni.SecurityGroupIDs), AssociatedPublicIP: map[string]string{},
		Attachment: map[string]any{}, Tags: tags.Longs(eni.Tags),
	}
	if eni.InstanceID != "" {
		v.Attachment["InstanceId"] = eni.InstanceID
	}
	return v
}

type describedInterfaces struct {
	listing.Page
	NextToken            string `json:"NextToken"`
	NetworkInterfaceSets struct {
		NetworkInterfaceSet []interfaceView `json:"NetworkInterfaceSet"`
	} `json:"NetworkInterfaceSets"`
}

func describeInterfaces(c *api.Context) (any, *api.Error) {
	ids, ips, ipv6s := c.List("NetworkInterfaceId"), c.List("PrivateIpAddress"), c.List("Ipv6Address")
	filter := tags.FilterOf(c)
	var matching []*state.NetworkInterface
	for _, id := range slices.Sorted(maps.Keys(c.State.Interfaces)) {
		eni := c.State.Interfaces[id]
		if listing.Among(ids, id) && listing.Among(ips, eni.PrivateIPs...) && listing.Among(ipv6s, eni.Ipv6Addresses...) &&
			listing.Match(c.Get("VpcId"), eni.VpcID) && listing.Match(c.Get("VSwitchId"), eni.VSwitchID) &&
			listing.Match(c.Get("InstanceId"), eni.InstanceID) && listing.Match(c.Get("PrimaryIpAddress"), eni.PrimaryIP) &&
			listing.Match(c.Get("NetworkInterfaceName"), eni.Name) && inGroup(c.Get("SecurityGroupId"), eni.SecurityGroupIDs) &&
			listing.Match(c.Get("ResourceGroupId"), eni.ResourceGroupID) &&
			listing.Match(c.Get("Status"), eni.Status) && listing.Match(c.Get("Type"), eni.Type) && filter.Match(eni.Tags) {
			matching = append(matching, eni)
		}
	}
	var out describedInterfaces
	var ok bool
	size := c.Int("MaxResults", minResults)
	matching, out.NextToken, out.Page, ok = page(c, matching, func(e *state.NetworkInterface) string { return e.ID }, size)
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	out.NetworkInterfaceSets.NetworkInterfaceSet = make([]interfaceView, 0, len(matching))
	for _, eni := range matching {
		out.NetworkInterfaceSets.NetworkInterfaceSet = append(out.NetworkInterfaceSets.NetworkInterfaceSet, newInterfaceView(c, eni))
	}
	return out, nil
}

func modifyInterface(c *api.Context) (any, *api.Error) {
	eni := c.State.Interfaces[c.Get("NetworkInterfaceId")]
	if eni == nil {
		return nil, interfaceNotFound()
	}
	if eni.Status != "Available" && eni.Status != "InUse" {
		return nil, wrongInterfaceState()
	}
	groups := c.List("SecurityGroupId")
	if len(groups) > groupsPerMember {
		return nil, api.BadRequest("JoinedGroupLimitExceed", "A network interface can be in %d security groups.", groupsPerMember)
	}
	for _, id := range groups {
		switch g := c.State.SecurityGroups[id]; {
		case g == nil:
			return nil, groupNotFound()
		case mixed(c.State, groups[0], g):
			return nil, forbidden(mixedGroups, "A network interface can't be in security groups of different types.")
		case g.VpcID != eni.VpcID:
			return nil, forbidden("InvalidOperation.VpcMismatch", "The network interface and security group %s are not in the same VPC.", id)
		}
	}
	if len(groups) > 0 {
		eni.SecurityGroupIDs = groups
	}
	if c.Has("NetworkInterfaceName") {
		eni.Name = c.Get("NetworkInterfaceName")
	}
	if c.Has("Description") {
		eni.Description = c.Get("Description")
	}
	if c.Has("DeleteOnRelease") {
		eni.KeepOnRelease = !c.True("DeleteOnRelease")
	}
	if c.Has("SourceDestCheck") {
		eni.SourceDestCheck = c.True("SourceDestCheck")
	}
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
