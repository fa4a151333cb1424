package clb

import (
	"hash/fnv"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const (
	// protectionReason is shown in the console next to the modification protection.
	protectionReason = "managed.by.ack"
	// defaultSpec is bought when billing is by specification and none is named.
	defaultSpec = "slb.s1.small"
)

func (b builder) instance() model.Instance {
	v := b.Values
	name := ownership.DefaultName(string(b.View.Service.UID))
	spec := &slbv1.CreateLoadBalancerRequest{
		Name:                   name,
		AddressType:            slbv1.AddressType_ADDRESS_TYPE_INTERNET,
		InstanceChargeType:     slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU,
		Address:                v.Text(annotation.Address),
		PrimaryZoneId:          v.Text(annotation.MasterZone),
		StandbyZoneId:          v.Text(annotation.SlaveZone),
		Spec:                   v.Text(annotation.InstanceSpec),
		ResourceGroupId:        b.ResourceGroupID,
		VswitchId:              v.Text(annotation.VSwitchID),
		DeleteProtection:       !v.Has(annotation.DeleteProtection) || v.On(annotation.DeleteProtection),
		ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: protectionReason},
		Tags:                   b.marks(name),
	}
	asked := Asked{
		AddressType: v.Has(annotation.AddressType), Address: v.Has(annotation.Address), IPVersion: v.Has(annotation.IPVersion),
		Zones: v.Has(annotation.MasterZone) || v.Has(annotation.SlaveZone), ResourceGroup: v.Has(annotation.ResourceGroupID),
		Name: v.Has(annotation.Name), DeleteProtection: v.Has(annotation.DeleteProtection),
		ModificationProtection: v.Has(annotation.ModificationProtection),
		InstanceChargeType:     v.Has(annotation.InstanceChargeType), Spec: v.Has(annotation.InstanceSpec),
		InternetChargeType: v.Has(annotation.ChargeType), Bandwidth: v.Has(annotation.Bandwidth),
	}
	if asked.Name {
		spec.Name = v.Text(annotation.Name)
	}
	if asked.ResourceGroup {
		spec.ResourceGroupId = v.Text(annotation.ResourceGroupID)
	}
	if v.Text(annotation.ModificationProtection) == "NonProtection" {
		spec.ModificationProtection = nil
	}
	if v.Text(annotation.IPVersion) == "ipv6" {
		spec.IpVersion = slbv1.IpVersion_IP_VERSION_IPV6
	}
	b.billing(spec)
	b.checkAddress()
	b.checkBandwidth()
	anyVSwitch := b.network(spec)
	asked.NetworkType = b.networkType(spec)
	tags := b.additionalTags(spec)
	result := model.Instance{
		Spec: spec, Asked: asked, Fields: v.Fields(), Forbidden: b.forbidden(spec), Tags: tags, DroppedTags: b.droppedTags(tags),
		Marking: slices.Contains(annotation.ParseOwnTags(b.View.Service.Annotations), ownership.TagReused),
	}
	if asked.ResourceGroup {
		result.ResourceGroup = spec.GetResourceGroupId()
	}
	if anyVSwitch { // A vSwitch of the controller's choosing isn't configuration.
		unplaced := proto.CloneOf(spec)
		unplaced.VswitchId = ""
		result.Identity = unplaced
	}
	return result
}

// marks are the tags that identify the owner of the instance.
func (b builder) marks(name string) []*commonv1.Tag {
	if b.Reuse.ID != "" {
		return []*commonv1.Tag{{Key: ownership.TagReused, Value: "true"}}
	}
	return []*commonv1.Tag{{Key: ownership.TagService, Value: name}, {Key: ownership.TagCluster, Value: b.ClusterID}}
}

func (b builder) billing(spec *slbv1.CreateLoadBalancerRequest) {
	v := b.Values
	if v.Text(annotation.InstanceChargeType) == "PayBySpec" {
		spec.InstanceChargeType = slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC
		if spec.GetSpec() == "" {
			spec.Spec = defaultSpec
		}
	}
	if v.Text(annotation.AddressType) == "intranet" { // What has no effect isn't sent: the cloud refuses some of it.
		return
	}
	switch v.Text(annotation.ChargeType) {
	case "paybytraffic":
		spec.InternetChargeType = slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC
	case "paybybandwidth":
		spec.InternetChargeType = slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH
		spec.BandwidthMbps, _ = v.Number(annotation.Bandwidth) // 0, the cloud's default, if not set.
	}
}

