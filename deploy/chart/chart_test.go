package chart_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	ours "alicloud-controllers.dev/deploy/chart"
)

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(".")
	if err != nil {
		t.Fatalf("load chart: %v", err)
	}
	return c
}

// values are the least that an installation needs, with changes on top.
func values(changes map[string]any) map[string]any {
	v := map[string]any{
		"clusterID": "c-1", "region": "cn-hangzhou", "vpcID": "vpc-1",
		"network": map[string]any{"mode": "flannel", "clusterCIDRs": []any{"10.0.0.0/8"}},
	}
	maps.Copy(v, changes)
	return v
}

// provider gives the templates a cluster to look into, as helm install does.
type provider struct{ dynamic.Interface }

// GetClientFor implements engine.ClientProvider.
func (p provider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	return p.Resource(version.WithResource(strings.ToLower(kind) + "s")), kind != "Namespace", err
}

// cluster has what every cluster has, the certificate of an earlier installation, and the given objects. A certificate that
// is made takes more time than all else in a rendering.
func cluster(t *testing.T, objects ...runtime.Object) engine.ClientProvider {
	t.Helper()
	for _, namespace := range []string{"kube-system", "cloud"} {
		objects = append(objects, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "cloudgateway-tls", Namespace: namespace},
			Data:       map[string][]byte{"ca.crt": []byte("ca"), "tls.crt": []byte("crt"), "tls.key": []byte("key")},
		})
	}
	return newCluster(t, objects...)
}

// newCluster has what every cluster has, and the given objects.
func newCluster(t *testing.T, objects ...runtime.Object) engine.ClientProvider {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	return provider{dynamicfake.NewSimpleDynamicClient(scheme, append(objects, namespace)...)}
}

// tryRender returns the text of each file, or what is wrong with the values. Without a cluster it is what helm template does.
func tryRender(t *testing.T, namespace string, values map[string]any, cluster engine.ClientProvider) (map[string]string, error) {
	t.Helper()
	return tryRelease(t, chartutil.ReleaseOptions{Name: "alicloud", Namespace: namespace}, values, cluster)
}

// tryRelease is tryRender for any release.
func tryRelease(t *testing.T, options chartutil.ReleaseOptions, values map[string]any, cluster engine.ClientProvider) (
	map[string]string, error) {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	var files map[string]string
	if cluster == nil {
		files, err = engine.Render(c, all)
	} else {
		files, err = engine.RenderWithClientProvider(c, all, cluster)
	}
	if err == nil {
		keep(t, files)
	}
	return files, err
}

// render returns the documents by kind and name, in a cluster with the given objects.
func render(t *testing.T, namespace string, changes map[string]any, objects ...runtime.Object) map[string]string {
	t.Helper()
	return renderIn(t, namespace, changes, cluster(t, objects...))
}

// renderFirst returns the documents of a first installation.
func renderFirst(t *testing.T, namespace string, changes map[string]any) map[string]string {
	t.Helper()
	return renderIn(t, namespace, changes, newCluster(t))
}

func renderIn(t *testing.T, namespace string, changes map[string]any, cluster engine.ClientProvider) map[string]string {
	t.Helper()
	return renderRelease(t, chartutil.ReleaseOptions{Name: "alicloud", Namespace: namespace}, changes, cluster)
}

// renderRelease returns the documents of a release.
func renderRelease(t *testing.T, options chartutil.ReleaseOptions, changes map[string]any, cluster engine.ClientProvider,
) map[string]string {
	t.Helper()
	files, err := tryRelease(t, options, values(changes), cluster)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	documents := map[string]string{}
	for name, text := range files {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for doc := range strings.SplitSeq("\n"+text, "\n---") {
			var meta metav1.PartialObjectMetadata
			if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			if meta.Kind == "" {
				continue
			}
			key := meta.Kind + " " + meta.Name
			if documents[key] != "" {
				t.Errorf("%s appears twice", key)
			}
			documents[key] = doc
		}
	}
	return documents
}

// decode reads a document strictly: a field that Kubernetes does not know is an error.
func decode[T any](t *testing.T, document string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
		t.Fatalf("decode: %v\n%s", err, document)
	}
	return object
}

