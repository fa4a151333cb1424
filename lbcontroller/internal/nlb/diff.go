package nlb

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Create implements plan.Differ.
func (Product) Create(d *model.Desired) plan.Action {
	return CreateInstance{Spec: specOf(d), ClusterID: d.Owner.ClusterID, Nodes: d.Instance.Nodes}
}

// Update implements plan.Differ.
func (Product) Update(d *model.Desired, o model.Observed) ([]plan.Action, []string) {
	want, have := specOf(d), present(o)
	asked, _ := d.Instance.Asked.(Asked)
	remedy := "restore it or recreate the Service"
	if d.Reuse.ID != "" {
		remedy = "correct or remove it"
	}
	var refused []string
	fixed := func(differs bool, key string, want, have any) {
		if differs {
			refused = append(refused, fmt.Sprintf("%s asks for %q but the NLB has %q, which can't be changed; %s",
				d.Instance.Noun(key), want, have, remedy))
		}
	}
	fixed(asked.IPVersion && want.GetIpVersion() != have.GetIpVersion(), "ip-version", ipVersion(want.GetIpVersion()),
		ipVersion(have.GetIpVersion()))
	fixed(asked.ResourceGroup && want.GetResourceGroupId() != have.GetResourceGroupId(), "resource-group-id",
		want.GetResourceGroupId(), have.GetResourceGroupId())
	var c changes
	c.access(d, have)
	c.attributes(d, o)
	refused = append(refused, c.opens(d, o)...)
	return c, append(refused, c.shift(d, have)...)
}

// changes are the actions of an update. Each attribute has one of its own: one that the cloud refuses holds back none of the others.
type changes []plan.Action

func (c *changes) add(access Access, what string, r *nlbv1.UpdateLoadBalancerRequest) {
	*c = append(*c, UpdateInstance{Request: r, What: []string{what}, Access: access})
}

// access adds what restricts who may connect. First the NLB leaves the internet: security groups that take the place of others let other
// people in.
func (c *changes) access(d *model.Desired, have *nlbv1.LoadBalancer) {
	want := specOf(d)
	asked, _ := d.Instance.Asked.(Asked)
	const internet = nlbv1.AddressType_ADDRESS_TYPE_INTERNET
	if asked.AddressType && want.GetAddressType() != have.GetAddressType() && want.GetAddressType() != internet {
		c.add(Closes, "address type", &nlbv1.UpdateLoadBalancerRequest{AddressType: want.GetAddressType().Enum()})
	}
	if wants := asked.IPv6AddressType; wants != 0 && wants != internet && isDual(have) && wants != have.GetIpv6AddressType() {
		c.add(Closes, "IPv6 address type", &nlbv1.UpdateLoadBalancerRequest{Ipv6AddressType: wants.Enum()})
	}
	groups := want.GetSecurityGroupIds()
	if !asked.SecurityGroups || len(groups) == 0 || sameIDs(groups, have.GetSecurityGroupIds()) {
		return
	}
	access := Guards
	if len(have.GetSecurityGroupIds()) > 0 {
		access = Swaps
	}
	c.add(access, "security groups", &nlbv1.UpdateLoadBalancerRequest{SecurityGroups: &nlbv1.SecurityGroups{SecurityGroupIds: groups}})
}

