package lb_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// The NLB of a user's, with a server group of his.
const usersNLB, usersNLBGroup = "nlb-users", "sgp-users"

// bothKinds serves CLBs and NLBs.
func (m *monkey) bothKinds(c *settings) {
	c.Kind.Drift, c.Kind.DriftCheck = m.drift, driftCheck
	bothKinds(c)
}

// bothKinds serves CLBs and NLBs, which are in two zones.
func bothKinds(c *settings) {
	c.Kind.Shared = lb.NewShared(c.Kind.Gateway, "vpc-test", c.Kind.Registerer)
	of := func(product lb.Product) controller.Registration {
		cfg := c.Kind
		cfg.Product = product
		return lb.New(cfg)
	}
	c.Controller.Kinds = []controller.Registration{of(c.CLB),
		of(nlb.Product{Gateway: c.Kind.Gateway, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}})}
}

func isNLB(svc *corev1.Service) bool { return svc.Spec.LoadBalancerClass != nil }

// seedNLB adds an NLB of a user's, with a listener and a server by hand; the cloud is locked.
func (m *monkey) seedNLB() {
	addZones(m.cloud.Cloud)
	m.cloud.NLBs[usersNLB] = &state.NLB{Name: "theirs", VpcID: "vpc-test", Tags: []state.Tag{tag("owner", "them")}}
	m.cloud.NLBServerGroups[usersNLBGroup] = &state.NLBServerGroup{Name: "theirs", VpcID: "vpc-test",
		Servers: []*state.NLBServer{nlbInstanceServer("i-1", foreignPort, 3, "by hand")}}
	m.cloud.NLBListeners["lsn-users"] = &state.NLBListener{NLBID: usersNLB, Port: foreignPort, Protocol: "TCP",
		ServerGroupID: usersNLBGroup, Description: "by hand"}
}

// someNLBAnnotation draws an annotation of an NLB's Service.
func (m *monkey) someNLBAnnotation() (suffix string, value any) {
	menu := map[string][]any{
		annotation.Scheduler:         {"rr", "wrr", "fastest", nil},
		annotation.DefaultWeight:     {"50", "many", nil},
		annotation.RemoveUnscheduled: {"on", nil},
		annotation.MaxNodes:          {"1", "2", nil},
		annotation.DrainTerminating:  {"on", "off", nil},
		annotation.SyncPolicy:        {"upsert-only", "report", nil},
		annotation.ConnectionDrain:   {"on", "off", nil},
		annotation.IdleTimeout:       {"30", nil},
		annotation.AddressType:       {"intranet", nil},
		annotation.ID:                {usersNLB, usersNLB, "nlb-missing", nil},
		annotation.ForceOverride:     {"on", nil},
		annotation.VGroupPort:        {usersNLBGroup + ":80", "sgp-none:80", nil},
		annotation.Weight:            {"30", nil},
	}
	suffix = pick(m, slices.Sorted(maps.Keys(menu))...)
	return suffix, pick(m, menu[suffix]...)
}

// mendNLB lets no two Services ask for the same of the user's NLB, and none for what there isn't.
func (m *monkey) mendNLB(svc *corev1.Service, taken map[string]bool) {
	id := m.named(svc)
	if id != "" && id != usersNLB {
		m.edit(svc, annotationPatch(annotation.ID, nil))
		id = ""
	}
	mapping := m.value(svc, annotation.VGroupPort)
	udp := slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == 80 && p.Protocol == corev1.ProtocolUDP
	})
	if mapping != "" &&
		(id == "" || mapping != usersNLBGroup+":80" || taken[mapping] || udp) {
		m.edit(svc, annotationPatch(annotation.VGroupPort, nil))
		mapping = ""
	}
	taken[mapping] = true
	if m.value(svc, annotation.ForceOverride) == "" || id == "" {
		return
	}
	for _, port := range svc.Spec.Ports {
		if taken[fmt.Sprintf("%s:%d/%s", id, port.Port, port.Protocol)] {
			m.edit(svc, annotationPatch(annotation.ForceOverride, nil))
			return
		}
	}
	for _, port := range svc.Spec.Ports {
		taken[fmt.Sprintf("%s:%d/%s", id, port.Port, port.Protocol)] = true
	}
}

// nlbElsewhere reports whether a Service publishes another NLB than it asks for, or one that is gone.
func (m *monkey) nlbElsewhere(svc *corev1.Service) bool {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	shown := svc.Status.LoadBalancer.Ingress[0].Hostname
	for id, lb := range m.cloud.NLBs {
		if lb.DNSName == shown {
			return m.named(svc) != "" && m.named(svc) != id || m.named(svc) == "" && id == usersNLB
		}
	}
	return true
}

// nlbConsole takes the servers and a listener of an NLB away.
func (m *monkey) nlbConsole() string {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	for _, g := range m.cloud.NLBServerGroups {
		g.Servers = slices.DeleteFunc(g.Servers, func(s *state.NLBServer) bool { return s.Port != foreignPort })
	}
	for id, l := range m.cloud.NLBListeners {
		if l.Port == 443 {
			delete(m.cloud.NLBListeners, id)
		}
	}
	return "all load balancers lose their servers, and listener 443"
}

