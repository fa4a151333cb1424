package lb_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// cloudText describes the load balancers, with what is on each, as the gateway shows them.
func (s *story) cloudText() (lines []string) {
	c := s.cloud.Console
	ids, shown := map[string][]string{}, sights{}
	s.cloud.Look(func(cloud *state.Cloud) {
		ids["lb"] = slices.Sorted(maps.Keys(cloud.LoadBalancers))
		ids["nlb"] = slices.Sorted(maps.Keys(cloud.NLBs))
		ids["sgp"] = slices.Sorted(maps.Keys(cloud.NLBServerGroups))
		ids["acl"] = slices.Sorted(maps.Keys(cloud.Acls))
		ids["sg"] = slices.Sorted(maps.Keys(cloud.SecurityGroups))
		ids["eip"] = slices.Sorted(maps.Keys(cloud.Eips))
		shown = sightsOf(cloud)
	})
	for _, id := range ids["lb"] {
		get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_FULL}
		lines = append(lines, shown.clb(read(s.world, c.LoadBalancers.GetLoadBalancer, get).GetLoadBalancer())...)
	}
	for _, id := range ids["nlb"] {
		lb := read(s.world, c.NetworkLoadBalancers.GetLoadBalancer, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id}).GetLoadBalancer()
		list := &nlbv1.ListListenersRequest{LoadBalancerIds: []string{id}}
		lines = append(lines, shown.nlb(lb, read(s.world, c.NetworkListeners.ListListeners, list).GetListeners())...)
	}
	for _, id := range ids["sgp"] {
		get := &nlbv1.GetServerGroupRequest{ServerGroupId: id}
		lines = append(lines, shown.nlbGroup(read(s.world, c.NetworkServerGroups.GetServerGroup, get).GetServerGroup()))
	}
	for _, id := range ids["acl"] {
		get := &slbv1.GetAccessControlListRequest{AclId: id}
		lines = append(lines, requestText(read(s.world, c.AccessControlLists.GetAccessControlList, get).GetAccessControlList()))
	}
	for _, id := range ids["sg"] {
		get := &ecsv1.GetSecurityGroupRequest{SecurityGroupId: id}
		lines = append(lines, requestText(read(s.world, c.SecurityGroups.GetSecurityGroup, get).GetSecurityGroup()))
	}
	if len(ids["eip"]) > 0 {
		for _, eip := range read(s.world, c.Eips.ListEips, &vpcv1.ListEipsRequest{AllocationIds: ids["eip"]}).GetEips() {
			lines = append(lines, requestText(eip))
		}
	}
	if len(lines) == 0 {
		return []string{"the cloud has no load balancer"}
	}
	return lines
}

// sights are what load balancers have beside what they say of themselves.
type sights struct {
	servers    map[string]string   // of groups
	byDefault  map[string]string   // of the default groups of CLBs
	domains    map[string][]string // further certificates of CLBs
	additional map[string][]string // of listeners of NLBs
}

func sightsOf(c *state.Cloud) sights {
	all := sights{map[string]string{}, map[string]string{}, map[string][]string{}, map[string][]string{}}
	for id, g := range c.ServerGroups {
		all.servers[id] = placesText(placesOf(g.Servers))
	}
	for id, g := range c.NLBServerGroups {
		all.servers[id] = placesText(nlbPlacesOf(g.Servers))
	}
	for lb, l := range clbListeners(c) {
		for _, d := range l.Domains {
			all.domains[lb.ID] = append(all.domains[lb.ID], fmt.Sprintf("  %d: certificate %s for %s", l.Port, d.CertificateID, d.Domain))
		}
	}
	for id, lb := range c.LoadBalancers {
		all.byDefault[id] = placesText(placesOf(lb.DefaultServers))
	}
	for id, l := range c.NLBListeners {
		for _, a := range l.Additional {
			all.additional[id] = append(all.additional[id], a.ID)
		}
	}
	return all
}

