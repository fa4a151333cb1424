package lb_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// look finds all listeners of both kinds; the cloud is locked.
func (o *oracle) look() map[doorKey]door {
	cloud := o.w.cloud.Cloud
	doors := make(map[doorKey]door, len(cloud.LoadBalancers)+len(cloud.NLBListeners))
	for lb, l := range clbListeners(cloud) {
		d := door{
			service:   o.serviceOf(description(l), lb.ID),
			redirects: l.Attributes["ListenerForward"] == "on",
			open:      o.openOfCLB(lb, l),
		}
		servers := lb.DefaultServers
		if id := l.Group(); id != "" {
			servers = nil
			if group := cloud.ServerGroups[id]; group != nil {
				servers = group.Servers
			}
		}
		for _, s := range servers {
			if s.Weight > 0 && l.Status != "stopped" {
				d.servers = append(d.servers, serverPlace(d.service, s.ServerID, s.ServerIP, s.Type == "ecs"))
			}
		}
		doors[doorKey{lb.ID, fmt.Sprintf("%d/%s", l.Port, l.Protocol)}] = d
	}
	for _, l := range cloud.NLBListeners {
		d := door{service: o.serviceOf(l.Description, l.NLBID), open: o.openOfNLB(cloud.NLBs[l.NLBID], l)}
		if group := cloud.NLBServerGroups[l.ServerGroupID]; group != nil && !isStopped(l) {
			for _, s := range group.Servers {
				if s.Weight > 0 && s.Status != "Removing" {
					d.servers = append(d.servers, serverPlace(d.service, s.ServerID, s.ServerIP, s.Type == "Ecs"))
				}
			}
		}
		doors[doorKey{l.NLBID, portsOf(l) + "/" + strings.ToLower(l.Protocol)}] = d
	}
	return doors
}

// serverPlace names a server as soundNow does: the instance, or the Service and the address.
func serverPlace(service, id, ip string, isInstance bool) string {
	if isInstance {
		return id
	}
	return service[strings.LastIndexByte(service, '/')+1:] + " " + ip
}

func isStopped(l *state.NLBListener) bool { return l.Status == "Stopped" || l.Status == "Deleting" }

// markOf is the default name that a load balancer is marked with, "" for none; the cloud is locked.
func (o *oracle) markOf(loadBalancer string) string {
	if lb := o.w.cloud.LoadBalancers[loadBalancer]; lb != nil {
		return tagged(lb.Tags, ownership.TagService)
	}
	if lb := o.w.cloud.NLBs[loadBalancer]; lb != nil {
		return tagged(lb.Tags, ownership.TagService)
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

func (o *oracle) openOfCLB(lb *state.LoadBalancer, l *state.Listener) (open uint32) {
	if l.Status == "stopped" {
		return open
	}
	public := lb.AddressType == "internet"
	for _, e := range o.w.cloud.Eips {
		public = public || e.InstanceID == lb.ID
	}
	for i, c := range callers {
		if c.internet && !public || c.address.Is6() != (lb.AddressIPVersion == "ipv6") {
			continue
		}
		if l.Attributes["AclStatus"] != "on" || o.throughLists(l.AclIDs, l.Attributes["AclType"], c.address) {
			open |= 1 << i
		}
	}
	return open
}

// throughLists reports whether access control lists let an address connect.
func (o *oracle) throughLists(ids []string, kind string, address netip.Addr) bool {
	named := slices.ContainsFunc(ids, func(id string) bool {
		list := o.w.cloud.Acls[strings.TrimSpace(id)]
		return list != nil && slices.ContainsFunc(list.Entries, func(e state.AclEntry) bool { return contains(e.Entry, address) })
	})
	return named == (kind != "black")
}

func contains(network string, address netip.Addr) bool {
	prefix, err := netip.ParsePrefix(network)
	return err == nil && prefix.Contains(address)
}

func (o *oracle) openOfNLB(lb *state.NLB, l *state.NLBListener) (open uint32) {
	if isStopped(l) {
		return open
	}
	for i, c := range callers {
		public := lb.AddressType == "Internet"
		if c.address.Is6() {
			public = lb.Ipv6AddressType == "Internet"
			if lb.AddressIPVersion != "DualStack" {
				continue
			}
		}
		if (!c.internet || public) && o.throughGroups(lb.SecurityGroupIDs, c.address) {
			open |= 1 << i
		}
	}
	return open
}

// throughGroups reports whether security groups let an address connect: the rule with the lowest number counts, of equal ones that which
// drops, and who is in no rule may connect to an NLB.
func (o *oracle) throughGroups(ids []string, address netip.Addr) bool {
	var rules []state.SecurityRule
	for _, id := range ids {
		if group := o.w.cloud.SecurityGroups[strings.TrimSpace(id)]; group != nil {
			rules = append(rules, group.Rules...)
		}
	}
	rules = slices.DeleteFunc(rules, func(r state.SecurityRule) bool {
		return r.Direction != "ingress" || !contains(cmp.Or(r.SourceCidr, r.Ipv6SourceCidr), address)
	})
	if len(rules) == 0 {
		return true
	}
	number := func(r state.SecurityRule) int {
		n, _ := strconv.Atoi(r.Priority) // The cloud has checked that it is one.
		return n
	}
	first := slices.MinFunc(rules, func(a, b state.SecurityRule) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), -strings.Compare(strings.ToLower(a.Policy), strings.ToLower(b.Policy)))
	})
	return strings.EqualFold(first.Policy, "accept")
}

