package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const (
	hashLabel    = "service.beta.kubernetes.io/hash"
	idLabel      = "service.k8s.alibaba/loadbalancer-id"
	clbFinalizer = "service.k8s.alibaba/resources"
	serviceTag   = "kubernetes.do.not.delete"
)

func annotation(svc *corev1.Service, key string) string { return svc.Annotations[annotationPrefix+key] }

// mend corrects every Service that is wrong, and takes the hash off all, which has their CLBs compared at once.
func (m *monkey) mend() {
	m.t.Helper()
	for _, svc := range m.services() {
		protocols := map[int32]string{}
		for _, port := range svc.Spec.Ports {
			protocols[port.Port] = listenerProtocol(&svc, port)
		}
		annotations := map[string]any{annotationPrefix + "cert-id": world.CertificateID, "peace": time.Now().String()}
		if asked := annotation(&svc, "scheduler"); asked == "" || asked == "fastest" { // Who says nothing gets what there is.
			annotations[annotationPrefix+"scheduler"] = "rr"
		}
		for key, wrong := range map[string]string{"default-weight": "many", "protocol-port": "gopher:70"} {
			if annotation(&svc, key) == wrong {
				annotations[annotationPrefix+key] = nil
			}
		}
		if protocols[80] != "http" || protocols[443] != "https" {
			annotations[annotationPrefix+"forward-port"] = nil
		}
		m.patch(svc.Name, map[string]any{"metadata": map[string]any{"annotations": annotations, "labels": map[string]any{hashLabel: nil}}})
	}
}

// judge says what is not as it should be. It clears the addresses of CLBs that are gone, as the warning of a Service asks for.
func (m *monkey) judge(ctx context.Context) []string {
	var faults []string
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	services := m.services() // Read before the cloud: if the CLB of a published address is missing there, it is gone.
	c := m.state(m.t)
	ours := map[string]*state.LoadBalancer{}
	for id, lb := range c.LoadBalancers {
		if name := tag(lb, serviceTag); id != theirCLB {
			if ours[name] != nil {
				wrong("%s and %s are both of %s", id, ours[name].ID, name)
			}
			ours[name] = lb
		}
	}
	for _, svc := range services {
		name := ("a" + strings.ReplaceAll(string(svc.UID), "-", ""))[:32]
		ingress := svc.Status.LoadBalancer.Ingress
		if lb := ours[name]; len(ingress) > 0 && (lb == nil || lb.Address != ingress[0].IP) { // Another's may have got the address.
			m.patch(svc.Name, map[string]any{"status": map[string]any{"loadBalancer": nil}}, "status")
		}
		found := m.judgeService(&svc, ours[name], c)
		if len(found) > 0 {
			wrong("%s: %s\nevents: %s", svc.Name, strings.Join(found, "\n"), strings.Join(m.events(ctx, svc.Name), "\n"))
		}
		delete(ours, name)
	}
	for _, lb := range ours {
		wrong("%s is left over, tags %v", lb.ID, lb.Tags)
	}
	for id, group := range c.ServerGroups {
		if c.LoadBalancers[group.LoadBalancerID] == nil {
			wrong("group %s is left over", id)
		}
	}
	return append(faults, m.judgeTheirs(c)...)
}