// attributes adds what has nothing to do with who may connect.
func (c *changes) attributes(d *model.Desired, o model.Observed) {
	want, have := specOf(d), present(o)
	asked, _ := d.Instance.Asked.(Asked)
	if asked.Name && want.GetName() != have.GetName() {
		c.add(Neutral, "name", &nlbv1.UpdateLoadBalancerRequest{Name: new(want.GetName())})
	}
	if asked.CrossZone != nil && *asked.CrossZone != have.GetCrossZoneEnabled() {
		c.add(Neutral, "cross-zone", &nlbv1.UpdateLoadBalancerRequest{CrossZoneEnabled: asked.CrossZone})
	}
	_, pending := o.Tags()[tagUnprotected] // See createAgain.
	pending = pending && d.Reuse.ID == ""
	differs := want.GetDeletionProtection().GetEnabled() != have.GetDeletionProtection().GetEnabled()
	if pending || asked.DeleteProtection && differs {
		r, what := &nlbv1.UpdateLoadBalancerRequest{}, "tags"
		if differs {
			r.DeletionProtection, what = want.GetDeletionProtection(), "delete protection"
		}
		if pending { // The tag says so until the NLB is protected.
			r.RemoveTagKeys = []string{tagUnprotected}
		}
		c.add(Neutral, what, r)
	}
	if asked.ModificationProtection &&
		want.GetModificationProtection().GetEnabled() != have.GetModificationProtection().GetEnabled() {
		c.add(Neutral, "modification protection",
			&nlbv1.UpdateLoadBalancerRequest{ModificationProtection: want.GetModificationProtection()})
	}
	tags := &nlbv1.UpdateLoadBalancerRequest{
		SetTags: plan.MissingTags(want.GetTags(), o.Tags()), RemoveTagKeys: plan.PresentTags(d.Instance.DroppedTags, o.Tags()),
	}
	if len(tags.GetSetTags())+len(tags.GetRemoveTagKeys()) > 0 {
		c.add(Neutral, "tags", tags)
	}
}

// opening is in which ways an NLB can be reached that it couldn't be so far, and other zones; nil for the same ones.
type opening struct {
	isPublic, isPublic6 bool
	zones               *nlbv1.ZoneMappings
}

func openingOf(d *model.Desired, have *nlbv1.LoadBalancer) (o opening) {
	want := specOf(d)
	asked, _ := d.Instance.Asked.(Asked)
	const internet = nlbv1.AddressType_ADDRESS_TYPE_INTERNET
	o.isPublic = asked.AddressType && want.GetAddressType() == internet && have.GetAddressType() != internet
	o.isPublic6 = asked.IPv6AddressType == internet && isDual(have) && have.GetIpv6AddressType() != internet
	if asked.Zones && !sameZones(want.GetZoneMappings(), have.GetZoneMappings()) {
		o.zones = &nlbv1.ZoneMappings{ZoneMappings: want.GetZoneMappings()}
	}
	return o
}

func (o opening) hasEIP() bool { return hasEIP(o.zones.GetZoneMappings()) }

// isOne reports whether somebody may come in who couldn't.
func (o opening) isOne() bool { return o.isPublic || o.isPublic6 || o.hasEIP() }

// opens adds where the NLB can be reached, and takes its last security groups off. It says why that can't be.
func (c *changes) opens(d *model.Desired, o model.Observed) (refused []string) {
	want, have := specOf(d), present(o)
	asked, _ := d.Instance.Asked.(Asked)
	way := openingOf(d, have)
	if others := besideRanges(d, o); way.isOne() && len(others) > 0 {
		return []string{fmt.Sprintf("load balancer %s isn't opened: beside that of %s it has the security groups %s, which may "+
			"let others in; take these off in the console, or name all groups by annotation %s in place of the field", o.InstanceID,
			annotation.SourceRanges, strings.Join(others, ", "), annotation.Prefix+annotation.SecurityGroupIDs)}
	}
	zones := &nlbv1.UpdateLoadBalancerRequest{ZoneMappings: way.zones}
	switch {
	case way.isPublic: // The zones have the EIPs.
		zones.AddressType = want.GetAddressType().Enum()
		c.add(Opens, "address type", zones)
	case way.hasEIP():
		c.add(Opens, "zones", zones)
	case way.zones != nil:
		c.add(Neutral, "zones", zones)
	}
	if way.isPublic6 {
		c.add(Opens, "IPv6 address type", &nlbv1.UpdateLoadBalancerRequest{Ipv6AddressType: asked.IPv6AddressType.Enum()})
	}
	if asked.BandwidthPackage && want.GetBandwidthPackageId() != have.GetBandwidthPackageId() {
		access := Neutral
		if way.isPublic { // It is for public NLBs.
			access = Opens
		}
		c.add(access, "bandwidth package", &nlbv1.UpdateLoadBalancerRequest{BandwidthPackageId: new(want.GetBandwidthPackageId())})
	}
	if asked.SecurityGroups && len(want.GetSecurityGroupIds()) == 0 && len(have.GetSecurityGroupIds()) > 0 {
		c.add(Opens, "security groups", &nlbv1.UpdateLoadBalancerRequest{SecurityGroups: &nlbv1.SecurityGroups{}})
	}
	return nil
}

