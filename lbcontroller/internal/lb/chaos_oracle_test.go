package lb_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// value returns what a Service says, "" if nothing.
func (m *monkey) value(svc *corev1.Service, suffix string) string {
	return svc.Annotations[annotation.Prefix+suffix]
}

// driftCheck is the interval of checks for drift, driftTime is longer than the time between two of them, and lookTime than that between
// two looks at what is refused. They are short: the EIPs of a Service are looked at every 40 seconds, and each look takes processor time.
const driftCheck, driftTime, lookTime = 20 * time.Minute, 35 * time.Minute, time.Hour

// mend corrects every Service that is wrong, and waits until whatever was noticed late is noticed.
func (m *monkey) mend(late time.Duration) {
	if m.drift != (Drift{}) {
		m.drift = Drift{}
		m.restart()
	}
	for _, svc := range m.services() {
		for _, suffix := range []string{annotation.ProtocolPort, annotation.IPVersion} {
			if isNLB(svc) && m.value(svc, suffix) != "" {
				m.edit(svc, annotationPatch(suffix, nil)) // The values are those of CLBs.
			}
		}
		if m.value(svc, annotation.ID) != "" || m.value(svc, annotation.IPVersion) != "" { // Whose access is a user's matter, or of a family.
			m.edit(svc, map[string]any{"spec": map[string]any{"loadBalancerSourceRanges": nil}})
		}
		if m.value(svc, annotation.SyncPolicy) != "" {
			m.edit(svc, annotationPatch(annotation.SyncPolicy, nil))
		}
		if asked := m.value(svc, annotation.Scheduler); asked == "" || asked == "fastest" { // Who says nothing gets what there is.
			m.edit(svc, annotationPatch(annotation.Scheduler, "rr"))
		}
		for suffix, wrong := range map[string]string{annotation.DefaultWeight: "many", annotation.ProtocolPort: "gopher:70"} {
			if m.value(svc, suffix) == wrong {
				m.edit(svc, annotationPatch(suffix, nil))
			}
		}
		if m.value(svc, annotation.CertID) != "cert-1" {
			m.edit(svc, annotationPatch(annotation.CertID, "cert-1"))
		}
	}
	m.mendUsers()
	for _, svc := range m.services() {
		protocols := map[string]bool{}
		for _, port := range svc.Spec.Ports {
			protocols[fmt.Sprintf("%s:%d", m.protocol(svc, port), port.Port)] = true
		}
		if m.value(svc, annotation.ForwardPort) != "" && (!protocols["http:80"] || !protocols["https:443"]) {
			m.edit(svc, annotationPatch(annotation.ForwardPort, nil))
		}
	}
	for range 2 { // A CLB that is found gone only now waits for its Service's status to be cleared, and a Service that shall move, too.
		m.after(late)
		m.confirm()
		m.kubelet()
		moves := m.clearStatus()
		m.mendUsers()
		if !moves {
			break
		}
	}
	m.after(lookTime)
	m.kubelet()
	m.after(lookTime)
}

// confirm lets the CLBs of Services go that became another kind's while no controller looked.
func (m *monkey) confirm() {
	for _, svc := range m.services() {
		if slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
			return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, annotation.ConfirmRelease)
		}) {
			m.edit(svc, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation.ConfirmRelease: "true"}}})
			m.after(lookTime)
		}
	}
}

// judge compares what is there with what the Services ask for.
func (m *monkey) judge() {
	services := m.services()
	m.resting, m.keepsLast, m.limits, m.drains = m.restingServers(), map[string]bool{}, map[string]limit{}, map[string]bool{}
	wanted := map[string][]string{}
	for _, svc := range services {
		if wanted[svc.Name] = m.wantedParts(svc); isNLB(svc) {
			wanted[svc.Name] = m.wantedNLB(svc)
		}
	}
	m.cloud.Lock()
	defer m.cloud.Unlock()
	ours := map[string]*state.LoadBalancer{}
	for id, lb := range m.cloud.LoadBalancers {
		if id == foreignLB || users(id) {
			continue
		}
		name := tagOf(lb, ownership.TagService)
		if ours[name] != nil {
			m.t.Errorf("%s and %s are both for %s", id, ours[name].ID, name)
		}
		ours[name] = lb
	}
	for _, svc := range services {
		name := ownership.DefaultName(string(svc.UID))
		if isNLB(svc) && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && svc.DeletionTimestamp == nil {
			m.judgeNLB(svc, wanted[svc.Name])
			continue
		}
		m.judgeNLB(svc, nil)
		m.judgeService(svc, ours[name], wanted[svc.Name])
		delete(ours, name)
	}
	for _, lb := range ours {
		m.t.Errorf("%s is left over: %v", lb.ID, lb)
	}
	m.judgeForeign()
	m.judgeUsers(services)
	m.judgeUsersNLB(services)
	for _, svc := range services {
		for _, p := range m.pods[svc.Name] {
			if p.gated && svc.DeletionTimestamp == nil && !m.isOpen(svc.Name, p) {
				m.t.Errorf("pod %s waits still", p.name(svc.Name))
			}
		}
	}
}