// placesText describes the servers of a group.
func placesText(places []place) string {
	var texts []string
	for _, p := range places {
		text := p.id
		if p.ip != "" && !p.instance && !strings.HasSuffix(p.id, p.ip) {
			text += "/" + p.ip
		}
		if p.port != 0 {
			text += fmt.Sprint(":", p.port)
		}
		if text += fmt.Sprint("=", p.weight); p.description == "by hand" {
			text += " by hand"
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// clb describes a CLB with its listeners and server groups.
func (s sights) clb(lb *slbv1.LoadBalancer) []string {
	shown := plainly(lb)
	shown.PrimaryZoneId, shown.StandbyZoneId, shown.VpcId, shown.ResourceGroupId = "", "", "", ""
	withoutDefaults(shown.ProtoReflect())
	lines := []string{requestText(shown)}
	slices.SortFunc(lb.GetListeners(), func(a, b *slbv1.Listener) int {
		return cmp.Or(cmp.Compare(a.GetKey().GetPort(), b.GetKey().GetPort()), cmp.Compare(a.GetKey().GetProtocol(), b.GetKey().GetProtocol()))
	})
	for _, l := range lb.GetListeners() {
		shown := plainly(l)
		withoutDefaults(shown.ProtoReflect())
		_, text, _ := strings.Cut(requestText(shown), ":")
		lines = append(lines, "  "+text)
	}
	slices.SortFunc(lb.GetServerGroups(), func(a, b *slbv1.ServerGroup) int {
		return strings.Compare(a.GetServerGroupId(), b.GetServerGroupId())
	})
	for _, g := range lb.GetServerGroups() {
		lines = append(lines, fmt.Sprintf("  %s %s: %s", g.GetServerGroupId(), g.GetName(), s.servers[g.GetServerGroupId()]))
	}
	if servers := s.byDefault[lb.GetLoadBalancerId()]; servers != "" {
		lines = append(lines, "  default server group: "+servers)
	}
	return append(lines, s.domains[lb.GetLoadBalancerId()]...)
}

// nlb describes an NLB with its listeners.
func (s sights) nlb(lb *nlbv1.LoadBalancer, listeners []*nlbv1.Listener) []string {
	lb = plainly(lb)
	lb.VpcId, lb.ResourceGroupId = "", ""
	withoutDefaults(lb.ProtoReflect())
	if lb.GetBusinessStatus() == nlbv1.BusinessStatus_BUSINESS_STATUS_NORMAL {
		lb.BusinessStatus = 0
	}
	for _, zone := range lb.GetZoneMappings() {
		zone.NetworkInterfaceId, zone.PrivateIpv4Address = "", ""
	}
	lines := []string{requestText(lb)}
	slices.SortFunc(listeners, func(a, b *nlbv1.Listener) int {
		return cmp.Or(cmp.Compare(a.GetPort()+a.GetStartPort(), b.GetPort()+b.GetStartPort()), cmp.Compare(a.GetProtocol(), b.GetProtocol()))
	})
	for _, l := range listeners {
		port := fmt.Sprint(l.GetPort())
		if l.GetPort() == 0 {
			port = fmt.Sprintf("%d-%d", l.GetStartPort(), l.GetEndPort())
		}
		protocol := strings.ToLower(strings.TrimPrefix(l.GetProtocol().String(), "LISTENER_PROTOCOL_"))
		shown := plainly(l)
		shown.ListenerId, shown.LoadBalancerId, shown.Protocol, shown.Port, shown.StartPort, shown.EndPort = "", "", 0, 0, 0, 0
		text := fmt.Sprintf("  %s/%s %s %s", port, protocol, l.GetListenerId(), messageText(shown.ProtoReflect()))
		if more := s.additional[l.GetListenerId()]; len(more) > 0 {
			text += fmt.Sprintf(" additionalCertificates=%v", more)
		}
		lines = append(lines, text)
	}
	return lines
}

// nlbGroup describes a server group of NLBs.
func (s sights) nlbGroup(g *nlbv1.ServerGroup) string {
	shown := plainly(g)
	shown.ServerGroupId, shown.Name, shown.VpcId, shown.ResourceGroupId, shown.Servers = "", "", "", "", nil
	shown.ServerCount, shown.ServersLoaded, shown.LoadBalancerIds = 0, false, nil
	withoutDefaults(shown.ProtoReflect())
	if proto.Equal(shown.GetHealthCheck(), checkByDefault) {
		shown.HealthCheck = nil
	}
	return fmt.Sprintf("%s %s %s: %s", g.GetServerGroupId(), g.GetName(), messageText(shown.ProtoReflect()), s.servers[g.GetServerGroupId()])
}

// checkByDefault is the health check of a server group of which nobody has asked for another.
var checkByDefault = &nlbv1.HealthCheck{
	Enabled: new(true), Type: nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP.Enum(), HealthyThreshold: new(int32(2)),
	UnhealthyThreshold: new(int32(2)), ConnectTimeout: new(int32(5)), Interval: new(int32(5)),
}

// byDefaultText are the values of fields that stand for what nobody has asked for; they aren't shown.
var byDefaultText = strings.Fields(`
	spec=slb.lcu.elastic internetChargeType=pay_by_traffic bandwidthMbps=5120 status=active crossZoneEnabled=true
	establishedTimeout=900 persistenceTimeout=0 connectPort=-520 interval=2 healthyThreshold=3 unhealthyThreshold=3 timeout=5
	idleTimeout=15 requestTimeout=60 gzip=true xForwardedFor=true http2=true tlsCipherPolicy=tls_cipher_policy_1_0
	httpCode=http_2xx type=tcp healthCheck={enabled=true} ipVersionAffinity=non_affinity`)

// withoutDefaults leaves out what nobody has asked for.
func withoutDefaults(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.MessageKind && !f.IsList() {
			withoutDefaults(v.Message())
		}
		if slices.Contains(byDefaultText, f.JSONName()+"="+valueText(f, v)) {
			m.Clear(f)
		}
		return true
	})
}

// plainly is a message without the fields that say nothing: those of NLBs say most of what they are not.
func plainly[M proto.Message](m M) M {
	m = proto.CloneOf(m)
	var clean func(m protoreflect.Message)
	clean = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			isMessage := f.Kind() == protoreflect.MessageKind && !f.IsList()
			if isMessage {
				clean(v.Message())
			}
			if isMessage && !hasFields(v.Message()) || !isMessage && !f.IsList() && v.Equal(f.Default()) {
				m.Clear(f)
			}
			return true
		})
	}
	clean(m.ProtoReflect())
	return m
}

