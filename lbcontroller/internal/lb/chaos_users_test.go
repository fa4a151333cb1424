package lb_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

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
		m.cloud.LoadBalancers[id] = &state.LoadBalancer{
			ID: id, Name: "theirs", Address: "198.51.100." + id[len(id)-1:], Tags: []state.Tag{tag("owner", "them")},
			DeleteProtection: "on", AddressType: "internet",
		}
		for pair := range strings.SplitSeq(mapping, ", ") {
			group, _, _ := strings.Cut(pair, ":")
			m.cloud.ServerGroups[group] = &state.ServerGroup{ID: group, LoadBalancerID: id, Name: group,
				Servers: []*state.Server{instanceServer("i-1", foreignPort, 3, "by hand")}}
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
		if m.value(svc, annotation.IPVersion) == "ipv6" && m.value(svc, annotation.AddressType) == "intranet" {
			m.edit(svc, annotationPatch(annotation.AddressType, nil)) // The cloud has no such CLBs.
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
	for id := range usersMapping() {
		dropListeners(m.cloud.Cloud, id, func(l *state.Listener) bool {
			owner, made := ownership.MadeFor(description(l))
			return made && owner.ClusterID == clusterID && !managed[owner.Service+id]
		})
	}
}

// elsewhere reports whether a Service publishes the address of another CLB than it asks for: it moves when its status is cleared.
func (m *monkey) elsewhere(svc *corev1.Service) bool {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for _, ip := range ips(svc) {
		for id, lb := range m.cloud.LoadBalancers {
			published := lb.Address == ip || slices.Contains(m.eipsOf(id), ip) ||
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
	for lb, l := range clbListeners(m.cloud.Cloud) {
		if lb.ID != id {
			continue
		}
		used[l.Group()] = true
		if owner.Owns(description(l)) {
			parts = append(parts, m.listenerPart(l))
		}
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID != id {
			continue
		}
		var servers []string
		for _, s := range g.Servers {
			if owner.Owns(s.Description) {
				servers = append(servers, serverText(s))
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
			m.t.Errorf("%s has tags %v", id, lb.Tags)
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

func (m *monkey) judgeListener(id string, port int, text string) {
	if l := listenerAt(m.cloud.Cloud, id, port, "tcp"); l == nil || description(l) != text {
		m.t.Errorf("%s has lost listener %d of others: %v", id, port, l)
	}
}

// listenerPart describes a listener of a CLB; the cloud is locked.
func (m *monkey) listenerPart(l *state.Listener) string {
	to := fmt.Sprint("redirect to ", l.Attributes["ForwardPort"])
	if g := m.cloud.ServerGroups[l.Group()]; g != nil {
		to = g.Name
	}
	return fmt.Sprintf("listener %d/%s %s %s to %s", l.Port, l.Protocol, l.Status, l.Attributes["Scheduler"], to)
}
