package lb_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// look finds all listeners of both kinds; the cloud is locked.
func (o *oracle) look() map[doorKey]door {
	doors := make(map[doorKey]door, len(o.w.cloud.Listeners)+len(o.w.cloud.NLB.Listeners))
	for key, l := range o.w.cloud.Listeners {
		d := door{
			service: o.serviceOf(l.GetConfig().GetDescription(), key.LoadBalancerID), redirects: l.GetConfig().GetForwardPort() > 0,
			open: o.openOfCLB(o.w.cloud.LoadBalancers[key.LoadBalancerID], l),
		}
		group := o.w.cloud.ServerGroups[l.GetConfig().GetServerGroupId()]
		if l.GetConfig().GetServerGroupId() == "" {
			group = o.w.cloud.DefaultGroups[key.LoadBalancerID]
		}
		if group != nil && l.GetStatus() != "stopped" {
			for _, s := range group.Servers {
				if s.GetWeight() > 0 {
					d.servers = append(d.servers, serverPlace(d.service, s, s.GetType() == slbv1.ServerType_SERVER_TYPE_ECS))
				}
			}
		}
		doors[doorKey{key.LoadBalancerID, fmt.Sprintf("%d/%s", key.Port, lowerEnd(key.Protocol.String()))}] = d
	}
	for _, l := range o.w.cloud.NLB.Listeners {
		d := door{
			service: o.serviceOf(l.GetConfig().GetDescription(), l.GetLoadBalancerId()),
			open:    o.openOfNLB(o.w.cloud.NLB.LoadBalancers[l.GetLoadBalancerId()], l),
		}
		if group := o.w.cloud.NLB.ServerGroups[l.GetConfig().GetServerGroupId()]; !isStopped(l) {
			for _, s := range group.GetServers() {
				if s.Weight == nil || s.GetWeight() > 0 {
					d.servers = append(d.servers, serverPlace(d.service, s, s.GetType() == nlbv1.ServerType_SERVER_TYPE_ECS))
				}
			}
		}
		port := fmt.Sprint(l.GetPort())
		if l.GetPort() == 0 {
			port = fmt.Sprintf("%d-%d", l.GetStartPort(), l.GetEndPort())
		}
		doors[doorKey{l.GetLoadBalancerId(), port + "/" + lowerEnd(l.GetProtocol().String())}] = d
	}
	return doors
}

// lowerEnd is the last word of the name of a protocol.
func lowerEnd(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '_')+1:]) }

// serverPlace names a server as soundNow does: the instance, or the Service and the address.
func serverPlace(service string, s someServer, isInstance bool) string {
	if isInstance {
		return s.GetServerId()
	}
	return service[strings.LastIndexByte(service, '/')+1:] + " " + s.GetServerIp()
}

func isStopped(l *nlbv1.Listener) bool {
	return l.GetStatus() == nlbv1.ListenerStatus_LISTENER_STATUS_STOPPED || l.GetStatus() == nlbv1.ListenerStatus_LISTENER_STATUS_DELETING
}

// markOf is the default name that a load balancer is marked with, "" for none; the cloud is locked.
func (o *oracle) markOf(loadBalancer string) string {
	tags := o.w.cloud.LoadBalancers[loadBalancer].GetTags()
	if tags == nil {
		tags = o.w.cloud.NLB.LoadBalancers[loadBalancer].GetTags()
	}
	for _, t := range tags {
		if t.GetKey() == ownership.TagService {
			return t.GetValue()
		}
	}
	return ""
}

// serviceOf is the Service of a listener, by its description or the mark of the load balancer.
func (o *oracle) serviceOf(description, loadBalancer string) string {
	if owner, made := ownership.MadeFor(description); made && owner.ClusterID == clusterID {
		return owner.Namespace + "/" + owner.Service
	}
	if svc := o.born[o.markOf(loadBalancer)]; svc != nil {
		return svc.Namespace + "/" + svc.Name
	}
	return ""
}

func (o *oracle) openOfCLB(lb *slbv1.LoadBalancer, l *slbv1.Listener) (open uint32) {
	if l.GetStatus() == "stopped" {
		return open
	}
	public := lb.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET
	for _, e := range o.w.cloud.Eips {
		public = public || e.GetInstanceId() != "" && e.GetInstanceId() == lb.GetLoadBalancerId()
	}
	for i, c := range callers {
		isIPv6 := lb.GetIpVersion() == slbv1.IpVersion_IP_VERSION_IPV6
		if c.internet && !public || c.address.Is6() != isIPv6 {
			continue
		}
		if config := l.GetConfig(); !config.GetAclEnabled() || o.throughLists(config.GetAclIds(), config.GetAclType(), c.address) {
			open |= 1 << i
		}
	}
	return open
}

