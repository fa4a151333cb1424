package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ours "alicloud-controllers.dev/deploy/chart"
)

// TestTransitions: an upgrade from any set of values to any other deletes nothing that pods mount or are, of those
// before, which may have to start again while the new ones come, nor of the new ones. Helm deletes what the new
// manifest hasn't, unless it is annotated to be kept.
func TestTransitions(t *testing.T) {
	t.Parallel()
	rendered := map[string]map[string]string{}
	for name, changes := range variants() {
		rendered[name] = render(t, "kube-system", changes)
	}
	for from, before := range rendered {
		for to, after := range rendered {
			used := usedBy(t, before, after)
			maps.Copy(used, usedBy(t, after, after))
			for key, document := range before {
				kept := loose[metav1.PartialObjectMetadata](t, document).Annotations["helm.sh/resource-policy"] == "keep"
				if by := used[key]; by != "" && after[key] == "" && !kept {
					t.Errorf("from %s to %s: %s is deleted, which pods of %s need", from, to, key, by)
				}
			}
		}
	}
}

// variants are sets of values, each of which makes other objects.
func variants() map[string]map[string]any {
	return map[string]map[string]any{
		"the chart's certificate":     nil,
		"that certificate, by hand":   {"tls": map[string]any{"existingSecret": "cloudgateway-tls"}},
		"another certificate":         {"tls": map[string]any{"existingSecret": "mine"}},
		"cert-manager, own authority": {"tls": map[string]any{"certManager": map[string]any{"enabled": true}}},
		"cert-manager, another's": {"tls": map[string]any{"certManager": map[string]any{
			"enabled": true, "issuerRef": map[string]any{"name": "x"}}}},
		"without routes":              {"network": map[string]any{"mode": "terway"}},
		"a plan":                      {"plan": true},
		"the existing manager's file": {"cloudConfig": map[string]any{"configMap": "cloud-config"}},
		"tracing, callers and a front": {"tracing": map[string]any{"endpoint": "c:4317", "caSecret": "c"},
			"front": map[string]any{"enabled": true, "keysSecret": "k"}},
		"credentials":                    {"credentials": map[string]any{"existingSecret": "key"}},
		"dashboards, monitors, policies": {"dashboard": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true}},
	}
}

// usedBy gives the objects without which pods of documents don't start, by kind and name, with the component that needs
// them. What isn't in after any more needs nothing.
func usedBy(t *testing.T, documents, after map[string]string) map[string]string {
	t.Helper()
	used := map[string]string{}
	for _, component := range ours.Components() {
		document, ok := documents["Deployment "+component]
		if !ok || after["Deployment "+component] == "" {
			continue
		}
		pod := decode[appsv1.Deployment](t, document).Spec.Template.Spec
		used["ServiceAccount "+pod.ServiceAccountName] = component
		for _, v := range pod.Volumes {
			if v.Secret != nil {
				used["Secret "+v.Secret.SecretName] = component
			}
			if v.ConfigMap != nil {
				used["ConfigMap "+v.ConfigMap.Name] = component
			}
		}
	}
	return used
}

