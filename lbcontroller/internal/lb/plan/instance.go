package plan

import (
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// instance returns the change of the instance's attributes. Only what the user asked for is compared; what can't be changed is
// refused, and the rest goes on.
func (p *Plan) instance(d *model.Desired, o model.Observed) Phase {
	want, asked, have := d.Instance.Spec, d.Instance.Asked, o.Instance
	remedy := "restore the annotation or recreate the Service"
	if d.Reuse.ID != "" {
		remedy = "correct or remove the annotation"
	}
	p.fixed(want, asked, have, remedy)
	if asked, present := d.Instance.NetworkType, have.GetNetworkType(); asked != "" && present != "" && asked != present {
		p.refuse("annotation network-type asks for %q but the CLB has %q, which can't be changed; %s", asked, present, remedy)
	}
	up := UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{}}
	set := func(what string) { up.What = append(up.What, what) }
	if asked.Name && want.GetName() != have.GetName() {
		up.Request.Name = new(want.GetName())
		set("name")
	}
	p.billing(want, asked, have, up.Request, set)
	if asked.DeleteProtection && want.GetDeleteProtection() != have.GetDeleteProtection() {
		up.Request.DeleteProtection = new(want.GetDeleteProtection())
		set("delete protection")
	}
	if asked.ModificationProtection && want.GetModificationProtection().GetEnabled() != have.GetModificationProtection().GetEnabled() {
		up.Request.ModificationProtection = &slbv1.ModificationProtection{
			Enabled: want.GetModificationProtection().GetEnabled(), Reason: want.GetModificationProtection().GetReason(),
		}
		set("modification protection")
	}
	up.Request.SetTags = missingTags(want.GetTags(), o.Tags())
	up.Request.RemoveTagKeys = presentTags(d.Instance.DroppedTags, o.Tags())
	if len(up.Request.GetSetTags())+len(up.Request.GetRemoveTagKeys()) > 0 {
		set("tags")
	}
	if len(up.What) == 0 {
		return nil
	}
	return Phase{up}
}

// fixed refuses what the cloud decides at creation for good.
func (p *Plan) fixed(want *slbv1.CreateLoadBalancerRequest, asked model.Asked, have *slbv1.LoadBalancer, remedy string) {
	check := func(asked bool, annotation, want, have string) {
		if asked && want != have {
			p.refuse("annotation %s asks for %q but the CLB has %q, which can't be changed; %s", annotation, want, have, remedy)
		}
	}
	check(asked.AddressType, "address-type", addressType(want.GetAddressType()), addressType(have.GetAddressType()))
	check(asked.IPVersion, "ip-version", ipVersion(want.GetIpVersion()), ipVersion(have.GetIpVersion()))
	check(asked.Address, "ip", want.GetAddress(), have.GetAddress())
	check(asked.ResourceGroup, "resource-group-id", want.GetResourceGroupId(), have.GetResourceGroupId())
	check(asked.Zones && want.GetMasterZoneId() != "", "master-zoneid", want.GetMasterZoneId(), have.GetMasterZoneId())
	check(asked.Zones && want.GetSlaveZoneId() != "", "slave-zoneid", want.GetSlaveZoneId(), have.GetSlaveZoneId())
}

// openNothing refuses new listeners that would let in whom the Service means to keep out, and with a new one the end of the one on its port.
func (p *Plan) openNothing(d *model.Desired, o model.Observed) {
	want, have := d.Instance.Spec.GetAddressType(), o.Instance.GetAddressType()
	isPublic := o.InstanceID != "" && d.Instance.Asked.AddressType && want == slbv1.AddressType_ADDRESS_TYPE_INTRANET && have != want
	if !isPublic && !d.Guarded {
		return
	}
	ports := map[int32]bool{}
	var texts []string
	for action := range p.Actions() {
		if create, ok := action.(CreateListener); ok {
			ports[create.Listener.Key.Port] = true
			texts = append(texts, KeyText(create.Listener.Key))
		}
	}
	if len(texts) == 0 {
		return
	}
	*p, _ = p.Without(func(action Action) bool {
		switch a := action.(type) {
		case CreateListener:
			return true
		case DeleteListener:
			return ports[a.Key.Port]
		}
		return false
	})
	if isPublic {
		p.refuse("no listener is made on the public CLB for %s, as annotation address-type asks for an intranet one", strings.Join(texts, ", "))
	} else {
		p.refuse("no listener is made for %s, as annotation acl-status is gone, by which the access was restricted; set it to on, with acl-id and acl-type, or to off",
			strings.Join(texts, ", "))
	}
}