// TestObjects renders all variants, and decodes everything strictly.
func TestObjects(t *testing.T) {
	t.Parallel()
	variants := map[string]map[string]any{
		"defaults": nil,
		"secrets": {
			"credentials": map[string]any{"existingSecret": "key"}, "tls": map[string]any{"existingSecret": "cert"},
		},
		"terway": {"network": map[string]any{"mode": "terway"}},
		"certificates of the cluster": {
			"tls": map[string]any{"certManager": map[string]any{"enabled": true}}, "cloudConfig": map[string]any{"secret": "cloud-config"},
		},
		"certificates of another issuer": {
			"tls": map[string]any{"certManager": map[string]any{"enabled": true,
				"issuerRef": map[string]any{"kind": "ClusterIssuer", "name": "ours"}}},
			"cloudConfig": map[string]any{"configMap": "cloud-config"},
		},
		"everything on": {
			"networkPolicy": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true},
			"prometheusRule": map[string]any{"enabled": true}, "admissionPolicy": map[string]any{"enabled": true},
			"dashboard": map[string]any{"enabled": true}, "vswitchIDs": []any{"vsw-1"},
			"nodeSelector": map[string]any{"role": "control"}, "imagePullSecrets": []any{map[string]any{"name": "pull"}},
			"image":     map[string]any{"registry": "registry.example.com", "pullPolicy": "Always"},
			"tracing":   map[string]any{"endpoint": "https://collector:4317", "caSecret": "collector"},
			"podLabels": map[string]any{"team": "edge"}, "podAnnotations": map[string]any{"note": "x"},
		},
	}
	for name, changes := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for key, doc := range render(t, "kube-system", changes) {
				kind, _, _ := strings.Cut(key, " ")
				switch kind {
				case "Deployment":
					checkPod(t, decode[appsv1.Deployment](t, doc))
				case "Pod":
					pod := decode[corev1.Pod](t, doc)
					if s := pod.Spec.Containers[0].SecurityContext; !*pod.Spec.SecurityContext.RunAsNonRoot ||
						*s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem {
						t.Errorf("%s has rights that it does not need: %+v", key, s)
					}
				case "ConfigMap":
					decode[corev1.ConfigMap](t, doc)
				case "Service":
					decode[corev1.Service](t, doc)
				case "Secret":
					decode[corev1.Secret](t, doc)
				case "ServiceAccount":
					if mount := decode[corev1.ServiceAccount](t, doc).AutomountServiceAccountToken; mount == nil || *mount {
						t.Errorf("%s gives its token to every pod that names it", key)
					}
				case "Role":
					decode[rbacv1.Role](t, doc)
				case "RoleBinding":
					decode[rbacv1.RoleBinding](t, doc)
				case "ClusterRole":
					decode[rbacv1.ClusterRole](t, doc)
				case "ClusterRoleBinding":
					decode[rbacv1.ClusterRoleBinding](t, doc)
				case "PodDisruptionBudget":
					decode[policyv1.PodDisruptionBudget](t, doc)
				case "ValidatingAdmissionPolicy":
					decode[admissionv1.ValidatingAdmissionPolicy](t, doc)
				case "ValidatingAdmissionPolicyBinding":
					decode[admissionv1.ValidatingAdmissionPolicyBinding](t, doc)
				case "NetworkPolicy":
					decode[networkingv1.NetworkPolicy](t, doc)
				case "PodMonitor", "ServiceMonitor", "PrometheusRule", "Issuer", "Certificate": // Their types are not ours to depend on.
				default:
					t.Errorf("%s: a kind that this test does not know", key)
				}
			}
		})
	}
}

