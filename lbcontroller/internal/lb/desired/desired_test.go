package desired_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

func testConfig() Config {
	return Config{ClusterID: "c", VPCID: "vpc-1", VSwitchIDs: []string{"vsw-a"},
		BuiltInGroup: clb.Product{}.Marks().BuiltInGroup}
}

func node(name string, changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou.i-" + name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func service(annotations map[string]string, ports ...corev1.ServicePort) *corev1.Service {
	if len(ports) == 0 {
		ports = []corev1.ServicePort{port("http", 80, intstr.FromInt32(8080))}
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-1", Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: ports},
	}
	for k, v := range annotations {
		if !strings.Contains(k, "/") {
			k = annotation.Prefix + k
		}
		svc.Annotations[k] = v
	}
	return svc
}

func port(name string, number int32, target intstr.IntOrString) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, NodePort: 30000 + number, Protocol: corev1.ProtocolTCP, TargetPort: target}
}

func pod(ip, node string, changes ...func(*discoveryv1.Endpoint)) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}
	for _, change := range changes {
		change(&e)
	}
	return e
}

func slice(ports map[string]int32, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints}
	for name, number := range ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number})
	}
	return s
}

func mustBuild(t *testing.T, cfg Config, svc *corev1.Service, slices []*discoveryv1.EndpointSlice, nodes ...*corev1.Node) Result {
	t.Helper()
	result, err := Build(cfg, Input{View: cfg.View(svc), Slices: slices, Nodes: backend.New(nodes)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// servers writes the servers of all groups as id-or-address:port=weight.
func servers(d *model.Desired) []string {
	var list []string
	for _, g := range d.Groups {
		for _, s := range g.Servers {
			list = append(list, fmt.Sprintf("%s%s:%d=%d", s.ID, s.IP, s.Port, s.Weight))
		}
	}
	slices.Sort(list)
	return list
}

func TestBackends(t *testing.T) {
	t.Parallel()
	local := func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }
	pods := func(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "eni" }
	set := func(key, value string) func(*corev1.Service) {
		return func(svc *corev1.Service) { svc.Annotations[annotation.Prefix+key] = value }
	}
	named := func(svc *corev1.Service) { svc.Spec.Ports[0].TargetPort = intstr.FromString("web") }
	virtual := func(n *corev1.Node) {
		n.Labels["type"], n.Spec.ProviderID, n.Status.Conditions = "virtual-kubelet", "", nil
	}
	notReady := func(e *discoveryv1.Endpoint) { e.Conditions.Ready = new(false) }
	leaving := func(e *discoveryv1.Endpoint) {
		e.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	}
	tests := []struct {
		name   string
		change []func(*corev1.Service)
		nodes  []*corev1.Node
		slices []*discoveryv1.EndpointSlice
		want   []string
	}{
		{name: "cluster", nodes: []*corev1.Node{node("1"), node("2")}, want: []string{"i-1:30080=100", "i-2:30080=100"}},
		{name: "no nodes", want: nil},
		{name: "default weight", change: []func(*corev1.Service){set(annotation.DefaultWeight, "7")},
			nodes: []*corev1.Node{node("1")}, want: []string{"i-1:30080=7"}},
		{name: "excluded nodes", nodes: []*corev1.Node{
			node("1"), node("2", labelled("node-role.kubernetes.io/master", "")),
			node("3", labelled("service.alibabacloud.com/exclude-node", "")),
			node("4", labelled("node.kubernetes.io/exclude-from-external-load-balancers", "")),
			node("5", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
			node("6", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }),
			node("7", func(n *corev1.Node) { n.Spec.ProviderID = "ack-hybrid://x" }),
			node("8", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		}, want: []string{"i-1:30080=100", "i-8:30080=100"}},
		{name: "cordoned nodes removed on demand", change: []func(*corev1.Service){set(annotation.RemoveUnscheduled, "on")},
			nodes: []*corev1.Node{node("1"), node("8", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, want: []string{"i-1:30080=100"}},
		{name: "by label", change: []func(*corev1.Service){set(annotation.BackendLabel, "pool=a, zone=1")},
			nodes: []*corev1.Node{node("1", labelled("pool", "a"), labelled("zone", "1")), node("2", labelled("pool", "a")),
				node("3")}, want: []string{"i-1:30080=100"}},
		{name: "pods of virtual nodes join", nodes: []*corev1.Node{node("1"), node("v", virtual)},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "v"), pod("10.0.0.2", "1"))},
			want:   []string{"10.0.0.1:8080=100", "i-1:30080=100"}},
		{name: "local counts pods", change: []func(*corev1.Service){local}, nodes: []*corev1.Node{node("1"), node("2"), node("3")},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "1"), pod("10.0.0.2", "1"), pod("10.0.0.3", "2"),
				pod("10.0.0.4", "gone"))},
			want: []string{"i-1:30080=2", "i-2:30080=1"}},
		{name: "local with a virtual node", change: []func(*corev1.Service){local}, nodes: []*corev1.Node{node("1"), node("v", virtual)},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "1"), pod("10.0.0.2", "v"))},
			want:   []string{"10.0.0.2:8080=1", "i-1:30080=1"}},
		{name: "pods", change: []func(*corev1.Service){pods},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "x"), pod("10.0.0.1", "x"), pod("10.0.0.2", ""))},
			want:   []string{"10.0.0.1:8080=100", "10.0.0.2:8080=100"}},
		{name: "pods with named ports that differ by slice", change: []func(*corev1.Service){pods, named},
			slices: []*discoveryv1.EndpointSlice{
				slice(map[string]int32{"http": 8080}, pod("10.0.0.1", "x")), slice(map[string]int32{"http": 9090}, pod("10.0.0.2", "x")),
				slice(map[string]int32{"other": 1}, pod("10.0.0.3", "x")),
			}, want: []string{"10.0.0.1:8080=100", "10.0.0.2:9090=100"}},
		{name: "pods not ready", change: []func(*corev1.Service){pods},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "x"), pod("10.0.0.2", "x", notReady), pod("10.0.0.3", "x", leaving))},
			want:   []string{"10.0.0.1:8080=100"}},
		{name: "only leaving pods", change: []func(*corev1.Service){pods},
			slices: []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.2", "x", notReady), pod("10.0.0.3", "x", leaving))},
			want:   []string{"10.0.0.3:8080=100"}},
		{name: "other address families", change: []func(*corev1.Service){pods},
			slices: []*discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv6,
				Endpoints: []discoveryv1.Endpoint{pod("fd00::1", "x")}}}, want: nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			svc := service(nil)
			for _, change := range test.change {
				change(svc)
			}
			got := servers(mustBuild(t, testConfig(), svc, test.slices, test.nodes...).Desired)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// In the existing CCM one node without a provider id freezes or removes the whole port.
