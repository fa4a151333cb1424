package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	ours "alicloud-controllers.dev/deploy/chart"
)

// TestPlacementOfAComponent: one component can be placed and labelled apart; the others stay as all pods are.
func TestPlacementOfAComponent(t *testing.T) {
	t.Parallel()
	toleration := map[string]any{"key": "role", "operator": "Exists"}
	documents := render(t, "kube-system", map[string]any{
		"podLabels": map[string]any{"team": "edge", "tier": "a"}, "podAnnotations": map[string]any{"note": "all"},
		"nodeSelector": map[string]any{"pool": "any"},
		"components": map[string]any{"cloudgateway": map[string]any{
			"nodeSelector": map[string]any{"node-role.kubernetes.io/control-plane": ""}, "tolerations": []any{toleration},
			"affinity":          map[string]any{"podAntiAffinity": map[string]any{}},
			"priorityClassName": "system-node-critical", "podLabels": map[string]any{"tier": "b"}, "podAnnotations": map[string]any{"more": "x"},
			"serviceAccountAnnotations": map[string]any{"example.com/role": "gateway"},
		}},
	})
	for _, component := range ours.Components() {
		pod := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template
		apart := component == "cloudgateway"
		selector, tier, class, tolerations, annotations := map[string]string{"pool": "any"}, "a", "system-cluster-critical", 7, 2
		if apart {
			selector = map[string]string{"node-role.kubernetes.io/control-plane": ""}
			tier, class, tolerations, annotations = "b", "system-node-critical", 1, 3
		}
		if !maps.Equal(pod.Spec.NodeSelector, selector) || len(pod.Spec.Tolerations) != tolerations || pod.Spec.PriorityClassName != class ||
			pod.Labels["tier"] != tier || pod.Labels["team"] != "edge" || pod.Labels["app.kubernetes.io/name"] != component ||
			len(pod.Annotations) != annotations || pod.Annotations["note"] != "all" {
			t.Errorf("%s: %v, %v, %s, labels %v, annotations %v", component, pod.Spec.NodeSelector, pod.Spec.Tolerations,
				pod.Spec.PriorityClassName, pod.Labels, pod.Annotations)
		}
		if terms := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution; (len(terms) == 0) != apart {
			t.Errorf("%s: affinity %+v", component, terms)
		}
		account := decode[corev1.ServiceAccount](t, documents["ServiceAccount "+component])
		if (account.Annotations["example.com/role"] == "gateway") != apart || account.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s: annotations of the ServiceAccount %v", component, account.Annotations)
		}
	}
	doctor := decode[corev1.Pod](t, documents["Pod cloudgateway-doctor"]).Spec
	gateway := decode[appsv1.Deployment](t, documents["Deployment cloudgateway"]).Spec.Template.Spec
	if diff := cmp.Diff(gateway.NodeSelector, doctor.NodeSelector) + cmp.Diff(gateway.Tolerations, doctor.Tolerations); diff != "" {
		t.Errorf("helm test runs elsewhere (-gateway +doctor):\n%s", diff)
	}
}

// TestSecurityContexts: single fields and the whole can be left out, for clusters that give users and groups themselves.
func TestSecurityContexts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		changes map[string]any
		want    *corev1.PodSecurityContext
	}{
		"users of the cluster": {
			map[string]any{"podSecurityContext": map[string]any{"runAsUser": nil, "runAsGroup": nil, "fsGroup": nil}},
			&corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
		"none": {map[string]any{"podSecurityContext": nil, "securityContext": nil}, nil},
	} {
		documents := render(t, "kube-system", tt.changes)
		pods := []corev1.PodSpec{decode[corev1.Pod](t, documents["Pod cloudgateway-doctor"]).Spec}
		for _, component := range ours.Components() {
			pods = append(pods, decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template.Spec)
		}
		for _, pod := range pods {
			if diff := cmp.Diff(tt.want, pod.SecurityContext); diff != "" || (pod.Containers[0].SecurityContext == nil) != (tt.want == nil) {
				t.Errorf("%s: %s: %+v\n%s", name, pod.Containers[0].Name, pod.Containers[0].SecurityContext, diff)
			}
		}
	}
}

// TestRegistryOfAnUmbrella: the registry that an umbrella chart gives to all its charts is used, unless this one has its own.
func TestRegistryOfAnUmbrella(t *testing.T) {
	t.Parallel()
	all := map[string]any{"imageRegistry": "mirror.example.com"}
	for want, changes := range map[string]map[string]any{
		"mirror.example.com/alicloud-controllers/": {"global": all},
		"own.example.com/alicloud-controllers/":    {"global": all, "image": map[string]any{"registry": "own.example.com"}},
		"alicloud-controllers/":                    {"global": map[string]any{"other": "x"}},
	} {
		documents := render(t, "kube-system", changes)
		image := decode[appsv1.Deployment](t, documents["Deployment lbcontroller"]).Spec.Template.Spec.Containers[0].Image
		if !strings.HasPrefix(image, want+"lbcontroller:") {
			t.Errorf("with %v the image is %s", changes, image)
		}
	}
}

