package lb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
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
		if all.get(key) == nil {
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
	if id == "zones-without-nlbs" {
		s.cloud.Change(func(c *state.Cloud) { c.ZonesWithoutNLBs = append(c.ZonesWithoutNLBs, fmt.Sprint(values["zone"])) })
		return
	}
	if id == "quota" {
		s.quota(int(values["servers"].(float64))) //nolint:forcetypeassert // The test fails.
		return
	}
	s.cloud.Lock()
	defer s.cloud.Unlock()
	all, key := s.thingsOf(id)
	before := jsonText(all.get(key))
	there := all.get(key) != nil
	if !there {
		all.put(key)
	}
	s.fill(all.get(key), values)
	if there && jsonText(all.get(key)) == before {
		s.t.Fatalf("%s is so already: %s", id, before)
	}
}

// quota is how many servers a CLB can have, and a server group of NLBs.
func (w *world) quota(servers int) {
	w.setting(func(settings *simapi.Settings) {
		settings.Quotas.Servers, settings.Quotas.NLBServers = servers, servers
	})
}

// setting changes the settings of the cloud.
func (w *world) setting(change func(*simapi.Settings)) {
	settings := w.cloud.Sim.Settings()
	change(&settings)
	w.cloud.Sim.SetSettings(settings)
}

func jsonText(thing any) string {
	text, err := json.Marshal(thing)
	if err != nil {
		panic(err) // The state is made of plain values.
	}
	return string(text)
}

// dropDomain deletes the further certificates for a domain, and reports whether there were any.
func (s *story) dropDomain(domain string) (had bool) {
	for _, l := range clbListeners(s.cloud.Cloud) {
		before := len(l.Domains)
		l.Domains = slices.DeleteFunc(l.Domains, func(d *state.Domain) bool { return d.Domain == domain })
		had = had || len(l.Domains) < before
	}
	return had
}

// things are those of one kind in the cloud.
type things interface {
	// get returns a pointer to one, nil if there is none.
	get(key string) any
	// put adds one that says nothing but its key.
	put(key string)
	// drop deletes one, with what can't be without it.
	drop(s *story, key string)
}

// thingsOf finds the kind of things that an id is of, and the key of the one; the cloud is locked.
func (s *story) thingsOf(id string) (things, string) {
	s.t.Helper()
	c := s.cloud.Cloud
	instance, port, isListener := strings.Cut(id, ":")
	kind, rest, _ := strings.Cut(id, "-")
	switch {
	case isListener && strings.HasPrefix(instance, "nlb-"):
		return s.nlbListener(instance, port)
	case isListener:
		number, protocol, _ := strings.Cut(port, "/")
		return clbListener{c: c, id: instance, port: s.number(number), protocol: protocol}, ""
	case kind == "lsn":
		return s.nlbListenerByID(id)
	case strings.Trim(kind, "0123456789") == "": // The identifier of a certificate that NLBs name.
		return messages[state.UserCertificate]{all: c.UserCertificates, made: state.UserCertificate{PEM: somePEM()}}, kind
	case kind == "default": // The default server group of a load balancer.
		return byDefault{messages[state.LoadBalancer]{all: c.LoadBalancers}}, rest
	}
	if all := thingsOfKind(c, kind); all != nil {
		return all, id
	}
	s.t.Fatalf("what is %q?", id)
	return nil, ""
}

// thingsOfKind are the things of a kind by their id; nil if there is no such kind.
func thingsOfKind(c *state.Cloud, kind string) things {
	switch kind {
	case "lb":
		return messages[state.LoadBalancer]{all: c.LoadBalancers, made: state.LoadBalancer{Name: "by hand", AddressType: "internet"}}
	case "rsp":
		return messages[state.ServerGroup]{all: c.ServerGroups}
	case "nlb":
		return messages[state.NLB]{all: c.NLBs, made: state.NLB{Name: "by-hand", VpcID: "vpc-test", AddressType: "Internet"}}
	case "sgp":
		return messages[state.NLBServerGroup]{all: c.NLBServerGroups, made: state.NLBServerGroup{Name: "by-hand", VpcID: "vpc-test"}}
	case "sg":
		return messages[state.SecurityGroup]{all: c.SecurityGroups, made: state.SecurityGroup{Name: "by-hand", VpcID: "vpc-test", Type: "normal"}}
	case "i":
		return messages[state.Instance]{all: c.Instances, made: state.Instance{VpcID: "vpc-test", Status: "Running"}}
	case "eni":
		return messages[state.NetworkInterface]{all: c.Interfaces, made: state.NetworkInterface{VpcID: "vpc-test", VSwitchID: "vsw-p",
			Type: "Secondary", Status: "InUse", InstanceID: podsInstance}}
	case "eip":
		return messages[state.Eip]{all: c.Eips, made: state.Eip{InstanceType: "SlbInstance", Status: "InUse", Bandwidth: "5"}}
	case "vsw":
		return messages[state.VSwitch]{all: c.VSwitches, made: state.VSwitch{VpcID: "vpc-test", CidrBlock: "192.168.250.0/24"}}
	case "acl":
		return messages[state.Acl]{all: c.Acls, made: state.Acl{Name: "of a user", IPVersion: "ipv4"}}
	case "cert", "certificate":
		return messages[state.Certificate]{all: c.Certificates}
	}
	return nil
}

