package lb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// inConsole does what a user or another tool does in the cloud.
func (s *story) inConsole(id, text string) {
	s.t.Helper()
	if id == "delete" {
		s.deleteThing(text)
		return
	}
	var values any
	s.unmarshal(text, &values)
	s.console(id, values)
}

// console changes a thing of the cloud, or makes it. What it is shows in its id.
func (s *story) console(id string, value any) {
	s.t.Helper()
	values, ok := value.(map[string]any)
	if !ok {
		s.t.Fatalf("%s needs fields in braces, not %v", id, value)
	}
	s.cloud.Lock()
	defer s.cloud.Unlock()
	instance, port, isListener := strings.Cut(id, ":")
	kind, _, _ := strings.Cut(id, "-")
	switch {
	case isListener:
		key := s.listenerKey(instance, port)
		change(s, s.cloud.Listeners, key, values, func() *slbv1.Listener {
			return &slbv1.Listener{
				Key: &slbv1.ListenerKey{LoadBalancerId: instance, Port: key.Port, Protocol: key.Protocol}, Status: "running",
				Config: &slbv1.ListenerConfig{Description: new("by hand"), Scheduler: new("wrr")},
			}
		})
	case kind == "lb":
		change(s, s.cloud.LoadBalancers, id, values, func() *slbv1.LoadBalancer {
			return &slbv1.LoadBalancer{LoadBalancerId: id, Name: "by hand", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Status: "active"}
		})
	case kind == "rsp":
		s.changeGroup(s.cloud.ServerGroups, id, values)
	case kind == "default": // The default server group of a load balancer.
		s.changeGroup(s.cloud.DefaultGroups, strings.TrimPrefix(id, "default-"), values)
	case kind == "i":
		change(s, s.cloud.Instances, id, values, func() *ecsv1.Instance {
			return &ecsv1.Instance{InstanceId: id, VpcId: "vpc-test", Status: "Running"}
		})
	case kind == "eni":
		change(s, s.cloud.NetworkInterfaces, id, values, func() *ecsv1.NetworkInterface {
			return &ecsv1.NetworkInterface{NetworkInterfaceId: id, VpcId: "vpc-test", Status: "InUse"}
		})
	case kind == "eip":
		change(s, s.cloud.Eips, id, values, func() *vpcv1.Eip { return &vpcv1.Eip{AllocationId: id, InstanceType: "SlbInstance"} })
	case kind == "vsw":
		change(s, s.cloud.VSwitches, id, values, func() *vpcv1.VSwitch { return &vpcv1.VSwitch{VswitchId: id, VpcId: "vpc-test"} })
	case kind == "acl":
		change(s, s.cloud.AccessControlLists, id, values, func() *slbv1.AccessControlList { return &slbv1.AccessControlList{AclId: id} })
	case kind == "cert":
		change(s, s.cloud.ServerCertificates, id, values, func() *slbv1.ServerCertificate {
			return &slbv1.ServerCertificate{ServerCertificateId: id}
		})
	case id == "quota":
		s.cloud.ServersPerGroup = int(values["serversPerGroup"].(float64)) //nolint:forcetypeassert // The test fails.
	default:
		s.t.Fatalf("what is %q?", id)
	}
}

func (s *story) listenerKey(instance, port string) gatewaytest.ListenerKey {
	s.t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	return gatewaytest.ListenerKey{
		LoadBalancerID: instance, Port: int32(s.number(number)),
		Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(protocol)]),
	}
}

// change sets fields of a message, which is made if it isn't there.
func change[K comparable, M proto.Message](s *story, all map[K]M, key K, values map[string]any, create func() M) {
	s.t.Helper()
	if _, there := all[key]; !there {
		all[key] = create()
	}
	s.fill(all[key].ProtoReflect(), values)
}

func (s *story) fill(m protoreflect.Message, values map[string]any) {
	s.t.Helper()
	for name, value := range values {
		field := m.Descriptor().Fields().ByJSONName(name)
		if field == nil {
			s.t.Fatalf("%s has no %q", m.Descriptor().Name(), name)
		}
		fields, isMap := value.(map[string]any)
		text, isText := value.(string)
		switch {
		case isMap && field.IsList(): // Tags: null takes one away.
			for _, key := range slices.Sorted(maps.Keys(fields)) {
				list := m.Mutable(field).List()
				kept := slices.DeleteFunc(tagsOf(list), func(t *commonv1.Tag) bool { return t.GetKey() == key })
				if fields[key] != nil {
					kept = append(kept, tag(key, fmt.Sprint(fields[key])))
				}
				list.Truncate(0)
				for _, t := range kept {
					list.Append(protoreflect.ValueOfMessage(t.ProtoReflect()))
				}
			}
		case isMap:
			s.fill(m.Mutable(field).Message(), fields)
		case isText && field.Kind() == protoreflect.EnumKind:
			for i := range field.Enum().Values().Len() {
				if v := field.Enum().Values().Get(i); strings.HasSuffix(string(v.Name()), "_"+text) {
					m.Set(field, protoreflect.ValueOfEnum(v.Number()))
				}
			}
		default:
			data, err := json.Marshal(map[string]any{name: value})
			s.must(err)
			fresh := m.New()
			s.must(protojson.Unmarshal(data, fresh.Interface()))
			if m.Clear(field); fresh.Has(field) {
				m.Set(field, fresh.Get(field))
			}
		}
	}
}