// TestReusedValues: the values of an earlier version, taken as a whole, lack what is new. That is said, in place of a fault of a template.
func TestReusedValues(t *testing.T) {
	t.Parallel()
	for section, standard := range load(t).Values {
		if _, ok := standard.(map[string]any); !ok || section == "nodeSelector" || section == "affinity" || strings.HasPrefix(section, "pod") &&
			section != "podMonitor" && section != "podDisruptionBudget" || section == "securityContext" {
			continue // What may be left out.
		}
		c := load(t)
		delete(c.Values, section)
		all, err := chartutil.ToRenderValues(c, values(nil), chartutil.ReleaseOptions{Name: "alicloud", Namespace: "kube-system"},
			chartutil.DefaultCapabilities)
		if err != nil {
			t.Fatal(err)
		}
		if _, given := values(nil)[section]; given {
			continue
		}
		if _, err = engine.RenderWithClientProvider(c, all, cluster(t)); err == nil ||
			!strings.Contains(err.Error(), "values: "+section+": missing") || !strings.Contains(err.Error(), "--reset-then-reuse-values") {
			t.Errorf("without %s: %v", section, err)
		}
	}
}

// TestFieldsOfMonitors: how metrics are read can be said, for both kinds of monitors, and what the chart itself needs stays.
func TestFieldsOfMonitors(t *testing.T) {
	t.Parallel()
	fields := func(more map[string]any) map[string]any {
		m := map[string]any{
			"enabled": true, "interval": "15s", "scrapeTimeout": "10s", "tokenSecret": "reader",
			"relabelings":       []any{map[string]any{"targetLabel": "cluster", "replacement": "prod-1"}},
			"metricRelabelings": []any{map[string]any{"action": "labeldrop", "regex": "pod"}},
		}
		maps.Copy(m, more)
		return m
	}
	pods := render(t, "kube-system", map[string]any{"podMonitor": fields(nil)})
	services := render(t, "kube-system", map[string]any{"serviceMonitor": fields(nil)})
	type endpoint struct {
		Interval, ScrapeTimeout, BearerTokenFile string
		Relabelings, MetricRelabelings           []struct{ TargetLabel string }
		Authorization                            struct{ Credentials corev1.SecretKeySelector }
	}
	for _, component := range ours.Components() {
		pod := loose[struct {
			Spec struct{ PodMetricsEndpoints []endpoint }
		}](t, pods["PodMonitor "+component]).Spec.PodMetricsEndpoints
		service := loose[struct {
			Spec struct{ Endpoints []endpoint }
		}](t, services["ServiceMonitor "+component]).Spec.Endpoints
		for _, e := range slices.Concat(pod, service) {
			if e.Interval != "15s" || e.ScrapeTimeout != "10s" || len(e.MetricRelabelings) != 1 || e.BearerTokenFile != "" ||
				len(e.Relabelings) == 0 || e.Relabelings[len(e.Relabelings)-1].TargetLabel != "cluster" ||
				(e.Authorization.Credentials.Name == "reader") != (component == "cloudgateway") {
				t.Errorf("%s: %+v", component, e)
			}
		}
		if component == "cloudgateway" && pod[0].Relabelings[0].TargetLabel != "__address__" {
			t.Errorf("nothing says at which port the gateway shows its metrics: %+v", pod[0].Relabelings)
		}
	}
}

// TestRightsFollowTheValues: what a component does not do with these values, it may not do, and all else stays as it is.
func TestRightsFollowTheValues(t *testing.T) {
	t.Parallel()
	granted := func(component string, changes map[string]any) map[string]bool {
		t.Helper()
		found := map[string]bool{}
		for _, rule := range decode[rbacv1.ClusterRole](t, render(t, "kube-system", changes)["ClusterRole alicloud:"+component]).Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					found[verb+" "+resource] = true
				}
			}
		}
		return found
	}
	configured := func(component string, config map[string]any) map[string]any {
		return map[string]any{"components": map[string]any{component: map[string]any{"config": config}}}
	}
	secrets := configured("lbcontroller", map[string]any{"tlsSecretNamespaces": []any{"web"}})
	withoutNLB := configured("lbcontroller", map[string]any{"tlsSecretNamespaces": []any{"web"}, "nlb": map[string]any{"enabled": false}})
	networks := []string{}
	for _, verb := range []string{"get", "list", "create", "update", "delete"} {
		networks = append(networks, verb+" networkloadbalancers", verb+" networkservergroups")
		if verb != "get" {
			networks = append(networks, verb+" networklisteners")
		}
	}
	for name, tt := range map[string]struct {
		component    string
		all, changes map[string]any
		less         []string
	}{
		"no routes": {"nodecontroller", nil, map[string]any{"network": map[string]any{"mode": "terway"}}, []string{"update sourcedestchecks"}},
		"checks stay on": {"nodecontroller", nil, configured("nodecontroller", map[string]any{"disableSourceDestCheck": false}),
			[]string{"update sourcedestchecks"}},
		"no deletions": {"nodecontroller", nil, configured("nodecontroller", map[string]any{"deletion": map[string]any{"enabled": false}}),
			[]string{"delete nodes"}},
		"no certificates of Secrets": {"lbcontroller", secrets, nil, []string{"create servercertificates", "delete servercertificates"}},
		"no NLBs":                    {"lbcontroller", secrets, withoutNLB, networks},
		"all of it":                  {"routecontroller", nil, nil, nil},
	} {
		want := granted(tt.component, tt.all)
		for _, right := range tt.less {
			if !want[right] {
				t.Errorf("%s: %s is not there anyway", name, right)
			}
			delete(want, right)
		}
		if diff := cmp.Diff(want, granted(tt.component, tt.changes)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tt.component, diff)
		}
	}
}