// checkPod holds a Deployment to the restricted Pod Security Standard, as far as the node's network allows.
func checkPod(t *testing.T, d appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil {
		t.Errorf("%s: the pod may run as root or without seccomp: %+v", d.Name, s)
	}
	if pod.ServiceAccountName != d.Name {
		t.Errorf("%s: ServiceAccount is %q", d.Name, pod.ServiceAccountName)
	}
	if pod.AutomountServiceAccountToken == nil || pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Errorf("%s: it is left to defaults what the pod learns of the cluster", d.Name)
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s: container %s has rights it does not need: %+v", d.Name, c.Name, s)
		}
		if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.StartupProbe == nil {
			t.Errorf("%s: container %s lacks a probe", d.Name, c.Name)
		}
		if at := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" }); at < 0 || c.Env[at].ValueFrom == nil ||
			c.Env[at].ValueFrom.ResourceFieldRef == nil || c.Env[at].ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
			t.Errorf("%s: container %s doesn't know its limit of memory", d.Name, c.Name)
		}
	}
	if pod.DNSPolicy != corev1.DNSDefault {
		t.Errorf("%s: the pod waits for the cluster's DNS: %s", d.Name, pod.DNSPolicy)
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) ||
			v.Projected != nil && (v.Projected.DefaultMode == nil || *v.Projected.DefaultMode != 0o440) {
			t.Errorf("%s: everybody in the container may read volume %s", d.Name, v.Name)
		}
		if v.Secret != nil && d.Name != "cloudgateway" && v.Name != "cloud-config" &&
			(len(v.Secret.Items) != 1 || v.Secret.Items[0].Key != "ca.crt") {
			t.Errorf("%s: volume %s shows more of a Secret than the authority's certificate", d.Name, v.Name)
		}
	}
	want := metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key := range d.Spec.Selector.MatchLabels {
		want.MatchLabels[key] = d.Spec.Template.Labels[key]
	}
	if diff := cmp.Diff(&want, d.Spec.Selector); diff != "" {
		t.Errorf("%s: the selector does not match the pods (-labels +selector):\n%s", d.Name, diff)
	}
}

// TestNamespace: nothing stays behind in the namespace that the RBAC files are written for.
func TestNamespace(t *testing.T) {
	t.Parallel()
	for key, doc := range render(t, "cloud", nil) {
		if strings.Contains(doc, "kube-system") {
			t.Errorf("%s names kube-system:\n%s", key, doc)
		}
	}
}

// TestDisabled: a component that is off leaves no object.
func TestDisabled(t *testing.T) {
	t.Parallel()
	off := map[string]any{"components": map[string]any{"routecontroller": map[string]any{"enabled": false}}}
	for key := range render(t, "kube-system", off) {
		if strings.Contains(key, "routecontroller") {
			t.Errorf("%s is rendered", key)
		}
	}
}

// TestConfig: what users set for a component wins, and what they leave alone stays.
func TestConfig(t *testing.T) {
	t.Parallel()
	changes := map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"config": map[string]any{"workers": 4, "logging": map[string]any{"level": "debug"}},
	}}}
	file := decode[corev1.ConfigMap](t, render(t, "kube-system", changes)["ConfigMap lbcontroller"]).Data["config.yaml"]
	got := decode[map[string]any](t, file)
	want := map[string]any{
		"admin": map[string]any{"listen": ":7081"}, "clusterID": "c-1", "region": "cn-hangzhou", "vpcID": "vpc-1", "vswitchIDs": []any{},
		"gateway": map[string]any{
			"address": "kubernetes:///cloudgateway.kube-system:7443", "serverName": "cloudgateway.kube-system.svc",
			"caFile": "/etc/tls/ca.crt", "tokenFile": "/var/run/secrets/cloudgateway/token",
		},
		"leaderElection": map[string]any{"enabled": true, "namespace": "kube-system", "name": "lbcontroller"},
		"logging":        map[string]any{"level": "debug", "format": "json"},
		"workers":        float64(4),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestNodesWaitForRoutesOnlyIfThereAreAny: with nobody to make routes, the condition that new nodes have none would stay for ever.
func TestNodesWaitForRoutesOnlyIfThereAreAny(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		routes bool
		config map[string]any
		want   bool
	}{
		"with routes":          {routes: true, want: true},
		"without":              {want: false},
		"somebody else's, set": {config: map[string]any{"configureCloudRoutes": true}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := render(t, "kube-system", map[string]any{"components": map[string]any{
				"routecontroller": map[string]any{"enabled": tt.routes}, "nodecontroller": map[string]any{"config": tt.config},
			}})
			file := decode[corev1.ConfigMap](t, documents["ConfigMap nodecontroller"]).Data["config.yaml"]
			if got := decode[map[string]any](t, file)["configureCloudRoutes"]; got != tt.want {
				t.Errorf("configureCloudRoutes %v, want %t", got, tt.want)
			}
		})
	}
}