func (m *monkey) judgeService(svc *corev1.Service, lb *state.LoadBalancer, c *state.Cloud) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if svc.DeletionTimestamp != nil || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if lb != nil || slices.Contains(svc.Finalizers, clbFinalizer) || svc.Labels[idLabel] != "" {
			wrong("it wants no CLB but has %t, finalizers %v, labels %v", lb != nil, svc.Finalizers, svc.Labels)
		}
		return faults
	}
	if lb == nil {
		return []string{fmt.Sprintf("it has no CLB; status %v, labels %v", svc.Status.LoadBalancer, svc.Labels)}
	}
	want := m.wantedParts(svc)
	if diff := cmp.Diff(want, presentParts(c, lb, want)); diff != "" {
		wrong("%s (-want +got):\n%s", lb.ID, diff)
	}
	ingress := svc.Status.LoadBalancer.Ingress
	if len(ingress) != 1 || ingress[0].IP != lb.Address || svc.Labels[idLabel] != lb.ID || svc.Labels[hashLabel] == "" ||
		!slices.Contains(svc.Finalizers, clbFinalizer) {
		wrong("%s has address %s, the Service has status %v, labels %v, finalizers %v", lb.ID, lb.Address, ingress, svc.Labels, svc.Finalizers)
	}
	if name := annotation(svc, "name"); name != "" && name != lb.Name {
		wrong("%s is called %s, want %s", lb.ID, lb.Name, name)
	}
	if protect := annotation(svc, "delete-protection"); protect != "" && protect != lb.DeleteProtection {
		wrong("delete protection of %s is %s, want %s", lb.ID, lb.DeleteProtection, protect)
	}
	for _, key := range []string{"a", "b"} {
		value := ""
		for pair := range strings.SplitSeq(annotation(svc, "additional-resource-tags"), ",") {
			if k, v, _ := strings.Cut(pair, "="); k == key {
				value = v
			}
		}
		if got := tag(lb, key); got != value {
			wrong("tag %s of %s is %q, want %q", key, lb.ID, got, value)
		}
	}
	return faults
}

