package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// gateWorld is a world in which the API server gives pods the readiness gates of Services, in one namespace.
type gateWorld struct {
	testWorld
	t      *testing.T
	client kubernetes.Interface
}

const gatedNamespace, ungatedNamespace = "gated", "ungated"

// TestGatesOfPods: in a labelled namespace, new pods get the readiness gate of each Service of ours that selects them, whoever makes them,
// and lbcontroller opens it. Pods that were there before the Service stay as they are, and nothing that is
// down keeps a pod from being made.
func TestGatesOfPods(t *testing.T) {
	t.Parallel()
	g := newGateWorld(t)

	early := g.deployment("early", "web")
	g.hasGates("a Deployment that is older than the Service", early, nil)
	g.service("web", nil, map[string]string{"app": "web"})
	g.service("tier", nil, map[string]string{"app": "web", "tier": "front"})
	g.service("foreign", new("example.com/other"), map[string]string{"app": "web"})
	g.service("unselective", nil, nil)
	web, tier := gate("web"), gate("tier")
	g.hasGates("a Deployment that is older than the Service", early, nil)

	g.rollOut("early")
	g.hasGates("the rollout after the Service", "early", []corev1.PodConditionType{web})
	g.opens("early", web)
	late := g.deployment("late", "web")
	g.hasGates("a Deployment that is younger than the Service", late, []corev1.PodConditionType{web})

	for name, tt := range map[string]struct {
		namespace string
		owner     metav1.OwnerReference
		labels    map[string]string
		declared  []corev1.PodConditionType
		want      []corev1.PodConditionType
	}{
		"of-a-statefulset": {gatedNamespace, controllerOf("apps/v1", "StatefulSet"),
			map[string]string{"app": "web", "statefulset.kubernetes.io/pod-name": "of-a-statefulset"}, nil, []corev1.PodConditionType{web}},
		"of-a-job": {gatedNamespace, controllerOf("batch/v1", "Job"),
			map[string]string{"app": "web", "batch.kubernetes.io/job-name": "job"}, nil, []corev1.PodConditionType{web}},
		"of-nobody":       {gatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "web"}, nil, []corev1.PodConditionType{web}},
		"of-two-services": {gatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "web", "tier": "front"}, nil, sorted(web, tier)},
		"declares-it":     {gatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "web"}, sorted(web), sorted(web)},
		"declares-another": {gatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "web"}, sorted("example.com/a"),
			sorted("example.com/a", web)},
		"of-no-service":    {gatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "api"}, nil, nil},
		"without-labels":   {gatedNamespace, metav1.OwnerReference{}, nil, nil, nil},
		"of-another-space": {ungatedNamespace, metav1.OwnerReference{}, map[string]string{"app": "web"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := plainPod(name, tt.labels, tt.declared...)
			if tt.owner.Kind != "" {
				pod.OwnerReferences = []metav1.OwnerReference{tt.owner}
			}
			if got := g.create(tt.namespace, pod); !slices.Equal(got, tt.want) {
				t.Errorf("gates %q, want %q", got, tt.want)
			}
		})
	}

	g.deleteService("tier")
	after := plainPod("after-a-service", map[string]string{"app": "web", "tier": "front"})
	if got := g.create(gatedNamespace, after); !slices.Equal(got, sorted(web)) {
		t.Errorf("gates after a Service was deleted: %q", got)
	}
	for _, name := range []string{"lbcontroller", "cloudgateway", "kube-controllers"} {
		if err := g.Process(name).Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.create(gatedNamespace, plainPod("while-all-is-down", map[string]string{"app": "web"})); !slices.Equal(got, sorted(web)) {
		t.Errorf("gates while all is down: %q", got)
	}
	log, err := os.ReadFile(g.Process("kube-apiserver").LogFile())
	if err != nil {
		t.Fatalf("the log of the API server: %v", err)
	}
	for line := range bytes.Lines(log) {
		// A request that takes too long is logged with "panicked: false". No failurePolicy is about what panics.
		if bytes.Contains(bytes.ReplaceAll(line, []byte("panicked: false"), nil), []byte("panic")) {
			t.Errorf("the API server panics: %s", line)
		}
	}
}

func newGateWorld(t *testing.T) gateWorld {
	t.Helper()
	w := boot(t, 2, instant)
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	g := gateWorld{testWorld: w, t: t, client: w.Client()}
	for name, labels := range map[string]map[string]string{
		gatedNamespace: {"lbcontroller.alibabacloud.com/readiness-gates": "enabled"}, ungatedNamespace: nil,
	} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := g.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	resources, err := g.client.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" }) {
		t.Skip("the API server has no MutatingAdmissionPolicy, which is there since Kubernetes 1.36; the chart then leaves it out")
	}
	made := 0
	for _, document := range renderChart(t, cfg, map[string]any{
		"clusterID": "c-1", "region": world.Region, "vpcID": world.VpcID, "network": map[string]any{"mode": "terway"},
		"readinessGates": map[string]any{"enabled": true},
	}) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		admission := g.client.AdmissionregistrationV1()
		switch kind.Kind {
		case "MutatingAdmissionPolicy":
			var policy admissionv1.MutatingAdmissionPolicy
			if err = yaml.UnmarshalStrict([]byte(document), &policy); err == nil {
				_, err = admission.MutatingAdmissionPolicies().Create(t.Context(), &policy, metav1.CreateOptions{})
			}
		case "MutatingAdmissionPolicyBinding":
			var binding admissionv1.MutatingAdmissionPolicyBinding
			if err = yaml.UnmarshalStrict([]byte(document), &binding); err == nil {
				_, err = admission.MutatingAdmissionPolicyBindings().Create(t.Context(), &binding, metav1.CreateOptions{})
			}
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		made++
	}
	if made != 2 {
		t.Fatalf("the chart has %d objects of the policy, want 2", made)
	}
	return g
}

