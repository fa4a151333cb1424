package plan

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Effect implements Action. What was asked for is taken as given; the answer adds id, address and placement.
func (a CreateInstance) Effect(o *model.Observed, r Result) {
	s := a.Spec
	o.Instance = &slbv1.LoadBalancer{
		Name: s.GetName(), AddressType: s.GetAddressType(), IpVersion: s.GetIpVersion(), Address: s.GetAddress(),
		VpcId: s.GetVpcId(), VswitchId: s.GetVswitchId(), MasterZoneId: s.GetMasterZoneId(), SlaveZoneId: s.GetSlaveZoneId(),
		Spec: s.GetSpec(), InstanceChargeType: s.GetInstanceChargeType(), InternetChargeType: s.GetInternetChargeType(),
		BandwidthMbps: s.GetBandwidthMbps(), DeleteProtection: s.GetDeleteProtection(),
		ModificationProtection: proto.CloneOf(s.GetModificationProtection()), ResourceGroupId: s.GetResourceGroupId(),
	}
	for _, t := range s.GetTags() {
		o.Instance.Tags = append(o.Instance.Tags, proto.CloneOf(t))
	}
	o.Instance.LoadBalancerId = r.Instance.GetLoadBalancerId()
	if address := r.Instance.GetAddress(); address != "" {
		o.Instance.Address = address
	}
	o.InstanceID = r.Instance.GetLoadBalancerId()
}

// Effect implements Action.
func (a UpdateInstance) Effect(o *model.Observed, _ Result) {
	lb, r := o.Instance, a.Request
	if lb == nil {
		return
	}
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

// Effect implements Action.
func (DeleteInstance) Effect(o *model.Observed, _ Result) { *o = model.Nothing() }

// Effect implements Action.
func (a CreateGroup) Effect(o *model.Observed, r Result) {
	o.Groups = append(o.Groups, model.Group{ID: r.GroupID, Name: a.Group.Name, Servers: a.Group.Servers})
}

// Effect implements Action.
func (a ChangeServers) Effect(o *model.Observed, _ Result) {
	isDefault := func(g model.Group) bool { return g.ID == model.DefaultGroup }
	if a.GroupID == model.DefaultGroup && !slices.ContainsFunc(o.Groups, isDefault) { // The instance is new.
		o.Groups = append(o.Groups, model.Group{ID: model.DefaultGroup, Name: model.DefaultGroup})
	}
	for i := range o.Groups {
		g := &o.Groups[i]
		if g.ID != a.GroupID {
			continue
		}
		if exact, ok := a.Exact.of(g.Servers); ok {
			g.Servers = exact
		} else {
			g.Servers = a.after(g.Servers)
		}
	}
}

// after returns what becomes of ordered servers. Most stay, which is why they are copied and not compared one by one.
func (a ChangeServers) after(have []model.Server) []model.Server {
	changed := slices.Concat(a.Remove, a.Add, a.Update)
	coming := len(changed) - len(a.Remove)
	order := make([]int, len(changed))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return changed[i].Compare(changed[j]) })
	after := make([]model.Server, 0, len(have)+coming)
	for _, i := range order {
		s := &changed[i]
		at, _ := slices.BinarySearchFunc(have, *s, model.Server.Compare)
		after, have = append(after, have[:at]...), have[at:]
		for len(have) > 0 && have[0].ServerKey == s.ServerKey { // It may be there twice.
			have = have[1:]
		}
		if i >= len(a.Remove) {
			after = append(after, *s)
		}
	}
	return append(after, have...)
}

// Effect implements Action.
func (a DeleteGroup) Effect(o *model.Observed, r Result) {
	if r.GroupHeld {
		ChangeServers{GroupID: a.GroupID, Remove: a.Servers}.Effect(o, r)
		for i := range o.Groups {
			o.Groups[i].Held = o.Groups[i].Held || o.Groups[i].ID == a.GroupID
		}
		return
	}
	o.Groups = slices.DeleteFunc(o.Groups, func(g model.Group) bool { return g.ID == a.GroupID })
}

// Effect implements Action.
func (a CreateListener) Effect(o *model.Observed, _ Result) {
	made := model.Listener{Key: a.Listener.Key, Config: WithGroup(a.Listener.Config, a.Group.Resolve(*o))}
	if a.Listener.Key.Protocol == slbv1.Protocol_PROTOCOL_HTTPS {
		made.Extensions = []model.Extension{}
	}
	o.Listeners = append(o.Listeners, made)
}

// Effect implements Action.
func (a CreateExtension) Effect(o *model.Observed, r Result) {
	a.Extension.ID = r.ExtensionID
	changeExtensions(o, a.Key, func(list []model.Extension) []model.Extension { return append(list, a.Extension) })
}

// Effect implements Action.
func (a UpdateExtension) Effect(o *model.Observed, _ Result) {
	changeExtensions(o, a.Key, func(list []model.Extension) []model.Extension {
		for i := range list {
			if list[i].ID == a.Extension.ID {
				list[i] = a.Extension
			}
		}
		return list
	})
}

// Effect implements Action.
func (a DeleteExtension) Effect(o *model.Observed, _ Result) {
	changeExtensions(o, a.Key, func(list []model.Extension) []model.Extension {
		return slices.DeleteFunc(list, func(e model.Extension) bool { return e.ID == a.Extension.ID })
	})
}

func changeExtensions(o *model.Observed, key model.ListenerKey, change func([]model.Extension) []model.Extension) {
	for i := range o.Listeners {
		if o.Listeners[i].Key == key {
			o.Listeners[i].Extensions = change(o.Listeners[i].Extensions)
		}
	}
}

// Effect implements Action.
func (a UpdateListener) Effect(o *model.Observed, _ Result) {
	for i := range o.Listeners {
		l := &o.Listeners[i]
		if l.Key != a.Key {
			continue
		}
		if a.Changed != nil {
			if len(a.Changed.GetAclIds()) > 0 {
				l.Config.AclIds = nil // The new list replaces the old one.
			}
			proto.Merge(l.Config, a.Changed)
		}
		l.Config = WithGroup(l.Config, a.Group.Resolve(*o))
	}
}

// Effect implements Action.
func (a StartListener) Effect(o *model.Observed, _ Result) {
	for i := range o.Listeners {
		if o.Listeners[i].Key == a.Key {
			o.Listeners[i].Stopped = false
		}
	}
}

// Effect implements Action.
func (a DeleteListener) Effect(o *model.Observed, _ Result) {
	o.Listeners = slices.DeleteFunc(o.Listeners, func(l model.Listener) bool { return l.Key == a.Key })
}

// WithGroup returns the attributes with the id of the vServer group, if there is one.
func WithGroup(config *slbv1.ListenerConfig, id string) *slbv1.ListenerConfig {
	result := &slbv1.ListenerConfig{}
	if config != nil {
		result = proto.CloneOf(config)
	}
	if id != "" {
		result.ServerGroupId = new(id)
	}
	return result
}
