package convert_test

import (
	"bytes"
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/convert"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// translated is what becomes of the text that convert prints, in a cluster with the Service.
func translated(t *testing.T, text []byte, svc *corev1.Service) gatewayapi.Translation {
	t.Helper()
	w := &gatewayapi.World{
		Classes: []*gatewayv1.GatewayClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "nlb"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayapi.NLBController}},
			{ObjectMeta: metav1.ObjectMeta{Name: "clb"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayapi.CLBController}},
		},
		Service: func(name types.NamespacedName) *corev1.Service {
			if name.Name != svc.Name || name.Namespace != svc.Namespace {
				return nil
			}
			return svc
		},
		Slices: func(types.NamespacedName) []*discoveryv1.EndpointSlice { return nil },
		Secret: func(types.NamespacedName) (string, bool) { return "", false },
	}
	for i, document := range bytes.Split(text, []byte("---\n")) {
		kind := metav1.TypeMeta{}
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		var object any
		switch kind.Kind {
		case "Gateway":
			object = &gatewayv1.Gateway{}
		case "TCPRoute":
			object = &gatewayv1.TCPRoute{}
		case "UDPRoute":
			object = &gatewayv1.UDPRoute{}
		default:
			if i > 0 {
				t.Fatalf("kind %q", kind.Kind)
			}
			continue // The comments.
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		w.Add(object)
	}
	return w.Translate()
}

// TestGatewayAsksTheSame: what becomes of each example of the page, and of its counterpart with an NLB, is a Gateway that is
// accepted with all its listeners and routes, and whose Service asks for each port what the Service did.
func TestGatewayAsksTheSame(t *testing.T) {
	t.Parallel()
	services := map[string]*corev1.Service{}
	for name, svc := range examples(t) {
		services[name] = svc
		result, err := convert.ToNLB(svc, nlb.Class)
		if err != nil {
			t.Fatal(err)
		}
		services[name+" with an NLB"] = result.Service
	}
	for name, svc := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := svc.DeepCopy()
			svc.Labels = map[string]string{"service.k8s.alibaba/loadbalancer-id": "lb-1"}
			result, err := convert.ToGateway(svc)
			if err != nil && strings.Contains(err.Error(), "annotations, and a Gateway takes 8") {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := result.WriteYAML()
			if err != nil {
				t.Fatal(err)
			}
			got := translated(t, text, svc)
			if len(got.Gateways) != 1 || got.Gateways[0].Service == nil || len(got.Routes) != len(svc.Spec.Ports) {
				t.Fatalf("%+v\n%s", got, text)
			}
			accepted := func(what string, conditions []metav1.Condition) {
				for _, c := range conditions {
					if c.Type != "Programmed" && c.Type != "Conflicted" && (c.Status != metav1.ConditionTrue || c.Message != "") {
						t.Errorf("%s: %v\n%s", what, c, text)
					}
				}
			}
			accepted("the Gateway", got.Gateways[0].Status.Conditions)
			for _, l := range got.Gateways[0].Status.Listeners {
				if accepted(string(l.Name), l.Conditions); l.AttachedRoutes != 1 {
					t.Errorf("%s has %d routes\n%s", l.Name, l.AttachedRoutes, text)
				}
			}
			for _, r := range got.Routes {
				for _, p := range r.Said {
					accepted(r.Kind+" "+r.Meta.Name, p.Conditions)
				}
			}
			asksTheSame(t, svc, got.Gateways[0].Service)
		})
	}
}

// asksTheSame compares what two Services ask for, but for the load balancer that one of them names.
func asksTheSame(t *testing.T, old, made *corev1.Service) {
	t.Helper()
	kind := annotation.CLB
	if made.Spec.LoadBalancerClass != nil {
		kind = annotation.NLB
	}
	parser := annotation.NewParser(kind)
	before, _ := parser.Parse(old.Annotations)
	after, problems := parser.Parse(made.Annotations)
	if len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	says := func(values annotation.Values, port int32, spec annotation.Spec) string {
		if spec.Key == annotation.ProtocolPort {
			for _, p := range values.Pairs(spec.Key) {
				if p.Value == strconv.Itoa(int(port)) {
					return p.Key
				}
			}
			return ""
		}
		return values.ForPort(port).Text(spec.Key)
	}
	for _, spec := range annotation.TableFor(kind) {
		switch spec.Key {
		case annotation.ID, annotation.ForceOverride, annotation.PreserveOnDelete:
			continue
		}
		for _, port := range old.Spec.Ports {
			was, is := says(before, port.Port, spec), says(after, port.Port, spec)
			tls := spec.Key == annotation.CertID || spec.Key == annotation.TLSSecret || spec.Key == annotation.AdditionalCertIDs
			if protocol := says(after, port.Port, annotation.Spec{Key: annotation.ProtocolPort}); was != is &&
				(!tls || protocol == "tcpssl" || protocol == "https") {
				t.Errorf("%s of port %d is %q, was %q", spec.Key, port.Port, is, was)
			}
		}
	}
	id := cmp.Or(annotation.Reused(old.Annotations), "lb-1")
	for i, key := range []string{annotation.ID, annotation.ForceOverride, annotation.PreserveOnDelete} {
		if got := made.Annotations[annotation.Prefix+key]; got != []string{id, "on", "on"}[i] {
			t.Errorf("%s is %q", key, got)
		}
	}
	if len(made.Spec.Ports) != len(old.Spec.Ports) {
		t.Errorf("ports %v, want %v", made.Spec.Ports, old.Spec.Ports)
	}
}

