package clb

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Create implements plan.Differ.
func (Product) Create(d *model.Desired) plan.Action {
	return CreateInstance{Spec: specOf(d), AnyVSwitch: d.Instance.Identity != nil, ClusterID: d.Owner.ClusterID, Nodes: d.Instance.Nodes}
}

// refusals are what is asked for and can't be done.
type refusals []string

func (r *refusals) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// Update implements plan.Differ.
func (Product) Update(d *model.Desired, o model.Observed) ([]plan.Action, []string) {
	want, have := specOf(d), present(o)
	asked, _ := d.Instance.Asked.(Asked)
	var r refusals
	remedy := "restore it or recreate the Service"
	if d.Reuse.ID != "" {
		remedy = "correct or remove it"
	}
	r.fixed(d.Instance, asked, have, remedy)
	if asked, present := asked.NetworkType, have.GetNetworkType(); asked != "" && present != "" && asked != present {
		r.add("annotation network-type asks for %q but the CLB has %q, which can't be changed; %s", asked, present, remedy)
	}
	up := UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{}}
	set := func(what string) { up.What = append(up.What, what) }
	if asked.Name && want.GetName() != have.GetName() {
		up.Request.Name = new(want.GetName())
		set("name")
	}
	r.billing(want, asked, have, up.Request, set)
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
	up.Request.SetTags = plan.MissingTags(want.GetTags(), o.Tags())
	up.Request.RemoveTagKeys = plan.PresentTags(d.Instance.DroppedTags, o.Tags())
	if len(up.Request.GetSetTags())+len(up.Request.GetRemoveTagKeys()) > 0 {
		set("tags")
	}
	if len(up.What) == 0 {
		return nil, r
	}
	return []plan.Action{up}, r
}

// fixed refuses what the cloud decides at creation for good.
func (r *refusals) fixed(wanted model.Instance, asked Asked, have *slbv1.LoadBalancer, remedy string) {
	want, _ := wanted.Spec.(*slbv1.CreateLoadBalancerRequest)
	check := func(asked bool, key, want, have string) {
		if asked && want != have {
			r.add("%s asks for %q but the CLB has %q, which can't be changed; %s", wanted.Noun(key), want, have, remedy)
		}
	}
	check(asked.AddressType, "address-type", addressType(want.GetAddressType()), addressType(have.GetAddressType()))
	check(asked.IPVersion, "ip-version", ipVersion(want.GetIpVersion()), ipVersion(have.GetIpVersion()))
	check(asked.Address, "ip", want.GetAddress(), have.GetAddress())
	check(asked.ResourceGroup, "resource-group-id", want.GetResourceGroupId(), have.GetResourceGroupId())
	check(asked.Zones && want.GetPrimaryZoneId() != "", "master-zoneid", want.GetPrimaryZoneId(), have.GetPrimaryZoneId())
	check(asked.Zones && want.GetStandbyZoneId() != "", "slave-zoneid", want.GetStandbyZoneId(), have.GetStandbyZoneId())
}

// billing compares how the instance and its traffic are paid for.
func (r *refusals) billing(want *slbv1.CreateLoadBalancerRequest, asked Asked, have *slbv1.LoadBalancer,
	up *slbv1.UpdateLoadBalancerRequest, set func(string)) {
	charge := have.GetInstanceChargeType()
	if asked.InstanceChargeType && want.GetInstanceChargeType() != charge {
		if want.GetInstanceChargeType() == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC {
			r.add("annotation instance-charge-type asks for PayBySpec, but there is no way back from PayByCLCU; set it to " +
				"PayByCLCU or recreate the Service")
		} else {
			charge = want.GetInstanceChargeType()
			up.InstanceChargeType = charge.Enum()
			set("instance charge type")
		}
	}
	if asked.Spec && charge == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC && want.GetSpec() != have.GetSpec() {
		up.Spec = new(want.GetSpec())
		set("spec")
	}
	// Traffic is billed for public instances only, and a bandwidth can be set only where it is what is billed.
	if have.GetAddressType() != slbv1.AddressType_ADDRESS_TYPE_INTERNET || !asked.InternetChargeType {
		return
	}
	byBandwidth := want.GetInternetChargeType() == slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH
	byUsage := charge == slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU
	if byUsage && byBandwidth && want.GetInternetChargeType() != have.GetInternetChargeType() {
		r.add("annotation charge-type asks for paybybandwidth, which a CLB that is billed PayByCLCU can't have; set it to paybytraffic, or " +
			"remove it")
		return
	}
	newBandwidth := byBandwidth && asked.Bandwidth && want.GetBandwidthMbps() != have.GetBandwidthMbps()
	if want.GetInternetChargeType() != have.GetInternetChargeType() || newBandwidth {
		up.InternetSpec = &slbv1.InternetSpec{ChargeType: want.GetInternetChargeType()}
		if byBandwidth {
			up.InternetSpec.BandwidthMbps = want.GetBandwidthMbps()
		}
		set("internet charge type and bandwidth")
	}
}

// Tagged implements plan.Differ.
func (Product) Tagged(change plan.Action, tag *commonv1.Tag) plan.Action {
	up, ok := change.(UpdateInstance)
	if !ok {
		up = UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{}}
	}
	up.Request.SetTags = append(up.Request.SetTags, tag)
	if !slices.Contains(up.What, "tags") {
		up.What = append(up.What, "tags")
	}
	return up
}