// shift adds that zones go out of the name or come back into it, after a change of the zones, and says why that can't be.
func (c *changes) shift(d *model.Desired, have *nlbv1.LoadBalancer) (refused []string) {
	asked, _ := d.Instance.Asked.(Asked)
	zones := have.GetZoneMappings()
	if !asked.Shifts || sameIDs(asked.ShiftedZones, shifted(zones)) {
		return nil
	}
	access := Neutral
	for _, a := range *c {
		if change, ok := a.(UpdateInstance); ok && change.Request.GetZoneMappings() != nil {
			access, zones = change.Access, change.Request.GetZoneMappings().GetZoneMappings()
		}
	}
	noun := d.Instance.Noun(annotation.ShiftedZones)
	switch away := missing(asked.ShiftedZones, zones); {
	case len(zones) == 0: // The cloud chooses them, and says later which they are.
	case len(away) > 0:
		return []string{fmt.Sprintf("%s asks for %q, and the NLB isn't in that zone; correct or remove it", noun, away[0])}
	case len(asked.ShiftedZones) >= len(zones):
		return []string{fmt.Sprintf("%s asks for all zones of the NLB, and at least one has to stay; correct or remove it", noun)}
	}
	c.add(access, "shifted zones", &nlbv1.UpdateLoadBalancerRequest{ShiftedZones: &nlbv1.ShiftedZones{ZoneIds: asked.ShiftedZones}})
	return nil
}

// shifted are the zones that are out of the name.
func shifted(zones []*nlbv1.ZoneMapping) (ids []string) {
	for _, z := range zones {
		if z.GetShifted() {
			ids = append(ids, z.GetZoneId())
		}
	}
	return ids
}

func isDual(lb *nlbv1.LoadBalancer) bool {
	return lb.GetIpVersion() == nlbv1.IpVersion_IP_VERSION_DUAL_STACK
}

func hasEIP(zones []*nlbv1.ZoneMapping) bool {
	return slices.ContainsFunc(zones, func(z *nlbv1.ZoneMapping) bool { return z.GetAllocationId() != "" })
}

func ipVersion(v nlbv1.IpVersion) string {
	if v == nlbv1.IpVersion_IP_VERSION_DUAL_STACK {
		return "DualStack"
	}
	return "ipv4"
}

// sameZones reports whether an NLB is in the wanted zones and in no others, by the wanted vSwitches and with the wanted addresses.
func sameZones(wanted, there []*nlbv1.ZoneMapping) bool {
	return len(wanted) == len(there) && !slices.ContainsFunc(wanted, func(w *nlbv1.ZoneMapping) bool {
		return !slices.ContainsFunc(there, func(t *nlbv1.ZoneMapping) bool {
			return w.GetZoneId() == t.GetZoneId() && w.GetVswitchId() == t.GetVswitchId() &&
				(w.GetPrivateIpv4Address() == "" || w.GetPrivateIpv4Address() == t.GetPrivateIpv4Address()) &&
				(w.GetAllocationId() == "" || w.GetAllocationId() == t.GetAllocationId())
		})
	})
}

// sameIDs compares ids without regard to their order; the first list is sorted.
func sameIDs(sorted, other []string) bool {
	return slices.Equal(sorted, slices.Sorted(slices.Values(other)))
}

// Tagged implements plan.Differ.
func (Product) Tagged(change plan.Action, tag *commonv1.Tag) plan.Action {
	up, ok := change.(UpdateInstance)
	if !ok {
		up = UpdateInstance{Request: &nlbv1.UpdateLoadBalancerRequest{}}
	}
	up.Request.SetTags = append(up.Request.SetTags, tag)
	if !slices.Contains(up.What, "tags") {
		up.What = append(up.What, "tags")
	}
	return up
}

// Opener implements plan.Differ. The address type of an NLB can be changed, which comes before its listeners; see
// UpdateInstance.Closes.
func (Product) Opener(*model.Desired, model.Observed) string { return "" }

