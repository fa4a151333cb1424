package lb_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// usersMapping is the vgroup-port that fits each of the users' CLBs.
func usersMapping() map[string]string {
	return map[string]string{"lb-users-1": "rsp-users-1:80", "lb-users-2": "rsp-users-2:80, rsp-users-3:443"}
}

// seedUsers adds CLBs of users, with a listener and servers by hand, and a listener of another cluster's.
func (m *monkey) seedUsers() {
	for id, mapping := range usersMapping() {
		m.cloud.LoadBalancers[id] = &slbv1.LoadBalancer{
			LoadBalancerId: id, Name: "theirs", Address: "198.51.100." + id[len(id)-1:],
			Tags: []*commonv1.Tag{tag("owner", "them")}, DeleteProtection: true,
			AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Status: "active",
		}
		for pair := range strings.SplitSeq(mapping, ", ") {
			group, _, _ := strings.Cut(pair, ":")
			m.cloud.ServerGroups[group] = &gatewaytest.ServerGroup{ID: group, LoadBalancerID: id, Name: group, Servers: []*slbv1.Server{
				{Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: "i-1", Port: foreignPort, Weight: new(int32(3)), Description: "by hand"},
			}}
		}
		m.listen(id, foreignPort, "rsp-users-"+id[len(id)-1:], "by hand")
	}
	m.listen("lb-users-1", 8080, "rsp-users-1", "k8s/8080/svc-0/default/c-other")
}

func users(id string) bool { return usersMapping()[id] != "" }

// named is the user's CLB that a Service asks for, or "".
func (m *monkey) named(svc *corev1.Service) string { return m.value(svc, annotation.ID) }

func (m *monkey) overrides(svc *corev1.Service) bool {
	return m.named(svc) != "" && m.value(svc, annotation.ForceOverride) == "on"
}

// mapped is the user's vServer group of a port, or "".
func (m *monkey) mapped(svc *corev1.Service, port corev1.ServicePort) string {
	for pair := range strings.SplitSeq(m.value(svc, annotation.VGroupPort), ", ") {
		if group, number, _ := strings.Cut(pair, ":"); m.named(svc) != "" && number == fmt.Sprint(port.Port) {
			return group
		}
	}
	return ""
}

// mendUsers lets no two Services ask for the same port or vServer group of a user's, and none for what there isn't. What was left behind
// of Services that no longer manage the listeners is deleted by hand, as their events advise.
func (m *monkey) mendUsers() {
	taken := map[string]bool{}
	for _, svc := range m.services() {
		if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		if isNLB(svc) {
			m.mendNLB(svc, taken)
			continue
		}
		id := m.named(svc)
		if id != "" && !users(id) {
			m.edit(svc, annotationPatch(annotation.ID, nil))
			id = ""
		}
		for _, suffix := range []string{annotation.AddressType, annotation.IPVersion, annotation.DefaultServerGroup, annotation.ExternalIPType} {
			if id != "" && m.value(svc, suffix) != "" {
				m.edit(svc, annotationPatch(suffix, nil)) // The users' are public and have IPv4, and their default server groups are shared.
			}
		}
		mapping := m.value(svc, annotation.VGroupPort)
		if mapping != "" && (mapping != usersMapping()[id] || taken[mapping] || hasTwins(svc)) {
			m.edit(svc, annotationPatch(annotation.VGroupPort, nil))
		}
		taken[mapping] = true
		if id == "" || m.value(svc, annotation.ForceOverride) == "" {
			continue
		}
		var ports []string
		for _, port := range svc.Spec.Ports {
			ports = append(ports, fmt.Sprintf("%s:%d udp:%t", id, port.Port, m.protocol(svc, port) == "udp"))
		}
		others := func(port string) bool { return taken[port] || port == "lb-users-1:8080 udp:false" }
		if slices.ContainsFunc(ports, others) {
			m.edit(svc, annotationPatch(annotation.ForceOverride, nil))
			continue
		}
		for _, port := range ports {
			taken[port] = true
		}
	}
	managed := map[string]bool{}
	for _, svc := range m.services() {
		managed[svc.Name+m.named(svc)] = m.overrides(svc)
	}
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for key, l := range m.cloud.Listeners {
		owner, made := ownership.MadeFor(l.GetConfig().GetDescription())
		if users(key.LoadBalancerID) && made && owner.ClusterID == clusterID && !managed[owner.Service+key.LoadBalancerID] {
			delete(m.cloud.Listeners, key)
		}
	}
}

// elsewhere reports whether a Service publishes the address of another CLB than it asks for: it moves when its status is cleared.
func (m *monkey) elsewhere(svc *corev1.Service) bool {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for _, ip := range ips(svc) {
		for id, lb := range m.cloud.LoadBalancers {
			published := lb.GetAddress() == ip || slices.Contains(m.eipsOf(id), ip) ||
				svc.Status.LoadBalancer.Ingress[0].Hostname != "" && svc.Labels[LabelLoadBalancerID] == id
			if published && (users(id) || m.named(svc) != "") && id != m.named(svc) {
				return true
			}
		}
	}
	return false
}