// notOurs says why a write is about something that isn't ours; "" if it is. The state and the cloud are locked.
func (o *oracle) notOurs(request proto.Message) string {
	cloud := o.w.cloud
	switch r := request.(type) {
	case *slbv1.UpdateLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), r)
	case *nlbv1.UpdateLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), r)
	case *slbv1.DeleteLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), nil)
	case *nlbv1.DeleteLoadBalancerRequest:
		return o.notOurBalancer(r.GetLoadBalancerId(), nil)
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
			return notOurServers(placesOf(g.Servers), slices.Concat(r.GetRemove(), r.GetUpdate()))
		}
	case *slbv1.ApplyDefaultServerChangesRequest:
		if lb := cloud.LoadBalancers[r.GetLoadBalancerId()]; lb != nil {
			return notOurServers(placesOf(lb.DefaultServers), withoutPorts(slices.Concat(r.GetRemove(), r.GetUpdate())))
		}
	case *nlbv1.UpdateServerGroupRequest:
		return o.notOurGroup(r.GetServerGroupId())
	case *nlbv1.DeleteServerGroupRequest:
		return o.notOurGroup(r.GetServerGroupId())
	case *nlbv1.ApplyServerChangesRequest:
		if g := cloud.NLBServerGroups[r.GetServerGroupId()]; g != nil {
			return notOurServers(nlbPlacesOf(g.Servers), slices.Concat(r.GetRemove(), r.GetUpdate()))
		}
	case *slbv1.UpdateAccessControlListRequest:
		return o.notOurList(r.GetAclId())
	case *slbv1.DeleteAccessControlListRequest:
		return o.notOurList(r.GetAclId())
	case *ecsv1.UpdateSecurityGroupRequest:
		return o.notOurList(r.GetSecurityGroupId())
	case *ecsv1.DeleteSecurityGroupRequest:
		return o.notOurList(r.GetSecurityGroupId())
	case *vpcv1.ReleaseEipRequest:
		if e := cloud.Eips[r.GetAllocationId()]; e != nil && !o.hasMarks(e.Tags) {
			return fmt.Sprintf("its tags are %v", e.Tags)
		}
	case *slbv1.DeleteServerCertificateRequest:
		if c := cloud.Certificates[r.GetServerCertificateId()]; c != nil && !hasTag(c.Tags, ownership.TagCluster, clusterID) {
			return fmt.Sprintf("its tags are %v", c.Tags)
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

// nameAndTags are those of a load balancer, an access control list or a security group; the cloud is locked.
func (o *oracle) nameAndTags(id string) (name string, tags []state.Tag, there bool) {
	cloud := o.w.cloud
	if lb := cloud.LoadBalancers[id]; lb != nil {
		return lb.Name, lb.Tags, true
	}
	if lb := cloud.NLBs[id]; lb != nil {
		return lb.Name, lb.Tags, true
	}
	if list := cloud.Acls[id]; list != nil {
		return list.Name, list.Tags, true
	}
	if group := cloud.SecurityGroups[id]; group != nil {
		return group.Name, group.Tags, true
	}
	return "", nil, false
}

// notOurBalancer says why a load balancer isn't ours; an update of a user's that a Service names may do what the Service asks for.
func (o *oracle) notOurBalancer(id string, update proto.Message) string {
	name, tags, there := o.nameAndTags(id)
	if !there || o.hasMarks(tags) || o.isMarkedAgain(name, tags, update) {
		return ""
	}
	why := fmt.Sprintf("its tags are %v", tags)
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
func (o *oracle) isMarkedAgain(name string, tags []state.Tag, update proto.Message) bool {
	marking, isTagging := update.(interface{ GetSetTags() []*commonv1.Tag })
	if !isTagging || len(marking.GetSetTags()) != 1 || o.born[name] == nil {
		return false
	}
	mark := tag(marking.GetSetTags()[0].GetKey(), marking.GetSetTags()[0].GetValue())
	only := true
	update.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		only = only && slices.Contains([]string{"set_tags", "load_balancer_id", "request_id"}, string(f.Name()))
		return true
	})
	return only && mark == tag(ownership.TagService, name) && o.hasMarks(append(slices.Clone(tags), mark))
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
	protocol := strings.ToLower(strings.TrimPrefix(key.GetProtocol().String(), "PROTOCOL_"))
	l := listenerAt(o.w.cloud.Cloud, key.GetLoadBalancerId(), int(key.GetPort()), protocol)
	if l == nil {
		return ""
	}
	return o.notOurPort(key.GetLoadBalancerId(), key.GetPort(), description(l))
}

