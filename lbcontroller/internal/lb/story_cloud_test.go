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

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// cloudText describes the load balancers, with what is on each.
func (s *story) cloudText() (lines []string) {
	s.cloud.Lock()
	defer s.cloud.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.cloud.LoadBalancers)) {
		lines = append(lines, requestText(s.cloud.LoadBalancers[id]))
		var parts []string
		for key, l := range s.cloud.Listeners {
			if key.LoadBalancerID == id {
				_, text, _ := strings.Cut(requestText(l), ":")
				parts = append(parts, fmt.Sprintf("%05d%s", key.Port, text))
			}
		}
		slices.Sort(parts)
		for _, part := range parts {
			lines = append(lines, "  "+part[5:])
		}
		for _, key := range slices.Sorted(maps.Keys(s.cloud.ServerGroups)) {
			if g := s.cloud.ServerGroups[key]; g.LoadBalancerID == id {
				lines = append(lines, fmt.Sprintf("  %s %s: %s", key, g.Name, serversText(g.Servers)))
			}
		}
		if g := s.cloud.DefaultGroups[id]; g != nil && len(g.Servers) > 0 {
			lines = append(lines, "  default server group: "+serversText(g.Servers))
		}
		for _, key := range slices.Sorted(maps.Keys(s.cloud.DomainExtensions)) {
			if e := s.cloud.DomainExtensions[key]; e.Listener.LoadBalancerID == id {
				lines = append(lines, fmt.Sprintf("  %d: certificate %s for %s", e.Listener.Port,
					e.Extension.GetServerCertificateId(), e.Extension.GetDomain()))
			}
		}
	}
	lines = append(lines, s.nlbText()...)
	for _, id := range slices.Sorted(maps.Keys(s.cloud.AccessControlLists)) {
		lines = append(lines, requestText(s.cloud.AccessControlLists[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(s.cloud.SecurityGroups)) {
		lines = append(lines, requestText(s.cloud.SecurityGroups[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(s.cloud.Eips)) {
		lines = append(lines, requestText(s.cloud.Eips[id]))
	}
	if len(lines) == 0 {
		return []string{"the cloud has no load balancer"}
	}
	return lines
}

// nlbText describes the NLBs, with the listeners of each, and then the server groups, which stand by themselves; the cloud is locked.
func (s *story) nlbText() (lines []string) {
	n := s.cloud.NLB
	for _, id := range slices.Sorted(maps.Keys(n.LoadBalancers)) {
		balancer := plainly(n.LoadBalancers[id])
		balancer.VpcId, balancer.ResourceGroupId = "", ""
		if balancer.GetBusinessStatus() == nlbv1.BusinessStatus_BUSINESS_STATUS_NORMAL {
			balancer.BusinessStatus = 0
		}
		for _, zone := range balancer.GetZoneMappings() {
			zone.NetworkInterfaceId, zone.PrivateIpv4Address = "", ""
		}
		lines = append(lines, requestText(balancer))
		listeners := slices.Collect(maps.Values(n.Listeners))
		listeners = slices.DeleteFunc(listeners, func(l *nlbv1.Listener) bool { return l.GetLoadBalancerId() != id })
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
			if more := n.AdditionalCertificates[l.GetListenerId()]; len(more) > 0 {
				text += fmt.Sprintf(" additionalCertificates=%v", more)
			}
			lines = append(lines, text)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.ServerGroups)) {
		shown := plainly(n.ServerGroups[id])
		shown.ServerGroupId, shown.Name, shown.VpcId, shown.ResourceGroupId, shown.Servers = "", "", "", "", nil
		if proto.Equal(shown.GetHealthCheck(), checkByDefault) {
			shown.HealthCheck = nil
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", id, n.ServerGroups[id].GetName(), messageText(shown.ProtoReflect()),
			serversText(n.ServerGroups[id].GetServers())))
	}
	return lines
}

// checkByDefault is the health check of a server group of which nobody has asked for another.
var checkByDefault = &nlbv1.HealthCheck{
	Enabled: new(true), Type: nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP.Enum(), HealthyThreshold: new(int32(2)),
	UnhealthyThreshold: new(int32(2)), ConnectTimeout: new(int32(5)), Interval: new(int32(5)),
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

func serversText[S proto.Message](servers []S) string {
	var texts []string
	for _, s := range servers {
		texts = append(texts, messageText(s.ProtoReflect()))
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
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
func (s *story) loadBalancerOf(request proto.Message) string {
	s.cloud.Lock()
	defer s.cloud.Unlock()
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
		for _, l := range s.cloud.NLB.Listeners {
			if l.GetConfig().GetServerGroupId() == r.GetServerGroupId() {
				return l.GetLoadBalancerId()
			}
		}
	}
	if r, ok := request.(*nlbv1.ListServerGroupsRequest); ok && len(r.GetTags()) > 0 {
		for id, lb := range s.cloud.NLB.LoadBalancers {
			for _, t := range lb.GetTags() {
				if t.GetKey() == r.GetTags()[0].GetKey() && t.GetValue() == r.GetTags()[0].GetValue() {
					return id
				}
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
		"network_type", "creation_time", "listeners", "server_groups", "key_pair", "certificate_pem", "private_key_pem"}, name)
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
