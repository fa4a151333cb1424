package chart_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	ours "alicloud-controllers.dev/deploy/chart"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	roleARN     = "acs:ram::1000000000000001:role/gateway"
	providerARN = "acs:ram::1000000000000001:oidc-provider/ack-rrsa-c1"
)

// TestGatewayConfig: each source of credentials comes with what it needs in the pod. The files are golden; that the gateway takes
// them is tested where its configuration is.
func TestGatewayConfig(t *testing.T) {
	t.Parallel()
	readable := int32(0o440)
	secret := func(name string) *corev1.VolumeSource {
		return &corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: &readable}}
	}
	hour := int64(3600)
	token := &corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &readable, Sources: []corev1.VolumeProjection{{
		ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "sts.aliyuncs.com", ExpirationSeconds: &hour, Path: "token"},
	}}}}
	tests := []struct {
		file   string
		values map[string]any
		volume *corev1.VolumeSource // with what the source of credentials needs
	}{
		{file: "defaults"},
		{file: "access-key", values: map[string]any{"credentials": map[string]any{"existingSecret": "key"}}, volume: secret("key")},
		{file: "located", values: map[string]any{"region": ""}},
		{file: "ram-role", values: map[string]any{"credentials": map[string]any{"ramRole": "worker"}}},
		{
			file:   "rrsa",
			values: map[string]any{"credentials": map[string]any{"rrsa": map[string]any{"roleARN": roleARN, "oidcProviderARN": providerARN}}},
			volume: token,
		},
		{file: "sts-token", values: map[string]any{"credentials": map[string]any{"stsTokenSecret": "fresh"}}, volume: secret("fresh")},
		{file: "addon-token", values: map[string]any{"credentials": map[string]any{"addonTokenSecret": "addon"}}, volume: secret("addon")},
		{
			file: "assume-role",
			values: map[string]any{"credentials": map[string]any{
				"rrsa":       map[string]any{"roleARN": roleARN, "oidcProviderARN": providerARN, "sessionName": "gw", "durationSeconds": 900},
				"assumeRole": map[string]any{"roleARN": roleARN + "-2", "externalID": "x"},
			}},
			volume: token,
		},
		{
			file: "own-credentials", // named in the component's configuration, as before the chart knew of them
			values: map[string]any{"components": map[string]any{"cloudgateway": map[string]any{
				"config": map[string]any{"credentials": map[string]any{"environment": true}},
			}}},
		},
		{file: "front", values: map[string]any{"front": map[string]any{"enabled": true, "keysSecret": "tools", "wait": "20s",
			"auditReads": true}}},
		{file: "budget-left-out", values: map[string]any{"budget": map[string]any{"share": nil, "learnUpTo": nil}}},
		{
			file: "budget",
			values: map[string]any{
				"budget": map[string]any{
					"part": 0.2, "share": 0.3, "learnUpTo": 2.5,
					"callers":   map[string]any{"system:serviceaccount:tools:backup": map[string]any{"weight": 1, "share": 0.1}},
					"overrides": map[string]any{"slb/CreateLoadBalancer": map[string]any{"calls": 120, "window": "60s"}},
				},
				"api":        map[string]any{"enable": []any{"slb.v1.CertificateService"}},
				"reflection": true, "tls": map[string]any{"clientCASecret": "callers"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			documents := render(t, "kube-system", tt.values)
			golden(t, "cloudgateway/"+tt.file, decode[corev1.ConfigMap](t, documents["ConfigMap cloudgateway"]).Data["config.yaml"])
			if got := volume(decode[appsv1.Deployment](t, documents["Deployment cloudgateway"]), "credentials",
				"/etc/credentials"); tt.volume != nil {
				if diff := cmp.Diff(tt.volume, got); diff != "" {
					t.Errorf("volume of the credentials (-want +got):\n%s", diff)
				}
			} else if got != nil {
				t.Errorf("a volume for credentials that need none: %+v", got)
			}
			for _, other := range []string{"lbcontroller", "nodecontroller", "routecontroller"} {
				if got := volume(decode[appsv1.Deployment](t, documents["Deployment "+other]), "credentials", "/etc/credentials"); got != nil {
					t.Errorf("%s has credentials of the cloud: %+v", other, got)
				}
			}
		})
	}
}

