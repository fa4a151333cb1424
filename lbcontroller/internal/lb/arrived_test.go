package lb_test

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// arrived reports whether a call has the field, and the thing that it is about has it as the call says.
func (c carriedField) arrived(w *world, call gatewaytest.Call) bool {
	var sent, thing proto.Message
	var more []string
	console := w.cloud.Console
	clb := func(id string) *slbv1.LoadBalancer {
		get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_FULL}
		return read(w, console.LoadBalancers.GetLoadBalancer, get).GetLoadBalancer()
	}
	switch r := call.Request.(type) {
	case *nlbv1.UpdateServerGroupRequest:
		get := &nlbv1.GetServerGroupRequest{ServerGroupId: r.GetServerGroupId()}
		sent, thing = r, read(w, console.NetworkServerGroups.GetServerGroup, get).GetServerGroup()
	case *nlbv1.UpdateLoadBalancerRequest:
		get := &nlbv1.GetLoadBalancerRequest{LoadBalancerId: r.GetLoadBalancerId()}
		lb := read(w, console.NetworkLoadBalancers.GetLoadBalancer, get).GetLoadBalancer()
		sent, thing, more = r, lb, tagTexts(lb.GetTags())
	case *nlbv1.UpdateListenerRequest:
		get := &nlbv1.GetListenerRequest{ListenerId: r.GetListenerId()}
		sent, thing = r.GetConfig(), read(w, console.NetworkListeners.GetListener, get).GetListener().GetConfig()
	case *slbv1.UpdateLoadBalancerRequest:
		lb := clb(r.GetLoadBalancerId())
		sent, thing, more = r, lb, tagTexts(lb.GetTags())
	case *slbv1.UpdateAccessControlListRequest:
		get := &slbv1.GetAccessControlListRequest{AclId: r.GetAclId()}
		list := read(w, console.AccessControlLists.GetAccessControlList, get).GetAccessControlList()
		sent, thing = r, list
		for _, entry := range list.GetEntries() {
			more = append(more, entry.GetCidr())
		}
	case *ecsv1.UpdateSecurityGroupRequest:
		get := &ecsv1.GetSecurityGroupRequest{SecurityGroupId: r.GetSecurityGroupId()}
		group := read(w, console.SecurityGroups.GetSecurityGroup, get).GetSecurityGroup()
		sent, thing = r, group
		for _, rule := range group.GetRules() {
			more = append(more, rule.GetCidr())
		}
	case *slbv1.UpdateDomainExtensionRequest:
		sent, thing = r, &slbv1.DomainExtension{}
		w.cloud.Look(func(cloud *state.Cloud) {
			for _, l := range clbListeners(cloud) {
				for _, d := range l.Domains {
					if d.ID == r.GetDomainExtensionId() {
						thing = &slbv1.DomainExtension{DomainExtensionId: d.ID, Domain: d.Domain, ServerCertificateId: d.CertificateID}
					}
				}
			}
		})
	case *slbv1.UpdateListenerRequest:
		sent, thing = r.GetConfig(), &slbv1.ListenerConfig{}
		for _, l := range clb(r.GetKey().GetLoadBalancerId()).GetListeners() {
			if proto.Equal(l.GetKey(), r.GetKey()) {
				thing = l.GetConfig()
			}
		}
	default:
		return false
	}
	if sent.ProtoReflect().Descriptor() != c.message.ProtoReflect().Descriptor() {
		return false
	}
	asked, ok := fieldText(sent, c.field)
	if !ok {
		return false
	}
	switch c.field {
	case "add_entries", "add_rules":
		return slices.Contains(more, "192.168.0.0/16")
	case "remove_entries", "remove_rules":
		return !slices.Contains(more, "192.168.0.0/16") && slices.Contains(more, "10.0.0.0/8")
	case "set_tags":
		return slices.Contains(more, "team=blue")
	case "remove_tag_keys":
		return !slices.Contains(more, "team=blue")
	case "security_groups":
		lb, _ := thing.(*nlbv1.LoadBalancer)
		return fmt.Sprint(lb.GetSecurityGroupIds()) == "[sg-user-2]"
	case "zone_mappings":
		lb, _ := thing.(*nlbv1.LoadBalancer)
		return lb.GetZoneMappings()[1].GetVswitchId() == "vsw-j"
	case "shifted_zones":
		lb, _ := thing.(*nlbv1.LoadBalancer)
		return lb.GetZoneMappings()[0].GetShifted() && !lb.GetZoneMappings()[1].GetShifted()
	case "internet_spec.charge_type", "internet_spec.bandwidth_mbps":
		_, name, _ := strings.Cut(c.field, ".")
		if name == "charge_type" {
			name = "internet_charge_type"
		}
		there, _ := fieldText(thing, name)
		return there == asked
	}
	there, _ := fieldText(thing, c.field)
	return there == asked
}

// fieldText is the value of a field of a message, and whether it has one. A message that is there has all its fields.
func fieldText(m proto.Message, path string) (string, bool) {
	name, rest, nested := strings.Cut(path, ".")
	f := m.ProtoReflect().Descriptor().Fields().ByTextName(name)
	if f == nil {
		return "no field " + name, false
	}
	if nested {
		if !m.ProtoReflect().Has(f) {
			return "", false
		}
		text, has := fieldText(m.ProtoReflect().Get(f).Message().Interface(), rest)
		return text, has || !f.Message().Fields().ByTextName(rest).HasPresence()
	}
	return valueText(f, m.ProtoReflect().Get(f)), m.ProtoReflect().Has(f)
}

func tagTexts[T interface {
	GetKey() string
	GetValue() string
}](tags []T) (texts []string) {
	for _, t := range tags {
		texts = append(texts, t.GetKey()+"="+t.GetValue())
	}
	return texts
}