func tag(lb *state.LoadBalancer, key string) string {
	for _, t := range lb.Tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// listenerProtocol is that of a port's listener.
func listenerProtocol(svc *corev1.Service, port corev1.ServicePort) string {
	for pair := range strings.SplitSeq(annotation(svc, "protocol-port"), ",") {
		if protocol, number, _ := strings.Cut(pair, ":"); number == fmt.Sprint(port.Port) {
			return protocol
		}
	}
	return strings.ToLower(string(port.Protocol))
}

// lastServers stands for whatever a group has that no node qualifies for: it loses none for that.
const lastServers = "the last"

// wantedParts are the listeners and vServer groups that a Service asks for.
func (m *monkey) wantedParts(svc *corev1.Service) []string {
	var parts []string
	for _, port := range svc.Spec.Ports {
		number := port.NodePort
		if svc.Annotations[backendType] == "eni" {
			number = port.TargetPort.IntVal
		}
		group := fmt.Sprintf("k8s/%d/%s/default/%s", number, svc.Name, world.ClusterID)
		protocol, target := listenerProtocol(svc, port), group
		if protocol == "http" && annotation(svc, "forward-port") != "" {
			target = "redirect to 443"
		}
		listener := fmt.Sprintf("listener %d/%s running to %s", port.Port, protocol, target)
		if target == group { // A redirect has none.
			listener += " by " + annotation(svc, "scheduler")
		}
		servers := strings.Join(m.wantedServers(svc, port), " ")
		byNodes := svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal || len(m.readyPods(svc.Name)) > 0
		if servers == "" && svc.Annotations[backendType] != "eni" && byNodes {
			servers = lastServers
		}
		parts = append(parts, listener, fmt.Sprintf("group %s: %s", group, servers))
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

func (m *monkey) wantedServers(svc *corev1.Service, port corev1.ServicePort) []string {
	weight := annotation(svc, "default-weight")
	if weight == "" {
		weight = "100"
	}
	pods := svc.Annotations[backendType] == "eni"
	ready := map[string]int{} // pods by node
	var servers []string
	for ip, node := range m.readyPods(svc.Name) {
		ready[node]++
		if pods {
			servers = append(servers, fmt.Sprintf("%s %s:%d=%s", podENI, ip, port.TargetPort.IntVal, weight))
		}
	}
	for _, node := range m.nodes() {
		_, excluded := node.Labels[excludeLabel]
		usable := condition(&node, corev1.NodeReady) == corev1.ConditionTrue && !excluded &&
			(!node.Spec.Unschedulable || annotation(svc, "remove-unscheduled-backend") == "")
		id := strings.TrimPrefix(node.Spec.ProviderID, world.Region+".")
		switch {
		case pods || !usable:
		case svc.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal:
			servers = append(servers, fmt.Sprintf("%s:%d=%s", id, port.NodePort, weight))
		case ready[node.Name] > 0:
			servers = append(servers, fmt.Sprintf("%s:%d=%d", id, port.NodePort, ready[node.Name]))
		}
	}
	slices.Sort(servers)
	return servers
}

// readyPods are the nodes of a Service's ready pods by their address.
func (m *monkey) readyPods(service string) map[string]string {
	list, err := m.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(m.t.Context(),
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		m.t.Fatal(err)
	}
	ready := map[string]string{}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if *e.Conditions.Ready {
				ready[e.Addresses[0]] = *e.NodeName
			}
		}
	}
	return ready
}

// presentParts are the listeners and vServer groups of a CLB, without the servers of others. A group that is not wanted may stay for
// their sake, without servers of ours.
func presentParts(c *state.Cloud, lb *state.LoadBalancer, wanted []string) []string {
	var parts []string
	for _, l := range lb.Listeners {
		part := fmt.Sprintf("listener %d/%s %s to redirect to %s", l.Port, l.Protocol, l.Status, l.Attributes["ForwardPort"])
		if group := c.ServerGroups[l.Attributes["VServerGroupId"]]; group != nil {
			part = fmt.Sprintf("listener %d/%s %s to %s by %s", l.Port, l.Protocol, l.Status, group.Name, l.Attributes["Scheduler"])
		}
		parts = append(parts, part)
	}
	for _, group := range c.ServerGroups {
		if group.LoadBalancerID != lb.ID {
			continue
		}
		var servers []string
		for _, s := range group.Servers {
			switch {
			case s.Port == theirPort:
			case s.Type == "eni":
				servers = append(servers, fmt.Sprintf("%s %s:%d=%d", s.ServerID, s.ServerIP, s.Port, s.Weight))
			default:
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.ServerID, s.Port, s.Weight))
			}
		}
		slices.Sort(servers)
		part := fmt.Sprintf("group %s: %s", group.Name, strings.Join(servers, " "))
		if last := fmt.Sprintf("group %s: %s", group.Name, lastServers); slices.Contains(wanted, last) {
			part = last
		}
		if len(servers) < len(group.Servers) && len(servers) == 0 && !slices.Contains(wanted, part) {
			continue
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return parts
}

// oneLook is how long it may take from a look at a group to its deletion: what comes in between can't be seen. Each
// call of a pass may wait for a cloud that is slow, throttles or is away, and for this machine.
const oneLook = time.Minute

// judgeTheirs looks for what others have made.
func (m *monkey) judgeTheirs(c *state.Cloud) (faults []string) {
	if now := m.describeTheirs(c); now != m.theirs {
		faults = append(faults, "the CLB of others was touched (-before +after):\n"+cmp.Diff(m.theirs, now))
	}
	for group, added := range m.byHand {
		g := c.ServerGroups[group]
		if g != nil && slices.ContainsFunc(g.Servers, func(s *state.Server) bool { return s.Port == theirPort }) {
			continue
		}
		if deleted, with := m.deletion(group, added.instance); with || deleted.Sub(added.at) < oneLook {
			continue
		}
		faults = append(faults, fmt.Sprintf("group %s lost a server of others: %v", group, g))
	}
	return faults
}

// deletion reads in the journal when a group was deleted, and whether its CLB was deleted with it.
func (m *monkey) deletion(group, instance string) (at time.Time, withCLB bool) {
	calls, _, err := m.Cloud().Calls(m.t.Context(), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	at = time.Now().Add(time.Hour) // Never.
	for _, call := range calls {
		switch {
		case !call.Effect:
		case call.Action == "DeleteVServerGroup" && call.Params["VServerGroupId"] == group:
			at = call.Time
		case call.Action == "DeleteLoadBalancer" && call.Params["LoadBalancerId"] == instance:
			withCLB = true
		}
	}
	return at, withCLB
}