// TestFront: with the OpenAPI front come its port, the Secret with the key pairs, and who may reach it. Without it there is nothing of it.
func TestFront(t *testing.T) {
	t.Parallel()
	off := render(t, "kube-system", map[string]any{"networkPolicy": map[string]any{"enabled": true}})
	for name, text := range off {
		if strings.Contains(text, "7444") || strings.Contains(text, "/etc/front") || strings.HasPrefix(name, "Service cloudgateway-") {
			t.Errorf("%s has a front", name)
		}
	}
	from := map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "tools"}}}
	on := render(t, "kube-system", map[string]any{
		"network": map[string]any{"mode": "terway"}, "front": map[string]any{"enabled": true, "keysSecret": "tools"},
		"networkPolicy": map[string]any{"enabled": true, "frontFrom": []any{from}},
	})
	if ports := decode[corev1.Service](t, on["Service cloudgateway"]).Spec.Ports; len(ports) != 3 ||
		ports[1].Name != "active" || ports[1].Port != 7445 || ports[2].Name != "front" || ports[2].Port != 7444 {
		t.Errorf("ports of the Service: %+v", ports)
	}
	for _, product := range []string{"ecs", "cs", "kms"} { // TestChartHasTheProducts of the gateway compares the list.
		service := decode[corev1.Service](t, on["Service cloudgateway-"+product]).Spec
		if service.ClusterIP != corev1.ClusterIPNone || !service.PublishNotReadyAddresses || len(service.Ports) != 1 ||
			service.Ports[0].Port != 7444 ||
			!maps.Equal(service.Selector, decode[corev1.Service](t, on["Service cloudgateway"]).Spec.Selector) {
			t.Errorf("the name of %s: %+v", product, service)
		}
	}
	pod := decode[appsv1.Deployment](t, on["Deployment cloudgateway"])
	got := volume(pod, "front", "/etc/front")
	if got == nil || got.Secret.SecretName != "tools" || got.Secret.Optional == nil || !*got.Secret.Optional {
		t.Errorf("volume of the key pairs: %+v", got)
	}
	if got := volume(decode[appsv1.Deployment](t, on["Deployment lbcontroller"]), "front", "/etc/front"); got != nil {
		t.Errorf("lbcontroller has the key pairs: %+v", got)
	}
	found := false
	for _, rule := range decode[networkingv1.NetworkPolicy](t, on["NetworkPolicy cloudgateway"]).Spec.Ingress {
		if rule.Ports[0].Port.StrVal == "front" {
			found = len(rule.From) == 1 && rule.From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] == "tools"
		}
	}
	if !found {
		t.Error("the NetworkPolicy does not let the tools in")
	}
}

// volume returns a volume that is mounted there, read-only.
func volume(d appsv1.Deployment, name, path string) *corev1.VolumeSource {
	pod := d.Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.Name != name || m.MountPath != path || !m.ReadOnly {
			continue
		}
		for _, v := range pod.Volumes {
			if v.Name == name {
				return &v.VolumeSource
			}
		}
	}
	return nil
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name)+".yaml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test ./chart -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test ./chart -update writes it anew:\n%s", file, diff)
	}
}

// TestClientCA: the authority of callers outside Kubernetes is the gateway's to read, and nothing else of its Secret.
func TestClientCA(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", map[string]any{"tls": map[string]any{"clientCASecret": "callers"}})
	got := volume(decode[appsv1.Deployment](t, documents["Deployment cloudgateway"]), "client-ca", "/etc/client-ca")
	want := &corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: "callers", DefaultMode: new(int32(0o440)), Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("volume (-want +got):\n%s", diff)
	}
}