// network places an intranet instance and reports whether its vSwitch was the controller's own choice.
func (b builder) network(spec *slbv1.CreateLoadBalancerRequest) (anyVSwitch bool) {
	if b.Values.Text(annotation.AddressType) != "intranet" {
		spec.VswitchId = "" // The cloud would make it an intranet one. See View.WithoutEffect.
		return false
	}
	spec.AddressType = slbv1.AddressType_ADDRESS_TYPE_INTRANET
	spec.VpcId = b.VPCID
	if spec.GetVswitchId() != "" || b.Reuse.ID != "" {
		return false
	}
	spec.VswitchId = b.vswitch()
	return true
}

// checkBandwidth reports that a public CLB is to be billed by a bandwidth that isn't said, or though it is billed by usage.
func (b builder) checkBandwidth() {
	v := b.Values
	if !b.isNew() || v.Text(annotation.ChargeType) != "paybybandwidth" || v.Text(annotation.AddressType) == "intranet" {
		return
	}
	switch {
	case v.Text(annotation.InstanceChargeType) != "PayBySpec":
		b.Misfit(annotation.ChargeType, "paybytraffic: only a CLB that is billed PayBySpec can have its traffic billed by bandwidth")
	case !v.Has(annotation.Bandwidth):
		b.Misfit(annotation.ChargeType, "it together with annotation "+annotation.Prefix+annotation.Bandwidth)
	}
}

// checkAddress reports a private address that is asked for a CLB which will be public.
func (b builder) checkAddress() {
	v := b.Values
	if b.isNew() && v.Has(annotation.Address) && (v.Text(annotation.AddressType) != "intranet" || v.Text(annotation.IPVersion) == "ipv6") {
		b.Misfit(annotation.Address,
			"it together with annotation "+annotation.Prefix+annotation.AddressType+": intranet, and not with ip-version ipv6")
	}
}

// isNew reports whether the Service certainly has no CLB yet.
func (b builder) isNew() bool {
	svc := b.View.Service
	return b.Reuse.ID == "" && svc.Labels[ownership.LabelLoadBalancerID] == "" && len(svc.Status.LoadBalancer.Ingress) == 0
}

// networkType returns the asked network of the address. A new CLB can only have the one that belongs to its address type.
func (b builder) networkType(spec *slbv1.CreateLoadBalancerRequest) string {
	asked := b.Values.Text(annotation.NetworkType)
	inVPC := spec.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTRANET
	if asked != "" && b.isNew() && (asked == "vpc") != inVPC {
		b.Misfit(annotation.NetworkType, "vpc for an intranet CLB, or classic for a public one: the cloud offers no other networks")
	}
	return asked
}

// additionalTags adds the tags that the user asks for and returns their keys.
func (b builder) additionalTags(spec *slbv1.CreateLoadBalancerRequest) []string {
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
// user could have asked for the tag, and it is about the CLB that is recorded on the Service, not about one that the Service names now.
func (b builder) droppedTags(wanted []string) []string {
	if b.Reuse.ID != "" && b.Reuse.ID != b.View.Service.Labels[ownership.LabelLoadBalancerID] {
		return nil
	}
	var dropped []string
	for _, key := range annotation.ParseOwnTags(b.View.Service.Annotations) {
		if !slices.Contains(wanted, key) && !ownership.Reserved(key) {
			dropped = append(dropped, key)
		}
	}
	return dropped
}

// vswitch picks one of the configured vSwitches, if there are any: always the same for a Service, so that a repeated creation is the
// same request.
func (b builder) vswitch() string {
	if len(b.VSwitchIDs) == 0 {
		return ""
	}
	return b.VSwitchIDs[choice(string(b.View.Service.UID), len(b.VSwitchIDs))]
}

// choice is always the same one of several for a Service, and spreads Services over them.
func choice(uid string, among int) int {
	h := fnv.New32a()
	h.Write([]byte(uid)) // A hash never fails to write.
	return int(h.Sum32() % uint32(among))
}

// forbidden says why the cluster doesn't allow such a CLB; empty if it does.
func (b builder) forbidden(spec *slbv1.CreateLoadBalancerRequest) string {
	if b.DisablePublic && spec.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return "public CLBs are disabled in this cluster; set annotation " + annotation.Prefix + annotation.AddressType + " to intranet"
	}
	return ""
}
