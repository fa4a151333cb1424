package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	ours "alicloud-controllers.dev/deploy/chart"
)

// monitor is the part of a PodMonitor and a ServiceMonitor that matters here.
type monitor struct {
	Spec struct {
		Selector            struct{ MatchLabels map[string]string }
		PodMetricsEndpoints []endpoint
		Endpoints           []endpoint
	}
}

type endpoint struct {
	Port, Scheme, BearerTokenFile string
	Authorization                 struct{ Credentials corev1.SecretKeySelector }
	Relabelings                   []struct{ Replacement string }
	TLSConfig                     struct {
		CA                 struct{ Secret corev1.SecretKeySelector }
		ServerName         string
		InsecureSkipVerify bool
	}
}

// TestMetricsOfTheNodesAddress: pods on the network of their node show their metrics only to those who may read them, and Prometheus is
// configured for that. Pods on the network of pods are scraped as before.
func TestMetricsOfTheNodesAddress(t *testing.T) {
	t.Parallel()
	onHost := map[string]any{"lbcontroller": map[string]any{"hostNetwork": true}}
	pods := render(t, "cloud", map[string]any{"components": onHost, "podMonitor": map[string]any{"enabled": true, "tokenSecret": "reader"}})
	services := render(t, "cloud", map[string]any{"components": onHost, "serviceMonitor": map[string]any{"enabled": true}})
	for _, component := range ours.Components() {
		protected := component == "cloudgateway" || component == "lbcontroller"
		admin, _ := decode[map[string]any](t,
			decode[corev1.ConfigMap](t, pods["ConfigMap "+component]).Data["config.yaml"])["admin"].(map[string]any)
		if admin["authentication"] == true != protected || (admin["certFile"] != nil) != (component == "cloudgateway") {
			t.Errorf("%s: admin: %v", component, admin)
		}
		var scraped endpoint
		if protected {
			scraped.Scheme = "https"
			if scraped.TLSConfig.InsecureSkipVerify = component != "cloudgateway"; component == "cloudgateway" {
				scraped.TLSConfig.CA.Secret = corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{
					Name: "cloudgateway-tls"}, Key: "ca.crt"}
				scraped.TLSConfig.ServerName = "cloudgateway.cloud.svc"
			}
		}
		viaService := scraped
		viaService.Port = "admin"
		if protected {
			scraped.Authorization.Credentials = corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{
				Name: "reader"}, Key: "token"}
			viaService.BearerTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
			port := map[string]string{"cloudgateway": "7080", "lbcontroller": "7081"}[component]
			scraped.Relabelings = []struct{ Replacement string }{{"$1:" + port}} // The pods declare no ports.
		} else {
			scraped.Port = "admin"
		}
		if diff := cmp.Diff([]endpoint{scraped}, loose[monitor](t, pods["PodMonitor "+component]).Spec.PodMetricsEndpoints); diff != "" {
			t.Errorf("PodMonitor %s (-want +got):\n%s", component, diff)
		}
		m := loose[monitor](t, services["ServiceMonitor "+component]).Spec
		if diff := cmp.Diff([]endpoint{viaService}, m.Endpoints); diff != "" {
			t.Errorf("ServiceMonitor %s (-want +got):\n%s", component, diff)
		}
		service := decode[corev1.Service](t, services["Service "+component+"-metrics"])
		for key, value := range m.Selector.MatchLabels {
			if service.Labels[key] != value {
				t.Errorf("ServiceMonitor %s selects %s=%s, the Service has the labels %v", component, key, value, service.Labels)
			}
		}
		if got := service.Spec.Ports[0].TargetPort.IntValue(); service.Spec.Ports[0].Name != "admin" ||
			!strings.HasSuffix(admin["listen"].(string), ":"+service.Spec.Ports[0].TargetPort.String()) || got == 0 {
			t.Errorf("Service of %s has the ports %+v", component, service.Spec.Ports)
		}
		_, asks := pods["ClusterRoleBinding alicloud:"+component+":auth-delegator"]
		if component == "cloudgateway" {
			asks = slices.ContainsFunc(decode[rbacv1.ClusterRole](t, pods["ClusterRole alicloud:cloudgateway"]).Rules,
				func(r rbacv1.PolicyRule) bool {
					return slices.Contains(r.Resources, "tokenreviews")
				})
		}
		if asks != protected {
			t.Errorf("%s may ask who reads: %t", component, asks)
		}
	}
}

// TestOpenMetrics: whoever guards the address by other means may leave metrics open.
func TestOpenMetrics(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", map[string]any{
		"podMonitor": map[string]any{"enabled": true},
		"components": map[string]any{"cloudgateway": map[string]any{"config": map[string]any{"admin": map[string]any{"authentication": false}}}},
	})
	if file := decode[corev1.ConfigMap](t, documents["ConfigMap cloudgateway"]).Data["config.yaml"]; strings.Contains(file,
		"authentication: true") || strings.Count(file, "certFile") != 1 {
		t.Errorf("configuration:\n%s", file)
	}
	if e := loose[monitor](t, documents["PodMonitor cloudgateway"]).Spec.PodMetricsEndpoints[0]; e.Scheme != "" ||
		e.Authorization.Credentials.Name != "" {
		t.Errorf("scraped by %+v", e)
	}
}