func (o *oracle) notOurNLBListener(id string) string {
	l := o.w.cloud.NLBListeners[id]
	if l == nil {
		return ""
	}
	return o.notOurPort(l.NLBID, int32(firstPort(l)), l.Description)
}

func (o *oracle) notOurGroup(id string) string {
	g := o.w.cloud.NLBServerGroups[id]
	if g == nil || isName(g.Name) && o.hasMarks(g.Tags) {
		return ""
	}
	return fmt.Sprintf("its name is %s, and its tags are %v", g.Name, g.Tags)
}

// notOurList judges lists of networks and security groups.
func (o *oracle) notOurList(id string) string {
	name, tags, there := o.nameAndTags(id)
	if !there || isListName(name, tags) && o.hasMarks(tags) {
		return ""
	}
	return fmt.Sprintf("its name is %q, and its tags are %v", name, tags)
}

// place is a server of a group, and whose it is.
type place struct {
	id, ip       string
	port, weight int
	description  string
	instance     bool
}

func placesOf(servers []*state.Server) (places []place) {
	for _, s := range servers {
		places = append(places, place{s.ServerID, s.ServerIP, s.Port, s.Weight, s.Description, strings.EqualFold(s.Type, "ecs")})
	}
	return places
}

func nlbPlacesOf(servers []*state.NLBServer) (places []place) {
	for _, s := range servers {
		places = append(places, place{s.ServerID, s.ServerIP, s.Port, s.Weight, s.Description, strings.EqualFold(s.Type, "ecs")})
	}
	return places
}

type someServer interface {
	GetServerId() string
	GetServerIp() string
	GetPort() int32
}

// notOurServers says which servers of a group are others' by their descriptions.
func notOurServers[S someServer](there []place, named []S) string {
	for _, n := range named {
		for _, s := range there {
			same := s.id == n.GetServerId() && s.port == int(n.GetPort()) && (n.GetServerIp() == "" || n.GetServerIp() == s.ip)
			if same && !isName(s.description) {
				return fmt.Sprintf("server %s:%d has the description %q", s.id, s.port, s.description)
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