// TestLeavingTheCertificate: what an upgrade to another certificate would delete, by Helm or with its owner, is refused
// with the command that keeps it; what stays is accepted. An earlier version of the chart has made the Secret without
// the annotation that keeps it.
func TestLeavingTheCertificate(t *testing.T) {
	t.Parallel()
	about := func(kind, version, name string, labels, annotations map[string]any, owners ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{
			"name": name, "namespace": "cloud", "labels": labels, "annotations": annotations, "ownerReferences": owners,
		}}}
	}
	charts := map[string]any{"helm.sh/chart": "alicloud-controllers-0.1.0"}
	of := func(release string) map[string]any { return map[string]any{"meta.helm.sh/release-name": release} }
	kept := map[string]any{"meta.helm.sh/release-name": "alicloud", "helm.sh/resource-policy": "keep"}
	ownedBy := func(name string) any {
		return map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "name": name, "uid": "u"}
	}
	const name = "cloudgateway-tls"
	same, other := map[string]any{"existingSecret": name}, map[string]any{"existingSecret": "mine"}
	manager := map[string]any{"certManager": map[string]any{"enabled": true}}
	annotate, patch := "kubectl -n cloud annotate secret "+name+" helm.sh/resource-policy=keep", "kubectl -n cloud patch secret "+name
	tests := map[string]struct {
		secret *unstructured.Unstructured
		tls    map[string]any
		want   string // the command that the refusal shows, or nothing
	}{
		"made by an earlier version":                    {about("Secret", "v1", name, charts, of("alicloud")), same, annotate},
		"made by an earlier version, another follows":   {about("Secret", "v1", name, charts, of("alicloud")), other, annotate},
		"made by an earlier version, a manager follows": {about("Secret", "v1", name, charts, of("alicloud")), manager, annotate},
		"made by an earlier version, and it stays":      {about("Secret", "v1", name, charts, of("alicloud")), map[string]any{}, ""},
		"made by an earlier version, and kept":          {about("Secret", "v1", name, charts, kept), same, ""},
		"made by hand":                                  {about("Secret", "v1", name, nil, nil), same, ""},
		"of the umbrella around this chart":             {about("Secret", "v1", name, map[string]any{}, of("alicloud")), same, ""},
		"made by another release":                       {about("Secret", "v1", name, charts, of("certificates")), same, ""},
		"of this release's Certificate":                 {about("Secret", "v1", name, nil, nil, ownedBy("cloudgateway")), same, patch},
		"of another's Certificate":                      {about("Secret", "v1", name, nil, nil, ownedBy("theirs")), same, ""},
		"of a Certificate that is gone":                 {about("Secret", "v1", name, nil, nil, ownedBy("gone")), same, ""},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			tt.secret.Object["data"] = map[string]any{"ca.crt": "b2xk"}
			_, err := tryRender(t, "cloud", values(map[string]any{"tls": tt.tls}), newCluster(t, tt.secret,
				about("Certificate", "cert-manager.io/v1", "cloudgateway", nil, of("alicloud")),
				about("Certificate", "cert-manager.io/v1", "theirs", nil, of("certificates"))))
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestFromHelmToOthers: what docs/recipes.md says: rendered without a look into the cluster, with the certificate that
// Helm has left, it is the same.
func TestFromHelmToOthers(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/recipes.md")
	for _, part := range []string{
		"### From Helm to Argo CD\n",
		"kubectl -n kube-system delete secret -l owner=helm,name=alicloud\n",
		"existingSecret: cloudgateway-tls",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("docs/recipes.md lacks %q", part)
		}
	}
	installed := render(t, "kube-system", nil)
	taken := renderIn(t, "kube-system", map[string]any{"tls": map[string]any{"existingSecret": "cloudgateway-tls"}}, nil)
	delete(installed, "Secret cloudgateway-tls")
	if a, b := slices.Sorted(maps.Keys(installed)), slices.Sorted(maps.Keys(taken)); !slices.Equal(a, b) {
		t.Errorf("Helm has installed %q, others apply %q", a, b)
	}
	for key, document := range installed {
		if taken[key] != document {
			t.Errorf("%s differs: pods would start anew", key)
		}
	}
}

// TestOneReleaseOfACluster: whatever a release is called, what a second one would make is there already, so that Helm
// refuses it, and the page says so.
func TestOneReleaseOfACluster(t *testing.T) {
	t.Parallel()
	first := render(t, "kube-system", everything())
	second := renderRelease(t, chartutil.ReleaseOptions{Name: "second", Namespace: "kube-system"}, everything(), cluster(t))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))); diff != "" {
		t.Errorf("another release makes other objects (-first +second):\n%s", diff)
	}
	shared := false // Objects of no namespace are in the way also of a release in another namespace.
	for key := range render(t, "cloud", nil) {
		shared = shared || strings.HasPrefix(key, "ClusterRole ") && first[key] != ""
	}
	if !shared {
		t.Error("a release in another namespace shares no object with the first")
	}
	if !strings.Contains(read(t, "../../docs/install.md"), "**One release for each cluster.**") {
		t.Error("docs/install.md doesn't say that a cluster has one release")
	}
}