// TestTracing: all components send their traces to one collector, and none knows of tracing while there is no collector.
func TestTracing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values, want map[string]any
	}{
		"off": {values: map[string]any{"sampleRatio": 1, "caSecret": "unused"}},
		"plain": {
			values: map[string]any{"endpoint": "collector.tracing:4317", "insecure": true},
			want:   map[string]any{"endpoint": "collector.tracing:4317", "insecure": true, "sampleRatio": 0.01},
		},
		"own authority": {
			values: map[string]any{"endpoint": "https://collector:4317", "caSecret": "collector", "sampleRatio": 0},
			want: map[string]any{
				"endpoint": "https://collector:4317", "insecure": false, "caFile": "/etc/tracing/ca.crt", "sampleRatio": float64(0),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := render(t, "kube-system", map[string]any{"tracing": tt.values})
			for _, component := range ours.Components() {
				file := decode[corev1.ConfigMap](t, documents["ConfigMap "+component]).Data["config.yaml"]
				got, there := decode[map[string]any](t, file)["tracing"]
				if there != (tt.want != nil) {
					t.Errorf("%s has a section about tracing: %t", component, there)
				}
				if there {
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", component, diff)
					}
				}
				pod := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template.Spec
				mounted := slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
					return m.Name == "tracing" && m.MountPath == "/etc/tracing" && m.ReadOnly
				})
				if _, wanted := tt.values["caSecret"]; mounted != wanted {
					t.Errorf("%s has the collector's authority: %t", component, mounted)
				}
			}
		})
	}
}

// TestSchema: a mistake in the values is reported before anything is installed.
func TestSchema(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values map[string]any
		want   string
	}{
		"bad cluster": {values: values(map[string]any{"clusterID": "a/b"}), want: "/clusterID"},
		"bad region":  {values: values(map[string]any{"region": "Hangzhou"}), want: "/region"},
		"bad VPC":     {values: values(map[string]any{"vpcID": "vsw-1"}), want: "/vpcID"},
		"bad mode":    {values: values(map[string]any{"network": map[string]any{"mode": "calico"}}), want: "/network/mode"},
		"bad range": {
			values: values(map[string]any{"network": map[string]any{"clusterCIDRs": []any{"10.0.0.0"}}}), want: "/network/clusterCIDRs/0",
		},
		"bad switch": {
			values: values(map[string]any{"components": map[string]any{"lbcontroller": map[string]any{"hostNetwork": "yes"}}}), want: "hostNetwork",
		},
		"unknown key":         {values: values(map[string]any{"vswitches": []any{"vsw-1"}}), want: "vswitches"},
		"vSwitch with a zone": {values: values(map[string]any{"vswitchIDs": []any{"cn-hangzhou-h:vsw-1"}}), want: "/vswitchIDs/0"},
		"registry with a scheme": {
			values: values(map[string]any{"image": map[string]any{"registry": "https://r.example.com"}}), want: "/image/registry"},
		"registry with a slash": {values: values(map[string]any{"image": map[string]any{"registry": "r.example.com/"}}),
			want: "/image/registry"},
		"bad level":              {values: values(map[string]any{"logging": map[string]any{"level": "loud"}}), want: "level"},
		"bad collector":          {values: values(map[string]any{"tracing": map[string]any{"endpoint": "collector"}}), want: "/tracing/endpoint"},
		"bad sample ratio":       {values: values(map[string]any{"tracing": map[string]any{"sampleRatio": 2}}), want: "sampleRatio"},
		"two secrets by mistake": {values: credentials("existingSecret", []any{"a", "b"}), want: "/credentials/existingSecret"},
		"unknown source":         {values: credentials("accessKey", "x"), want: "accessKey"},
		"bad role":               {values: credentials("rrsa", map[string]any{"roleARN": "gateway"}), want: "/credentials/rrsa/roleARN"},
		"bad provider": {values: credentials("rrsa", map[string]any{"oidcProviderARN": roleARN}),
			want: "/credentials/rrsa/oidcProviderARN"},
		"short session": {values: credentials("assumeRole", map[string]any{"durationSeconds": 60}),
			want: "/credentials/assumeRole/durationSeconds"},
		"no share":           {values: budget("share", 0), want: "/budget/share"},
		"share in percent":   {values: budget("share", 70), want: "/budget/share"},
		"no share, by --set": {values: budget("share", "0.0"), want: "/budget/share"},
		"percent, by --set":  {values: budget("share", "70%"), want: "/budget/share"},
		"learn too much":     {values: budget("learnUpTo", 11), want: "/budget/learnUpTo"},
		"bad weight":         {values: budget("callers", map[string]any{"a": map[string]any{"weight": 0}}), want: "/budget/callers/a/weight"},
		"unknown product":    {values: budget("overrides", map[string]any{"rds/X": map[string]any{}}), want: "rds/X"},
		"limit without window": {
			values: budget("overrides", map[string]any{"slb/CreateLoadBalancer": map[string]any{"calls": 1}}), want: "window",
		},
		"bad reflection": {values: values(map[string]any{"reflection": "yes"}), want: "/reflection"},
		"bad authority":  {values: values(map[string]any{"tls": map[string]any{"clientCASecret": "a b"}}), want: "/tls/clientCASecret"},
		"bad action": {values: values(map[string]any{"admissionPolicy": map[string]any{"actions": []any{"Deny",
			"Warn"}}}), want: "/admissionPolicy/actions"},
		"bad digest": {
			values: values(map[string]any{"components": map[string]any{"lbcontroller": map[string]any{"digest": "latest"}}}), want: "digest",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chartutil.ToRenderValues(load(t), tt.values, chartutil.ReleaseOptions{}, chartutil.DefaultCapabilities)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not name %q", err, tt.want)
			}
		})
	}
}

