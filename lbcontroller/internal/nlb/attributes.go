package nlb

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Balancer is a present NLB as the engine knows load balancers.
type Balancer struct {
	*nlbv1.LoadBalancer

	// SecurityGroups are those that it has and is to get, where these differ and were read.
	SecurityGroups []*ecsv1.SecurityGroup
}

// GetAddress is what is published.
func (b Balancer) GetAddress() string { return b.GetDnsName() }

// CreateInstance makes an NLB. Without zones in the request the controller chooses them.
type CreateInstance struct {
	Spec *nlbv1.CreateLoadBalancerRequest
	// ClusterID and Nodes are what vSwitches are found by.
	ClusterID string
	Nodes     []string
}

// UpdateInstance changes attributes of an NLB; its id is left to the caller.
type UpdateInstance struct {
	Request *nlbv1.UpdateLoadBalancerRequest
	// What names the attributes, for people.
	What []string
	// Access says whom it keeps out or lets in.
	Access Access
	// Untag are the ids of server groups that lose the marks of ownership.
	Untag []string
}

// Access is what a change of an NLB means for who may connect.
type Access int

// The changes of access, in the order in which they are made.
const (
	// Neutral changes nothing.
	Neutral Access = iota
	// Closes takes the NLB off the internet.
	Closes
	// Guards gives the NLB other security groups, and Swaps takes some off for that, which let other people in.
	Guards
	Swaps
	// Opens lets the internet in, or everybody by taking all security groups off.
	Opens
)

// About implements plan.Action.
func (CreateInstance) About() (plan.Part, plan.Verb) { return plan.PartInstance, plan.VerbCreate }

// About implements plan.Action.
func (UpdateInstance) About() (plan.Part, plan.Verb) { return plan.PartInstance, plan.VerbChange }

// String implements plan.Action.
func (a CreateInstance) String() string { return "create load balancer " + a.Spec.GetName() }

// String implements plan.Action.
func (a UpdateInstance) String() string { return "change load balancer: " + strings.Join(a.What, ", ") }

// Closes says that a public NLB becomes an intranet one or gets other security groups, before which no listener is made.
func (a UpdateInstance) Closes() bool {
	return a.Access == Closes || a.Access == Guards || a.Access == Swaps
}

// Opens says that others can connect then, for which everything that restricts that must be in place.
func (a UpdateInstance) Opens() bool { return a.Access == Opens }

// Needs says that the security group must be there with its rules, and that the people of other groups come in only where the NLB is
// reached from then on. Zones can be taken out of the name when the NLB is in them.
func (a UpdateInstance) Needs(earlier plan.Action) bool {
	part, _ := earlier.About()
	isGuard := a.Access == Guards || a.Access == Swaps
	change, _ := earlier.(UpdateInstance)
	shifts := a.Request.GetShiftedZones() != nil && change.Request.GetZoneMappings() != nil
	return isGuard && part == plan.PartAccess || a.Access == Swaps && change.Access == Closes || shifts
}

// Needs says the same of a new NLB.
func (CreateInstance) Needs(earlier plan.Action) bool {
	part, _ := earlier.About()
	return part == plan.PartAccess
}

// SetsTag reports whether the change sets a tag.
func (a UpdateInstance) SetsTag(key string) bool {
	return slices.ContainsFunc(a.Request.GetSetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == key })
}

// Effect implements plan.Action. What was asked for is taken as given; the answer adds id, name and zones.
func (a CreateInstance) Effect(o *model.Observed, r plan.Result) {
	s := a.Spec
	answer, _ := r.Instance.(Balancer)
	made := &nlbv1.LoadBalancer{
		Name: s.GetName(), VpcId: s.GetVpcId(), AddressType: s.GetAddressType(), IpVersion: s.GetIpVersion(), ZoneMappings: s.GetZoneMappings(),
		SecurityGroupIds: s.GetSecurityGroupIds(), BandwidthPackageId: s.GetBandwidthPackageId(), CrossZoneEnabled: true,
		DeletionProtection: s.GetDeletionProtection(), ModificationProtection: s.GetModificationProtection(),
		ResourceGroupId: s.GetResourceGroupId(), Tags: s.GetTags(),
	}
	if s.GetIpVersion() == nlbv1.IpVersion_IP_VERSION_DUAL_STACK {
		made.Ipv6AddressType = nlbv1.AddressType_ADDRESS_TYPE_INTRANET
	}
	if answer.LoadBalancer != nil {
		made.LoadBalancerId, made.DnsName, made.ZoneMappings = answer.GetLoadBalancerId(), answer.GetDnsName(), answer.GetZoneMappings()
	}
	o.InstanceID, o.Instance = made.GetLoadBalancerId(), Balancer{LoadBalancer: made}
}

// withShifted are zones of which some are out of the name.
func withShifted(zones []*nlbv1.ZoneMapping, out []string) []*nlbv1.ZoneMapping {
	list := make([]*nlbv1.ZoneMapping, len(zones))
	for i, z := range zones {
		list[i] = proto.CloneOf(z)
		list[i].Shifted = slices.Contains(out, z.GetZoneId())
	}
	return list
}

// Effect implements plan.Action.
func (a UpdateInstance) Effect(o *model.Observed, _ plan.Result) {
	if present(*o) == nil {
		return
	}
	lb, r := proto.CloneOf(present(*o)), a.Request
	o.Instance = Balancer{LoadBalancer: lb}
	if r.Name != nil {
		lb.Name = r.GetName()
	}
	if r.CrossZoneEnabled != nil {
		lb.CrossZoneEnabled = r.GetCrossZoneEnabled()
	}
	if r.GetDeletionProtection() != nil {
		lb.DeletionProtection = r.GetDeletionProtection()
	}
	if r.GetModificationProtection() != nil {
		lb.ModificationProtection = r.GetModificationProtection()
	}
	if r.AddressType != nil {
		lb.AddressType = r.GetAddressType()
	}
	if r.GetZoneMappings() != nil {
		lb.ZoneMappings = withShifted(r.GetZoneMappings().GetZoneMappings(), shifted(lb.GetZoneMappings()))
	}
	if r.GetShiftedZones() != nil {
		lb.ZoneMappings = withShifted(lb.GetZoneMappings(), r.GetShiftedZones().GetZoneIds())
	}
	if r.Ipv6AddressType != nil {
		lb.Ipv6AddressType = r.GetIpv6AddressType()
	}
	if r.GetSecurityGroups() != nil {
		lb.SecurityGroupIds = r.GetSecurityGroups().GetSecurityGroupIds()
	}
	if r.BandwidthPackageId != nil {
		lb.BandwidthPackageId = r.GetBandwidthPackageId()
	}
	tags := o.Tags()
	for _, t := range r.GetSetTags() {
		tags[t.GetKey()] = t.GetValue()
	}
	for _, key := range r.GetRemoveTagKeys() {
		delete(tags, key)
	}
	lb.Tags = nil
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		lb.Tags = append(lb.Tags, &commonv1.Tag{Key: key, Value: tags[key]})
	}
}
