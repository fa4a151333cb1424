package lb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// inConsole does what a user or another tool does in the cloud. What changes nothing is a mistake of the story.
func (s *story) inConsole(id, text string) {
	s.t.Helper()
	if id == "delete" {
		s.cloud.Lock()
		defer s.cloud.Unlock()
		if s.dropDomain(text) {
			return
		}
		all, key := s.thingsOf(text)
		if !all.has(key) {
			s.t.Fatalf("the cloud has no %q to delete", text)
		}
		all.drop(s, key)
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
	if id == "quota" {
		s.cloud.ServersPerGroup = int(values["serversPerGroup"].(float64)) //nolint:forcetypeassert // The test fails.
		s.cloud.NLB.ServersPerGroup = s.cloud.ServersPerGroup
		return
	}
	all, key := s.thingsOf(id)
	before, there := all.text(key), all.has(key)
	if all.change(s, key, values); there && all.text(key) == before {
		s.t.Fatalf("%s is so already: %s", id, before)
	}
}

// dropDomain deletes the further certificates for a domain, and reports whether there were any.
func (s *story) dropDomain(domain string) bool {
	had := len(s.cloud.DomainExtensions)
	maps.DeleteFunc(s.cloud.DomainExtensions, func(_ string, e *gatewaytest.DomainExtension) bool {
		return e.Extension.GetDomain() == domain
	})
	return len(s.cloud.DomainExtensions) < had
}

// things are those of one kind in the cloud.
type things interface {
	has(key string) bool
	// text describes one.
	text(key string) string
	// change sets fields of one, which is made if it isn't there.
	change(s *story, key string, values map[string]any)
	// drop deletes one, with what can't be without it.
	drop(s *story, key string)
}

// thingsOf finds the kind of things that an id is of, and the key of the one; the cloud is locked.
func (s *story) thingsOf(id string) (things, string) {
	s.t.Helper()
	instance, port, isListener := strings.Cut(id, ":")
	kind, rest, _ := strings.Cut(id, "-")
	switch {
	case isListener && strings.HasPrefix(instance, "nlb-"):
		return s.nlbListener(instance, port)
	case isListener:
		return clbListener{s.listenerKey(instance, port), s.cloud.Listeners}, ""
	case kind == "lsn":
		return s.nlbListenerByID(id)
	case kind == "rsp":
		return clbGroups{s.cloud.ServerGroups}, id
	case strings.Trim(kind, "0123456789") == "": // The identifier of a certificate that NLBs name.
		return messages[*casv1.Certificate]{s.cloud.UserCertificates, func() *casv1.Certificate {
			return &casv1.Certificate{CertificateId: kind, Identifier: id}
		}}, kind
	case kind == "default": // The default server group of a load balancer.
		return clbGroups{s.cloud.DefaultGroups}, rest
	}
	if all := s.messages(kind, id); all != nil {
		return all, id
	}
	s.t.Fatalf("what is %q?", id)
	return nil, ""
}

// messages are the things of a kind that are messages by their id; nil if there is no such kind.
func (s *story) messages(kind, id string) things {
	switch kind {
	case "lb":
		return messages[*slbv1.LoadBalancer]{s.cloud.LoadBalancers, func() *slbv1.LoadBalancer {
			return &slbv1.LoadBalancer{LoadBalancerId: id, Name: "by hand", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Status: "active"}
		}}
	case "nlb":
		return messages[*nlbv1.LoadBalancer]{s.cloud.NLB.LoadBalancers, func() *nlbv1.LoadBalancer {
			return &nlbv1.LoadBalancer{LoadBalancerId: id, Name: "by-hand", VpcId: "vpc-test",
				AddressType: nlbv1.AddressType_ADDRESS_TYPE_INTERNET, Status: nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_ACTIVE}
		}}
	case "sgp":
		return messages[*nlbv1.ServerGroup]{s.cloud.NLB.ServerGroups, func() *nlbv1.ServerGroup {
			return &nlbv1.ServerGroup{ServerGroupId: id, Name: "by-hand", VpcId: "vpc-test"}
		}}
	case "sg":
		return messages[*ecsv1.SecurityGroup]{s.cloud.SecurityGroups, func() *ecsv1.SecurityGroup {
			return &ecsv1.SecurityGroup{SecurityGroupId: id, Name: "by-hand", VpcId: "vpc-test"}
		}}
	case "i":
		return messages[*ecsv1.Instance]{s.cloud.Instances, func() *ecsv1.Instance {
			return &ecsv1.Instance{InstanceId: id, VpcId: "vpc-test", Status: "Running"}
		}}
	case "eni":
		return messages[*ecsv1.NetworkInterface]{s.cloud.NetworkInterfaces, func() *ecsv1.NetworkInterface {
			return &ecsv1.NetworkInterface{NetworkInterfaceId: id, VpcId: "vpc-test", Status: "InUse"}
		}}
	case "eip":
		return messages[*vpcv1.Eip]{s.cloud.Eips, func() *vpcv1.Eip { return &vpcv1.Eip{AllocationId: id, InstanceType: "SlbInstance"} }}
	case "vsw":
		return messages[*vpcv1.VSwitch]{s.cloud.VSwitches, func() *vpcv1.VSwitch { return &vpcv1.VSwitch{VswitchId: id, VpcId: "vpc-test"} }}
	case "acl":
		return messages[*slbv1.AccessControlList]{s.cloud.AccessControlLists, func() *slbv1.AccessControlList {
			return &slbv1.AccessControlList{AclId: id}
		}}
	case "cert":
		return messages[*slbv1.ServerCertificate]{s.cloud.ServerCertificates, func() *slbv1.ServerCertificate {
			return &slbv1.ServerCertificate{ServerCertificateId: id}
		}}
	}
	return nil
}

// messages are things that are messages.
type messages[M proto.Message] struct {
	all  map[string]M
	make func() M
}

func (m messages[M]) has(key string) bool {
	_, there := m.all[key]
	return there
}

func (m messages[M]) text(key string) string {
	if !m.has(key) {
		return ""
	}
	return compact(m.all[key])
}

func (m messages[M]) change(s *story, key string, values map[string]any) {
	s.t.Helper()
	if !m.has(key) {
		m.all[key] = m.make()
	}
	s.fill(m.all[key].ProtoReflect(), values)
}

func (m messages[M]) drop(s *story, key string) {
	delete(m.all, key)
	switch any(m.all).(type) {
	case map[string]*slbv1.LoadBalancer:
		maps.DeleteFunc(s.cloud.Listeners, func(k gatewaytest.ListenerKey, _ *slbv1.Listener) bool { return k.LoadBalancerID == key })
		maps.DeleteFunc(s.cloud.ServerGroups, func(_ string, g *gatewaytest.ServerGroup) bool { return g.LoadBalancerID == key })
		maps.DeleteFunc(s.cloud.DomainExtensions, func(_ string, e *gatewaytest.DomainExtension) bool { return e.Listener.LoadBalancerID == key })
		delete(s.cloud.DefaultGroups, key)
	case map[string]*nlbv1.LoadBalancer:
		maps.DeleteFunc(s.cloud.NLB.Listeners, func(_ string, l *nlbv1.Listener) bool { return l.GetLoadBalancerId() == key })
	case map[string]*ecsv1.Instance:
		maps.DeleteFunc(s.cloud.NetworkInterfaces, func(_ string, eni *ecsv1.NetworkInterface) bool { return eni.GetInstanceId() == key })
	}
}

// nlbListener finds the listener of an NLB by its port, or two as in 80-90, and protocol. One that isn't there would be a user's.
func (s *story) nlbListener(instance, port string) (things, string) {
	s.t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	first, last, isRange := strings.Cut(number, "-")
	byHand := &nlbv1.Listener{
		ListenerId: fmt.Sprintf("lsn-of-%s-%s@%s", instance, protocol, number), LoadBalancerId: instance, Port: int32(s.number(first)),
		Protocol: nlbv1.ListenerProtocol(nlbv1.ListenerProtocol_value["LISTENER_PROTOCOL_"+strings.ToUpper(protocol)]),
		Status:   nlbv1.ListenerStatus_LISTENER_STATUS_RUNNING, Config: &nlbv1.ListenerConfig{Description: new("by hand")},
	}
	if isRange {
		byHand.Port, byHand.StartPort, byHand.EndPort = 0, byHand.GetPort(), int32(s.number(last))
	}
	all := messages[*nlbv1.Listener]{s.cloud.NLB.Listeners, func() *nlbv1.Listener { return byHand }}
	for id, l := range s.cloud.NLB.Listeners {
		if l.GetLoadBalancerId() == instance && l.GetProtocol() == byHand.GetProtocol() && l.GetPort() == byHand.GetPort() &&
			l.GetStartPort() == byHand.GetStartPort() && l.GetEndPort() == byHand.GetEndPort() {
			return all, id
		}
	}
	return all, byHand.GetListenerId()
}

// nlbListenerByID finds the listener of an NLB by its id, of which the port can be left out.
func (s *story) nlbListenerByID(id string) (things, string) {
	s.t.Helper()
	for key := range s.cloud.NLB.Listeners {
		if key == id || strings.HasPrefix(key, id+"@") {
			return messages[*nlbv1.Listener]{all: s.cloud.NLB.Listeners}, key
		}
	}
	s.t.Fatalf("the cloud has no listener %q; a user makes one by its load balancer and port, as in nlb-1:80/tcp", id)
	return nil, ""
}

func (s *story) listenerKey(instance, port string) gatewaytest.ListenerKey {
	s.t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	return gatewaytest.ListenerKey{
		LoadBalancerID: instance, Port: int32(s.number(number)),
		Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(protocol)]),
	}
}