// judgeReused compares what a Service has on the user's CLB that it names; the cloud is locked.
func (m *monkey) judgeReused(svc *corev1.Service, parts []string) {
	if keepsServers(svc) {
		return
	}
	id := m.named(svc)
	lb := m.cloud.LoadBalancers[id]
	if diff := cmp.Diff(parts, m.partsOf(svc.Name, id, parts)); diff != "" {
		m.t.Errorf("%s on %s (-want +got):\n%s", svc.Name, id, diff)
	}
	marks := fmt.Sprint(svc.Finalizers, svc.Labels[LabelLoadBalancerID], len(svc.Labels[LabelHash]) > 0, ips(svc))
	if want := fmt.Sprint([]string{Finalizer}, id, true, m.wantedAddresses(svc, lb)); marks != want {
		m.t.Errorf("%s has marks %s, want %s", svc.Name, marks, want)
	}
	if tagOf(lb, ownership.TagReused) == "" {
		m.t.Errorf("%s isn't marked as reused", id)
	}
}

// partsOf are a Service's listeners, vServer groups and servers on a user's CLB. Where listeners are the user's, those that were the
// Service's may stay, and wherever others use a vServer group it may stay, too, without servers.
func (m *monkey) partsOf(service, id string, wanted []string) []string {
	owner := ownership.Owner{Service: service, Namespace: "default", ClusterID: clusterID}
	var parts []string
	used := map[string]bool{}
	for key, l := range m.cloud.Listeners {
		if key.LoadBalancerID != id {
			continue
		}
		used[l.GetConfig().GetServerGroupId()] = true
		if !owner.Owns(l.GetConfig().GetDescription()) {
			continue
		}
		to := fmt.Sprint("redirect to ", l.GetConfig().GetForwardPort())
		if g := m.cloud.ServerGroups[l.GetConfig().GetServerGroupId()]; g != nil {
			to = g.Name
		}
		parts = append(parts, fmt.Sprintf("listener %d/%s %s %s to %s", key.Port,
			strings.ToLower(strings.TrimPrefix(key.Protocol.String(), "PROTOCOL_")),
			l.GetStatus(), l.GetConfig().GetScheduler(), to))
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID != id {
			continue
		}
		var servers []string
		for _, s := range g.Servers {
			if owner.Owns(s.GetDescription()) {
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.GetServerId(), s.GetPort(), s.GetWeight()))
			}
		}
		part := m.groupPart(g.Name, servers, wanted)
		stays := used[g.ID] || slices.ContainsFunc(g.Servers, foreignServer) || !owner.Owns(g.Name)
		if slices.Contains(wanted, part) || len(servers) > 0 || !stays {
			parts = append(parts, part)
		}
	}
	if servers := m.presentDefault(id, service); len(servers) > 0 {
		parts = append(parts, m.groupPart(defaultPart(service), servers, wanted))
	}
	slices.Sort(parts)
	return parts
}

// judgeUsers looks for what was left on users' CLBs by Services that don't name them, and for what the users have made; the cloud is
// locked.
func (m *monkey) judgeUsers(services []*corev1.Service) {
	for id, mapping := range usersMapping() {
		lb := m.cloud.LoadBalancers[id]
		if lb == nil {
			m.t.Errorf("%s of a user is gone", id)
			continue
		}
		if tagOf(lb, "owner") != "them" || tagOf(lb, ownership.TagService) != "" || tagOf(lb, ownership.TagCluster) != "" {
			m.t.Errorf("%s has tags %v", id, lb.GetTags())
		}
		for pair := range strings.SplitSeq(mapping, ", ") {
			group, _, _ := strings.Cut(pair, ":")
			if g := m.cloud.ServerGroups[group]; g == nil || g.Name != group || !slices.ContainsFunc(g.Servers, foreignServer) {
				m.t.Errorf("%s has lost a server of the user's in group %s: %v", id, group, g)
			}
		}
		m.judgeListener(id, foreignPort, "by hand")
		here := map[string]bool{}
		for _, svc := range services {
			here[svc.Name] = m.named(svc) == id && !isNLB(svc) && svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer
		}
		for n := range m.born {
			if name := fmt.Sprintf("svc-%d", n); !here[name] {
				if left := m.partsOf(name, id, nil); len(left) > 0 {
					m.t.Errorf("%s has left on %s: %q", name, id, left)
				}
			}
		}
	}
	m.judgeListener("lb-users-1", 8080, "k8s/8080/svc-0/default/c-other")
}

func (m *monkey) judgeListener(id string, port int32, description string) {
	l, ok := m.cloud.Listeners[gatewaytest.ListenerKey{LoadBalancerID: id, Port: port, Protocol: tcp}]
	if !ok || l.GetConfig().GetDescription() != description {
		m.t.Errorf("%s has lost listener %d of others: %v", id, port, l)
	}
}
