package lb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// virtualNode runs pods that are reached directly.
const virtualNode = "virtual"

// namedTarget is the number behind the name of a target port.
const namedTarget = 8081

// somePod is a pod behind a Service.
type somePod struct {
	n int // of its address
	// ready, terminating and serving are its conditions. A gated pod waits for nothing but the load balancer, or did so.
	ready, terminating, serving, gated bool
}

// node is where the pod runs.
func (p somePod) node() string { return nodeOfPod(p.n) }

// name is that of the pod behind a Service.
func (p somePod) name(service string) string { return fmt.Sprintf("%s-%d", service, p.n) }

// nodeOfPod is where the pod with an address runs.
func nodeOfPod(n int) string {
	if n%(chaosNodes+1) == chaosNodes {
		return virtualNode
	}
	return fmt.Sprintf("node-%d", 1+n%(chaosNodes+1))
}

// addVirtualNode adds the node of pods that are reached directly.
func (m *monkey) addVirtualNode() {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: virtualNode, Labels: map[string]string{nodes.LabelType: nodes.ValueVirtual}}}
	if _, err := m.kube.CoreV1().Nodes().Create(m.t.Context(), node, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// havePods is in the text of a change of pods.
const havePods = " has pods "

// movePods gives a Service up to four pods, some of which are not ready, wait for their gate, or terminate.
func (m *monkey) movePods(name string) string {
	had := m.pods[name]
	m.pods[name] = nil
	for range m.n(5) {
		p := somePod{n: 1 + m.n(podAddresses)}
		if slices.ContainsFunc(m.pods[name], func(other somePod) bool { return other.n == p.n }) {
			continue
		}
		switch m.n(8) {
		case 0: // Not ready.
		case 1:
			p.terminating, p.serving = true, m.n(2) == 0
		case 2:
			p.gated = true
			if i := slices.IndexFunc(had, func(old somePod) bool { return old.n == p.n && old.gated }); i >= 0 {
				p = had[i]
			}
		default:
			p.ready = true
		}
		m.pods[name] = append(m.pods[name], p)
	}
	gated := func(list []somePod, p somePod) bool {
		return slices.ContainsFunc(list, func(other somePod) bool { return other.n == p.n && other.gated })
	}
	for _, p := range m.pods[name] {
		if p.gated && !gated(had, p) {
			m.addGated(name, p)
		}
	}
	m.after(time.Millisecond) // Pods are there long before their containers are ready.
	m.putSlices(name)
	for _, p := range had {
		if !p.gated || gated(m.pods[name], p) {
			continue
		}
		if err := m.kube.CoreV1().Pods("default").Delete(m.t.Context(), p.name(name), metav1.DeleteOptions{}); err != nil {
			m.t.Fatal(err)
		}
	}
	return fmt.Sprintf("%s%s%+v", name, havePods, m.pods[name])
}

// addGated adds a pod that waits for nothing but the load balancer.
func (m *monkey) addGated(service string, p somePod) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.name(service), UID: types.UID("uid-" + p.name(service))},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: readiness.Gate(service)}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}},
	}
	if _, err := m.kube.CoreV1().Pods("default").Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// kubelet makes pods ready whose gate is open.
func (m *monkey) kubelet() {
	for name, pods := range m.pods {
		changed := false
		for i, p := range pods {
			if p.gated && !p.ready && m.isOpen(name, p) {
				pods[i].ready, changed = true, true
			}
		}
		if changed {
			m.putSlices(name)
		}
	}
}

// isOpen reports whether the gate of a pod is open.
func (m *monkey) isOpen(service string, p somePod) bool {
	pod, err := m.kube.CoreV1().Pods("default").Get(m.t.Context(), p.name(service), metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == readiness.Gate(service) && c.Status == corev1.ConditionTrue
	})
}

