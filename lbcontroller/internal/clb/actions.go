package clb

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Asked names the attributes of an instance that the user set. As JSON it is part of the hash.
type Asked struct {
	AddressType, Address, IPVersion, Zones, ResourceGroup   bool
	Name, DeleteProtection, ModificationProtection          bool
	InstanceChargeType, Spec, InternetChargeType, Bandwidth bool
	// NetworkType is the asked network of the address, "vpc" or "classic". It can't be chosen at creation.
	NetworkType string `json:",omitempty"`
}

// CreateInstance buys an instance.
type CreateInstance struct {
	Spec *slbv1.CreateLoadBalancerRequest
	// AnyVSwitch says that the vSwitch is the controller's choice: it is found if there is none yet, or if the first is full.
	AnyVSwitch bool
	// ClusterID and Nodes are what vSwitches are found by.
	ClusterID string
	Nodes     []string
}

// UpdateInstance changes attributes of the instance; its id is left to the caller.
type UpdateInstance struct {
	Request *slbv1.UpdateLoadBalancerRequest
	// What names the attributes, for people.
	What []string
}

// About implements plan.Action.
func (CreateInstance) About() (plan.Part, plan.Verb) { return plan.PartInstance, plan.VerbCreate }

// About implements plan.Action.
func (UpdateInstance) About() (plan.Part, plan.Verb) { return plan.PartInstance, plan.VerbChange }

// String implements plan.Action.
func (a CreateInstance) String() string { return "create load balancer " + a.Spec.GetName() }

// String implements plan.Action.
func (a UpdateInstance) String() string { return "change load balancer: " + strings.Join(a.What, ", ") }

// SetsTag reports whether the change sets a tag.
func (a UpdateInstance) SetsTag(key string) bool {
	return slices.ContainsFunc(a.Request.GetSetTags(), func(t *commonv1.Tag) bool { return t.GetKey() == key })
}

// Effect implements plan.Action. What was asked for is taken as given; the answer adds id, address and placement.
func (a CreateInstance) Effect(o *model.Observed, r plan.Result) {
	s := a.Spec
	answer, _ := r.Instance.(*slbv1.LoadBalancer)
	made := &slbv1.LoadBalancer{
		Name: s.GetName(), AddressType: s.GetAddressType(), IpVersion: s.GetIpVersion(), Address: s.GetAddress(),
		VpcId: s.GetVpcId(), VswitchId: s.GetVswitchId(), PrimaryZoneId: s.GetPrimaryZoneId(), StandbyZoneId: s.GetStandbyZoneId(),
		Spec: s.GetSpec(), InstanceChargeType: s.GetInstanceChargeType(), InternetChargeType: s.GetInternetChargeType(),
		BandwidthMbps: s.GetBandwidthMbps(), DeleteProtection: s.GetDeleteProtection(),
		ModificationProtection: proto.CloneOf(s.GetModificationProtection()), ResourceGroupId: s.GetResourceGroupId(),
	}
	for _, t := range s.GetTags() {
		made.Tags = append(made.Tags, proto.CloneOf(t))
	}
	made.LoadBalancerId = answer.GetLoadBalancerId()
	if address := answer.GetAddress(); address != "" {
		made.Address = address
	}
	o.InstanceID, o.Instance = answer.GetLoadBalancerId(), made
}

// Effect implements plan.Action.
func (a UpdateInstance) Effect(o *model.Observed, _ plan.Result) {
	if o.Instance == nil {
		return
	}
	lb, r := proto.CloneOf(present(*o)), a.Request
	o.Instance = lb
	if r.Name != nil {
		lb.Name = r.GetName()
	}
	if r.InstanceChargeType != nil {
		lb.InstanceChargeType = r.GetInstanceChargeType()
	}
	if r.Spec != nil {
		lb.Spec = r.GetSpec()
	}
	if s := r.GetInternetSpec(); s != nil {
		lb.InternetChargeType = s.GetChargeType()
		if s.GetBandwidthMbps() != 0 {
			lb.BandwidthMbps = s.GetBandwidthMbps()
		}
	}
	if r.DeleteProtection != nil {
		lb.DeleteProtection = r.GetDeleteProtection()
	}
	if r.GetModificationProtection() != nil {
		lb.ModificationProtection = proto.CloneOf(r.GetModificationProtection())
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