func hasFields(m protoreflect.Message) (has bool) {
	m.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool { has = true; return false })
	return has
}

// requestText describes a message in one line: the id of a load balancer or the key of a listener, then the fields.
func requestText(m proto.Message) string {
	text := messageText(m.ProtoReflect())
	if id := loadBalancerOf(m); id != "" && !strings.HasPrefix(text, id) {
		return strings.TrimSpace(id + " " + text)
	}
	return text
}

// loadBalancerOf is the load balancer that a request is about, found by its server group if it doesn't say; "" for none.
func (s *story) loadBalancerOf(request proto.Message) (id string) {
	s.cloud.Look(func(*state.Cloud) { id = s.balancerOf(request) })
	return id
}

// balancerOf is loadBalancerOf; the cloud is locked.
func (s *story) balancerOf(request proto.Message) string {
	if r, ok := request.(*slbv1.GetServerGroupRequest); ok && s.cloud.ServerGroups[r.GetServerGroupId()] != nil {
		return s.cloud.ServerGroups[r.GetServerGroupId()].LoadBalancerID
	}
	if id := loadBalancerOf(request); id != "" {
		return id
	}
	return s.networkBalancerOf(request)
}

// networkBalancerOf finds the NLB that a request is about by what it names: a list with one, the group of a listener, or the tag of a
// Service; the cloud is locked.
func (s *story) networkBalancerOf(request proto.Message) string {
	if r, ok := request.(interface{ GetLoadBalancerIds() []string }); ok && len(r.GetLoadBalancerIds()) == 1 {
		return r.GetLoadBalancerIds()[0]
	}
	if r, ok := request.(interface{ GetServerGroupId() string }); ok {
		for _, l := range s.cloud.NLBListeners {
			if l.ServerGroupID == r.GetServerGroupId() {
				return l.NLBID
			}
		}
	}
	if r, ok := request.(*nlbv1.ListServerGroupsRequest); ok && len(r.GetTags()) > 0 {
		for id, lb := range s.cloud.NLBs {
			if hasTag(lb.Tags, r.GetTags()[0].GetKey(), r.GetTags()[0].GetValue()) {
				return id
			}
		}
	}
	return ""
}

