package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestChartIsAccepted renders the chart with the API server to look into, which then checks every object as it does in an installation.
func TestChartIsAccepted(t *testing.T) {
	t.Parallel()
	w := bootWith(t, world.Config{Fast: true})
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, network := range map[string]map[string]any{
		"flannel": {"mode": "flannel", "clusterCIDRs": []any{"10.0.0.0/8"}}, "terway": {"mode": "terway"}, "plan": {"mode": "terway"},
	} {
		t.Run(name, func(t *testing.T) {
			documents := renderChart(t, cfg, map[string]any{
				"clusterID": "c-1", "region": world.Region, "vpcID": world.VpcID, "network": network,
				"credentials": map[string]any{"existingSecret": "key"}, "networkPolicy": map[string]any{"enabled": true}, "plan": name == "plan",
			})
			kinds := accept(t, cfg, documents)
			want := map[string]int{"flannel": 4, "terway": 3, "plan": 1}[name] // Deployments
			admitted(t, cfg, documents, name)
			if got := len(slices.DeleteFunc(kinds, func(kind string) bool { return kind != "Deployment" })); got != want {
				t.Errorf("%d Deployments, want %d", got, want)
			}
		})
	}
	t.Run("openapisim", func(t *testing.T) { testManifest(t, cfg) })
	t.Run("admission policy", func(t *testing.T) {
		d := closeDoor(t, cfg)
		t.Run("parser", d.testParser)
		t.Run("messages", d.testMessages)
		t.Run("examples", d.testExamples)
		t.Run("classes", d.testClasses)
		t.Run("others", d.testOthers)
		t.Run("tolerated", d.testTolerated)
	})
}

// testManifest: the API server takes what runs the simulated cloud in a cluster, and its pod keeps to the strictest level.
func testManifest(t *testing.T, cfg *rest.Config) {
	text, err := os.ReadFile("../../../cloudgateway/openapisim/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openapisim"}} // The others are not kept, and need it.
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---")
	if kinds := accept(t, cfg, documents); !slices.Equal(kinds, []string{"Namespace", "Service", "Deployment"}) {
		t.Errorf("it has %q", kinds)
	}
	admitted(t, cfg, documents, "openapisim")
}

// admitted has the API server hold all pods, those of Jobs and of the test of the release too, to a level of the Pod
// Security Standards, without keeping them. All are of level restricted, but for the network of the node, which the
// gateway needs in front of routes.
func admitted(t *testing.T, cfg *rest.Config, documents []string, network string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"restricted", "baseline"} {
		namespace := network + "-" + level
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": level}}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, document := range documents {
			pod := podOf(t, document)
			if pod == nil {
				continue
			}
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(pod.Spec.ServiceAccountName, "default")}}
			_, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			_, err = client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if !pod.Spec.HostNetwork {
				if err != nil {
					t.Errorf("%s at level %s: %v", pod.Name, level, err)
				}
				continue
			}
			only := fmt.Sprintf("violates PodSecurity \"%s:latest\": host namespaces (hostNetwork=true)", level)
			if err == nil || !strings.HasSuffix(err.Error(), only) {
				t.Errorf("%s at level %s: %v, want that it %s", pod.Name, level, err, only)
			}
		}
	}
}

// podOf is the pod that an object makes, or nil.
func podOf(t *testing.T, document string) *corev1.Pod {
	t.Helper()
	var o struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct{ Template *corev1.PodTemplateSpec }
	}
	if err := yaml.Unmarshal([]byte(document), &o); err != nil {
		t.Fatal(err)
	}
	switch {
	case o.Kind == "Pod":
		var pod corev1.Pod
		if err := yaml.Unmarshal([]byte(document), &pod); err != nil {
			t.Fatal(err)
		}
		pod.Namespace = ""
		return &pod
	case o.Spec.Template != nil && (o.Kind == "Deployment" || o.Kind == "Job"):
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: o.Spec.Template.Labels}, Spec: o.Spec.Template.Spec}
	}
	return nil
}

// renderChart is what helm install sends.
func renderChart(t *testing.T, cfg *rest.Config, values map[string]any) []string {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.Load(filepath.Join(root, "deploy", "chart"))
	if err != nil {
		t.Fatal(err)
	}
	// As in an installation, the chart sees which APIs there are.
	_, resources, err := discovery.NewDiscoveryClientForConfigOrDie(cfg).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	there := chartutil.DefaultCapabilities.Copy()
	there.APIVersions = nil
	for _, list := range resources {
		there.APIVersions = append(there.APIVersions, list.GroupVersion)
		for _, r := range list.APIResources {
			there.APIVersions = append(there.APIVersions, list.GroupVersion+"/"+r.Kind)
		}
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "alicloud", Namespace: chart.Namespace}, there)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClient(c, all, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for name, text := range files {
		if filepath.Ext(name) == ".yaml" {
			documents = append(documents, strings.Split("\n"+text, "\n---")...)
		}
	}
	return documents
}

// accept has the API server check the objects, without keeping them, and returns their kinds.
func accept(t *testing.T, cfg *rest.Config, documents []string) []string {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	var kinds []string
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(object.Object) == 0 {
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		resource := objects.Resource(mapping.Resource)
		// What the local world has granted already, with the same files, is replaced.
		options := metav1.ApplyOptions{FieldManager: "helm", Force: true, DryRun: []string{metav1.DryRunAll}}
		if namespace := object.GetNamespace(); namespace != "" {
			_, err = resource.Namespace(namespace).Apply(t.Context(), object.GetName(), object, options)
		} else {
			_, err = resource.Apply(t.Context(), object.GetName(), object, options)
		}
		if err != nil {
			t.Errorf("%s %s: %v", kind.Kind, object.GetName(), err)
		}
		kinds = append(kinds, kind.Kind)
	}
	return kinds
}