// throughLists reports whether access control lists let an address connect.
func (o *oracle) throughLists(ids []string, kind string, address netip.Addr) bool {
	named := slices.ContainsFunc(ids, func(id string) bool {
		return slices.ContainsFunc(o.w.cloud.AccessControlLists[strings.TrimSpace(id)].GetEntries(), func(e *slbv1.AccessControlEntry) bool {
			return contains(e.GetCidr(), address)
		})
	})
	return named == (kind != "black")
}

func contains(network string, address netip.Addr) bool {
	prefix, err := netip.ParsePrefix(network)
	return err == nil && prefix.Contains(address)
}

func (o *oracle) openOfNLB(lb *nlbv1.LoadBalancer, l *nlbv1.Listener) (open uint32) {
	if isStopped(l) {
		return open
	}
	for i, c := range callers {
		public := lb.GetAddressType() == nlbv1.AddressType_ADDRESS_TYPE_INTERNET
		if c.address.Is6() {
			public = lb.GetIpv6AddressType() == nlbv1.AddressType_ADDRESS_TYPE_INTERNET
			if lb.GetIpVersion() != nlbv1.IpVersion_IP_VERSION_DUAL_STACK {
				continue
			}
		}
		if (!c.internet || public) && o.throughGroups(lb.GetSecurityGroupIds(), c.address) {
			open |= 1 << i
		}
	}
	return open
}

// throughGroups reports whether security groups let an address connect: the rule with the lowest number counts, of equal ones that which
// drops, and who is in no rule may connect to an NLB.
func (o *oracle) throughGroups(ids []string, address netip.Addr) bool {
	var rules []*ecsv1.SecurityGroupRule
	for _, id := range ids {
		rules = append(rules, o.w.cloud.SecurityGroups[strings.TrimSpace(id)].GetRules()...)
	}
	rules = slices.DeleteFunc(rules, func(r *ecsv1.SecurityGroupRule) bool {
		return r.GetDirection() != ecsv1.Direction_DIRECTION_INGRESS || !contains(r.GetCidr(), address)
	})
	if len(rules) == 0 {
		return true
	}
	first := slices.MinFunc(rules, func(a, b *ecsv1.SecurityGroupRule) int {
		return cmp.Or(cmp.Compare(a.GetPriority(), b.GetPriority()), -cmp.Compare(a.GetPolicy(), b.GetPolicy()))
	})
	return first.GetPolicy() == ecsv1.RulePolicy_RULE_POLICY_ACCEPT
}