// billing compares how the instance and its traffic are paid for.
func (p *Plan) billing(want *slbv1.CreateLoadBalancerRequest, asked model.Asked, have *slbv1.LoadBalancer, r *slbv1.UpdateLoadBalancerRequest, set func(string)) {
	charge := have.GetInstanceChargeType()
	if asked.InstanceChargeType && want.GetInstanceChargeType() != charge {
		if want.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC {
			p.refuse("annotation instance-charge-type asks for PayBySpec, but there is no way back from PayByCLCU; set it to PayByCLCU or recreate the Service")
		} else {
			charge = want.GetInstanceChargeType()
			r.InstanceChargeType = charge.Enum()
			set("instance charge type")
		}
	}
	if asked.Spec && charge == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && want.GetSpec() != have.GetSpec() {
		r.Spec = new(want.GetSpec())
		set("spec")
	}
	// Traffic is billed for public instances only, and a bandwidth can be set only where it is what is billed.
	if have.GetAddressType() != slbv1.AddressType_ADDRESS_TYPE_INTERNET || !asked.InternetChargeType {
		return
	}
	byBandwidth := want.GetInternetChargeType() == slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH
	newBandwidth := byBandwidth && asked.Bandwidth && want.GetBandwidthMbps() != have.GetBandwidthMbps()
	if want.GetInternetChargeType() != have.GetInternetChargeType() || newBandwidth {
		r.InternetSpec = &slbv1.InternetSpec{ChargeType: want.GetInternetChargeType()}
		if byBandwidth {
			r.InternetSpec.BandwidthMbps = want.GetBandwidthMbps()
		}
		set("internet charge type and bandwidth")
	}
}

// fewTags is how many tags a user's instance may have at most to be marked as reused, as with the existing CCM.
const fewTags = 10

// missingTags returns the tags that are wanted and missing or different. Tags of others are not looked at. A missing cluster tag
// isn't repaired, since instances made by old versions never had it. The mark of a user's instance has an action of its own.
func missingTags(want []*commonv1.Tag, have map[string]string) []*commonv1.Tag {
	var missing []*commonv1.Tag
	for _, t := range want {
		value, ok := have[t.GetKey()]
		switch key := t.GetKey(); {
		case key == ownership.TagCluster, key == ownership.TagReused, ok && (value == t.GetValue() || key == ownership.TagService):
			continue
		}
		missing = append(missing, t)
	}
	return missing
}

// mark marks a user's instance as reused before the first change that the Service makes there, so that no death in between leaves it unmarked.
// The mark alone is no reason to write, unless it has failed: what versions of the existing CCM before v1.9.3.378 left has none.
func (p *Plan) mark(d *model.Desired, o model.Observed) {
	have := o.Tags()
	if _, marked := have[ownership.TagReused]; marked || o.InstanceID == "" || len(have) >= fewTags || len(p.Phases) == 0 && !d.Instance.Marking {
		return
	}
	at := slices.IndexFunc(d.Instance.Spec.GetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == ownership.TagReused })
	if at < 0 {
		return
	}
	mark := d.Instance.Spec.GetTags()[at]
	for _, phase := range p.Phases[:min(len(p.Phases), 1)] {
		for i, action := range phase {
			if up, ok := action.(UpdateInstance); ok { // One call does both.
				up.Request.SetTags = append(up.Request.SetTags, mark)
				if !slices.Contains(up.What, "tags") {
					up.What = append(up.What, "tags")
				}
				phase[i] = up
				return
			}
		}
	}
	up := UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{SetTags: []*commonv1.Tag{mark}}, What: []string{"tags"}}
	p.Phases = slices.Insert(p.Phases, 0, Phase{up})
}

// Marks reports whether a user's instance is marked as reused.
func (p Plan) Marks() bool {
	for action := range p.Actions() {
		if up, ok := action.(UpdateInstance); ok && slices.ContainsFunc(up.Request.GetSetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == ownership.TagReused }) {
			return true
		}
	}
	return false
}

// presentTags returns the keys that are there.
func presentTags(keys []string, have map[string]string) []string {
	var present []string
	for _, key := range keys {
		if _, ok := have[key]; ok {
			present = append(present, key)
		}
	}
	return present
}

// unprotect lifts what keeps the instance from being deleted. A preserved instance also loses the marks of ownership.
func unprotect(o model.Observed, preserve bool) Phase {
	up := UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{}}
	if o.Instance == nil || o.Instance.GetDeleteProtection() {
		up.Request.DeleteProtection = new(false)
		up.What = append(up.What, "delete protection")
	}
	if preserve {
		if o.Instance.GetModificationProtection().GetEnabled() {
			up.Request.ModificationProtection = &slbv1.ModificationProtection{}
			up.What = append(up.What, "modification protection")
		}
		up.Request.RemoveTagKeys = presentTags([]string{ownership.TagService, ownership.TagCluster}, o.Tags())
		if len(up.Request.GetRemoveTagKeys()) > 0 {
			up.What = append(up.What, "tags")
		}
	}
	if len(up.What) == 0 {
		return nil
	}
	return Phase{up}
}

func addressType(t slbv1.AddressType) string {
	if t == slbv1.AddressType_ADDRESS_TYPE_INTRANET {
		return "intranet"
	}
	return "internet"
}

func ipVersion(v slbv1.IpVersion) string {
	if v == slbv1.IpVersion_IP_VERSION_IPV6 {
		return "ipv6"
	}
	return "ipv4"
}