func TestB01BadNodeIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	bad := node("2", func(n *corev1.Node) { n.Spec.ProviderID = "nonsense" })
	result := mustBuild(t, testConfig(), service(nil), nil, node("1"), bad)
	if diff := cmp.Diff([]string{"i-1:30080=100"}, servers(result.Desired)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if len(result.Warnings) != 0 { // The Node has an event of its own, from nodecontroller.
		t.Errorf("warnings beside a node that serves: %q", result.Warnings)
	}
	result = mustBuild(t, testConfig(), service(nil), nil, bad)
	if len(result.Warnings) == 0 || !strings.Contains(result.Warnings[0], "2") {
		t.Errorf("warnings without another node: %q", result.Warnings)
	}
}

// In the existing CCM weights of more than 100 pods are refused by the cloud.
func TestB16LocalWeightsStayInRange(t *testing.T) {
	t.Parallel()
	svc := service(nil)
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	var endpoints []discoveryv1.Endpoint
	for i := range 250 {
		endpoints = append(endpoints, pod(fmt.Sprintf("10.0.1.%d", i), "1"))
	}
	endpoints = append(endpoints, pod("10.0.2.1", "2"))
	got := servers(mustBuild(t, testConfig(), svc, []*discoveryv1.EndpointSlice{slice(nil, endpoints...)}, node("1"), node("2")).Desired)
	if diff := cmp.Diff([]string{"i-1:30080=100", "i-2:30080=1"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// The existing CCM takes an endpoint that doesn't say whether it is ready for one that isn't.
func TestB17NilReadyIsReady(t *testing.T) {
	t.Parallel()
	svc := service(map[string]string{annotation.BackendType: "eni"})
	e := pod("10.0.0.1", "x", func(e *discoveryv1.Endpoint) { e.Conditions = discoveryv1.EndpointConditions{} })
	got := servers(mustBuild(t, testConfig(), svc, []*discoveryv1.EndpointSlice{slice(nil, e)}).Desired)
	if diff := cmp.Diff([]string{"10.0.0.1:8080=100"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// The existing CCM looks at addresses only when slices overlap: the second of two ports of a pod is lost.
func TestB17OneAddressWithTwoPorts(t *testing.T) {
	t.Parallel()
	svc := service(map[string]string{annotation.BackendType: "eni"}, port("http", 80, intstr.FromString("web")))
	overlapping := []*discoveryv1.EndpointSlice{
		slice(map[string]int32{"http": 8080}, pod("10.0.0.1", "x")), slice(map[string]int32{"http": 8080}, pod("10.0.0.1", "x")),
		slice(map[string]int32{"http": 9090}, pod("10.0.0.1", "x")),
	}
	got := servers(mustBuild(t, testConfig(), svc, overlapping).Desired)
	if diff := cmp.Diff([]string{"10.0.0.1:8080=100", "10.0.0.1:9090=100"}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// The existing CCM sends traffic to control plane nodes that don't carry the old label, and small clusters have no
// others. Who wants no traffic there can say so.
func TestB18ControlPlaneLabel(t *testing.T) {
	t.Parallel()
	list := []*corev1.Node{node("1", labelled("node-role.kubernetes.io/control-plane", "")),
		node("2", labelled("node-role.kubernetes.io/master", "")), node("3")}
	if diff := cmp.Diff([]string{"i-1:30080=100", "i-3:30080=100"},
		servers(mustBuild(t, testConfig(), service(nil), nil, list...).Desired)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"i-3:30080=100"},
		servers(mustBuild(t, testConfig(), service(nil), nil, backend.WithoutControlPlane(list)...).Desired)); diff != "" {
		t.Errorf("servers without the control plane (-want +got):\n%s", diff)
	}
}

// The explicit setting gets its reason too, unlike in the existing CCM.
func TestB24ModificationProtectionHasItsReason(t *testing.T) {
	t.Parallel()
	spec := specOf(mustBuild(t, testConfig(), service(map[string]string{annotation.ModificationProtection: "ConsoleProtection"}), nil).Desired)
	if !spec.GetModificationProtection().GetEnabled() || spec.GetModificationProtection().GetReason() != "managed.by.ack" {
		t.Errorf("got %v", spec.GetModificationProtection())
	}
}

// TestWeightIsShared: the weight of a Service in vServer groups that it shares is divided among its backends, whatever the mode.
func TestWeightIsShared(t *testing.T) {
	t.Parallel()
	virtual := node("v", func(n *corev1.Node) {
		n.Labels["type"], n.Spec.ProviderID, n.Status.Conditions = "virtual-kubelet", "", nil
	})
	endpoints := slice(nil, pod("10.0.0.1", "1"), pod("10.0.0.2", "1"), pod("10.0.0.3", "2"), pod("10.0.0.4", "v"))
	for name, test := range map[string]struct {
		annotations map[string]string
		local       bool
		want        []string
	}{
		"cluster": {map[string]string{annotation.Weight: "80"}, false, []string{"10.0.0.4:8080=26", "i-1:30080=26", "i-2:30080=26"}},
		"local":   {map[string]string{annotation.Weight: "80"}, true, []string{"10.0.0.4:8080=20", "i-1:30080=40", "i-2:30080=20"}},
		"pods": {map[string]string{annotation.Weight: "80", annotation.BackendType: "eni"}, false,
			[]string{"10.0.0.1:8080=20", "10.0.0.2:8080=20", "10.0.0.3:8080=20", "10.0.0.4:8080=20"}},
		"at least 1": {map[string]string{annotation.Weight: "2"}, true, []string{"10.0.0.4:8080=1", "i-1:30080=1", "i-2:30080=1"}},
		"nothing":    {map[string]string{annotation.Weight: "0"}, true, []string{"10.0.0.4:8080=0", "i-1:30080=0", "i-2:30080=0"}},
		"not mapped": {map[string]string{annotation.Weight: "80", annotation.VGroupPort: ""}, false,
			[]string{"10.0.0.4:8080=100", "i-1:30080=100", "i-2:30080=100"}},
		"of nobody else": {map[string]string{annotation.Weight: "80", annotation.ID: ""}, false, []string{"10.0.0.4:8080=100",
			"i-1:30080=100", "i-2:30080=100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{annotation.ID: "lb-1", annotation.VGroupPort: "rsp-1:80"}
			maps.Copy(annotations, test.annotations)
			svc := service(annotations)
			if test.local {
				svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			}
			got := servers(mustBuild(t, testConfig(), svc, []*discoveryv1.EndpointSlice{endpoints}, node("1"), node("2"), virtual).Desired)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestB01BlanksInVGroupPort: the existing CCM drops the port whose vServer group stands behind a blank.
func TestB01BlanksInVGroupPort(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{port("a", 80, intstr.FromInt32(1)), port("b", 81, intstr.FromInt32(2)), port("c", 82, intstr.FromInt32(3))}
	d := mustBuild(t, testConfig(), service(map[string]string{
		annotation.ID: "lb-1", annotation.ForceOverride: "true", annotation.VGroupPort: "rsp-1:80, rsp-2:81 ,rsp-9:9",
	}, ports...), nil, node("1")).Desired
	var got []string
	for _, g := range d.Groups {
		got = append(got, g.ID+" "+g.Name+" "+g.Servers[0].Description)
	}
	want := []string{" k8s/30082/web/default/c k8s/30082/web/default/c", "rsp-1 rsp-1 k8s/30080/web/default/c",
		"rsp-2 rsp-2 k8s/30081/web/default/c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for i, want := range []string{"rsp-1", "rsp-2", "k8s/30082/web/default/c"} {
		if got := d.Listeners[i].Group; got != want {
			t.Errorf("listener %d leads to %s, want %s", i, got, want)
		}
	}
}

// TestReusedInstance: nothing is bought, so nothing that only a new CLB needs is asked for; the user's listeners are no concern of the
// Service's.
func TestReusedInstance(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.VSwitchIDs = nil
	annotations := map[string]string{
		annotation.ID: "lb-1", annotation.AddressType: "intranet", annotation.ProtocolPort: "https:80", annotation.AdditionalTags: "a=b",
		annotation.Claims: "lb-0,lb-0/rsp-0,lb-1,lb-1/listeners,lb-1/rsp-3",
	}
	d := mustBuild(t, cfg, service(annotations), nil).Desired
	if diff := cmp.Diff(model.Reuse{ID: "lb-1", Filled: []string{"rsp-3"}}, d.Reuse); diff != "" {
		t.Errorf("reuse (-want +got):\n%s", diff)
	}
	if len(d.Listeners) != 0 || len(d.Groups) != 1 || d.Instance.Identity != nil {
		t.Errorf("listeners %v, groups %v, any vSwitch: %t", d.Listeners, d.Groups, d.Instance.Identity != nil)
	}
	want := []*commonv1.Tag{{Key: "kubernetes.reused.by.user", Value: "true"}, {Key: "a", Value: "b"}}
	if diff := cmp.Diff(want, d.Instance.Spec.GetTags(), protocmp.Transform()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	annotations[annotation.ForceOverride] = "true"
	if _, err := Build(cfg, Input{View: cfg.View(service(annotations)), Nodes: backend.New(nil)}); err == nil ||
		!strings.Contains(err.Error(), "cert-id") {
		t.Errorf("https without a certificate: %v", err)
	}
}

// TestHashOfReuse: whose the CLB is, and who makes its listeners, is configuration.
func TestHashOfReuse(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, annotations := range map[string]map[string]string{
		"own": {}, "users": {annotation.ID: "lb-1"}, "another": {annotation.ID: "lb-2"}, "mapped": {annotation.ID: "lb-1",
			annotation.VGroupPort: "rsp-1:80"},
		"with listeners": {annotation.ID: "lb-1", annotation.ForceOverride: "on"},
	} {
		hash, err := mustBuild(t, testConfig(), service(annotations), nil).Desired.ConfigHash()
		if err != nil || seen[hash] != "" {
			t.Errorf("%s has the hash of %s, %v", name, seen[hash], err)
		}
		seen[hash] = name
	}
}

func TestGroupNames(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{port("http", 80, intstr.FromString("web")), port("dns", 53, intstr.FromInt32(5353)),
		{Name: "dns-udp", Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP}}
	for mode, want := range map[string][]string{
		"":    {"k8s/30053/web/default/c", "k8s/30080/web/default/c"},
		"ecs": {"k8s/30053/web/default/c", "k8s/30080/web/default/c"},
		"eni": {"k8s/53/web/default/c", "k8s/5353/web/default/c", "k8s/web/web/default/c"},
	} {
		var got []string
		for _, g := range mustBuild(t, testConfig(), service(map[string]string{annotation.BackendType: mode}, ports...), nil).Desired.Groups {
			got = append(got, g.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", mode, diff)
		}
	}
}

func TestListeners(t *testing.T) {
	t.Parallel()
	http80, https443 := port("http", 80, intstr.FromInt32(8080)), port("https", 443, intstr.FromInt32(8443))
	all := map[string]string{
		annotation.ProtocolPort: "http:80, https:443", annotation.CertID: "cert-1", annotation.ForwardPort: "80:443",
		annotation.HTTP2: "on", annotation.TLSCipherPolicy: "tls_cipher_policy_1_2", annotation.IdleTimeout: "30",
		annotation.StickySession: "on", annotation.StickySessionType: "insert", annotation.CookieTimeout: "100",
		annotation.HealthCheckFlag: "on", annotation.HealthCheckURI: "/ok", annotation.HealthCheckConnectTimeout: "9",
		annotation.HealthCheckTimeout: "8",
		annotation.ACLStatus:          "on", annotation.ACLID: "acl-1,acl-2", annotation.ACLType: "white", annotation.PersistenceTimeout: "5",
	}
	got := mustBuild(t, testConfig(), service(all, http80, https443), nil).Desired.Listeners
	web := func(number int32) *slbv1.ListenerConfig {
		return &slbv1.ListenerConfig{
			Description: new(fmt.Sprintf("k8s/%d/web/default/c", number)), IdleTimeout: proto.Int32(30),
			StickySession: new(true), StickySessionType: new("insert"), CookieTimeout: proto.Int32(100),
			AclEnabled: new(true), AclType: new("white"), AclIds: []string{"acl-1", "acl-2"},
			HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Uri: new("/ok"), Timeout: proto.Int32(8)},
		}
	}
	first, second := web(80), web(443)
	first.ForwardPort = proto.Int32(443)
	second.ServerCertificateId = new("cert-1")
	second.Http2, second.TlsCipherPolicy = new(true), new("tls_cipher_policy_1_2")
	http := &slbv1.ListenerConfig{Scheduler: new("rr"), StickySession: new(false), HealthCheck: &slbv1.HealthCheck{Enabled: new(false)}}
	https := proto.CloneOf(http)
	https.BandwidthMbps = proto.Int32(-1)
	want := []model.Listener{
		{Key: model.ListenerKey{Port: 80, Protocol: model.HTTP}, LeadsTo: 443, Config: first, Defaults: http},
		{Key: model.ListenerKey{Port: 443, Protocol: model.HTTPS}, Group: "k8s/30443/web/default/c", Config: second, Defaults: https},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}

	plain := mustBuild(t, testConfig(), service(map[string]string{annotation.PersistenceTimeout: "0",
		annotation.ACLStatus: "off", annotation.ACLID: "acl-1", annotation.ConnectionDrainTimeout: "20"}), nil).Desired.Listeners
	wantPlain := model.Listener{
		Key: model.ListenerKey{Port: 80, Protocol: model.TCP}, Group: "k8s/30080/web/default/c",
		Config:   &slbv1.ListenerConfig{Description: new("k8s/80/web/default/c"), PersistenceTimeout: proto.Int32(0), AclEnabled: new(false)},
		Defaults: &slbv1.ListenerConfig{Scheduler: new("rr"), BandwidthMbps: proto.Int32(-1)},
	}
	if diff := cmp.Diff(wantPlain, plain[0], protocmp.Transform()); diff != "" {
		t.Errorf("plain tcp (-want +got):\n%s", diff)
	}
}

func TestSharedPortNumber(t *testing.T) {
	t.Parallel()
	udp := corev1.ServicePort{Name: "udp", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolUDP}
	var got []string
	for _, l := range mustBuild(t, testConfig(), service(map[string]string{annotation.ProtocolPort: "http:80"},
		port("tcp", 80, intstr.FromInt32(1)), udp), nil).Desired.Listeners {
		got = append(got, fmt.Sprintf("%d/%s", l.Key.Port, fmt.Sprint(l.Key.Protocol)))
	}
	if diff := cmp.Diff([]string{"80/udp", "80/http"}, got); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

func TestInstance(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.ResourceGroupID = "rg-default"
	spec := specOf(mustBuild(t, cfg, service(nil), nil).Desired)
	if got := []any{spec.GetName(), spec.GetAddressType(), spec.GetInstanceChargeType(), spec.GetDeleteProtection(),
		spec.GetResourceGroupId(), spec.GetVswitchId(), spec.GetSpec()}; !cmp.Equal(got, []any{
		"au1", slbv1.AddressType_ADDRESS_TYPE_INTERNET, slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU, true, "rg-default", "", "",
	}) {
		t.Errorf("defaults: %v", got)
	}
	intranet := mustBuild(t, cfg, service(map[string]string{
		annotation.AddressType: "intranet", annotation.InstanceChargeType: "PayBySpec", annotation.AdditionalTags: "a=b",
		annotation.DeleteProtection:       "off",
		annotation.ModificationProtection: "NonProtection", annotation.ChargeType: "paybybandwidth", annotation.Bandwidth: "100",
		annotation.ResourceGroupID: "rg-1", annotation.Name: "mine", annotation.MasterZone: "z1", annotation.SlaveZone: "z2",
		annotation.Address: "10.0.0.9",
	}), nil).Desired.Instance
	got := specOf(&model.Desired{Instance: intranet})
	if diff := cmp.Diff([]any{
		"mine", "vpc-1", "vsw-a", true, "slb.s1.small", 3, false, false, int32(0), slbv1.IpVersion_IP_VERSION_UNSPECIFIED,
		"rg-1", "z1", "z2", "10.0.0.9",
	}, []any{
		got.GetName(), got.GetVpcId(), got.GetVswitchId(), intranet.Identity != nil, got.GetSpec(), len(got.GetTags()), got.GetDeleteProtection(),
		got.GetModificationProtection() != nil, got.GetBandwidthMbps(), got.GetIpVersion(), got.GetResourceGroupId(),
		got.GetPrimaryZoneId(), got.GetStandbyZoneId(), got.GetAddress(),
	}); diff != "" {
		t.Errorf("annotated (-want +got):\n%s", diff)
	}
	named := mustBuild(t, cfg, service(map[string]string{annotation.AddressType: "intranet",
		annotation.VSwitchID: "vsw-x"}), nil).Desired.Instance
	if specOf(&model.Desired{Instance: named}).GetVswitchId() != "vsw-x" || named.Identity != nil {
		t.Errorf("annotated vSwitch: %v, %t", specOf(&model.Desired{Instance: named}).GetVswitchId(), named.Identity != nil)
	}
}

func TestModeOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pods   bool
		value  string
		policy corev1.ServiceExternalTrafficPolicy
		want   backend.Mode
	}{
		{false, "", "", backend.Cluster}, {false, "", "Local", backend.Local}, {false, "eni", "Local", backend.Pods},
		{true, "", "", backend.Pods}, {true, "ecs", "Local", backend.Local}, {true, "ecs", "", backend.Cluster},
	} {
		svc := service(map[string]string{annotation.BackendType: test.value})
		svc.Spec.ExternalTrafficPolicy = test.policy
		if got := (Config{PodBackends: test.pods}).View(svc).Mode; got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

func TestHashFollowsTheConfigurationOnly(t *testing.T) {
	t.Parallel()
	hash := func(svc *corev1.Service, nodes ...*corev1.Node) string {
		h, err := mustBuild(t, testConfig(), svc, nil, nodes...).Desired.ConfigHash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(service(nil))
	other := service(nil)
	other.UID = "u-2"
	if hash(service(nil), node("1")) != base || hash(service(map[string]string{"note/x": "y"})) != base {
		t.Error("nodes or unrelated annotations change the hash")
	}
	if hash(service(map[string]string{annotation.Scheduler: "wrr"})) == base || hash(other) == base {
		t.Error("a setting or another Service doesn't change the hash")
	}
	if len(base) > 63 {
		t.Errorf("hash %q is too long for a label", base)
	}
}

// TestOneNumberOverTCPAndUDP: a protocol may be named for each of the two transports of a port.
func TestOneNumberOverTCPAndUDP(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{port("dns", 53, intstr.FromInt32(53)), {Name: "dns-udp", Port: 53, NodePort: 30053,
		Protocol: corev1.ProtocolUDP}}
	var got []string
	for _, l := range mustBuild(t, testConfig(), service(map[string]string{annotation.ProtocolPort: "tcp:53,udp:53"},
		ports...), nil).Desired.Listeners {
		got = append(got, fmt.Sprint(l.Key.Port, " ", fmt.Sprint(l.Key.Protocol)))
	}
	if diff := cmp.Diff([]string{"53 tcp", "53 udp"}, got); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

// TestFoundVSwitchIsNoConfiguration: without a configured vSwitch one is found later, and the hash is that of any other choice.
func TestFoundVSwitchIsNoConfiguration(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	svc := service(map[string]string{annotation.AddressType: "intranet"})
	configured := mustBuild(t, cfg, svc, nil)
	cfg.VSwitchIDs = nil
	found := mustBuild(t, cfg, svc, nil)
	if id := specOf(found.Desired).GetVswitchId(); id != "" || found.Desired.Instance.Identity == nil {
		t.Errorf("vSwitch %q, any vSwitch: %t", id, found.Desired.Instance.Identity != nil)
	}
	want, err := configured.Hash()
	got, gotErr := found.Hash()
	if got != want || err != nil || gotErr != nil {
		t.Errorf("hash %s, %v; want %s, %v", got, gotErr, want, err)
	}
}
