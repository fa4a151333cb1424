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
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestLabelsOfAllObjects: every object and pod has the common labels; none of the chart's own, by which pods are selected, is replaced, and
// a label that is given twice is there once.
func TestLabelsOfAllObjects(t *testing.T) {
	t.Parallel()
	changes := everything()
	changes["commonLabels"] = map[string]any{"team": "net", "release": "common", "app.kubernetes.io/name": "other", "tier": "common"}
	changes["podLabels"] = map[string]any{"tier": "a"}
	for _, section := range []string{"serviceMonitor", "prometheusRule", "dashboard"} {
		merged := map[string]any{"enabled": true}
		if given, ok := changes[section].(map[string]any); ok {
			maps.Copy(merged, given)
		}
		merged["labels"] = map[string]any{"release": "prometheus"}
		changes[section] = merged
	}
	changes["podAnnotations"] = map[string]any{"checksum/config": "mine", "note": "x"}
	documents := render(t, "kube-system", changes)
	for name, document := range documents {
		object := loose[metav1.PartialObjectMetadata](t, document)
		if object.Labels["team"] != "net" || object.Labels["app.kubernetes.io/name"] == "other" ||
			object.Labels["app.kubernetes.io/instance"] == "" {
			t.Errorf("%s has the labels %v", name, object.Labels)
		}
		kind, _, _ := strings.Cut(name, " ")
		want := "common"
		if kind == "ServiceMonitor" || kind == "PrometheusRule" || strings.HasSuffix(name, "-dashboard") {
			want = "prometheus"
		}
		if object.Labels["release"] != want {
			t.Errorf("%s has release=%s, want %s", name, object.Labels["release"], want)
		}
	}
	for _, component := range ours.Components() {
		d := decode[appsv1.Deployment](t, documents["Deployment "+component])
		if pod := d.Spec.Template; pod.Labels["team"] != "net" || pod.Labels["tier"] != "a" || pod.Labels["app.kubernetes.io/name"] != component {
			t.Errorf("pods of %s have the labels %v", component, pod.Labels)
		}
		if is := d.Spec.Template.Annotations; is["note"] != "x" || is["checksum/config"] == "mine" { // Else a change restarts nothing.
			t.Errorf("pods of %s have the annotations %v", component, is)
		}
		if _, has := d.Spec.Selector.MatchLabels["team"]; has { // It could never be changed.
			t.Errorf("%s selects by %v", component, d.Spec.Selector.MatchLabels)
		}
	}
}

// TestSpreadAndHistory: pods can be spread, all or those of one component, and few old ReplicaSets kept.
func TestSpreadAndHistory(t *testing.T) {
	t.Parallel()
	constraint := func(key string, more map[string]any) []any {
		all := map[string]any{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
		maps.Copy(all, more)
		return []any{all}
	}
	theirs := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "x"}}}
	documents := render(t, "kube-system", map[string]any{
		"topologySpreadConstraints": constraint("topology.kubernetes.io/zone", nil), "revisionHistoryLimit": 2,
		"components": map[string]any{"lbcontroller": map[string]any{"topologySpreadConstraints": constraint("rack", theirs)}},
	})
	for _, component := range ours.Components() {
		d := decode[appsv1.Deployment](t, documents["Deployment "+component])
		key, selected := "topology.kubernetes.io/zone", d.Spec.Selector.MatchLabels
		if component == "lbcontroller" {
			key, selected = "rack", map[string]string{"app": "x"}
		}
		got := d.Spec.Template.Spec.TopologySpreadConstraints
		if len(got) != 1 || got[0].TopologyKey != key || !maps.Equal(got[0].LabelSelector.MatchLabels, selected) ||
			*d.Spec.RevisionHistoryLimit != 2 {
			t.Errorf("%s: %+v, keeps %d", component, got, *d.Spec.RevisionHistoryLimit)
		}
	}
	left := render(t, "kube-system", map[string]any{"revisionHistoryLimit": nil})["Deployment lbcontroller"]
	if strings.Contains(left, "revisionHistoryLimit") {
		t.Errorf("null does not leave it to Kubernetes:\n%s", left)
	}
	d := decode[appsv1.Deployment](t, render(t, "kube-system", nil)["Deployment lbcontroller"])
	if len(d.Spec.Template.Spec.TopologySpreadConstraints) != 0 || *d.Spec.RevisionHistoryLimit != 10 {
		t.Errorf("by default: %+v, keeps %d", d.Spec.Template.Spec.TopologySpreadConstraints, *d.Spec.RevisionHistoryLimit)
	}
}

