package convert_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/convert"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// buildNLB is what the controller makes of a Service of an NLB.
func buildNLB(svc *corev1.Service) (desired.Result, error) {
	product := nlb.Product{VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}}
	cfg := desired.Config{ClusterID: "c-test", VPCID: "vpc-test", Parser: annotation.NewParser(annotation.NLB), DottedNames: true,
		ServiceFields: true, Fields: product.Fields}
	return desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil)}, product)
}

// examples are the Services of the page for those that write Services, by the heading and a number.
func examples(t *testing.T) map[string]*corev1.Service {
	t.Helper()
	page, err := os.ReadFile("../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := ""
	found := map[string]*corev1.Service{}
	blocks := regexp.MustCompile("(?s)(?:^|\n)## ([^\n]+)|\n```yaml\n(.*?)\n```").FindAllStringSubmatch(string(page), -1)
	heading := ""
	for _, block := range blocks {
		text := block[2]
		switch {
		case block[1] != "":
			heading = block[1]
			continue
		case whole == "":
			whole = text
		}
		svc := &corev1.Service{}
		for _, part := range []string{whole, text} {
			if err := yaml.Unmarshal([]byte(part), svc); err != nil {
				t.Fatalf("%s: %v\n%s", heading, err, part)
			}
		}
		name := heading
		for found[name] != nil {
			name += "+"
		}
		found[name] = svc
	}
	if len(found) < 20 {
		t.Fatalf("%d examples", len(found))
	}
	return found
}

// TestExamples: what becomes of each example of the page is a Service that the controller takes for an NLB, with nothing that has no
// effect, and each annotation that it doesn't have is told.
func TestExamples(t *testing.T) {
	t.Parallel()
	for name, svc := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := convert.ToNLB(svc, nlb.Class)
			if err != nil {
				t.Fatal(err)
			}
			text, err := result.WriteYAML()
			if err != nil {
				t.Fatal(err)
			}
			back := &corev1.Service{}
			if err := yaml.UnmarshalStrict(text, back); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			back.UID = "u"
			for i := range back.Spec.Ports { // As the API server does.
				back.Spec.Ports[i].NodePort = 30080 + int32(i)
			}
			if !(nlb.Product{}).Wants(back) {
				t.Errorf("no Service of an NLB:\n%s", text)
			}
			built, err := buildNLB(back)
			if err != nil || len(built.WithoutEffect) > 0 || len(built.Warnings) > 0 {
				t.Errorf("error %v, without effect %q, warnings %q:\n%s", err, built.WithoutEffect, built.Warnings, text)
			}
			for written := range svc.Annotations {
				key, isKey := strings.CutPrefix(written, annotation.Prefix)
				if _, kept := back.Annotations[written]; isKey && !kept && !strings.Contains(string(text), key) && !silent[key] {
					t.Errorf("nothing is said about %s:\n%s", key, text)
				}
			}
		})
	}
}

// silent are annotations whose part another one takes, which is told.
var silent = map[string]bool{
	annotation.HealthCheckSwitch: true, annotation.EstablishedTimeout: true, annotation.ACLStatus: true, annotation.ACLID: true,
	annotation.ACLType: true, annotation.HealthCheckTimeout: true,
}

func service(pairs ...string) *corev1.Service {
	svc := &corev1.Service{}
	svc.Namespace, svc.Name, svc.UID = "default", "web", types.UID("u")
	svc.Annotations = map[string]string{}
	svc.Spec.Type, svc.Spec.Selector = corev1.ServiceTypeLoadBalancer, map[string]string{"app": "web"}
	svc.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}
	for i := 0; i < len(pairs); i += 2 {
		svc.Annotations[annotation.Prefix+pairs[i]] = pairs[i+1]
	}
	return svc
}

