package lb_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// value returns what a Service says, "" if nothing.
func (m *monkey) value(svc *corev1.Service, suffix string) string {
	return svc.Annotations[annotation.Prefix+suffix]
}

// driftTime is longer than the time between two checks for drift, and lookTime than that between two looks at what is refused.
const driftTime, lookTime = 6 * time.Hour, time.Hour

// mend corrects every Service that is wrong, and waits until whatever was noticed late is noticed.
func (m *monkey) mend(late time.Duration) {
	for _, svc := range m.services() {
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
		protocols := map[int32]string{}
		for _, port := range svc.Spec.Ports {
			protocols[port.Port] = m.protocol(svc, port)
		}
		if m.value(svc, annotation.ForwardPort) != "" && (protocols[80] != "http" || protocols[443] != "https") {
			m.edit(svc, annotationPatch(annotation.ForwardPort, nil))
		}
	}
	for range 2 { // A CLB that is found gone only now waits for its Service's status to be cleared, and a Service that shall move, too.
		m.after(late)
		moves := m.clearStatus()
		m.mendUsers()
		if !moves {
			break
		}
	}
	m.after(lookTime)
}

// judge compares what is there with what the Services ask for.
func (m *monkey) judge() {
	services := m.services()
	m.resting, m.keepsLast = m.restingServers(), map[string]bool{}
	wanted := map[string][]string{}
	for _, svc := range services {
		wanted[svc.Name] = m.wantedParts(svc)
	}
	m.cloud.Lock()
	defer m.cloud.Unlock()
	ours := map[string]*slbv1.LoadBalancer{}
	for id, lb := range m.cloud.LoadBalancers {
		if id == foreignLB || users(id) {
			continue
		}
		name := tagOf(lb, ownership.TagService)
		if ours[name] != nil {
			m.t.Errorf("%s and %s are both for %s", id, ours[name].GetLoadBalancerId(), name)
		}
		ours[name] = lb
	}
	for _, svc := range services {
		name := ownership.DefaultName(string(svc.UID))
		m.judgeService(svc, ours[name], wanted[svc.Name])
		delete(ours, name)
	}
	for _, lb := range ours {
		m.t.Errorf("%s is left over: %v", lb.GetLoadBalancerId(), lb)
	}
	m.judgeForeign()
	m.judgeUsers(services)
}

func (m *monkey) judgeService(svc *corev1.Service, lb *slbv1.LoadBalancer, parts []string) {
	id := lb.GetLoadBalancerId()
	if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if id != "" || len(svc.Finalizers) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0 || len(svc.Labels) > 0 {
			m.t.Errorf("%s wants no CLB but has %q, finalizers %v, status %v, labels %v", svc.Name, id, svc.Finalizers, svc.Status, svc.Labels)
		}
		return
	}
	if m.named(svc) != "" {
		if id != "" {
			m.t.Errorf("%s names a CLB, but has %s still", svc.Name, id)
		}
		m.judgeReused(svc, parts)
		return
	}
	if id == "" {
		m.t.Errorf("%s has no CLB; status %v, labels %v", svc.Name, svc.Status, svc.Labels)
		return
	}
	if diff := cmp.Diff(parts, m.presentParts(id, parts)); diff != "" {
		m.t.Errorf("%s, %s (-want +got):\n%s", svc.Name, id, diff)
	}
	marks := fmt.Sprint(svc.Finalizers, svc.Labels[LabelLoadBalancerID], len(svc.Labels[LabelHash]) > 0, ips(svc))
	if want := fmt.Sprint([]string{Finalizer}, id, true, []string{lb.GetAddress()}); marks != want {
		m.t.Errorf("%s has marks %s, want %s", svc.Name, marks, want)
	}
	if name := m.value(svc, annotation.Name); name != "" && name != lb.GetName() {
		m.t.Errorf("%s is called %s, want %s", id, lb.GetName(), name)
	}
	if protect := m.value(svc, annotation.DeleteProtection); protect != "" && protect == "on" != lb.GetDeleteProtection() {
		m.t.Errorf("%s is protected: %t, want %s", id, lb.GetDeleteProtection(), protect)
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
		list = append(list, ingress.IP)
	}
	return list
}

func tagOf(lb *slbv1.LoadBalancer, key string) string {
	for _, t := range lb.GetTags() {
		if t.GetKey() == key {
			return t.GetValue()
		}
	}
	return ""
}

// protocol is that of a port's listener.
func (m *monkey) protocol(svc *corev1.Service, port corev1.ServicePort) string {
	for pair := range strings.SplitSeq(m.value(svc, annotation.ProtocolPort), ",") {
		if protocol, number, _ := strings.Cut(pair, ":"); number == fmt.Sprint(port.Port) {
			return protocol
		}
	}
	return strings.ToLower(string(port.Protocol))
}