// loadBalancerOf is the load balancer that a message is about, "" for none.
func loadBalancerOf(message proto.Message) string {
	m := message.ProtoReflect()
	if field := m.Descriptor().Fields().ByName("key"); field != nil && field.Kind() == protoreflect.MessageKind {
		m = m.Get(field).Message()
	}
	if field := m.Descriptor().Fields().ByName("load_balancer_id"); field != nil {
		return m.Get(field).String()
	}
	return ""
}

// untold are fields without meaning for people.
func untold(name protoreflect.Name) bool {
	return slices.Contains([]protoreflect.Name{"request_id", "max_age", "load_balancer_id", "server_group_name_prefixes",
		"network_type", "creation_time", "listeners", "server_groups", "key_pair", "certificate_pem", "private_key_pem",
		"rule_id", "rules_loaded", "nic_type"}, name)
}

func messageText(m protoreflect.Message) string {
	field := func(name protoreflect.Name) protoreflect.FieldDescriptor { return m.Descriptor().Fields().ByName(name) }
	get := func(name protoreflect.Name) string {
		if f := field(name); f != nil {
			return valueText(f, m.Get(f))
		}
		return ""
	}
	switch message := m.Interface().(type) {
	case *commonv1.Tag:
		return message.GetKey() + "=" + message.GetValue()
	case *durationpb.Duration:
		return message.AsDuration().String()
	}
	switch {
	case field("server_id") != nil && field("weight") != nil:
		text := get("server_id")
		if ip := get("server_ip"); ip != "" && !strings.HasSuffix(text, ip) {
			text += "/" + ip
		}
		if port := get("port"); port != "" && port != "0" {
			text += ":" + port
		}
		if text += "=" + get("weight"); get("description") == "by hand" {
			text += " by hand"
		}
		return text
	case m.Descriptor().Name() == "ListenerKey":
		return fmt.Sprintf("%s:%s/%s", get("load_balancer_id"), get("port"), get("protocol"))
	}
	var fields []string
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch value := valueText(f, m.Get(f)); {
		case !m.Has(f) || untold(f.Name()):
		case f.Name() == "key":
			fields = append(fields, value)
		default:
			fields = append(fields, f.JSONName()+"="+value)
		}
	}
	return strings.Join(fields, " ")
}

func valueText(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch {
	case f.IsList():
		var items []string
		for i := range v.List().Len() {
			items = append(items, singleText(f, v.List().Get(i)))
		}
		return "[" + strings.Join(items, " ") + "]"
	case f.IsMap():
		return fmt.Sprint(v.Map().Len())
	}
	return singleText(f, v)
}

func singleText(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		name := string(f.Enum().Values().ByNumber(v.Enum()).Name())
		prefix := strings.TrimSuffix(string(f.Enum().Values().ByNumber(0).Name()), "UNSPECIFIED")
		return strings.ToLower(strings.TrimPrefix(name, prefix))
	case protoreflect.MessageKind:
		if text := messageText(v.Message()); f.IsList() || f.Name() == "key" ||
			v.Message().Descriptor().FullName() == "google.protobuf.Duration" {
			return text
		}
		return "{" + messageText(v.Message()) + "}"
	default:
		if text := v.String(); strings.Contains(text, " ") {
			return fmt.Sprintf("%q", text)
		}
		return v.String()
	}
}
