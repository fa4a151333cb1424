package nlb

import (
	"net/netip"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const (
	// protectionReason is shown in the console next to a protection.
	protectionReason = "managed.by.ack"
	// leastZones and mostZones are in how many zones an NLB has to be at least, and can be at most.
	leastZones, mostZones = 2, 10
)

// Asked names the attributes of an instance that the user set. As JSON it is part of the hash.
type Asked struct {
	Name, AddressType, IPVersion, Zones, ResourceGroup, DeleteProtection, ModificationProtection, SecurityGroups, BandwidthPackage bool
	// IPv6AddressType and CrossZone are what is asked for: a creation doesn't take them.
	IPv6AddressType nlbv1.AddressType `json:",omitempty"`
	CrossZone       *bool             `json:",omitempty"`
	// ShiftedZones are those that are to be out of the name, if Shifts says that something is asked for.
	Shifts       bool     `json:",omitempty"`
	ShiftedZones []string `json:",omitempty"`
}

func (b builder) instance() model.Instance {
	v := b.Values
	name := ownership.DefaultName(string(b.View.Service.UID))
	asked := Asked{
		Name: v.Has(annotation.Name), AddressType: v.Has(annotation.AddressType), IPVersion: v.Has(annotation.IPVersion),
		Zones:         v.Has(annotation.ZoneMaps),
		ResourceGroup: v.Has(annotation.ResourceGroupID), DeleteProtection: v.Has(annotation.DeleteProtection),
		ModificationProtection: v.Has(annotation.ModificationProtection), SecurityGroups: v.Has(annotation.SecurityGroupIDs),
		BandwidthPackage: v.Has(annotation.BandwidthPackageID), CrossZone: b.OnOff(annotation.CrossZone),
		Shifts: v.Has(annotation.ShiftedZones), ShiftedZones: idList(v.List(annotation.ShiftedZones)),
	}
	spec := &nlbv1.CreateLoadBalancerRequest{
		Name: name, VpcId: b.VPCID, AddressType: addressType(v.Text(annotation.AddressType)), IpVersion: nlbv1.IpVersion_IP_VERSION_IPV4,
		ZoneMappings: b.zones(), SecurityGroupIds: idList(v.List(annotation.SecurityGroupIDs)), ResourceGroupId: b.ResourceGroupID,
		DeletionProtection:     protection(!v.Has(annotation.DeleteProtection) || v.On(annotation.DeleteProtection)),
		ModificationProtection: protection(v.Text(annotation.ModificationProtection) != "NonProtection"),
		Tags:                   b.marks(name),
	}
	if id := v.Text(annotation.BandwidthPackageID); id != annotation.None {
		spec.BandwidthPackageId = id
	}
	if asked.Name {
		spec.Name = v.Text(annotation.Name)
	}
	if asked.ResourceGroup {
		spec.ResourceGroupId = v.Text(annotation.ResourceGroupID)
	}
	if b.dualStack() {
		spec.IpVersion = nlbv1.IpVersion_IP_VERSION_DUAL_STACK
		if v.Has(annotation.IPv6AddressType) {
			asked.IPv6AddressType = addressType(v.Text(annotation.IPv6AddressType))
		}
	}
	b.checkAddresses(spec)
	b.checkShift(asked.ShiftedZones, spec.GetZoneMappings())
	tags := b.additionalTags(spec)
	result := model.Instance{
		Spec: spec, Asked: asked, Fields: v.Fields(), Forbidden: b.forbidden(spec), Tags: tags, DroppedTags: b.droppedTags(tags),
		Marking: slices.Contains(annotation.ParseOwnTags(b.View.Service.Annotations), ownership.TagReused),
	}
	if asked.ResourceGroup {
		result.ResourceGroup = spec.GetResourceGroupId()
	}
	return result
}

// dualStack reports that the NLB is to have IPv6 addresses.
func (b builder) dualStack() bool { return b.Values.Text(annotation.IPVersion) == "DualStack" }

func addressType(text string) nlbv1.AddressType {
	if text == "intranet" {
		return nlbv1.AddressType_ADDRESS_TYPE_INTRANET
	}
	return nlbv1.AddressType_ADDRESS_TYPE_INTERNET
}

func protection(on bool) *nlbv1.Protection {
	if !on {
		return &nlbv1.Protection{}
	}
	return &nlbv1.Protection{Enabled: true, Reason: protectionReason}
}

// idList are the ids that an annotation lists, sorted; it may say that there are to be none.
func idList(list []string) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == annotation.None })
	slices.Sort(list)
	return slices.Compact(list)
}