// TestGatewayText: the whole, as it is printed.
func TestGatewayText(t *testing.T) {
	t.Parallel()
	svc := service("protocol-port", "tcpssl:443", "tls-secret", "web-tls", "additional-cert-ids", "secret/other", "scheduler", "wlc")
	svc.Spec.LoadBalancerClass = new(nlb.Class)
	svc.Labels = map[string]string{"service.k8s.alibaba/loadbalancer-id": "nlb-1"}
	svc.Spec.ExternalTrafficPolicy, svc.Spec.LoadBalancerSourceRanges = corev1.ServiceExternalTrafficPolicyLocal, []string{"192.0.2.0/24"}
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "tls", Port: 443},
		corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP})
	result, err := convert.ToGateway(svc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := result.WriteYAML()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("it is\n%s", got)
	}
}

// TestGatewayCases: what decides whether listeners or annotations say something, and what is refused.
func TestGatewayCases(t *testing.T) {
	t.Parallel()
	classed := func(pairs ...string) *corev1.Service {
		svc := service(pairs...)
		svc.Spec.LoadBalancerClass = new(nlb.Class)
		svc.Spec.Ports[0].Port = 443
		return svc
	}
	ranged := service()
	ranged.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.0/24"}
	plain, many := service(), service()
	plain.Spec.Type = corev1.ServiceTypeNodePort
	for _, key := range []string{"scheduler", "weight", "name", "health-check-flag", "health-check-interval", "healthy-threshold",
		"unhealthy-threshold", "health-check-connect-timeout", "established-timeout"} {
		many.Annotations[annotation.Prefix+key] = map[string]string{"scheduler": "rr", "name": "x", "health-check-flag": "on"}[key]
		if many.Annotations[annotation.Prefix+key] == "" {
			many.Annotations[annotation.Prefix+key] = "10"
		}
	}
	for name, tt := range map[string]struct {
		svc   *corev1.Service
		wants string // a part of the text, or of the error
		lacks string
	}{
		"a certificate of the cloud": {classed("protocol-port", "tcpssl:443", "cert-id", "1-cn"),
			"alibabacloud.com/cert-id: 1-cn", "protocol-port"},
		"further ones of the cloud stay annotations": {classed("protocol-port", "tcpssl:443", "cert-id", "1-cn", "additional-cert-ids", "2-cn"),
			"additional-cert-ids: 2-cn", "certificateRefs"},
		"no certificate":       {classed("protocol-port", "tcpssl:443"), "protocol-port: tcpssl:443", "protocol: TLS"},
		"http":                 {service("protocol-port", "http:80"), "protocol-port: http:80", "protocol: HTTP"},
		"the older prefix":     {legacy("scheduler", "wlc"), "alicloud-loadbalancer-scheduler: wlc", ""},
		"source ranges":        {ranged, "load-balancer-source-ranges: 192.0.2.0/24,198.51.100.0/24", "addresses"},
		"nothing yet":          {service(), "the Gateway gets one of its own", "preserve-lb-on-delete"},
		"one that is named":    {service("id", "lb-7"), "value: lb-7", "loadbalancer-id: lb-7"},
		"no load balancer":     {plain, "its type is not LoadBalancer", ""},
		"a bad value":          {service("scheduler", "fastest"), "use one of rr", ""},
		"too many annotations": {many, "its load balancer has 9 annotations, and a Gateway takes 8", ""},
	} {
		result, err := convert.ToGateway(tt.svc)
		text := ""
		if err != nil {
			text = err.Error()
		} else if whole, err := result.WriteYAML(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			text = string(whole)
		}
		if !strings.Contains(text, tt.wants) || tt.lacks != "" && strings.Contains(text, tt.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", name, tt.wants, tt.lacks, text)
		}
	}
}

func legacy(key, value string) *corev1.Service {
	svc := service()
	svc.Annotations[annotation.LegacyPrefix+key] = value
	return svc
}