// Opener implements plan.Differ.
func (Product) Opener(d *model.Desired, o model.Observed) (why string) {
	asked, _ := d.Instance.Asked.(Asked)
	want, have := specOf(d).GetAddressType(), present(o).GetAddressType()
	if o.InstanceID == "" || !asked.AddressType || want != slbv1.AddressType_ADDRESS_TYPE_INTRANET || have == want {
		return ""
	}
	return "annotation address-type asks for an intranet one"
}

// Unprotect implements plan.Differ. A preserved instance also loses the marks of ownership.
func (Product) Unprotect(o model.Observed, preserve bool) plan.Action {
	have := present(o)
	up := UpdateInstance{Request: &slbv1.UpdateLoadBalancerRequest{}}
	if have == nil || have.GetDeleteProtection() {
		up.Request.DeleteProtection = new(false)
		up.What = append(up.What, "delete protection")
	}
	if preserve {
		if have.GetModificationProtection().GetEnabled() {
			up.Request.ModificationProtection = &slbv1.ModificationProtection{}
			up.What = append(up.What, "modification protection")
		}
		up.Request.RemoveTagKeys = plan.PresentTags([]string{ownership.TagService, ownership.TagCluster}, o.Tags())
		if len(up.Request.GetRemoveTagKeys()) > 0 {
			up.What = append(up.What, "tags")
		}
	}
	if len(up.What) == 0 {
		return nil
	}
	return up
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

// Changed implements plan.Differ.
func (Product) Changed(wanted, there model.ListenerConfig) (guard, others model.ListenerConfig, refused string) {
	want, have := configOf(wanted), configOf(there)
	effective := proto.CloneOf(want)
	dropInert(effective, have)
	// To recreate the listener instead would break its connections, at a takeover even without a change of the Service.
	if want, have := effective.GetScheduler(), have.GetScheduler(); want != "" && have != "" && hashes(want) != hashes(have) {
		refused = fmt.Sprintf("annotation scheduler asks for %s but the listener has %s, and the cloud can't switch between consistent hashing "+
			"(sch, tch, qch) and the others; restore the annotation, or delete the listener in the console, and it is made anew", want, have)
		effective.Scheduler = nil
	}
	result := &slbv1.ListenerConfig{}
	if !plan.CopyDiff(result, effective, have, "http_code") {
		return nil, nil, refused
	}
	guard, others = apart(result, effective)
	return guard, others, refused
}

// apart takes access control out of a change, unless it restricts nobody. It is one setting in three parts: the cloud
// wants them together.
func apart(change, want *slbv1.ListenerConfig) (guard, others model.ListenerConfig) {
	if change.AclEnabled == nil && change.AclType == nil && len(change.GetAclIds()) == 0 {
		return nil, change
	}
	change.AclEnabled, change.AclType, change.AclIds = want.AclEnabled, want.AclType, want.GetAclIds()
	if len(change.GetAclIds()) == 0 {
		return nil, change
	}
	guard = &slbv1.ListenerConfig{AclEnabled: change.AclEnabled, AclType: change.AclType, AclIds: change.GetAclIds()}
	change.AclEnabled, change.AclType, change.AclIds = nil, nil, nil
	if proto.Equal(change, &slbv1.ListenerConfig{}) {
		return guard, nil
	}
	return guard, change
}

// ChangedGroup implements plan.Differ: groups of a CLB have no attributes.
func (Product) ChangedGroup(_, _ proto.Message) (changed proto.Message, refused string) {
	return nil, ""
}

// hashes reports whether a scheduler is a consistent hash.
func hashes(scheduler string) bool {
	return slices.Contains([]string{"sch", "tch", "qch"}, scheduler)
}

// dropInert leaves out what has no effect because it is switched off and stays so: the cloud doesn't report it reliably, and a
// comparison would find a difference for ever.
func dropInert(want, have *slbv1.ListenerConfig) {
	if h := have.GetHealthCheck(); h != nil && h.Enabled != nil && !h.GetEnabled() && !want.GetHealthCheck().GetEnabled() {
		want.HealthCheck = nil
	}
	if !want.GetStickySession() && !have.GetStickySession() {
		want.StickySession, want.StickySessionType, want.Cookie, want.CookieTimeout = nil, nil, nil, nil
	}
	if want.AclEnabled != nil && !want.GetAclEnabled() && !have.GetAclEnabled() {
		want.AclEnabled = nil
	}
}

// specOf is the request for a wanted instance.
func specOf(d *model.Desired) *slbv1.CreateLoadBalancerRequest {
	spec, _ := d.Instance.Spec.(*slbv1.CreateLoadBalancerRequest)
	return spec
}

// present is the instance that there is; nil if there is none.
func present(o model.Observed) *slbv1.LoadBalancer {
	lb, _ := o.Instance.(*slbv1.LoadBalancer)
	return lb
}

// configOf are the attributes of a listener.
func configOf(c model.ListenerConfig) *slbv1.ListenerConfig {
	config, _ := c.(*slbv1.ListenerConfig)
	return config
}