// notOurs says why a write is about something that isn't ours; "" if it is. The state and the cloud are locked.
func (o *oracle) notOurs(request proto.Message) string {
	cloud := o.w.cloud
	switch r := request.(type) {
	case *slbv1.UpdateLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), cloud.LoadBalancers[r.GetLoadBalancerId()], r)
	case *nlbv1.UpdateLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), cloud.NLB.LoadBalancers[r.GetLoadBalancerId()], r)
	case *slbv1.DeleteLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), cloud.LoadBalancers[r.GetLoadBalancerId()], nil)
	case *nlbv1.DeleteLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), cloud.NLB.LoadBalancers[r.GetLoadBalancerId()], nil)
	case *slbv1.CreateListenerRequest:
		return o.notOurPort(r.GetKey().GetLoadBalancerId(), r.GetKey().GetPort(), "")
	case *nlbv1.CreateListenerRequest:
		if r.GetValidateOnly() {
			return "" // Nothing is made.
		}
		return o.notOurPort(r.GetLoadBalancerId(), max(r.GetPort(), r.GetStartPort()), "")
	case *slbv1.UpdateListenerRequest:
		return o.notOurCLBListener(r.GetKey())
	case *slbv1.DeleteListenerRequest:
		return o.notOurCLBListener(r.GetKey())
	case *slbv1.StartListenerRequest:
		return o.notOurCLBListener(r.GetKey())
	case *nlbv1.UpdateListenerRequest:
		return o.notOurNLBListener(r.GetListenerId())
	case *nlbv1.DeleteListenerRequest:
		return o.notOurNLBListener(r.GetListenerId())
	case *nlbv1.StartListenerRequest:
		return o.notOurNLBListener(r.GetListenerId())
	case *slbv1.DeleteServerGroupRequest:
		if g := cloud.ServerGroups[r.GetServerGroupId()]; g != nil && !isName(g.Name) {
			return "its name is " + g.Name
		}
	case *slbv1.ApplyServerChangesRequest:
		if g := cloud.ServerGroups[r.GetServerGroupId()]; g != nil {
			return notOurServers(g.Servers, slices.Concat(r.GetRemove(), r.GetUpdate()))
		}
	case *slbv1.ApplyDefaultServerChangesRequest:
		if g := cloud.DefaultGroups[r.GetLoadBalancerId()]; g != nil {
			return notOurServers(g.Servers, withoutPorts(slices.Concat(r.GetRemove(), r.GetUpdate())))
		}
	case *nlbv1.UpdateServerGroupRequest:
		return o.notOurGroup(r.GetServerGroupId())
	case *nlbv1.DeleteServerGroupRequest:
		return o.notOurGroup(r.GetServerGroupId())
	case *nlbv1.ApplyServerChangesRequest:
		return notOurServers(cloud.NLB.ServerGroups[r.GetServerGroupId()].GetServers(), slices.Concat(r.GetRemove(), r.GetUpdate()))
	case *slbv1.UpdateAccessControlListRequest:
		return o.notOurList(cloud.AccessControlLists[r.GetAclId()])
	case *slbv1.DeleteAccessControlListRequest:
		return o.notOurList(cloud.AccessControlLists[r.GetAclId()])
	case *ecsv1.UpdateSecurityGroupRequest:
		return o.notOurList(cloud.SecurityGroups[r.GetSecurityGroupId()])
	case *ecsv1.DeleteSecurityGroupRequest:
		return o.notOurList(cloud.SecurityGroups[r.GetSecurityGroupId()])
	case *vpcv1.ReleaseEipRequest:
		if e := cloud.Eips[r.GetAllocationId()]; e != nil && !o.hasMarks(e.GetTags()) {
			return fmt.Sprintf("its tags are %v", e.GetTags())
		}
	case *slbv1.DeleteServerCertificateRequest:
		if c := cloud.ServerCertificates[r.GetServerCertificateId()]; c != nil && !slices.ContainsFunc(c.GetTags(), func(t *commonv1.Tag) bool {
			return t.GetKey() == ownership.TagCluster && t.GetValue() == clusterID
		}) {
			return fmt.Sprintf("its tags are %v", c.GetTags())
		}
	}
	return ""
}

// askedFor are the annotations by which a Service changes a load balancer of a user's that it names, by the field of the request. Tags are
// its marks, too.
func askedFor() map[string][]string {
	return map[string][]string{
		"set_tags": nil, "remove_tag_keys": nil, "load_balancer_id": nil, "request_id": nil,
		"name": {annotation.Name}, "delete_protection": {annotation.DeleteProtection}, "deletion_protection": {annotation.DeleteProtection},
		"modification_protection": {annotation.ModificationProtection}, "instance_charge_type": {annotation.InstanceChargeType},
		"spec": {annotation.InstanceSpec}, "internet_spec": {annotation.ChargeType, annotation.Bandwidth},
		"cross_zone_enabled": {annotation.CrossZone}, "security_groups": {annotation.SecurityGroupIDs},
		"bandwidth_package_id": {annotation.BandwidthPackageID}, "ipv6_address_type": {annotation.IPv6AddressType},
		"shifted_zones": {annotation.ShiftedZones},
	}
}

type tagged interface {
	proto.Message
	GetName() string
	GetTags() []*commonv1.Tag
}

// notOurBalancer says why a load balancer isn't ours; an update of a user's that a Service names may do what the Service asks for.
func (o *oracle) notOurBalancer(id string, lb tagged, update proto.Message) string {
	if !lb.ProtoReflect().IsValid() || o.hasMarks(lb.GetTags()) || o.isMarkedAgain(lb, update) {
		return ""
	}
	why := fmt.Sprintf("its tags are %v", lb.GetTags())
	if update == nil || !o.naming(id, nil) {
		return why
	}
	update.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if words, known := askedFor()[string(f.Name())]; !known || words != nil && !o.naming(id, words) {
			why += ", and nothing asks for " + string(f.Name())
		}
		return true
	})
	if !strings.Contains(why, "nothing asks for") {
		return ""
	}
	return why
}

