package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// rejects says what the existing controller manager of the cluster's version would change, refuse or not find. Its
// rules, not ours: it finds a CLB by tag and name, listeners by port and protocol, vServer groups by their names and
// servers by their descriptions.
func (m migration) rejects() []string {
	m.t.Helper()
	a := acceptance{migration: m, cloud: m.state(m.t)}
	services, err := m.Client().CoreV1().Services(metav1.NamespaceAll).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	balanced := 0
	for _, svc := range services.Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			a.service(&svc)
			balanced++
		}
	}
	if balanced == 0 {
		a.wrong("there are no Services")
	}
	a.nodes()
	return a.faults
}

type acceptance struct {
	migration
	cloud  *state.Cloud
	faults []string
}

func (a *acceptance) wrong(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// either is the value of an annotation with the present prefix, or else with the older one.
func either(svc *corev1.Service, key string) string {
	if value, ok := svc.Annotations[annotationPrefix+key]; ok {
		return value
	}
	return svc.Annotations[legacyPrefix+key]
}

func (a *acceptance) service(svc *corev1.Service) {
	wrong := func(format string, args ...any) { a.wrong("Service "+svc.Name+": "+format, args...) }
	// A finalizer that the version does not know would keep the Service for ever; one that it knows and misses, it would add.
	if has := slices.Contains(svc.Finalizers, clbFinalizer); has == a.version.noFinalizer {
		wrong("finalizers %q", svc.Finalizers)
	}
	name := ("a" + strings.ReplaceAll(string(svc.UID), "-", ""))[:32]
	lb := a.find(svc, name, wrong)
	if lb == nil {
		return
	}
	if id, ok := svc.Labels[idLabel]; ok && id != lb.ID {
		wrong("label of the id %s, its CLB is %s", id, lb.ID)
	}
	address := lb.Address
	if host := either(svc, "hostname"); host != "" {
		address = host
	}
	if in := svc.Status.LoadBalancer.Ingress; len(in) != 1 || in[0].IP+in[0].Hostname != address {
		wrong("status %v, want %s", in, address)
	}
	a.attributes(svc, lb, wrong)
	mapped := either(svc, "vgroup-port") != ""
	groups := map[string]*state.ServerGroup{} // those that the Service is to have
	for _, port := range svc.Spec.Ports {
		groupName := a.groupName(svc, port)
		var group *state.ServerGroup
		for _, g := range a.cloud.ServerGroups {
			if g.LoadBalancerID == lb.ID && (g.Name == groupName || mapped && strings.Contains(either(svc, "vgroup-port"), g.ID+":")) {
				group = g
			}
		}
		if group == nil {
			wrong("no vServer group %s", groupName)
			continue
		}
		groups[group.ID] = group
		if either(svc, "id") == "" || either(svc, "force-override-listeners") == "true" {
			a.listener(svc, lb, port, group, wrong)
		}
	}
	own := fmt.Sprintf("/%s/%s/%s", svc.Name, svc.Namespace, a.clusterID())
	for _, g := range a.cloud.ServerGroups {
		if strings.HasPrefix(g.Name, "k8s/") && strings.HasSuffix(g.Name, own) && groups[g.ID] == nil {
			wrong("it would delete vServer group %s", g.Name)
		}
	}
	for _, l := range lb.Listeners {
		key := fmt.Sprintf("k8s/%d%s", l.Port, own)
		if l.Attributes["Description"] == key && !slices.ContainsFunc(svc.Spec.Ports,
			func(p corev1.ServicePort) bool { return int(p.Port) == l.Port }) {
			wrong("it would delete listener %d", l.Port)
		}
	}
}

// find gives the CLB of a Service, by the id that it names or by the tag.
func (a *acceptance) find(svc *corev1.Service, name string, wrong func(string, ...any)) *state.LoadBalancer {
	if id := either(svc, "id"); id != "" {
		lb := a.cloud.LoadBalancers[id]
		switch {
		case lb == nil:
			wrong("no CLB %s", id)
		case tag(lb, serviceTag) != "" || tag(lb, "ack.aliyun.com") != "":
			wrong("CLB %s is refused for its tags %v", id, lb.Tags)
		case tag(lb, "kubernetes.reused.by.user") != "true" && !a.version.noReuseTag:
			wrong("it would add a tag to %s", id)
		}
		return lb
	}
	var found []*state.LoadBalancer
	for _, lb := range a.cloud.LoadBalancers {
		if tag(lb, serviceTag) == name {
			found = append(found, lb)
		}
	}
	if len(found) != 1 {
		wrong("%d CLBs have the tag %s", len(found), name)
		return nil
	}
	if cluster := tag(found[0], "ack.aliyun.com"); cluster != "" && cluster != a.clusterID() {
		wrong("the tag of the cluster is %q", cluster)
	}
	return found[0]
}

// attributes compares those that the annotations name; it changes or refuses what differs, and takes away tags that it doesn't know.
func (a *acceptance) attributes(svc *corev1.Service, lb *state.LoadBalancer, wrong func(string, ...any)) {
	for key, got := range map[string]string{
		"address-type": lb.AddressType, "name": lb.Name, "delete-protection": lb.DeleteProtection, "instance-charge-type": lb.InstanceChargeType,
		"resource-group-id": lb.ResourceGroupID, "modification-protection": lb.ModificationStatus,
	} {
		if want := either(svc, key); want != "" && want != got {
			wrong("%s is %q, want %q", key, got, want)
		}
	}
	want := map[string]string{}
	for pair := range strings.SplitSeq(either(svc, "additional-resource-tags"), ",") {
		if key, value, _ := strings.Cut(pair, "="); key != "" {
			want[key] = value
		}
	}
	own := []string{serviceTag, "ack.aliyun.com", "kubernetes.reused.by.user"}
	got := map[string]string{}
	for _, t := range lb.Tags {
		if !slices.Contains(own, t.Key) {
			got[t.Key] = t.Value
		}
	}
	if !maps.Equal(want, got) {
		wrong("tags %v, want %v", got, want)
	}
}

// listener compares the listener of a port. What no annotation names, it leaves as it is.
func (a *acceptance) listener(svc *corev1.Service, lb *state.LoadBalancer, port corev1.ServicePort,
	group *state.ServerGroup, wrong func(string, ...any)) {
	protocol := strings.ToLower(string(port.Protocol))
	for pair := range strings.SplitSeq(either(svc, "protocol-port"), ",") {
		if p, number, _ := strings.Cut(pair, ":"); number == fmt.Sprint(port.Port) {
			protocol = p
		}
	}
	at := slices.IndexFunc(lb.Listeners, func(l *state.Listener) bool { return l.Port == int(port.Port) && l.Protocol == protocol })
	if at < 0 {
		wrong("no listener %s:%d", protocol, port.Port)
		return
	}
	l := lb.Listeners[at]
	if l.Status != "running" {
		wrong("it would start listener %d, which is %s", l.Port, l.Status)
	}
	want := map[string]string{"Description": fmt.Sprintf("k8s/%d/%s/%s/%s", port.Port, svc.Name, svc.Namespace,
		a.clusterID()), "VServerGroupId": group.ID}
	forward := strings.HasPrefix(either(svc, "forward-port"), fmt.Sprint(port.Port)+":")
	if forward {
		delete(want, "VServerGroupId")
		want["ListenerForward"] = "on"
	}
	for key, attribute := range map[string]string{
		"scheduler": "Scheduler", "idle-timeout": "IdleTimeout", "connection-drain": "ConnectionDrain",
		"connection-drain-timeout": "ConnectionDrainTimeout",
		"acl-status":               "AclStatus", "acl-type": "AclType", "health-check-type": "HealthCheckType",
		"health-check-uri": "HealthCheckURI",
	} {
		if value := either(svc, key); value != "" {
			want[attribute] = value
		}
	}
	if protocol == "https" {
		want["ServerCertificateId"] = either(svc, "cert-id")
	}
	for name, value := range want {
		if l.Attributes[name] != value {
			wrong("listener %d has %s %q, want %q", l.Port, name, l.Attributes[name], value)
		}
	}
	if !forward {
		a.servers(svc, port, group, wrong)
	}
}

// servers looks for servers that the version would add, remove or describe anew. Servers that it doesn't take for its own it leaves alone.
func (a *acceptance) servers(svc *corev1.Service, port corev1.ServicePort, group *state.ServerGroup, wrong func(string, ...any)) {
	pods := svc.Annotations[backendType] == "eni" || svc.Annotations[backendType] == "" && a.version.pods
	if pods || svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		for _, s := range group.Servers { // Where they come from is another matter; whose they are is in the description.
			if s.Description != a.groupName(svc, port) {
				wrong("server %s is described %q", s.ServerID, s.Description)
			}
		}
		return
	}
	weight := 100
	if text := either(svc, "default-weight"); text != "" {
		_, _ = fmt.Sscan(text, &weight)
	}
	found := map[string]bool{}
	for _, s := range group.Servers {
		if s.Description == "" && a.version.noReuseTag {
			found[s.ServerID] = true // It compares descriptions only since it knows foreign servers.
			continue
		}
		if s.Description != a.groupName(svc, port) || s.Port != int(port.NodePort) || s.Weight != weight {
			wrong("server %s:%d with weight %d is described %q", s.ServerID, s.Port, s.Weight, s.Description)
		}
		found[s.ServerID] = true
	}
	if workers := a.workers(); !slices.Equal(slices.Sorted(maps.Keys(found)), workers) {
		wrong("servers %v, want %v", slices.Sorted(maps.Keys(found)), workers)
	}
}