// TestAnnotations: what becomes of annotations that have another name, another value or another meaning with an NLB.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// asks and want are annotations: key, value, key, value, …
		asks, want []string
		// says is a part of the lists.
		says string
	}{
		{"nothing", nil, nil, "scheduler isn't set: rr on a CLB, wrr on an NLB"},
		{"the older prefix is not kept", []string{"scheduler", "wlc"}, []string{"scheduler", "wlc"}, ""},
		{"https", []string{"protocol-port", "https:80", "cert-id", "clb-cert"},
			[]string{"protocol-port", "tcpssl:80", "cert-id", "clb-cert"}, "put their ids in place"},
		{"http", []string{"protocol-port", "http:80"}, nil, "protocol-port: http:80"},
		{"further certificates", []string{"protocol-port", "https:80", "cert-id", "c1", "domain-extensions", "a.example:c2,b.example:c3"},
			[]string{"protocol-port", "tcpssl:80", "cert-id", "c1", "additional-cert-ids", "c2,c3"}, "additional-cert-ids: c2,c3"},
		{"certificates of Secrets",
			[]string{"protocol-port", "https:80", "tls-secret", "web", "domain-extensions", "a.example:c2,b.example:secret/b"},
			[]string{"protocol-port", "tcpssl:80", "tls-secret", "web", "additional-cert-ids", "c2,secret/b"}, "# - additional-cert-ids: c2: NLBs"},
		{"Secrets alone",
			[]string{"protocol-port", "https:80", "tls-secret", "web", "domain-extensions", "b.example:secret/b,80:c.example:secret/c"},
			[]string{"protocol-port", "tcpssl:80", "tls-secret", "web", "additional-cert-ids", "secret/b,80:secret/c"},
			"# - domain-extensions: an NLB takes the names"},
		{"stickiness", []string{"persistence-timeout", "60"}, []string{"scheduler", "sch"}, "persistence-timeout: 60"},
		{"no stickiness", []string{"persistence-timeout", "0"}, nil, ""},
		{"stickiness and a scheduler", []string{"persistence-timeout", "60", "scheduler", "wrr"}, []string{"scheduler", "wrr"},
			"asks for another scheduler"},
		{"timeout", []string{"established-timeout", "300"}, []string{"idle-timeout", "300"}, ""},
		{"timeout of http", []string{"protocol-port", "http:80", "idle-timeout", "30"}, nil, "idle-timeout: 30"},
		{"checks by default", []string{"health-check-uri", "/healthz", "health-check-type", "http", "health-check-domain", "$_ip"},
			[]string{"health-check-flag", "on", "health-check-uri", "/healthz", "health-check-type", "http", "health-check-domain", "$SERVER_IP"},
			"health-check-interval isn't set: 2 on a CLB, 5 on an NLB"},
		{"no checks", []string{"health-check-switch", "off", "health-check-interval", "3"}, []string{"health-check-flag", "off"}, ""},
		{"checks of nodes", []string{"node-health-check", "on"}, []string{"node-health-check", "on"}, ""},
		{"no checks of http", []string{"protocol-port", "http:80", "health-check-uri", "/x"}, nil, "doesn't check the servers"},
		{"checks of http", []string{"protocol-port", "http:80", "health-check-flag", "on", "health-check-method", "head",
			"health-check-timeout", "4", "health-check-connect-port", "-520"},
			[]string{"health-check-flag", "on", "health-check-type", "http", "health-check-method", "HEAD", "health-check-connect-timeout", "4",
				"health-check-connect-port", "0"}, ""},
		{"ipv6", []string{"ip-version", "ipv6"}, []string{"ip-version", "DualStack", "ipv6-address-type", "internet"}, "IPv4 addresses, too"},
		{"private ipv6", []string{"ip-version", "ipv6", "address-type", "intranet"},
			[]string{"ip-version", "DualStack", "ipv6-address-type", "intranet", "address-type", "intranet"}, ""},
		{"access", []string{"acl-status", "on", "acl-id", "acl-1", "acl-type", "white"}, nil, "the networks of the access control lists acl-1"},
		{"access that was put in force", []string{"", ""}, nil, "192.0.2.0/32: nobody may connect"},
		{"a name that an NLB can't have", []string{"name", "shop/web"}, nil, "name: shop/web"},
		{"tags", []string{"additional-resource-tags", "a=b,c="}, []string{"additional-resource-tags", "a=b,c="}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			svc := service(tt.asks...)
			if delete(svc.Annotations, annotation.Prefix); strings.Contains(tt.name, "in force") {
				svc.Annotations[annotation.Applied] = annotation.ACLStatus
			}
			result, err := convert.ToNLB(svc, nlb.Class)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(service(tt.want...).Annotations, result.Service.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			text, err := result.WriteYAML()
			if err != nil || !strings.Contains(string(text), tt.says) || tt.name == "Secrets alone" && strings.Contains(string(text), "Before") {
				t.Errorf("error %v, want %q in\n%s", err, tt.says, text)
			}
		})
	}
}