// isMarkedAgain reports whether an update does nothing but give a load balancer the tag back that says for which Service
// it was made: its name, with the UID of a Service, and the tag of the cluster say the same.
func (o *oracle) isMarkedAgain(lb tagged, update proto.Message) bool {
	tags, isTagging := update.(interface{ GetSetTags() []*commonv1.Tag })
	if !isTagging || len(tags.GetSetTags()) != 1 || o.born[lb.GetName()] == nil {
		return false
	}
	mark := tags.GetSetTags()[0]
	only := true
	update.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		only = only && slices.Contains([]string{"set_tags", "load_balancer_id", "request_id"}, string(f.Name()))
		return true
	})
	isMark := mark.GetKey() == ownership.TagService && mark.GetValue() == lb.GetName()
	return only && isMark && o.hasMarks(append(slices.Clone(lb.GetTags()), mark))
}

// naming reports whether a Service names a load balancer, or did so, and has one of some annotations, if any are named.
func (o *oracle) naming(id string, words []string) bool {
	names := func(svc *corev1.Service) bool {
		asks := len(words) == 0 || slices.ContainsFunc(words, func(suffix string) bool { return word(svc, suffix) != "" })
		return asks && (word(svc, annotation.ID) == id || strings.Contains(svc.Annotations[annotation.Claims], id))
	}
	for _, past := range o.pasts {
		if slices.ContainsFunc(past, func(svc *corev1.Service) bool { return svc != nil && names(svc) }) {
			return true
		}
	}
	return false
}

// notOurPort says why a listener that has a description is nobody's of ours: neither that, nor the load balancer, nor a Service that
// names the load balancer and overrides the listeners there.
func (o *oracle) notOurPort(loadBalancer string, port int32, description string) string {
	if isName(description) {
		return ""
	}
	for _, past := range o.pasts {
		for _, svc := range past {
			if svc == nil {
				continue
			}
			has := slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
			own := ownership.DefaultName(string(svc.UID)) == o.markOf(loadBalancer)
			over := word(svc, annotation.ID) == loadBalancer && word(svc, annotation.ForceOverride) != ""
			if (own || over) && (has || word(svc, annotation.ListenerPortRange) != "") {
				return ""
			}
		}
	}
	return fmt.Sprintf("its description is %q, and no Service has port %d there", description, port)
}

func (o *oracle) notOurCLBListener(key *slbv1.ListenerKey) string {
	l := o.w.cloud.Listeners[gatewaytest.ListenerKey{
		LoadBalancerID: key.GetLoadBalancerId(), Port: key.GetPort(), Protocol: key.GetProtocol(),
	}]
	if l == nil {
		return ""
	}
	return o.notOurPort(key.GetLoadBalancerId(), key.GetPort(), l.GetConfig().GetDescription())
}

func (o *oracle) notOurNLBListener(id string) string {
	l := o.w.cloud.NLB.Listeners[id]
	if l == nil {
		return ""
	}
	return o.notOurPort(l.GetLoadBalancerId(), max(l.GetPort(), l.GetStartPort()), l.GetConfig().GetDescription())
}

func (o *oracle) notOurGroup(id string) string {
	g := o.w.cloud.NLB.ServerGroups[id]
	if g == nil || isName(g.GetName()) && o.hasMarks(g.GetTags()) {
		return ""
	}
	return fmt.Sprintf("its name is %s, and its tags are %v", g.GetName(), g.GetTags())
}

// notOurList judges lists of networks and security groups.
func (o *oracle) notOurList(list tagged) string {
	if !list.ProtoReflect().IsValid() || isListName(list.GetName(), list.GetTags()) && o.hasMarks(list.GetTags()) {
		return ""
	}
	return fmt.Sprintf("its name is %q, and its tags are %v", list.GetName(), list.GetTags())
}

type someServer interface {
	GetServerId() string
	GetServerIp() string
	GetPort() int32
	GetDescription() string
}

// notOurServers says which servers of a group are others' by their descriptions.
func notOurServers[S someServer](there, named []S) string {
	for _, n := range named {
		for _, s := range there {
			same := s.GetServerId() == n.GetServerId() && s.GetPort() == n.GetPort() && (n.GetServerIp() == "" || n.GetServerIp() == s.GetServerIp())
			if same && !isName(s.GetDescription()) {
				return fmt.Sprintf("server %s:%d has the description %q", s.GetServerId(), s.GetPort(), s.GetDescription())
			}
		}
	}
	return ""
}

// withoutPorts are servers of a default server group as those of others are.
func withoutPorts(list []*slbv1.DefaultServer) (servers []*slbv1.Server) {
	for _, s := range list {
		servers = append(servers, &slbv1.Server{ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Description: s.GetDescription()})
	}
	return servers
}