// wantedParts are the listeners and vServer groups that a Service asks for.
func (m *monkey) wantedParts(svc *corev1.Service) []string {
	pods := svc.Annotations["service.beta.kubernetes.io/backend-type"] == "eni"
	var parts []string
	for _, port := range svc.Spec.Ports {
		number := port.NodePort
		if pods {
			number = port.TargetPort.IntVal
		}
		group := fmt.Sprintf("k8s/%d/%s/default/%s", number, svc.Name, clusterID)
		if mapped := m.mapped(svc, port); mapped != "" {
			group = mapped
		}
		protocol, target := m.protocol(svc, port), group
		if protocol == "http" && m.value(svc, annotation.ForwardPort) != "" {
			target = "redirect to 443"
		}
		servers := m.wantedServers(svc, port, pods)
		parts = append(parts, fmt.Sprintf("group %s: %s", group, strings.Join(servers, " ")))
		m.keepsLast[group] = len(servers) == 0 && !pods &&
			(svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || len(m.readyPods(svc.Name)) > 0)
		if m.named(svc) == "" || m.overrides(svc) {
			parts = append(parts, fmt.Sprintf("listener %d/%s running %s to %s", port.Port, protocol, m.value(svc, annotation.Scheduler), target))
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

func (m *monkey) wantedServers(svc *corev1.Service, port corev1.ServicePort, pods bool) []string {
	weight := m.value(svc, annotation.DefaultWeight)
	if weight == "" {
		weight = "100"
	}
	local := false
	ready := map[string]int{}  // pods by node
	shares := map[string]int{} // of the weight, by server
	var servers []string
	for ip, node := range m.readyPods(svc.Name) {
		ready[node]++
		if pods {
			shares[fmt.Sprintf("eni-%s:%d", ip, port.TargetPort.IntVal)] = 1
		}
	}
	nodes, err := m.kube.CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, node := range nodes.Items {
		usable := node.Status.Conditions[0].Status == corev1.ConditionTrue &&
			(!node.Spec.Unschedulable || m.value(svc, annotation.RemoveUnscheduled) == "")
		id := "i-" + strings.TrimPrefix(node.Name, "node-")
		switch {
		case pods || !usable:
		case svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
			shares[fmt.Sprintf("%s:%d", id, port.NodePort)] = 1
		case ready[node.Name] > 0:
			shares[fmt.Sprintf("%s:%d", id, port.NodePort)] = ready[node.Name]
			local = true
		}
	}
	sum := 0
	for _, n := range shares {
		sum += n
	}
	total, err := strconv.Atoi(m.value(svc, annotation.Weight))
	shared := err == nil && m.named(svc) != "" && m.value(svc, annotation.VGroupPort) != ""
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
		if node.Status.Conditions[0].Status == corev1.ConditionTrue {
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
			return m.resting[place]
		})
		if m.keepsLast[name] && slices.Contains(wanted, empty) {
			return empty
		}
	}
	slices.Sort(servers)
	return empty + strings.Join(servers, " ")
}

func (m *monkey) readyPods(service string) map[string]string {
	list, err := m.kube.DiscoveryV1().EndpointSlices("default").List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	ready := map[string]string{}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if slice.Labels[discoveryv1.LabelServiceName] == service && *e.Conditions.Ready {
				ready[e.Addresses[0]] = *e.NodeName
			}
		}
	}
	return ready
}

// presentParts are the listeners and vServer groups of a CLB, without what others put there. A group that is not wanted may stay
// for the sake of a foreign server, without servers of ours.
func (m *monkey) presentParts(id string, wanted []string) []string {
	var parts []string
	for key, l := range m.cloud.Listeners {
		if key.LoadBalancerID != id || key.Port == foreignPort {
			continue
		}
		target := m.cloud.ServerGroups[l.GetConfig().GetServerGroupId()]
		to := fmt.Sprint("redirect to ", l.GetConfig().GetForwardPort())
		if target != nil {
			to = target.Name
		}
		protocol := strings.ToLower(strings.TrimPrefix(key.Protocol.String(), "PROTOCOL_"))
		parts = append(parts, fmt.Sprintf("listener %d/%s %s %s to %s", key.Port, protocol, l.GetStatus(), l.GetConfig().GetScheduler(), to))
	}
	for _, g := range m.cloud.ServerGroups {
		if g.LoadBalancerID != id {
			continue
		}
		var servers []string
		for _, s := range g.Servers {
			if !foreignServer(s) {
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.GetServerId(), s.GetPort(), s.GetWeight()))
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
		m.t.Errorf("the CLB of others was touched (-before +after):\n%s", cmp.Diff(m.theirs, got))
	}
	for _, f := range m.foreign {
		lb, ok := m.cloud.LoadBalancers[f.instance]
		if !ok {
			continue // It went with the CLB.
		}
		if tagOf(lb, "by") != "hand" {
			m.t.Errorf("%s has lost a tag of others", f.instance)
		}
		if l, ok := m.cloud.Listeners[f.listener]; !ok || l.GetConfig().GetDescription() != "by hand" {
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
	return append(m.presentParts(foreignLB, nil), fmt.Sprint(m.cloud.LoadBalancers[foreignLB].GetTags(),
		m.cloud.LoadBalancers[foreignLB].GetName()))
}