// zones are those that the annotation lists, ordered; none if it is left to the controller.
func (b builder) zones() []*nlbv1.ZoneMapping {
	const want = "zone:vSwitch[:private IPv4 address[:EIP]],… with 2 to 10 zones, each zone and each EIP once"
	pairs := b.Values.Pairs(annotation.ZoneMaps)
	if len(pairs) == 0 {
		return nil
	}
	var zones []*nlbv1.ZoneMapping
	for _, p := range pairs {
		parts := strings.Split(p.Value, ":")
		z := &nlbv1.ZoneMapping{ZoneId: p.Key, VswitchId: strings.TrimSpace(parts[0])}
		if len(parts) > 1 {
			z.PrivateIpv4Address = strings.TrimSpace(parts[1])
		}
		if len(parts) > 2 { //nolint:mnd // The EIP comes third.
			z.AllocationId = strings.TrimSpace(parts[2])
		}
		address, err := netip.ParseAddr(z.GetPrivateIpv4Address())
		isAddress := z.GetPrivateIpv4Address() == "" || err == nil && address.Is4()
		twice := slices.ContainsFunc(zones, func(other *nlbv1.ZoneMapping) bool {
			return other.GetZoneId() == z.GetZoneId() || z.GetAllocationId() != "" && other.GetAllocationId() == z.GetAllocationId()
		})
		if !annotation.IsID(z.GetZoneId()) || !annotation.IsID(z.GetVswitchId()) || len(parts) > 3 || !isAddress || twice ||
			z.GetAllocationId() != "" && !annotation.IsID(z.GetAllocationId()) {
			b.Misfit(annotation.ZoneMaps, want)
			return nil
		}
		zones = append(zones, z)
	}
	if len(zones) < leastZones || len(zones) > mostZones {
		b.Misfit(annotation.ZoneMaps, want)
	}
	slices.SortFunc(zones, func(a, b *nlbv1.ZoneMapping) int { return strings.Compare(a.GetZoneId(), b.GetZoneId()) })
	return zones
}

// checkAddresses reports what only an NLB of the other address type can have.
func (b builder) checkAddresses(spec *nlbv1.CreateLoadBalancerRequest) {
	if spec.GetAddressType() == nlbv1.AddressType_ADDRESS_TYPE_INTRANET {
		if spec.GetBandwidthPackageId() != "" {
			b.Misfit(annotation.BandwidthPackageID, "it only together with annotation "+annotation.Prefix+annotation.AddressType+": internet")
		}
		if slices.ContainsFunc(spec.GetZoneMappings(), func(z *nlbv1.ZoneMapping) bool { return z.GetAllocationId() != "" }) {
			b.Misfit(annotation.ZoneMaps, "EIPs only together with annotation "+annotation.Prefix+annotation.AddressType+": internet")
		}
	}
}

// checkShift reports zones that can't be taken out of the name. In which zones an NLB is that names none is known later: see changes.shift.
func (b builder) checkShift(shifted []string, zones []*nlbv1.ZoneMapping) {
	if slices.ContainsFunc(shifted, func(id string) bool { return !annotation.IsID(id) }) {
		b.Misfit(annotation.ShiftedZones, "ids of zones such as cn-hangzhou-h, or "+annotation.None)
	} else if len(zones) > 0 && (len(missing(shifted, zones)) > 0 || len(shifted) >= len(zones)) {
		b.Misfit(annotation.ShiftedZones, "zones of annotation "+annotation.Prefix+annotation.ZoneMaps+", of which at least one stays")
	}
}

// missing are those zones in which an NLB isn't.
func missing(ids []string, zones []*nlbv1.ZoneMapping) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(zones, func(z *nlbv1.ZoneMapping) bool { return z.GetZoneId() == id })
	})
}

// marks are the tags that identify the owner of the instance.
func (b builder) marks(name string) []*commonv1.Tag {
	if b.Reuse.ID != "" {
		return []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
	}
	return ownMarks(name, b.ClusterID)
}

func ownMarks(name, clusterID string) []*commonv1.Tag {
	return []*commonv1.Tag{{Key: ownership.TagService, Value: name}, {Key: ownership.TagCluster, Value: clusterID}}
}

// additionalTags adds the tags that the user asks for and returns their keys.
func (b builder) additionalTags(spec *nlbv1.CreateLoadBalancerRequest) []string {
	b.CheckTags(len(spec.GetTags()))
	var keys []string
	for _, p := range b.Values.Pairs(annotation.AdditionalTags) {
		if ownership.Reserved(p.Key) {
			b.Misfit(annotation.AdditionalTags, "other keys than "+p.Key+", which is reserved")
			continue
		}
		spec.Tags = append(spec.Tags, &commonv1.Tag{Key: p.Key, Value: p.Value})
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// droppedTags returns the noted keys that are not wanted any more. The note can be edited, so it is believed only as far as a
// user could have asked for the tag, and it is about the NLB that is recorded on the Service, not about one that the Service names now.
func (b builder) droppedTags(wanted []string) []string {
	if b.Reuse.ID != "" && b.Reuse.ID != b.View.Service.Labels[ownership.LabelLoadBalancerID] {
		return nil
	}
	return slices.DeleteFunc(annotation.ParseOwnTags(b.View.Service.Annotations), func(key string) bool {
		return slices.Contains(wanted, key) || ownership.Reserved(key)
	})
}

// forbidden says why the cluster doesn't allow such an NLB; empty if it does.
func (b builder) forbidden(spec *nlbv1.CreateLoadBalancerRequest) string {
	if b.DisablePublic && spec.GetAddressType() == nlbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return "public NLBs are disabled in this cluster; set annotation " + annotation.Prefix + annotation.AddressType + " to intranet"
	}
	if groups := annotation.Prefix + annotation.SecurityGroupIDs; slices.Contains(b.View.Kept(), groups) && !b.Restricts() {
		return "annotation " + groups + " is gone, by which the access was restricted, and a new NLB would be open to everybody; set it again, " +
			"or to " + annotation.None
	}
	return ""
}