// putSlices writes the EndpointSlices of a Service, one for each family, with the ports that it has now and is to have.
func (m *monkey) putSlices(name string, soon ...corev1.ServicePort) {
	var ports []discoveryv1.EndpointPort
	add := func(port corev1.ServicePort) {
		ports = append(ports, discoveryv1.EndpointPort{Name: new(port.Name), Protocol: new(port.Protocol), Port: new(targetOf(port))})
	}
	for _, svc := range m.services() {
		for _, port := range svc.Spec.Ports {
			if svc.Name == name {
				add(port)
			}
		}
	}
	for _, port := range soon {
		if !slices.ContainsFunc(ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == port.Name }) {
			add(port)
		}
	}
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: strings.ToLower(name + "-" + string(family)),
				Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: family, Ports: ports,
		}
		for _, p := range m.pods[name] {
			address := podIP(p.n)
			if family == discoveryv1.AddressTypeIPv6 {
				address = podIPv6(p.n)
			}
			e := pod(address, p.node())
			e.Conditions = discoveryv1.EndpointConditions{Ready: new(p.ready), Serving: new(p.serving || p.ready), Terminating: new(p.terminating)}
			if p.gated {
				e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: p.name(name), UID: types.UID("uid-" + p.name(name))}
			}
			slice.Endpoints = append(slice.Endpoints, e)
		}
		client := m.kube.DiscoveryV1().EndpointSlices("default")
		_, err := client.Update(m.t.Context(), slice, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(m.t.Context(), slice, metav1.CreateOptions{})
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// targetOf is the number of a port's target.
func targetOf(port corev1.ServicePort) int32 {
	if port.TargetPort.Type == intstr.String {
		return namedTarget
	}
	return port.TargetPort.IntVal
}

// takingPods are the pods that take traffic, with their nodes: those that are ready, or, if there are none, those that still serve; and
// those that wait for nothing but the load balancer.
func (m *monkey) takingPods(service string) map[string]string {
	ready, serving, waiting := map[string]string{}, map[string]string{}, map[string]string{}
	for _, p := range m.pods[service] {
		switch {
		case p.ready:
			ready[podIP(p.n)] = p.node()
		case p.terminating && p.serving:
			serving[podIP(p.n)] = p.node()
		case p.gated:
			waiting[podIP(p.n)] = p.node()
		}
	}
	if len(ready) == 0 {
		ready = serving
	}
	maps.Copy(ready, waiting)
	return ready
}

// replace writes a Service as its manifest is, without what the controller has noted. A crash in that moment would hide it, so there is
// peace for a while.
func (m *monkey) replace(svc *corev1.Service) string {
	if svc.DeletionTimestamp != nil {
		return svc.Name + " is not replaced"
	}
	svc.Labels, svc.Finalizers = nil, nil
	for key := range svc.Annotations {
		if _, ours := strings.CutPrefix(key, annotation.Prefix); !ours && key != annotation.BackendType {
			delete(svc.Annotations, key)
		}
	}
	for _, note := range []string{annotation.OwnTags, annotation.Applied, annotation.Claims, annotation.Making} {
		delete(svc.Annotations, note)
	}
	if _, err := m.kube.CoreV1().Services("default").Update(m.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		return svc.Name + " is not replaced: " + err.Error()
	}
	m.peace()
	return svc.Name + " is replaced by its manifest"
}

// deleteNodes deletes most nodes at once, or all.
func (m *monkey) deleteNodes() string {
	first := 1 + m.n(2)
	for n := first; n <= chaosNodes; n++ {
		err := m.kube.CoreV1().Nodes().Delete(m.t.Context(), fmt.Sprintf("node-%d", n), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			m.t.Fatal(err)
		}
	}
	return fmt.Sprintf("node-%d to node-%d are deleted", first, chaosNodes)
}

// restoreNodes brings back all nodes that were deleted.
func (m *monkey) restoreNodes() string {
	for n := 1; n <= chaosNodes; n++ {
		if _, err := m.kube.CoreV1().Nodes().Get(m.t.Context(), fmt.Sprintf("node-%d", n), metav1.GetOptions{}); err != nil {
			m.addNode(n)
		}
	}
	return "all nodes are back"
}

// defaultPart names the part of a Service in the default server group.
func defaultPart(service string) string { return "default of " + service }

// wantedDefault are the servers of a Service in the default server group: its nodes, each with its highest weight.
func wantedDefault(groups [][]string) []string {
	weights := map[string]int{}
	for _, servers := range groups {
		for _, server := range servers {
			place, weight, _ := strings.Cut(server, "=")
			id, _, _ := strings.Cut(place, ":")
			var n int
			if _, err := fmt.Sscan(weight, &n); err != nil || !strings.HasPrefix(id, "i-") {
				continue
			}
			weights[id] = max(weights[id], n)
		}
	}
	var list []string
	for id, weight := range weights {
		list = append(list, fmt.Sprintf("%s:0=%d", id, weight))
	}
	slices.Sort(list)
	return list
}

// presentDefault are the servers of a Service that are in the default server group of a CLB; the cloud is locked.
func (m *monkey) presentDefault(id, service string) []string {
	owner := ownership.Owner{Service: service, Namespace: "default", ClusterID: clusterID}
	var servers []string
	if lb := m.cloud.LoadBalancers[id]; lb != nil {
		for _, s := range lb.DefaultServers {
			if owner.Owns(s.Description) {
				servers = append(servers, fmt.Sprintf("%s:0=%d", s.ServerID, s.Weight))
			}
		}
	}
	return servers
}