func tagsOf(list protoreflect.List) (tags []*commonv1.Tag) {
	for i := range list.Len() {
		if t, ok := list.Get(i).Message().Interface().(*commonv1.Tag); ok {
			tags = append(tags, t)
		}
	}
	return tags
}

// changeGroup changes a vServer group. Its servers are written ID:PORT=WEIGHT, with /ADDRESS behind the id of an interface.
func (s *story) changeGroup(all map[string]*gatewaytest.ServerGroup, id string, values map[string]any) {
	s.t.Helper()
	group, there := all[id]
	if !there {
		group = &gatewaytest.ServerGroup{ID: id}
		all[id] = group
	}
	for name, value := range values {
		switch list, isList := value.([]any); {
		case name == "loadBalancerId":
			group.LoadBalancerID = fmt.Sprint(value)
		case name == "name":
			group.Name = fmt.Sprint(value)
		case name == "servers" && isList:
			had := group.Servers
			group.Servers = nil
			for _, text := range list {
				server := s.server(fmt.Sprint(text))
				for _, old := range had { // Another weight leaves it whose it is.
					if old.GetServerId() == server.GetServerId() && old.GetPort() == server.GetPort() {
						server.Description = old.GetDescription()
					}
				}
				group.Servers = append(group.Servers, server)
			}
		default:
			s.t.Fatalf("a server group has no %q", name)
		}
	}
	for _, server := range group.Servers {
		if !there && strings.HasPrefix(group.Name, "k8s/") { // A controller has made it, with its servers.
			server.Description = group.Name
		}
	}
}

func (s *story) server(text string) *slbv1.Server {
	s.t.Helper()
	colon := strings.LastIndexByte(text, ':')
	place := text[:colon]
	port, weight, _ := strings.Cut(text[colon+1:], "=")
	id, address, isENI := strings.Cut(place, "/")
	server := &slbv1.Server{
		Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: id, ServerIp: address, Port: int32(s.number(port)),
		Weight: new(int32(s.number(weight))), Description: "by hand",
	}
	if isENI {
		server.Type = slbv1.ServerType_SERVER_TYPE_ENI
	}
	return server
}

func (s *story) deleteThing(id string) {
	s.t.Helper()
	s.cloud.Lock()
	defer s.cloud.Unlock()
	if instance, port, ok := strings.Cut(id, ":"); ok {
		delete(s.cloud.Listeners, s.listenerKey(instance, port))
	}
	delete(s.cloud.LoadBalancers, id)
	maps.DeleteFunc(s.cloud.Listeners, func(k gatewaytest.ListenerKey, _ *slbv1.Listener) bool { return k.LoadBalancerID == id })
	maps.DeleteFunc(s.cloud.ServerGroups, func(key string, g *gatewaytest.ServerGroup) bool { return key == id || g.LoadBalancerID == id })
	delete(s.cloud.Instances, id)
	maps.DeleteFunc(s.cloud.NetworkInterfaces, func(key string, eni *ecsv1.NetworkInterface) bool {
		return key == id ||
			eni.GetInstanceId() == id
	})
	delete(s.cloud.Eips, id)
	delete(s.cloud.ServerCertificates, id)
	maps.DeleteFunc(s.cloud.DomainExtensions, func(_ string, e *gatewaytest.DomainExtension) bool { return e.Extension.GetDomain() == id })
}

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
	for _, l := range s.cloud.AccessControlLists {
		lines = append(lines, requestText(l))
	}
	for _, g := range s.cloud.SecurityGroups {
		lines = append(lines, requestText(g))
	}
	for _, id := range slices.Sorted(maps.Keys(s.cloud.Eips)) {
		lines = append(lines, requestText(s.cloud.Eips[id]))
	}
	if len(lines) == 0 {
		return []string{"the cloud has no load balancer"}
	}
	return lines
}

func serversText(servers []*slbv1.Server) string {
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
	return loadBalancerOf(request)
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
		"network_type", "listeners", "server_groups", "key_pair"}, name)
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
