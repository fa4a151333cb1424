package desired_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestDraining: a node whose last pod terminates, and such a pod itself, stay in the groups of the port; the node in
// the default group, too.
func TestDraining(t *testing.T) {
	t.Parallel()
	leaving := func(e *discoveryv1.Endpoint) {
		e.Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	}
	virtual := node("v", func(n *corev1.Node) {
		n.Labels["type"], n.Spec.ProviderID, n.Status.Conditions = "virtual-kubelet", "", nil
	})
	svc := service(map[string]string{annotation.DrainTerminating: "on", annotation.DefaultServerGroup: "on"})
	svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	ends := slice(nil, pod("10.0.0.1", "1", leaving), pod("10.0.0.2", "2"), pod("10.0.0.3", "v", leaving))
	got := map[string]map[model.ServerKey]bool{}
	for _, g := range mustBuild(t, testConfig(), svc, []*discoveryv1.EndpointSlice{ends}, node("1"), node("2"), virtual).Desired.Groups {
		got[g.Name] = g.Draining
		if len(g.Servers) != 1 {
			t.Errorf("group %s has the servers %v", g.Name, g.Servers)
		}
	}
	instance := func(port int32) model.ServerKey {
		return model.ServerKey{Type: model.ECS, ID: "i-1", Port: port}
	}
	want := map[string]map[model.ServerKey]bool{
		"k8s/30080/web/default/c": {instance(30080): true, {Type: model.ENI, IP: "10.0.0.3", Port: 8080}: true},
		"default-server-group":    {instance(0): true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("draining (-want +got):\n%s", diff)
	}
}

// TestFormerGroups: the names that groups have if other things are the backends.
func TestFormerGroups(t *testing.T) {
	t.Parallel()
	same := port("same", 81, intstr.FromInt32(30081)) // Its group has one name either way.
	for mode, want := range map[string][]string{"ecs": {"k8s/8080/web/default/c"}, "eni": {"k8s/30080/web/default/c"}} {
		svc := service(map[string]string{annotation.BackendType: mode}, port("http", 80, intstr.FromInt32(8080)), same)
		if diff := cmp.Diff(want, mustBuild(t, testConfig(), svc, nil).Desired.Former); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

// TestOwnGroups: those that a Service would have on a CLB of its own are listed only where it names one of a user's.
func TestOwnGroups(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][]string{"": nil, "lb-1": {"k8s/30080/web/default/c"}} {
		var got []string
		for _, g := range mustBuild(t, testConfig(),
			service(map[string]string{annotation.ID: id, annotation.VGroupPort: "rsp-1:80"}), nil).OwnGroups {
			got = append(got, g.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", id, diff)
		}
	}
}

// TestResolve: pods get their network interfaces, nodes have none, and what isn't found is reported.
func TestResolve(t *testing.T) {
	t.Parallel()
	pod := func(id, ip string) model.Server {
		return model.Server{ServerKey: model.ServerKey{Type: model.ENI, ID: id, IP: ip, Port: 80}}
	}
	instance := model.Server{ServerKey: model.ServerKey{Type: model.ECS, ID: "i-1", Port: 80}}
	groups := []model.Group{
		{Name: "pods", Servers: []model.Server{pod("", "10.0.0.1"), pod("", "10.0.0.2"), pod("", "10.0.0.3")}},
		{Name: "both", Servers: []model.Server{instance, pod("", "10.0.0.1")}},
		{Name: "nodes", Servers: []model.Server{instance}},
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, desired.PodAddresses(groups[1:], groups[:1])); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	want := []model.Group{
		{Name: "pods", Servers: []model.Server{pod("", "10.0.0.2"), pod("eni-1", "10.0.0.3"), pod("eni-2", "10.0.0.1")},
			Unresolved: []string{"10.0.0.2"}},
		{Name: "both", Servers: []model.Server{instance, pod("eni-2", "10.0.0.1")}},
		{Name: "nodes", Servers: []model.Server{instance}},
	}
	interfaces := map[string]string{"10.0.0.1": "eni-2", "10.0.0.3": "eni-1"}
	if diff := cmp.Diff(want, desired.Resolve(groups, interfaces, []string{"10.0.0.4"})); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if groups[0].Servers[0].ID != "" {
		t.Error("the input was changed")
	}
}

// TestDomainExtensions: https listeners get the further certificates, in order and in lower case; others get none.
func TestDomainExtensions(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{port("http", 80, intstr.FromInt32(1)), port("https", 443, intstr.FromInt32(2))}
	annotations := func(extensions string) map[string]string {
		return map[string]string{annotation.ProtocolPort: "http:80,https:443", annotation.CertID: "cert-1",
			annotation.DomainExtensions: extensions}
	}
	listeners := mustBuild(t, testConfig(),
		service(annotations("*.b.example.com:cert-b,A.example.com:cert-a,a.example.com:cert-a"), ports...), nil).Desired.Listeners
	type further = []model.FurtherCertificates
	want := further{{Domain: "*.b.example.com", Certificates: []string{"cert-b"}},
		{Domain: "a.example.com", Certificates: []string{"cert-a"}}}
	if diff := cmp.Diff([]further{nil, want}, []further{listeners[0].Further, listeners[1].Further}); diff != "" {
		t.Errorf("extensions of http and https (-want +got):\n%s", diff)
	}
	if got := mustBuild(t, testConfig(), service(annotations(""), ports...), nil).Desired.Listeners[1].Further; got != nil {
		t.Errorf("nothing said is %v", got)
	}
}

// TestForwardOnAUsersCLB: the https listener may be the user's, if the Service has no port of that number.
func TestForwardOnAUsersCLB(t *testing.T) {
	t.Parallel()
	web := []corev1.ServicePort{port("http", 80, intstr.FromInt32(1))}
	two := append(web[:1:1], port("tcp", 443, intstr.FromInt32(2)))
	for name, test := range map[string]struct {
		id    string
		ports []corev1.ServicePort
		want  int32 // 0 for a problem
	}{
		"a user's":                        {"lb-1", web, 443},
		"a user's, but the port is taken": {"lb-1", two, 0},
		"one of its own":                  {"", web, 0},
	} {
		cfg := testConfig()
		svc := service(map[string]string{annotation.ID: test.id, annotation.ForceOverride: "on",
			annotation.ProtocolPort: "http:80", annotation.ForwardPort: "80:443"}, test.ports...)
		result, err := Build(cfg, Input{View: cfg.View(svc), Nodes: backend.New(nil)})
		if (err != nil) != (test.want == 0) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err == nil && (result.Desired.Listeners[0].LeadsTo != test.want || result.Desired.Listeners[0].Group != "") {
			t.Errorf("%s: %+v", name, result.Desired.Listeners[0])
		}
	}
}

// TestMapped: the vServer groups of ports that are mapped to those of a user's CLB are listed where the Service names none.
func TestMapped(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{port("http", 80, intstr.FromInt32(1)), port("a", 81, intstr.FromInt32(2)),
		port("b", 82, intstr.FromInt32(3))}
	for name, test := range map[string]struct {
		annotations map[string]string
		want        map[string]string
	}{
		"names none": {map[string]string{annotation.VGroupPort: "rsp-1:80,rsp-9:9"}, map[string]string{"rsp-1": "k8s/30080/web/default/c"}},
		"for two ports": {map[string]string{annotation.VGroupPort: "rsp-1:81,rsp-1:82,rsp-2:80"},
			map[string]string{"rsp-1": "", "rsp-2": "k8s/30080/web/default/c"}},
		"names one":      {map[string]string{annotation.VGroupPort: "rsp-1:80", annotation.ID: "lb-1"}, nil},
		"nothing mapped": {nil, nil},
	} {
		if diff := cmp.Diff(test.want, mustBuild(t, testConfig(), service(test.annotations, ports...), nil).Desired.Mapped); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
