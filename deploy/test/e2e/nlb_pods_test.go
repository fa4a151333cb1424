package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// pod makes a pod that waits for a Service of its name's, with a network interface of an instance that has its addresses. Its containers
// run; the rest of a kubelet's work is done by kubelet.
func (w *nlbWorld) pod(t *testing.T, name, service, instance string, addresses ...string) {
	t.Helper()
	eni := &state.NetworkInterface{ID: "eni-" + name, Type: "Secondary", Status: "InUse", InstanceID: instance, VpcID: world.VpcID,
		VSwitchID: world.VSwitchIDs()[0], PrimaryIP: addresses[0]}
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addresses[0]}
	for _, address := range addresses {
		status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: address})
		if netip.MustParseAddr(address).Is4() {
			eni.PrivateIPs = append(eni.PrivateIPs, address)
		} else {
			eni.Ipv6Addresses = append(eni.Ipv6Addresses, address)
		}
	}
	if err := w.Cloud().Seed(t.Context(), &state.Cloud{Interfaces: map[string]*state.NetworkInterface{eni.ID: eni}}); err != nil {
		t.Fatal(err)
	}
	for kind, is := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodInitialized: corev1.ConditionTrue, corev1.ContainersReady: corev1.ConditionTrue, corev1.PodReady: corev1.ConditionFalse,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: is, LastTransitionTime: metav1.Now()})
	}
	pods := w.Client().CoreV1().Pods(metav1.NamespaceDefault)
	pod := plainPod(name, map[string]string{"app": service}, gate(service))
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/address"}} // Before it has its own, it would get one.
	pod, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status = status
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Spec.SchedulingGates = nil
	if _, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// kubelet does what one does for a pod with gates: it is ready once all of them are open. It returns the condition of the gate, and whether
// the pod is ready.
func (w *nlbWorld) kubelet(ctx context.Context, name string) (gate corev1.PodCondition, ready bool, err error) {
	pods := w.Client().CoreV1().Pods(metav1.NamespaceDefault)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return gate, false, err
	}
	find := func(kind corev1.PodConditionType) *corev1.PodCondition {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
		if i < 0 {
			return &corev1.PodCondition{}
		}
		return &pod.Status.Conditions[i]
	}
	gate = *find(pod.Spec.ReadinessGates[0].ConditionType)
	is := find(corev1.PodReady)
	want := corev1.ConditionFalse
	if gate.Status == corev1.ConditionTrue {
		want = corev1.ConditionTrue
	}
	if is.Status != want {
		is.Status, is.LastTransitionTime = want, metav1.Now()
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	}
	return gate, want == corev1.ConditionTrue, err
}

// becomesReady waits until pods are ready, and so are their endpoints.
func (w *nlbWorld) becomesReady(t *testing.T, service string, pods ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%v are ready", pods), func(ctx context.Context) error {
		for _, name := range pods {
			if gate, ready, err := w.kubelet(ctx, name); err != nil || !ready {
				return fmt.Errorf("pod %s: %w; its gate: %+v; events %q", name, err, gate, w.events(ctx, service))
			}
		}
		endpoints, err := w.endpoints(ctx, service)
		for _, name := range pods {
			if !endpoints[name] {
				return fmt.Errorf("endpoints by pod: %v: %w", endpoints, err)
			}
		}
		return nil
	})
}

// endpoints says by the pods of a Service whether all their endpoints are ready.
func (w *nlbWorld) endpoints(ctx context.Context, service string) (map[string]bool, error) {
	list, err := w.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return nil, err
	}
	ready := map[string]bool{}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			before, known := ready[e.TargetRef.Name]
			ready[e.TargetRef.Name] = *e.Conditions.Ready && (before || !known)
		}
	}
	return ready, nil
}

// onPods makes a Service for pods, and lets it ask for an NLB once the endpoints of the pods are known, so that the calls can be counted.
func (w *nlbWorld) onPods(t *testing.T, s *corev1.Service, pods, families int) {
	t.Helper()
	s.Annotations[backendType] = "eni"
	asked := s.Spec.DeepCopy()
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
	w.create(t, s)
	eventually(t, "the endpoints are there", func(ctx context.Context) error {
		list, err := w.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + s.Name,
		})
		if err != nil {
			return err
		}
		n := 0
		for _, slice := range list.Items {
			n += len(slice.Endpoints)
		}
		if n != pods*families {
			return fmt.Errorf("%d endpoints of %d pods", n, pods)
		}
		return nil
	})
	_, w.since = w.settle(t, 0)
	w.change(t, s.Name, func(now *corev1.Service) {
		now.Spec.Type, now.Spec.LoadBalancerClass = asked.Type, asked.LoadBalancerClass
	})
}