// TestContradictions: what the schema can't express is refused when the chart is rendered.
func TestContradictions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		credentials map[string]any
		want        string
	}{
		"two sources": {
			credentials: map[string]any{"existingSecret": "key", "rrsa": map[string]any{"roleARN": roleARN, "oidcProviderARN": providerARN}},
			want:        "credentials: existingSecret and rrsa are named; keep one of them",
		},
		"half of RRSA": {
			credentials: map[string]any{"rrsa": map[string]any{"roleARN": roleARN}},
			want:        "credentials.rrsa: roleARN and oidcProviderARN are required together",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryRender(t, "kube-system", values(map[string]any{"credentials": tt.credentials}), cluster(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestRollout: a new pod comes before an old one goes, and a second replica has room on the node of the first, whatever network they
// are on. A pod that can't work is neither restarted for that nor in the way of a drain, and callers find it all the same.
func TestRollout(t *testing.T) {
	t.Parallel()
	for mode, hostNetwork := range map[string]bool{"flannel": true, "terway": false} {
		documents := render(t, "kube-system", map[string]any{"network": map[string]any{"mode": mode, "clusterCIDRs": []any{"10.0.0.0/8"}}})
		for _, component := range ours.Components() {
			document, ok := documents["Deployment "+component]
			if enabled := component != "routecontroller" || mode == "flannel"; ok != enabled {
				t.Errorf("%s: %s is rendered: %t", mode, component, ok)
			}
			if !ok {
				continue
			}
			d := decode[appsv1.Deployment](t, document)
			if r := d.Spec.Strategy.RollingUpdate; r.MaxUnavailable.IntVal != 0 || r.MaxSurge.IntVal != 1 {
				t.Errorf("%s: %s: %+v", mode, component, r)
			}
			pod := d.Spec.Template.Spec
			c := pod.Containers[0]
			if onHost := component == "cloudgateway" && hostNetwork; pod.HostNetwork != onHost || (len(c.Ports) == 0) != onHost {
				t.Errorf("%s: %s is on the node's network: %t, with ports %v", mode, component, pod.HostNetwork, c.Ports)
			}
			scheme := corev1.URISchemeHTTP
			if pod.HostNetwork {
				scheme = corev1.URISchemeHTTPS
			}
			for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if probe.HTTPGet.Scheme != scheme {
					t.Errorf("%s: %s is probed by %s", mode, component, probe.HTTPGet.Scheme)
				}
			}
			if s, l, r := c.StartupProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path,
				c.ReadinessProbe.HTTPGet.Path; s != "/livez" || l != s || r != "/readyz" {
				t.Errorf("probes at %s, %s and %s", s, l, r)
			}
			const stop = 25 // seconds that a process takes at most
			if hook, grace := c.Lifecycle.PreStop.Sleep.Seconds, *pod.TerminationGracePeriodSeconds; hook == 0 ||
				grace < stop+hook || grace > stop+5*hook {
				t.Errorf("%s: the end comes after %d s, %d of them for the hook", component, *pod.TerminationGracePeriodSeconds, hook)
			}
			if !slices.Equal(c.Command, []string{component}) {
				t.Errorf("%s runs %q", component, c.Command)
			}
			for _, name := range []string{"POD_NAME", "POD_UID"} {
				if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name && e.ValueFrom.FieldRef != nil }) {
					t.Errorf("%s does not know its %s", component, name)
				}
			}
			apart := pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
			if len(apart) != 2 || apart[0].PodAffinityTerm.TopologyKey != corev1.LabelHostname || apart[0].Weight <= apart[1].Weight ||
				!maps.Equal(apart[0].PodAffinityTerm.LabelSelector.MatchLabels, d.Spec.Selector.MatchLabels) || len(pod.TopologySpreadConstraints) > 0 {
				t.Errorf("%s: what keeps replicas apart on nodes without a zone: %+v, %+v", component, apart, pod.TopologySpreadConstraints)
			}
			budget := decode[policyv1.PodDisruptionBudget](t, documents["PodDisruptionBudget "+component]).Spec
			if p := budget.UnhealthyPodEvictionPolicy; p == nil || *p != policyv1.AlwaysAllow || budget.MaxUnavailable.IntVal != 1 {
				t.Errorf("disruption budget: %+v", budget)
			}
		}
		if s := decode[corev1.Service](t, documents["Service cloudgateway"]); !s.Spec.PublishNotReadyAddresses || s.Spec.ClusterIP != "None" {
			t.Errorf("Service: %+v", s.Spec)
		}
	}
}

// TestRevision: on the node's network, the probes of an upgrade's pods differ from those of the pods that still have
// the ports, whatever the upgrade mends. Where each pod has an address of its own, they say nothing.
func TestRevision(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, changes := range map[string]map[string]any{
		"first":         nil,
		"image":         {"image": map[string]any{"tag": "next"}},
		"configuration": {"region": "cn-beijing"},
		"credentials":   {"credentials": map[string]any{"existingSecret": "key"}},
		"environment": {"components": map[string]any{"cloudgateway": map[string]any{
			"extraEnv": []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}},
		}}},
	} {
		documents := render(t, "kube-system", changes)
		for _, component := range ours.Components() {
			c := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template.Spec.Containers[0]
			i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "POD_REVISION" })
			headers := c.ReadinessProbe.HTTPGet.HTTPHeaders
			if component != "cloudgateway" {
				if i >= 0 || len(headers) > 0 {
					t.Errorf("%s: %s is probed with %v", name, component, headers)
				}
				continue
			}
			if i < 0 || !slices.Equal(headers, []corev1.HTTPHeader{{Name: "Pod-Revision", Value: c.Env[i].Value}}) {
				t.Fatalf("%s: the probe has the headers %v, the pod the variables %v", name, headers, c.Env)
			}
			if other, ok := seen[c.Env[i].Value]; ok {
				t.Errorf("%q and %q are one revision", name, other)
			}
			seen[c.Env[i].Value] = name
		}
	}
}