// judgeNLB compares what a Service has of NLBs with what it asks for; the cloud is locked.
func (m *monkey) judgeNLB(svc *corev1.Service, parts []string) {
	owner := ownership.Owner{Service: svc.Name, Namespace: "default", ClusterID: clusterID}
	isWanted := svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && isNLB(svc)
	id := ""
	for _, lb := range m.cloud.NLBs {
		if hasTag(lb.Tags, ownership.TagService, ownership.DefaultName(string(svc.UID))) {
			id = lb.ID
		}
	}
	if isWanted && keepsServers(svc) {
		return
	}
	if isWanted && m.named(svc) != "" && id != "" || !isWanted && id != "" {
		m.t.Errorf("%s has %s still", svc.Name, id)
	}
	if !isWanted {
		parts = []string{}
	}
	if isWanted && m.named(svc) != "" {
		id = m.named(svc)
	}
	present := []string{}
	held := map[string]bool{}
	for _, l := range m.cloud.NLBListeners {
		if !owner.Owns(l.Description) {
			held[l.ServerGroupID] = true
			continue
		}
		present = append(present, fmt.Sprintf("listener %s %d/%s to %s", l.NLBID, l.Port, strings.ToLower(l.Protocol),
			m.nlbGroupName(l.ServerGroupID)))
	}
	for _, g := range m.cloud.NLBServerGroups {
		var servers []string
		for _, s := range g.Servers {
			if owner.Owns(s.Description) {
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.ServerID, s.Port, s.Weight))
			}
		}
		name := m.nlbGroupName(g.ID)
		part := m.groupPart(name, servers, parts)
		if owner.Owns(g.Name) || slices.Contains(parts, part) || len(servers) > 0 {
			present = append(present, part)
		}
	}
	slices.Sort(present)
	for i := range parts {
		parts[i] = strings.Replace(parts[i], "listener ID ", "listener "+id+" ", 1)
	}
	slices.Sort(parts)
	if diff := gocmp.Diff(parts, present); diff != "" {
		m.t.Errorf("%s on %q (-want +got):\n%s", svc.Name, id, diff)
	}
	if !isWanted {
		return
	}
	lb := m.cloud.NLBs[id]
	marks := fmt.Sprint(svc.Finalizers, svc.Labels[LabelLoadBalancerID], len(svc.Labels[LabelHash]) > 0, ips(svc))
	if want := fmt.Sprint([]string{nlb.Finalizer}, id, true, []string{lb.DNSName}); marks != want {
		m.t.Errorf("%s has marks %s, want %s", svc.Name, marks, want)
	}
}

// nlbGroupName is how a server group is called: the user's by its id.
func (m *monkey) nlbGroupName(id string) string {
	if id == usersNLBGroup {
		return id
	}
	return m.cloud.NLBServerGroups[id].Name
}

// wantedNLB are the listeners and server groups that a Service asks for.
func (m *monkey) wantedNLB(svc *corev1.Service) []string {
	pods := svc.Annotations[annotation.BackendType] == "eni"
	parts := []string{}
	for _, port := range svc.Spec.Ports {
		number := fmt.Sprint(port.NodePort)
		if pods {
			number = port.TargetPort.String()
		}
		group := fmt.Sprintf("k8s.%s.%s.%s.default.%s", number, port.Protocol, svc.Name, clusterID)
		if mapped := m.mapped(svc, port); mapped != "" {
			group = mapped
		}
		parts = append(parts, m.wantedGroup(svc, port, group))
		if m.named(svc) == "" || m.overrides(svc) {
			parts = append(parts, fmt.Sprintf("listener ID %d/%s to %s", port.Port, strings.ToLower(string(port.Protocol)), group))
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// judgeUsersNLB looks for what others have made, and for what belongs to no Service; the cloud is locked.
func (m *monkey) judgeUsersNLB(services []*corev1.Service) {
	if _, there := m.cloud.NLBListeners["lsn-users"]; !there || m.cloud.NLBs[usersNLB] == nil ||
		!slices.ContainsFunc(m.cloud.NLBServerGroups[usersNLBGroup].Servers, func(s *state.NLBServer) bool {
			return s.Port == foreignPort
		}) {
		m.t.Errorf("the load balancer of a user has lost something")
	}
	known := map[string]bool{usersNLB: true}
	for _, svc := range services {
		known[ownership.DefaultName(string(svc.UID))] = true
		known[svc.Name] = true
	}
	for id, lb := range m.cloud.NLBs {
		if !known[id] && !known[cmp.Or(tagged(lb.Tags, ownership.TagService), "nobody's")] {
			m.t.Errorf("%s is left over", id)
		}
	}
	for _, g := range m.cloud.NLBServerGroups {
		if owner, made := ownership.MadeFor(g.Name); made && !known[owner.Service] {
			m.t.Errorf("server group %s is left over", g.Name)
		}
	}
}