// looks waits until the health of servers was asked for so often since a place in the journal.
func (w *nlbWorld) looks(t *testing.T, since int64, n int) {
	t.Helper()
	eventually(t, "the health of servers is asked for", func(ctx context.Context) error {
		calls, _, err := w.Cloud().Calls(ctx, since)
		if err != nil {
			return err
		}
		if got := counts(calls, "nlb")["GetListenerHealthStatus"]; got < n {
			return fmt.Errorf("%d times, want %d", got, n)
		}
		return nil
	})
}

// healthy lets the health checks of an instance, and of the pods on it, succeed or fail.
func (w *nlbWorld) healthy(t *testing.T, instance string, is bool) {
	t.Helper()
	i := w.state(t).Instances[instance]
	i.Healthy = &is
	if err := w.Cloud().Seed(t.Context(), &state.Cloud{Instances: map[string]*state.Instance{instance: i}}); err != nil {
		t.Fatal(err)
	}
}

// gates: a pod that waits for the NLB is ready only when the NLB has found it healthy, and not while it is ill, however long that takes. To
// be registered is not enough. The wait costs reads only.
func (w *nlbWorld) gates(t *testing.T) {
	var healthy time.Duration
	err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) { healthy = doc.Settings.BackendHealthy })
	if err != nil || healthy < time.Second {
		t.Fatalf("the cloud knows the health of a server after %s: %v", healthy, err)
	}
	nodes := w.nodes(t)
	sound, ill := instanceOf(&nodes[0]), instanceOf(&nodes[1])
	w.healthy(t, ill, false)
	w.pod(t, "sound", "gated", sound, "192.168.100.10")
	w.pod(t, "ill", "gated", ill, "192.168.100.11")
	w.onPods(t, newNLBService("gated", nil, 80), 2, 1)

	w.becomesReady(t, "gated", "sound")
	gate, _, err := w.kubelet(t.Context(), "sound")
	if err != nil {
		t.Fatal(err)
	}
	servers := 0
	for _, g := range w.state(t).NLBServerGroups {
		for _, s := range g.Servers {
			servers++
			// Times of Kubernetes are whole seconds.
			if s.ServerID == "eni-sound" && gate.LastTransitionTime.Add(time.Second).Before(s.Added.Add(healthy)) {
				t.Errorf("the gate is open since %s, and the NLB knows that the pod is healthy since %s", gate.LastTransitionTime, s.Added.Add(healthy))
			}
		}
	}
	if servers != 2 {
		t.Errorf("%d servers, want the ill one, too", servers)
	}
	eventually(t, "the gate of the ill pod says why it is shut", func(ctx context.Context) error {
		gate, _, err := w.kubelet(ctx, "ill")
		if err == nil && (gate.Status != corev1.ConditionFalse || gate.Reason != "ServerUnhealthy") {
			err = fmt.Errorf("it is %+v", gate)
		}
		return err
	})
	w.cost(t, "a Service with two pods, until one is known to be ill", 20, map[string]int{
		"CreateLoadBalancer": 1, "CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1,
	})
	w.looks(t, w.since, 2)
	if gate, ready, err := w.kubelet(t.Context(), "ill"); err != nil || ready {
		t.Errorf("the ill pod is ready: %t, %v; its gate: %+v", ready, err, gate)
	}
	if endpoints, err := w.endpoints(t.Context(), "gated"); err != nil || !endpoints["sound"] || endpoints["ill"] {
		t.Errorf("endpoints by pod: %v, %v", endpoints, err)
	}
	w.healthy(t, ill, true)
	w.becomesReady(t, "gated", "ill", "sound")
	w.cost(t, "a pod that becomes healthy", 20, map[string]int{})
	w.remove(t, "gated")
	w.deletePods(t, "gated")
}

// deletePods deletes the pods of a Service.
func (w *nlbWorld) deletePods(t *testing.T, service string) {
	t.Helper()
	pods := w.Client().CoreV1().Pods(metav1.NamespaceDefault)
	if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=" + service}); err != nil {
		t.Fatal(err)
	}
}