// TestText: the whole, as it is printed.
func TestText(t *testing.T) {
	t.Parallel()
	svc := service("acl-status", "on", "acl-id", "acl-1", "acl-type", "white", "spec", "slb.s2.small", "instance-charge-type", "PayBySpec")
	svc.Labels = map[string]string{"app": "web", "service.k8s.alibaba/loadbalancer-id": "lb-1", lb.LabelHash: "x"}
	svc.Annotations["prometheus.io/scrape"] = "true"
	svc.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	svc.Finalizers, svc.ResourceVersion = []string{"service.k8s.alibaba/resources"}, "7"
	svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "10.0.0.1", []string{"10.0.0.1"}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.0.0.1"}}
	result, err := convert.ToNLB(svc, nlb.Class)
	if err != nil {
		t.Fatal(err)
	}
	got, err := result.WriteYAML()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/text.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestRefused: what has no CLB, and what has a bad value.
func TestRefused(t *testing.T) {
	t.Parallel()
	plain, classed := service(), service()
	plain.Spec.Type = corev1.ServiceTypeClusterIP
	classed.Spec.LoadBalancerClass = new(nlb.Class)
	for text, svc := range map[string]*corev1.Service{
		"has no CLB": plain, "without a loadBalancerClass": classed, "use one of rr": service("scheduler", "fastest"),
	} {
		if _, err := convert.ToNLB(svc, nlb.Class); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
	if _, err := buildNLB(service("scheduler", "fastest")); !errors.As(err, new(*desired.InvalidError)) {
		t.Errorf("error %v: the test doesn't see what is refused", err)
	}
}

// TestValuesByPort: a value for one port stays one, and what a CLB does for some ports only an NLB does for those.
func TestValuesByPort(t *testing.T) {
	t.Parallel()
	svc := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Port: 80}, {Port: 443}, {Port: 8443}}}}
	svc.Name, svc.Annotations = "web", map[string]string{}
	for key, value := range map[string]string{
		annotation.ProtocolPort: "https:443,https:8443", annotation.CertID: "cert-1,8443:cert-2", annotation.Scheduler: "wrr,443:wlc",
		annotation.EstablishedTimeout: "30,80:60", annotation.HealthCheckConnectPort: "9090,443:-520",
		annotation.HealthCheckMethod: "443:get", annotation.HealthCheckFlag: "443:on", annotation.RequestTimeout: "443:10",
		annotation.DomainExtensions:    "a.example.com:cert-3,443:b.example.com:cert-4,443:c.example.com:cert-5",
		annotation.HealthCheckHTTPCode: "443:http_2xx,443:http_3xx",
	} {
		svc.Annotations[annotation.Prefix+key] = value
	}
	result, err := convert.ToNLB(svc, "alibabacloud.com/nlb")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		annotation.CertID: "cert-1,8443:cert-2", annotation.Scheduler: "wrr,443:wlc", annotation.IdleTimeout: "30,80:60",
		annotation.HealthCheckConnectPort: "9090,443:0", annotation.HealthCheckMethod: "443:GET", annotation.HealthCheckFlag: "on,8443:off",
		annotation.AdditionalCertIDs: "cert-3,443:cert-4,443:cert-5", annotation.HealthCheckHTTPCode: "443:http_2xx,443:http_3xx",
	} {
		if got := result.Service.Annotations[annotation.Prefix+key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if without := strings.Join(result.Without, "\n"); !strings.Contains(without, "request-timeout: 443:10: ") {
		t.Errorf("what an NLB doesn't have: %s", without)
	}
	if _, problems := annotation.NewParser(annotation.NLB).Parse(result.Service.Annotations); len(problems) > 0 {
		t.Errorf("the new Service: %v", problems)
	}
}