func credentials(key string, value any) map[string]any {
	return values(map[string]any{"credentials": map[string]any{key: value}})
}

func budget(key string, value any) map[string]any {
	return values(map[string]any{"budget": map[string]any{key: value}})
}

// TestRBAC: every component that the chart can install has its permissions.
func TestRBAC(t *testing.T) {
	t.Parallel()
	components, ok := load(t).Values["components"].(map[string]any)
	if !ok || len(components) != len(ours.Components()) {
		t.Errorf("components of values.yaml: %v, want %v", components, ours.Components())
	}
	for _, component := range ours.Components() {
		if _, err := ours.RBAC(component); err != nil {
			t.Error(err)
		}
	}
}

// TestSecretsOfNamespaces: lbcontroller may read Secrets in the namespaces that are listed, and nowhere by default.
func TestSecretsOfNamespaces(t *testing.T) {
	t.Parallel()
	readers := func(documents map[string]string) (found []string) {
		for name, text := range documents {
			if strings.Contains(name, "Role ") && strings.Contains(text, "secrets") && !strings.Contains(name, "Binding") {
				found = append(found, name)
			}
		}
		return found
	}
	if found := readers(render(t, "kube-system", nil)); len(found) > 0 {
		t.Errorf("by default Secrets can be read by %v", found)
	}
	documents := render(t, "alicloud", map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"config": map[string]any{"tlsSecretNamespaces": []any{"shop"}}}}})
	const name = "alicloud:lbcontroller:tls-secrets"
	if found := readers(documents); !slices.Equal(found, []string{"Role " + name}) {
		t.Errorf("Secrets can be read by %v", found)
	}
	role := decode[rbacv1.Role](t, documents["Role "+name])
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}}}
	if diff := cmp.Diff(want, role.Rules); diff != "" || role.Namespace != "shop" {
		t.Errorf("Role in %s (-want +got):\n%s", role.Namespace, diff)
	}
	binding := decode[rbacv1.RoleBinding](t, documents["RoleBinding "+name])
	to := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "lbcontroller", Namespace: "alicloud"}}
	if binding.Namespace != "shop" || binding.RoleRef.Kind != "Role" || binding.RoleRef.Name != name || !cmp.Equal(to, binding.Subjects) {
		t.Errorf("RoleBinding: %+v", binding)
	}
}