// messages are things by their ids.
type messages[T any] struct {
	all  map[string]*T
	made T // as it is made
}

func (m messages[T]) get(key string) any {
	if m.all[key] == nil {
		return nil
	}
	return m.all[key]
}

func (m messages[T]) put(key string) {
	made := m.made
	m.all[key] = &made
}

func (m messages[T]) drop(s *story, key string) {
	delete(m.all, key)
	c := s.cloud.Cloud
	switch any(m.all).(type) {
	case map[string]*state.LoadBalancer:
		maps.DeleteFunc(c.ServerGroups, func(_ string, g *state.ServerGroup) bool { return g.LoadBalancerID == key })
	case map[string]*state.NLB:
		maps.DeleteFunc(c.NLBListeners, func(_ string, l *state.NLBListener) bool { return l.NLBID == key })
	case map[string]*state.Instance:
		maps.DeleteFunc(c.Interfaces, func(_ string, eni *state.NetworkInterface) bool { return eni.InstanceID == key })
	}
}

// byDefault is the default server group of a load balancer.
type byDefault struct{ messages[state.LoadBalancer] }

func (d byDefault) get(key string) any {
	if d.all[key] == nil {
		return nil
	}
	return &d.all[key].DefaultServers
}

// nlbListener finds the listener of an NLB by its port, or two as in 80-90, and protocol. One that isn't there would be a user's.
func (s *story) nlbListener(instance, port string) (things, string) {
	s.t.Helper()
	number, protocol, _ := strings.Cut(port, "/")
	first, last, isRange := strings.Cut(number, "-")
	byHand := state.NLBListener{NLBID: instance, Port: s.number(first), Protocol: strings.ToUpper(protocol), Description: "by hand"}
	if isRange {
		byHand.Port, byHand.StartPort, byHand.EndPort = 0, byHand.Port, s.number(last)
	}
	all := messages[state.NLBListener]{all: s.cloud.NLBListeners, made: byHand}
	for id, l := range s.cloud.NLBListeners {
		if l.NLBID == instance && l.Protocol == byHand.Protocol && portsOf(l) == number {
			return all, id
		}
	}
	return all, fmt.Sprintf("lsn-of-%s-%s@%s", instance, protocol, number)
}

// nlbListenerByID finds the listener of an NLB by its id, of which the port can be left out.
func (s *story) nlbListenerByID(id string) (things, string) {
	s.t.Helper()
	for key := range s.cloud.NLBListeners {
		if key == id || strings.HasPrefix(key, id+"@") {
			return messages[state.NLBListener]{all: s.cloud.NLBListeners}, key
		}
	}
	s.t.Fatalf("the cloud has no listener %q; a user makes one by its load balancer and port, as in nlb-1:80/tcp", id)
	return nil, ""
}

// clbListener is a listener of a CLB.
type clbListener struct {
	c        *state.Cloud
	id       string
	port     int
	protocol string
}

func (l clbListener) get(string) any {
	if found := listenerAt(l.c, l.id, l.port, l.protocol); found != nil {
		return found
	}
	return nil
}

func (l clbListener) put(string) {
	lb := l.c.LoadBalancers[l.id]
	lb.Listeners = append(lb.Listeners, listenerByHand(l.port, l.protocol, "", "by hand"))
}

func (l clbListener) drop(*story, string) {
	dropListeners(l.c, l.id, func(other *state.Listener) bool { return other.Port == l.port && other.Protocol == l.protocol })
}