// nodes looks at what the version writes on nodes, and at their routes.
func (a *acceptance) nodes() {
	list, err := a.Client().CoreV1().Nodes().List(a.t.Context(), metav1.ListOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, node := range list.Items {
		i := a.cloud.Instances[instanceOf(&node)]
		if i == nil || node.Spec.ProviderID != world.Region+"."+i.ID {
			a.wrong("node %s has the provider id %s", node.Name, node.Spec.ProviderID)
			continue
		}
		for key, value := range a.era.labels(i) {
			if node.Labels[key] != value {
				a.wrong("node %s has the label %s=%s, want %s", node.Name, key, node.Labels[key], value)
			}
		}
		if len(node.Spec.Taints) > 0 {
			a.wrong("node %s has the taints %v", node.Name, node.Spec.Taints)
		}
		if !slices.ContainsFunc(node.Status.Addresses, func(at corev1.NodeAddress) bool {
			return at.Type == corev1.NodeInternalIP && at.Address == i.PrivateIPs[0]
		}) {
			a.wrong("node %s has the addresses %v", node.Name, node.Status.Addresses)
		}
		if !a.era.routes {
			continue
		}
		if condition(&node, corev1.NodeNetworkUnavailable) != corev1.ConditionFalse {
			a.wrong("node %s has no network", node.Name)
		}
		// It lists custom entries with one next hop, an instance.
		entries := 0
		for _, e := range a.cloud.RouteTables[world.RouteTableID].Entries {
			if e.Cidr == node.Spec.PodCIDR && e.NextHopID == i.ID && e.NextHopType == "Instance" && e.Type == "Custom" && len(e.NextHops) == 0 {
				entries++
			}
		}
		if entries != 1 {
			a.wrong("node %s has %d routes to %s", node.Name, entries, node.Spec.PodCIDR)
		}
	}
}