// TestGatewayPermissions: what each component may do through the gateway. A new permission is a decision, seen in this table.
func TestGatewayPermissions(t *testing.T) {
	t.Parallel()
	want := map[string]map[string][]string{
		"cloudgateway": {"capabilities": {"get"}},
		"lbcontroller": {
			"loadbalancers":    {"get", "list", "create", "update", "delete"},
			"listeners":        {"list", "create", "update", "delete"},
			"servergroups":     {"get", "list", "create", "update", "delete"},
			"domainextensions": {"list", "create", "update", "delete"}, "servercertificates": {"list"}, "usercertificates": {"get"},
			"networkloadbalancers": {"get", "list", "create", "update", "delete"},
			"networklisteners":     {"list", "create", "update", "delete"},
			"networkservergroups":  {"get", "list", "create", "update", "delete"},
			// For spec.loadBalancerSourceRanges.
			"accesscontrollists": {"get", "list", "create", "update", "delete"},
			"securitygroups":     {"get", "list", "create", "update", "delete"},
			"eips":               {"list", "create", "update", "delete"},
			"vswitches":          {"list"}, "networkinterfaces": {"list"}, "instances": {"list"}, "capabilities": {"get"},
		},
		"nodecontroller": {
			"instances": {"get", "list"}, "networkinterfaces": {"get", "list"}, "sourcedestchecks": {"update"}, "capabilities": {"get"},
		},
		"routecontroller": {"routes": {"list", "create", "delete"}, "instances": {"list"}, "capabilities": {"get"}},
	}
	documents := render(t, "kube-system", nil)
	for _, component := range ours.Components() {
		got := map[string][]string{}
		for _, rule := range decode[rbacv1.ClusterRole](t, documents["ClusterRole alicloud:"+component]).Rules {
			if !slices.Equal(rule.APIGroups, []string{"cloudgateway.alibabacloud.com"}) {
				continue
			}
			for _, resource := range rule.Resources {
				got[resource] = append(got[resource], rule.Verbs...)
			}
		}
		if diff := cmp.Diff(want[component], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", component, diff)
		}
	}
}

// TestResources: each process may use what it was measured to use in a large cluster (docs/performance.md), and several times that. Nothing
// bounds its CPU time, and docs/operations.md says the same.
func TestResources(t *testing.T) {
	t.Parallel()
	row := func(page, name string) []string {
		for line := range strings.Lines(read(t, page)) {
			if rest, ok := strings.CutPrefix(line, "| "+name+" | "); ok {
				return strings.Split(strings.TrimSuffix(strings.TrimSpace(rest), " |"), " | ")
			}
		}
		t.Fatalf("%s has no row %q", page, name)
		return nil
	}
	const operations = "../../docs/operations.md"
	peaks := row("../../docs/performance.md", "peak memory")
	documents := render(t, "kube-system", nil)
	for i, component := range ours.Components() {
		r := decode[appsv1.Deployment](t, documents["Deployment "+component]).Spec.Template.Spec.Containers[0].Resources
		peak := resource.MustParse(strings.ReplaceAll(peaks[i], " MiB", "Mi"))
		request, limit := r.Requests[corev1.ResourceMemory], r.Limits[corev1.ResourceMemory]
		if request.Cmp(peak) < 0 || limit.Value() < 4*request.Value() || !r.Limits.Cpu().IsZero() || r.Requests.Cpu().IsZero() {
			t.Errorf("%s used %s and has %+v", component, &peak, r)
		}
		documented := []string{row(operations, "peak memory, measured")[i], row(operations, "request of memory")[i],
			row(operations, "limit of memory")[i], row(operations, "request of CPU")[i]}
		if diff := cmp.Diff([]string{peaks[i], request.String(), limit.String(), r.Requests.Cpu().String()}, documented); diff != "" {
			t.Errorf("%s (-chart +docs/operations.md):\n%s", component, diff)
		}
	}
}