// TestWhomPodsMayCall: anybody, unless the values name peers; then controllers may call the gateway, too.
func TestWhomPodsMayCall(t *testing.T) {
	t.Parallel()
	peer := []any{map[string]any{"to": []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.1.0.0/16"}}}}}
	for _, egress := range [][]any{nil, peer} {
		documents := render(t, "kube-system", map[string]any{
			"network": map[string]any{"mode": "terway"}, "networkPolicy": map[string]any{"enabled": true, "egress": egress},
		})
		for _, component := range []string{"cloudgateway", "lbcontroller", "nodecontroller"} {
			spec := decode[networkingv1.NetworkPolicy](t, documents["NetworkPolicy "+component]).Spec
			want := 0
			if egress != nil {
				want = 1
				if component != "cloudgateway" {
					want = 2
				}
			}
			restricts := slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			if restricts != (egress != nil) || len(spec.Egress) != want {
				t.Fatalf("%s: %v, %+v", component, spec.PolicyTypes, spec.Egress)
			}
			if want == 2 && (spec.Egress[0].Ports[0].Port.IntVal != 7443 || len(spec.Egress[0].To) != 0) {
				t.Errorf("%s may not call the gateway: %+v", component, spec.Egress)
			}
			if want > 0 && spec.Egress[want-1].To[0].IPBlock.CIDR != "10.1.0.0/16" {
				t.Errorf("%s: %+v", component, spec.Egress)
			}
		}
	}
}

// TestLimitsOfAllProducts: the values take a raised limit of each product that the gateway takes one of.
func TestLimitsOfAllProducts(t *testing.T) {
	t.Parallel()
	overrides := map[string]any{}
	for _, product := range []string{"slb", "nlb", "vpc", "ecs", "sts", "cas"} {
		overrides[product+"/Action"] = map[string]any{"calls": 100, "window": "60s"}
	}
	document := render(t, "kube-system", map[string]any{"budget": map[string]any{"overrides": overrides}})["ConfigMap cloudgateway"]
	for action := range overrides {
		if !strings.Contains(document, action) {
			t.Errorf("no limit of %s in\n%s", action, document)
		}
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
			section != "podMonitor" && section != "podDisruptionBudget" || section == "securityContext" || section == "commonLabels" {
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
	write := func(resources ...string) (rights []string) {
		for _, resource := range resources {
			rights = append(rights, "create "+resource, "update "+resource, "delete "+resource)
		}
		return rights
	}
	allowed := func(config map[string]any) map[string]any {
		all := map[string]any{"securityGroups": map[string]any{"check": true, "allow": true}}
		maps.Copy(all, config)
		return configured("lbcontroller", all)
	}
	off := func(key string) map[string]any {
		return configured("lbcontroller", map[string]any{key: map[string]any{"enabled": false}})
	}
	networks := []string{"get usercertificates", "list usercertificates", "create usercertificates", "delete usercertificates"}
	for _, verb := range []string{"get", "list", "create", "update", "delete"} {
		networks = append(networks, verb+" networkloadbalancers", verb+" networkservergroups")
		if verb != "get" { // Those of servers are read.
			networks = append(networks, verb+" securitygroups")
		}
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
		"no certificates of Secrets": {"lbcontroller", secrets, nil, []string{"create servercertificates", "delete servercertificates",
			"list usercertificates", "create usercertificates", "delete usercertificates"}},
		"no NLBs": {"lbcontroller", secrets, withoutNLB, networks},
		"no NLBs, and no look at groups": {"lbcontroller", withoutNLB, configured("lbcontroller", map[string]any{
			"tlsSecretNamespaces": []any{"web"}, "nlb": map[string]any{"enabled": false}, "securityGroups": map[string]any{"check": false},
		}), []string{"get securitygroups"}},
		"no EIPs":          {"lbcontroller", nil, off("eips"), write("eips")},
		"no source ranges": {"lbcontroller", nil, off("sourceRanges"), write("accesscontrollists", "securitygroups")},
		"no source ranges, but rules for health checks": {"lbcontroller", allowed(nil),
			allowed(map[string]any{"sourceRanges": map[string]any{"enabled": false}}),
			append(write("accesscontrollists"), "create securitygroups", "delete securitygroups")},
		"no NLBs, but rules for health checks": {"lbcontroller", allowed(map[string]any{"tlsSecretNamespaces": []any{"web"}}),
			allowed(map[string]any{"tlsSecretNamespaces": []any{"web"}, "nlb": map[string]any{"enabled": false}}),
			slices.DeleteFunc(slices.Clone(networks), func(right string) bool {
				return right == "list securitygroups" || right == "update securitygroups"
			})},
		"all of it": {"routecontroller", nil, nil, nil},
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

// TestDoctorTriesWhatIsInstalled: the doctor, by the command of the pages as in the test of the release, asks for no
// permission of a controller that is not installed: its RAM policy need not be attached.
func TestDoctorTriesWhatIsInstalled(t *testing.T) {
	t.Parallel()
	off := map[string]any{"enabled": false}
	for want, changes := range map[string]map[string]any{
		"load-balancers,nodes,routes": nil,
		"load-balancers,nodes":        {"network": map[string]any{"mode": "terway"}},
		"nodes":                       {"components": map[string]any{"lbcontroller": off, "routecontroller": off}},
		"":                            {"components": map[string]any{"lbcontroller": off, "nodecontroller": off, "routecontroller": off}},
	} {
		documents := render(t, "kube-system", changes)
		variable := corev1.EnvVar{Name: "DOCTOR_FEATURES", Value: want}
		pod := decode[corev1.Pod](t, documents["Pod cloudgateway-doctor"]).Spec.Containers[0]
		gateway := decode[appsv1.Deployment](t, documents["Deployment cloudgateway"]).Spec.Template.Spec.Containers[0]
		for name, container := range map[string]corev1.Container{"helm test": pod, "the gateway": gateway} {
			if !slices.Contains(container.Env, variable) || strings.Contains(strings.Join(container.Args, " "), "features") {
				t.Errorf("%v: %s has %v and %q, want %v", changes, name, container.Env, container.Args, variable)
			}
		}
	}
}