// clbListener is a listener of a CLB.
type clbListener struct {
	id  gatewaytest.ListenerKey
	all map[gatewaytest.ListenerKey]*slbv1.Listener
}

func (l clbListener) has(string) bool { return l.all[l.id] != nil }

func (l clbListener) text(string) string { return compact(l.all[l.id]) }

func (l clbListener) change(s *story, _ string, values map[string]any) {
	s.t.Helper()
	if l.all[l.id] == nil {
		l.all[l.id] = &slbv1.Listener{
			Key: &slbv1.ListenerKey{LoadBalancerId: l.id.LoadBalancerID, Port: l.id.Port, Protocol: l.id.Protocol}, Status: "running",
			Config: &slbv1.ListenerConfig{Description: new("by hand"), Scheduler: new("wrr")},
		}
	}
	s.fill(l.all[l.id].ProtoReflect(), values)
}

func (l clbListener) drop(*story, string) { delete(l.all, l.id) }

func (s *story) fill(m protoreflect.Message, values map[string]any) {
	s.t.Helper()
	for name, value := range values {
		field := m.Descriptor().Fields().ByJSONName(name)
		if field == nil {
			s.t.Fatalf("%s has no %q", m.Descriptor().Name(), name)
		}
		fields, isMap := value.(map[string]any)
		text, isText := value.(string)
		servers, isList := value.([]any)
		switch {
		case isList && name == "servers":
			s.fillServers(m, field, servers)
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

// fillServers sets the servers of an NLB's server group.
func (s *story) fillServers(m protoreflect.Message, field protoreflect.FieldDescriptor, texts []any) {
	s.t.Helper()
	list := m.NewField(field).List()
	for _, text := range texts {
		server := s.nlbServer(fmt.Sprint(text))
		for i := range m.Get(field).List().Len() { // Another weight leaves it whose it is.
			old, ok := m.Get(field).List().Get(i).Message().Interface().(*nlbv1.Server)
			if ok && old.GetServerId() == server.GetServerId() && old.GetPort() == server.GetPort() {
				server.Description = old.GetDescription()
			}
		}
		list.Append(protoreflect.ValueOfMessage(server.ProtoReflect()))
	}
	m.Set(field, protoreflect.ValueOfList(list))
}

// nlbServer is a server of an NLB by its text. An address alone is a server, too.
func (s *story) nlbServer(text string) *nlbv1.Server {
	s.t.Helper()
	like := s.server(text)
	server := &nlbv1.Server{
		Type: nlbv1.ServerType_SERVER_TYPE_ECS, ServerId: like.GetServerId(), ServerIp: like.GetServerIp(), Port: like.GetPort(),
		Weight: like.Weight, Description: like.GetDescription(), Status: nlbv1.ServerStatus_SERVER_STATUS_AVAILABLE,
	}
	if like.GetType() == slbv1.ServerType_SERVER_TYPE_ENI {
		server.Type = nlbv1.ServerType_SERVER_TYPE_ENI
	}
	if _, err := netip.ParseAddr(server.GetServerId()); err == nil {
		server.Type, server.ServerIp = nlbv1.ServerType_SERVER_TYPE_IP, server.GetServerId()
	}
	return server
}

// clbGroups are server groups of CLBs. Their servers are written ID:PORT=WEIGHT, with /ADDRESS behind the id of an interface.
type clbGroups struct {
	all map[string]*gatewaytest.ServerGroup
}

func (g clbGroups) has(key string) bool { return g.all[key] != nil }

func (g clbGroups) text(key string) string {
	if !g.has(key) {
		return ""
	}
	return fmt.Sprint(g.all[key].LoadBalancerID, g.all[key].Name, serversText(g.all[key].Servers))
}

func (g clbGroups) drop(_ *story, key string) { delete(g.all, key) }

func (g clbGroups) change(s *story, id string, values map[string]any) {
	all := g.all
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