// dualStack: a Service with both families has an NLB with addresses of both in each zone. Its pods are servers with both
// of their addresses, nodes with the one that they have. Without IPv6 in a vSwitch that it names, an event says so.
func (w *nlbWorld) dualStack(t *testing.T) {
	both := func(s *corev1.Service) *corev1.Service {
		s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
		return s
	}
	nodes := w.nodes(t)
	w.pod(t, "dual-0", "dual", instanceOf(&nodes[0]), "192.168.100.20", "2408:4000:0:1000::a:20")
	w.pod(t, "dual-1", "dual", instanceOf(&nodes[1]), "192.168.100.21", "2408:4000:0:1000::a:21")
	w.onPods(t, both(newNLBService("dual", map[string]string{"ipv6-address-type": "internet"}, 80)), 2, 2)
	w.becomesReady(t, "dual", "dual-0", "dual-1")
	since := w.since
	w.cost(t, "a Service of both families with two pods", 20, map[string]int{
		"CreateLoadBalancer": 1, "CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1,
		"EnableLoadBalancerIpv6Internet": 1,
	})
	w.isDual(t, "Internet", map[string][]string{"DualStack": {
		"192.168.100.20", "192.168.100.21", "2408:4000:0:1000::a:20", "2408:4000:0:1000::a:21"}})
	calls, _, err := w.Cloud().Calls(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	for action, param := range map[string]string{"CreateLoadBalancer": "AddressIpVersion", "CreateServerGroup": "AddressIPVersion"} {
		if !slices.ContainsFunc(calls, func(c journal.Call) bool { return c.Action == action && c.Params[param] == "DualStack" }) {
			t.Errorf("no %s has %s DualStack", action, param)
		}
	}
	w.hostname(t, "dual")
	w.remove(t, "dual")
	w.deletePods(t, "dual")

	_, w.since = w.settle(t, 0)
	w.create(t, both(newNLBService("dual-nodes", nil, 80)))
	w.hostname(t, "dual-nodes")
	w.holds(t, "all nodes serve", len(nodes))
	w.cost(t, "a Service of both families with nodes", 8, map[string]int{
		"CreateLoadBalancer": 1, "CreateServerGroup": 1, "AddServersToServerGroup": 1, "CreateListener": 1,
	})
	var addresses []string
	for _, i := range w.state(t).Instances {
		addresses = append(addresses, i.PrivateIPs[0])
	}
	slices.Sort(addresses)
	w.isDual(t, "Intranet", map[string][]string{"ipv4": addresses})
	w.remove(t, "dual-nodes")

	four, zones := *w.state(t).VSwitches[world.VSwitchIDs()[1]], ""
	for i, id := range world.VSwitchIDs() {
		zones += []string{"", ","}[i] + w.state(t).VSwitches[id].ZoneID + ":" + id
	}
	six := four
	four.Ipv6Cidr = ""
	w.put(t, &four)
	w.create(t, both(newNLBService("dual-nowhere", map[string]string{"zone-maps": zones}, 80)))
	// By a list of vSwitches of the minute before, the cloud refuses it.
	eventually(t, "a warning says that a vSwitch has no IPv6", func(ctx context.Context) error {
		events := strings.Join(w.events(ctx, "dual-nowhere"), "\n")
		if !strings.Contains(events, "vSwitchNotSupportIpv6") && !strings.Contains(events, "has no IPv6 range") {
			return fmt.Errorf("no warning of IPv6: %s", events)
		}
		return nil
	})
	w.remove(t, "dual-nowhere")
	w.put(t, &six)
}

func (w *nlbWorld) put(t *testing.T, v *state.VSwitch) {
	t.Helper()
	if err := w.Cloud().Seed(t.Context(), &state.Cloud{VSwitches: map[string]*state.VSwitch{v.ID: v}}); err != nil {
		t.Fatal(err)
	}
}

// isDual checks that there is one NLB, with addresses of both families in two zones, and that its server groups have these servers, by the
// families of the group.
func (w *nlbWorld) isDual(t *testing.T, sixFrom string, groups map[string][]string) {
	t.Helper()
	c := w.state(t)
	for _, lb := range c.NLBs {
		if lb.AddressIPVersion != "DualStack" || lb.Ipv6AddressType != sixFrom || len(lb.Zones) != 2 {
			t.Errorf("the NLB is %s with IPv6 from %s in %d zones", lb.AddressIPVersion, lb.Ipv6AddressType, len(lb.Zones))
		}
		for _, z := range lb.Zones {
			if z.PrivateIP == "" || z.PublicIP == "" || z.Ipv6Address == "" {
				t.Errorf("addresses in zone %s: %s, %s, %s", z.ZoneID, z.PrivateIP, z.PublicIP, z.Ipv6Address)
			}
		}
	}
	got := map[string][]string{}
	for _, g := range c.NLBServerGroups {
		for _, s := range g.Servers {
			got[g.AddressIPVersion] = append(got[g.AddressIPVersion], s.ServerIP)
		}
		slices.Sort(got[g.AddressIPVersion])
	}
	if diff := cmp.Diff(groups, got); diff != "" || len(c.NLBs) != 1 {
		t.Errorf("%d NLBs; servers by the families of their group (-want +got):\n%s", len(c.NLBs), diff)
	}
}