// Unprotect implements plan.Differ. A preserved NLB also loses the marks of ownership, as do its server groups.
func (Product) Unprotect(o model.Observed, preserve bool) plan.Action {
	have := present(o)
	up := UpdateInstance{Request: &nlbv1.UpdateLoadBalancerRequest{}}
	if have == nil || have.GetDeletionProtection().GetEnabled() {
		up.Request.DeletionProtection = &nlbv1.Protection{}
		up.What = append(up.What, "delete protection")
	}
	if preserve {
		if have.GetModificationProtection().GetEnabled() {
			up.Request.ModificationProtection = &nlbv1.Protection{}
			up.What = append(up.What, "modification protection")
		}
		up.Request.RemoveTagKeys = plan.PresentTags(markKeys(), o.Tags())
		for _, g := range o.Groups {
			up.Untag = append(up.Untag, g.ID)
		}
		if len(up.Request.GetRemoveTagKeys())+len(up.Untag) > 0 {
			up.What = append(up.What, "tags")
		}
	}
	if len(up.What) == 0 {
		return nil
	}
	return up
}

func markKeys() []string { return []string{ownership.TagService, ownership.TagCluster} }

// Changed implements plan.Differ.
func (Product) Changed(wanted, there model.ListenerConfig) (_, others model.ListenerConfig, _ string) {
	want, have := proto.CloneOf(configOf(wanted)), configOf(there)
	// What is switched off and stays so has no effect.
	if !want.GetCaEnabled() && !have.GetCaEnabled() {
		want.CaEnabled = nil
	}
	if !want.GetAlpnEnabled() && !have.GetAlpnEnabled() {
		want.AlpnEnabled = nil
	}
	result := &nlbv1.ListenerConfig{}
	if !plan.CopyDiff(result, want, have) {
		return nil, nil, ""
	}
	if result.AlpnEnabled != nil { // The cloud wants the policy, too.
		result.AlpnPolicy = want.AlpnPolicy
	}
	if result.CaEnabled != nil {
		result.CaCertificateIds = want.GetCaCertificateIds()
	}
	return nil, result, ""
}

// ChangedGroup implements plan.Differ.
func (Product) ChangedGroup(wanted, there proto.Message) (changed proto.Message, refused string) {
	have, _ := there.(*nlbv1.CreateServerGroupRequest)
	asked, _ := wanted.(*nlbv1.CreateServerGroupRequest)
	if group := asked.GetResourceGroupId(); group != "" && group != have.GetResourceGroupId() {
		refused = fmt.Sprintf(
			"annotation resource-group-id asks for %q but it is in %q, which can't be changed; restore it or recreate the Service",
			group, have.GetResourceGroupId())
	}
	// The rest is its shape.
	want := &nlbv1.CreateServerGroupRequest{
		Scheduler: asked.Scheduler, ConnectionDrainEnabled: asked.ConnectionDrainEnabled, ConnectionDrainTimeout: asked.ConnectionDrainTimeout,
		PreserveClientIpEnabled: asked.PreserveClientIpEnabled, HealthCheck: asked.GetHealthCheck(),
	}
	if have.GetIpVersionAffinity() != 0 { // A gateway that doesn't say it can't change it.
		want.IpVersionAffinity = asked.GetIpVersionAffinity()
	}
	if h := have.GetHealthCheck(); !want.GetHealthCheck().GetEnabled() && h != nil && !h.GetEnabled() {
		want.HealthCheck = nil
	}
	result := &nlbv1.CreateServerGroupRequest{}
	if !plan.CopyDiff(result, want, have) {
		return nil, refused
	}
	return result, refused
}

// specOf is the request for a wanted instance.
func specOf(d *model.Desired) *nlbv1.CreateLoadBalancerRequest {
	spec, _ := d.Instance.Spec.(*nlbv1.CreateLoadBalancerRequest)
	return spec
}

// present is the instance that there is; nil if there is none.
func present(o model.Observed) *nlbv1.LoadBalancer {
	lb, _ := o.Instance.(Balancer)
	return lb.LoadBalancer
}

// configOf are the attributes of a listener.
func configOf(c model.ListenerConfig) *nlbv1.ListenerConfig {
	config, _ := c.(*nlbv1.ListenerConfig)
	return config
}