// keepsServers reports that a Service says that a listener, or all of it, stays where it has servers: then what there is
// differs from what is asked for.
func keepsServers(svc *corev1.Service) bool {
	return slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionFalse && (strings.Contains(c.Message, "keeps the servers that it has") ||
			strings.Contains(c.Message, "doesn't move, as no server would take the traffic"))
	})
}

func (m *monkey) judgeService(svc *corev1.Service, lb *state.LoadBalancer, parts []string) {
	id := ""
	if lb != nil {
		id = lb.ID
	}
	if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if id != "" || len(svc.Finalizers) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0 || len(svc.Labels) > 0 {
			m.t.Errorf("%s wants no load balancer but has %q, finalizers %v, status %v, labels %v",
				svc.Name, id, svc.Finalizers, svc.Status, svc.Labels)
		}
		return
	}
	if m.named(svc) != "" {
		if id != "" {
			m.t.Errorf("%s names a load balancer, but has %s still", svc.Name, id)
		}
		m.judgeReused(svc, parts)
		return
	}
	if id == "" {
		m.t.Errorf("%s has no load balancer; status %v, labels %v", svc.Name, svc.Status, svc.Labels)
		return
	}
	if keepsServers(svc) {
		return
	}
	present := m.presentParts(id, parts)
	if servers := m.presentDefault(id, svc.Name); len(servers) > 0 || m.defaults(svc) {
		present = append(present, m.groupPart(defaultPart(svc.Name), servers, parts))
		slices.Sort(present)
	}
	if diff := gocmp.Diff(parts, present); diff != "" {
		m.t.Errorf("%s, %s (-want +got):\n%s", svc.Name, id, diff)
	}
	marks := fmt.Sprint(svc.Finalizers, svc.Labels[LabelLoadBalancerID], len(svc.Labels[LabelHash]) > 0, ips(svc))
	if want := fmt.Sprint([]string{Finalizer}, id, true, m.wantedAddresses(svc, lb)); marks != want {
		m.t.Errorf("%s has marks %s, want %s", svc.Name, marks, want)
	}
	if name := m.value(svc, annotation.Name); name != "" && name != lb.Name {
		m.t.Errorf("%s is called %s, want %s", id, lb.Name, name)
	}
	if protect := m.value(svc, annotation.DeleteProtection); protect != "" && protect != lb.DeleteProtection {
		m.t.Errorf("%s is protected: %s, want %s", id, lb.DeleteProtection, protect)
	}
	for _, key := range []string{"a", "b"} {
		want := ""
		for pair := range strings.SplitSeq(m.value(svc, annotation.AdditionalTags), ",") {
			if k, v, _ := strings.Cut(pair, "="); k == key {
				want = v
			}
		}
		if got := tagOf(lb, key); got != want {
			m.t.Errorf("%s has tag %s=%q, want %q", id, key, got, want)
		}
	}
}

func ips(svc *corev1.Service) []string {
	var list []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		list = append(list, cmp.Or(ingress.IP, ingress.Hostname))
	}
	slices.Sort(list)
	return list
}

// wantedAddresses are what a Service publishes of its CLB; the cloud is locked.
func (m *monkey) wantedAddresses(svc *corev1.Service, lb *state.LoadBalancer) []string {
	eips := m.eipsOf(lb.ID)
	switch {
	case m.value(svc, annotation.Hostname) != "":
		return []string{m.value(svc, annotation.Hostname)}
	case m.value(svc, annotation.ExternalIPType) != "" && len(eips) > 0:
		return eips
	}
	return []string{lb.Address}
}

// defaults reports whether the nodes of a Service are to be in the default server group.
func (m *monkey) defaults(svc *corev1.Service) bool {
	return m.value(svc, annotation.DefaultServerGroup) == "on" && svc.Annotations[annotation.BackendType] != "eni"
}

// hasTwins reports whether ports of a Service have one number.
func hasTwins(svc *corev1.Service) bool {
	seen := map[int32]bool{}
	for _, port := range svc.Spec.Ports {
		if seen[port.Port] {
			return true
		}
		seen[port.Port] = true
	}
	return false
}

func tagOf(lb *state.LoadBalancer, key string) string { return tagged(lb.Tags, key) }