// TestExtras: what a component is given besides is in its pods and in no other's, also in those of a plan, but for arguments.
func TestExtras(t *testing.T) {
	t.Parallel()
	changes := map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"extraArgs": []any{"--version"}, "extraEnv": []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}},
		"extraVolumes":      []any{map[string]any{"name": "more", "configMap": map[string]any{"name": "more"}}},
		"extraVolumeMounts": []any{map[string]any{"name": "more", "mountPath": "/etc/more"}},
	}}}
	has := func(pod corev1.PodSpec) bool {
		c := pod.Containers[0]
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" }) &&
			slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "more" && v.ConfigMap != nil }) &&
			slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/more" })
	}
	documents := render(t, "kube-system", changes)
	for _, component := range ours.Components() {
		pod := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template.Spec
		if want := component == "lbcontroller"; has(pod) != want || slices.Contains(pod.Containers[0].Args, "--version") != want {
			t.Errorf("%s: %+v", component, pod)
		}
	}
	changes["plan"] = true
	pod := decode[batchv1.Job](t, jobOf(t, render(t, "kube-system", changes), "lbcontroller")).Spec.Template.Spec
	if !has(pod) || slices.Contains(pod.Containers[0].Args, "--version") {
		t.Errorf("the plan: %+v", pod)
	}
}

// TestAllPods: what is set for all pods is in those of each Deployment, and in that of helm test what it needs to be pulled and scheduled.
func TestAllPods(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", map[string]any{
		"podLabels": map[string]any{"team": "edge"}, "podAnnotations": map[string]any{"note": "x"},
		"nodeSelector":     map[string]any{"role": "control"},
		"imagePullSecrets": []any{map[string]any{"name": "pull"}}, "image": map[string]any{"pullPolicy": "Always"}, "priorityClassName": "high",
		"tolerations": []any{map[string]any{"key": "only", "operator": "Exists"}},
	})
	check := func(name string, spec corev1.PodSpec) {
		if spec.NodeSelector["role"] != "control" || !slices.Equal(spec.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "pull"}}) ||
			spec.Containers[0].ImagePullPolicy != corev1.PullAlways || len(spec.Tolerations) != 1 || spec.Tolerations[0].Key != "only" {
			t.Errorf("%s: %+v", name, spec)
		}
	}
	for _, component := range ours.Components() {
		pod := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template
		check(component, pod.Spec)
		if pod.Labels["team"] != "edge" || pod.Annotations["note"] != "x" || pod.Annotations["checksum/config"] == "" ||
			pod.Spec.PriorityClassName != "high" {
			t.Errorf("%s: labels %v, annotations %v, priority class %q", component, pod.Labels, pod.Annotations, pod.Spec.PriorityClassName)
		}
	}
	check("doctor", decode[corev1.Pod](t, documents["Pod cloudgateway-doctor"]).Spec)
}

// TestAffinity: a user's takes the place of the chart's.
func TestAffinity(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", map[string]any{"affinity": map[string]any{"nodeAffinity": map[string]any{}}})
	if a := decode[appsv1.Deployment](t,
		documents["Deployment lbcontroller"]).Spec.Template.Spec.Affinity; a.NodeAffinity == nil || a.PodAntiAffinity != nil {
		t.Errorf("affinity %+v", a)
	}
}

// TestWhoReachesTheGateway: the controllers, and whom the values name.
func TestWhoReachesTheGateway(t *testing.T) {
	t.Parallel()
	document := render(t, "kube-system", map[string]any{"network": map[string]any{"mode": "terway"}, "networkPolicy": map[string]any{
		"enabled": true, "gatewayFrom": []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.1.0.0/16"}}},
	}})["NetworkPolicy cloudgateway"]
	for _, rule := range decode[networkingv1.NetworkPolicy](t, document).Spec.Ingress {
		if rule.Ports[0].Port.StrVal != "grpc" {
			continue
		}
		if len(rule.From) != 2 || rule.From[0].PodSelector == nil || rule.From[1].IPBlock == nil || rule.From[1].IPBlock.CIDR != "10.1.0.0/16" {
			t.Errorf("the gateway is open to %+v", rule.From)
		}
		return
	}
	t.Errorf("no rule for calls:\n%s", document)
}

// TestLint is helm lint --strict.
func TestLint(t *testing.T) {
	t.Parallel()
	for _, m := range lint.All(".", values(nil), "kube-system", true).Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}