// fill sets fields of a thing by their names in the state of the simulated cloud. Tags are a map, in which null takes one away, and
// servers are written ID:PORT=WEIGHT, with /ADDRESS behind the id of a network interface. What begins with a capital is an attribute of
// a listener of a CLB.
func (s *story) fill(thing any, values map[string]any) {
	s.t.Helper()
	plain := map[string]any{}
	for name, value := range values {
		list, isList := value.([]any)
		fields, isMap := value.(map[string]any)
		l, isListener := thing.(*state.Listener)
		certificate, isUsers := thing.(*state.UserCertificate)
		switch {
		case name == "servers" && isList:
			s.fillServers(thing, list)
		case name == "tags" && isMap:
			s.fillTags(thing, fields)
		case isUsers && name == "expires":
			end, err := time.Parse(time.RFC3339, fmt.Sprint(value))
			s.must(err)
			certificate.PEM = pemUntil(end)
		case isListener && name[0] >= 'A' && name[0] <= 'Z':
			l.Attributes[name] = fmt.Sprint(value)
		default:
			plain[name] = value
		}
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(jsonText(plain))))
	decoder.DisallowUnknownFields()
	if len(plain) > 0 {
		s.must(decoder.Decode(thing))
	}
	if group, ok := thing.(*state.SecurityGroup); ok {
		for i := range group.Rules {
			group.Rules[i].ID = fmt.Sprint("sgr-by-hand-", i+1)
		}
	}
	if list, ok := thing.(*state.NetworkInterface); ok && len(list.PrivateIPs) > 0 {
		list.PrimaryIP = list.PrivateIPs[0]
	}
}

func (s *story) fillTags(thing any, values map[string]any) {
	s.t.Helper()
	var has struct {
		Tags []state.Tag `json:"tags"`
	}
	s.must(json.Unmarshal([]byte(jsonText(thing)), &has))
	tags := slices.DeleteFunc(has.Tags, func(t state.Tag) bool { _, named := values[t.Key]; return named })
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if values[key] != nil {
			tags = append(tags, tag(key, fmt.Sprint(values[key])))
		}
	}
	s.must(json.Unmarshal([]byte(jsonText(map[string]any{"tags": tags})), thing))
}

// fillServers sets the servers of a group.
func (s *story) fillServers(thing any, texts []any) {
	s.t.Helper()
	var servers []*state.Server
	for _, text := range texts {
		servers = append(servers, s.server(fmt.Sprint(text)))
	}
	switch group := thing.(type) {
	case *state.ServerGroup:
		if group.Servers == nil && strings.HasPrefix(group.Name, "k8s/") { // A controller has made it, with its servers.
			for _, server := range servers {
				server.Description = group.Name
			}
		}
		group.Servers = likeBefore(group.Servers, servers)
	case *[]*state.Server:
		*group = likeBefore(*group, servers)
	case *state.NLBServerGroup:
		had := group.Servers
		group.Servers = nil
		for _, server := range servers {
			fresh := nlbInstanceServer(server.ServerID, server.Port, server.Weight, server.Description)
			if fresh.ServerIP = server.ServerIP; server.Type == "eni" {
				fresh.Type = "Eni"
			}
			if _, err := netip.ParseAddr(server.ServerID); err == nil { // An address alone is a server, too.
				fresh.Type, fresh.ServerIP = "Ip", server.ServerID
			}
			for _, old := range had { // Another weight leaves it whose it is.
				if old.ServerID == fresh.ServerID && old.Port == fresh.Port {
					fresh.Description, fresh.ServerIP = old.Description, old.ServerIP
				}
			}
			group.Servers = append(group.Servers, fresh)
		}
	default:
		s.t.Fatalf("%T has no servers", thing)
	}
}

// likeBefore lets servers that are there be whose they were.
func likeBefore(had, servers []*state.Server) []*state.Server {
	for _, server := range servers {
		for _, old := range had {
			if old.ServerID == server.ServerID && old.Port == server.Port {
				server.Description = old.Description
			}
		}
	}
	return servers
}

func (s *story) server(text string) *state.Server {
	s.t.Helper()
	colon := strings.LastIndexByte(text, ':')
	port, weight, _ := strings.Cut(text[colon+1:], "=")
	id, address, isENI := strings.Cut(text[:colon], "/")
	server := instanceServer(id, s.number(port), s.number(weight), "by hand")
	if server.ServerIP = address; isENI {
		server.Type = "eni"
	}
	return server
}