// protocol is that of a port's listener.
func (m *monkey) protocol(svc *corev1.Service, port corev1.ServicePort) string {
	for pair := range strings.SplitSeq(m.value(svc, annotation.ProtocolPort), ",") {
		protocol, number, _ := strings.Cut(pair, ":")
		otherProtocol := slices.ContainsFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Port == port.Port && p.Protocol != port.Protocol
		})
		if number == fmt.Sprint(port.Port) && (!otherProtocol || port.Protocol == corev1.ProtocolTCP) { // All that are asked for are over TCP.
			return protocol
		}
	}
	return strings.ToLower(string(port.Protocol))
}

// wantedParts are the listeners and vServer groups that a Service asks for.
func (m *monkey) wantedParts(svc *corev1.Service) []string {
	pods := svc.Annotations["service.beta.kubernetes.io/backend-type"] == "eni"
	var parts []string
	var groups [][]string
	for _, port := range svc.Spec.Ports {
		number := fmt.Sprint(port.NodePort)
		if pods {
			number = port.TargetPort.String()
		}
		group := fmt.Sprintf("k8s/%s/%s/default/%s", number, svc.Name, clusterID)
		if mapped := m.mapped(svc, port); mapped != "" {
			group = mapped
		}
		protocol, target := m.protocol(svc, port), group
		if protocol == "http" && m.value(svc, annotation.ForwardPort) != "" {
			target = "redirect to 443"
		}
		groups = append(groups, m.wantedServers(svc, port, pods))
		parts = append(parts, m.wantedGroup(svc, port, group))
		if m.named(svc) == "" || m.overrides(svc) {
			parts = append(parts, fmt.Sprintf("listener %d/%s running %s to %s", port.Port, protocol, m.value(svc, annotation.Scheduler), target))
		}
	}
	if m.defaults(svc) && m.named(svc) == "" {
		parts = append(parts, m.groupPart(defaultPart(svc.Name), wantedDefault(groups), []string{}))
		m.keepsLast[defaultPart(svc.Name)] = len(wantedDefault(groups)) == 0 && m.nodesDecide(svc)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// wantedGroup describes the group of a port, and takes down what else may be in it.
func (m *monkey) wantedGroup(svc *corev1.Service, port corev1.ServicePort, group string) string {
	pods, local := svc.Annotations[annotation.BackendType] == "eni", svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	servers := m.wantedServers(svc, port, pods)
	if n, err := strconv.Atoi(m.value(svc, annotation.MaxNodes)); err == nil && !pods && !local {
		m.limits[group], m.limits[defaultPart(svc.Name)] = limit{n, servers}, limit{n, wantedDefault([][]string{servers})}
	}
	drains := m.value(svc, annotation.DrainTerminating) == "on"
	m.drains[group], m.drains[defaultPart(svc.Name)] = drains, drains
	m.keepsLast[group] = len(servers) == 0 && m.nodesDecide(svc)
	return m.groupPart(group, servers, []string{})
}

// nodesDecide reports whether the last servers of a Service stay, since only nodes are missing.
func (m *monkey) nodesDecide(svc *corev1.Service) bool {
	return svc.Annotations[annotation.BackendType] != "eni" &&
		(svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || len(m.takingPods(svc.Name)) > 0)
}

// limit is how many nodes are servers of a group, out of which.
type limit struct {
	n   int
	all []string
}

// within describes the servers of a group of which only some nodes are servers: it doesn't matter which.
func (l limit) within(servers []string) []string {
	isNode := func(server string) bool { return strings.HasPrefix(server, "i-") }
	count := func(list []string) int { return len(list) - len(slices.DeleteFunc(slices.Clone(list), isNode)) }
	if l.n == 0 || count(l.all) <= l.n || count(servers) != l.n && count(servers) != count(l.all) ||
		slices.ContainsFunc(servers, func(server string) bool { return isNode(server) && !slices.Contains(l.all, server) }) {
		return servers
	}
	return append([]string{fmt.Sprintf("%d nodes", l.n)}, slices.DeleteFunc(slices.Clone(servers), isNode)...)
}

func (m *monkey) wantedServers(svc *corev1.Service, port corev1.ServicePort, pods bool) []string {
	weight := m.value(svc, annotation.DefaultWeight)
	if weight == "" {
		weight = "100"
	}
	ready := map[string]int{}  // pods by node
	shares := map[string]int{} // of the weight, by server
	var servers []string
	for ip, node := range m.takingPods(svc.Name) {
		ready[node]++
		if pods || node == virtualNode {
			shares[fmt.Sprintf("eni-%s:%d", ip, targetOf(port))] = 1
		}
	}
	nodes, err := m.kube.CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	local := !pods && svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	atNodes := 0
	for _, node := range nodes.Items {
		if node.Name == virtualNode {
			continue
		}
		usable := node.Status.Conditions[0].Status == corev1.ConditionTrue &&
			(!node.Spec.Unschedulable || m.value(svc, annotation.RemoveUnscheduled) == "")
		id := "i-" + strings.TrimPrefix(node.Name, "node-")
		switch {
		case pods || !usable:
		case svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
			atNodes++
			shares[fmt.Sprintf("%s:%d", id, port.NodePort)] = 1
		case ready[node.Name] > 0:
			shares[fmt.Sprintf("%s:%d", id, port.NodePort)] = ready[node.Name]
		}
	}
	sum := 0
	for _, n := range shares {
		sum += n
	}
	if most, err := strconv.Atoi(m.value(svc, annotation.MaxNodes)); err == nil && most < atNodes {
		sum -= atNodes - most
	}
	total, err := strconv.Atoi(m.value(svc, annotation.Weight))
	shared := err == nil && m.named(svc) != "" && slices.ContainsFunc(strings.Split(m.value(svc, annotation.VGroupPort), ","),
		func(pair string) bool { return strings.HasSuffix(pair, fmt.Sprintf(":%d", port.Port)) })
	for server, n := range shares {
		if place, _, _ := strings.Cut(server, ":"); m.resting[place] {
			continue
		}
		switch {
		case shared:
			weight = strconv.Itoa(min(total, max(1, total*n/sum)))
		case local:
			weight = strconv.Itoa(n)
		}
		servers = append(servers, server+"="+weight)
	}
	slices.Sort(servers)
	return servers
}

// restingServers are the servers on nodes that are not ready: nodes and pods. They stay where they are servers and
// aren't made servers, so that they may be there or not.
func (m *monkey) restingServers() map[string]bool {
	nodes, err := m.kube.CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	resting := map[string]bool{}
	for _, node := range nodes.Items {
		if node.Name == virtualNode || node.Status.Conditions[0].Status == corev1.ConditionTrue {
			continue
		}
		resting["i-"+strings.TrimPrefix(node.Name, "node-")] = true
		for ip := range podAddresses {
			if nodeOfPod(1+ip) == node.Name {
				resting["eni-"+podIP(1+ip)] = true
			}
		}
	}
	return resting
}

// groupPart describes a group that is there, without the servers that may be there or not. Without wanted parts all count.
func (m *monkey) groupPart(name string, servers, wanted []string) string {
	empty := fmt.Sprintf("group %s: ", name)
	if wanted != nil {
		servers = slices.DeleteFunc(slices.Clone(servers), func(server string) bool {
			place, _, _ := strings.Cut(server, ":")
			return m.resting[place] || m.drains[name] && strings.HasSuffix(server, "=0")
		})
		servers = m.limits[name].within(servers)
		if m.keepsLast[name] && slices.Contains(wanted, empty) {
			return empty
		}
	}
	slices.Sort(servers)
	return empty + strings.Join(servers, " ")
}

// presentParts are the listeners and vServer groups of a CLB, without what others put there. A group that is not wanted may stay
// for the sake of a foreign server, without servers of ours.
func (m *monkey) presentParts(id string, wanted []string) []string {
	var parts []string
	for lb, l := range clbListeners(m.cloud.Cloud) {
		if lb.ID == id && l.Port != foreignPort {
			parts = append(parts, m.listenerPart(l))
		}
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID != id {
			continue
		}
		var servers []string
		for _, s := range g.Servers {
			if !foreignServer(s) {
				servers = append(servers, serverText(s))
			}
		}
		part := m.groupPart(g.Name, servers, wanted)
		if !slices.Contains(wanted, part) && len(servers) == 0 && slices.ContainsFunc(g.Servers, foreignServer) {
			continue
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return parts
}

// judgeForeign looks for what others have made.
func (m *monkey) judgeForeign() {
	if got := m.foreignParts(); !slices.Equal(got, m.theirs) {
		m.t.Errorf("the load balancer of others was touched (-before +after):\n%s", gocmp.Diff(m.theirs, got))
	}
	for _, f := range m.foreign {
		lb, ok := m.cloud.LoadBalancers[f.instance]
		if !ok {
			continue // It went with the CLB.
		}
		if tagOf(lb, "by") != "hand" {
			m.t.Errorf("%s has lost a tag of others", f.instance)
		}
		if l := listenerAt(m.cloud.Cloud, f.instance, foreignPort, "udp"); l == nil || description(l) != "by hand" {
			m.t.Errorf("%s has lost a listener of others: %v", f.instance, l)
		}
		for _, group := range f.groups {
			if g, ok := m.cloud.ServerGroups[group]; !ok || !slices.ContainsFunc(g.Servers, foreignServer) {
				m.t.Errorf("%s has lost a server of others in group %s: %v", f.instance, group, g)
			}
		}
	}
}

// foreignParts describe the CLB of others.
func (m *monkey) foreignParts() []string {
	return append(m.presentParts(foreignLB, nil), fmt.Sprint(m.cloud.LoadBalancers[foreignLB].Tags,
		m.cloud.LoadBalancers[foreignLB].Name))
}