func controllerOf(version, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: "owner",
		UID: "0b1f0000-0000-0000-0000-000000000001", Controller: new(true)}
}

func sorted(gates ...corev1.PodConditionType) []corev1.PodConditionType {
	slices.Sort(gates)
	return gates
}

// plainPod is a pod with a container.
func plainPod(name string, labels map[string]string, gates ...corev1.PodConditionType) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: podSpec()}
	for _, g := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: g})
	}
	return pod
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		Containers:  []corev1.Container{{Name: "web", Image: "web", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
}

func gatesOf(pod *corev1.Pod) []corev1.PodConditionType {
	var gates []corev1.PodConditionType
	for _, g := range pod.Spec.ReadinessGates {
		gates = append(gates, g.ConditionType)
	}
	slices.Sort(gates)
	return gates
}

// create makes a pod and returns its gates.
func (g gateWorld) create(namespace string, pod *corev1.Pod) []corev1.PodConditionType {
	g.t.Helper()
	made, err := g.client.CoreV1().Pods(namespace).Create(g.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	return gatesOf(made)
}

// service makes a Service, and waits until the API server gives its gate to pods, or would, if it is ours.
func (g gateWorld) service(name string, class *string, selector map[string]string) {
	g.t.Helper()
	services := g.client.CoreV1().Services(gatedNamespace)
	_, err := services.Create(g.t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Selector: selector,
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}, metav1.CreateOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	if class != nil || selector == nil {
		return
	}
	eventually(g.t, "the API server knows Service "+name, func(ctx context.Context) error {
		pod := plainPod("probe", selector)
		made, err := g.client.CoreV1().Pods(gatedNamespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && !slices.Contains(gatesOf(made), gate(name)) {
			err = errors.New("no gate")
		}
		return err
	})
}

// deleteService deletes a Service, and waits until the API server has forgotten it.
func (g gateWorld) deleteService(name string) {
	g.t.Helper()
	if err := g.client.CoreV1().Services(gatedNamespace).Delete(g.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		g.t.Fatal(err)
	}
	eventually(g.t, "the API server has forgotten Service "+name, func(ctx context.Context) error {
		pod := plainPod("probe", map[string]string{"app": "web", "tier": "front"})
		made, err := g.client.CoreV1().Pods(gatedNamespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && slices.Contains(gatesOf(made), gate(name)) {
			err = errors.New("its gate is given")
		}
		return err
	})
}

const replicas = 3

// deployment makes a Deployment whose pods have a label, and returns its name.
func (g gateWorld) deployment(name, app string) string {
	g.t.Helper()
	labels := map[string]string{"app": app, "of": name}
	_, err := g.client.AppsV1().Deployments(gatedNamespace).Create(g.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()}},
	}, metav1.CreateOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	return name
}

// rollOut replaces the pods of a Deployment.
func (g gateWorld) rollOut(name string) {
	g.t.Helper()
	deployments := g.client.AppsV1().Deployments(gatedNamespace)
	d, err := deployments.Get(g.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		d.Spec.Template.Labels["version"] = "2"
		_, err = deployments.Update(g.t.Context(), d, metav1.UpdateOptions{})
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// pods are those of a Deployment, once there are as many as it wants and all are ready.
func (g gateWorld) pods(ctx context.Context, deployment string) ([]corev1.Pod, error) {
	list, err := g.client.CoreV1().Pods(gatedNamespace).List(ctx, metav1.ListOptions{LabelSelector: "of=" + deployment})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != replicas {
		return nil, fmt.Errorf("%d pods", len(list.Items))
	}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
			return nil, fmt.Errorf("pod %s does not run", pod.Name)
		}
	}
	return list.Items, nil
}

// hasGates waits until all pods of a Deployment have these gates.
func (g gateWorld) hasGates(what, deployment string, want []corev1.PodConditionType) {
	g.t.Helper()
	eventually(g.t, what, func(ctx context.Context) error {
		pods, err := g.pods(ctx, deployment)
		for _, pod := range pods {
			if got := gatesOf(&pod); !slices.Equal(got, want) {
				return fmt.Errorf("pod %s has the gates %q, want %q", pod.Name, got, want)
			}
		}
		return err
	})
}

// opens waits until lbcontroller has opened a gate of all pods of a Deployment.
func (g gateWorld) opens(deployment string, gate corev1.PodConditionType) {
	g.t.Helper()
	eventually(g.t, "the gates open", func(ctx context.Context) error {
		pods, err := g.pods(ctx, deployment)
		for _, pod := range pods {
			if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == gate && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("pod %s waits: %+v", pod.Name, pod.Status.Conditions)
			}
		}
		return err
	})
}
