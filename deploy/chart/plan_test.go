package chart_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestPlan: in place of each controller a Job prints what it would change, as the same ServiceAccount with the same files, and the gateway
// lets it in. The Deployments of the next installation don't take its pods for theirs.
func TestPlan(t *testing.T) {
	t.Parallel()
	changes := map[string]any{"networkPolicy": map[string]any{"enabled": true},
		"components": map[string]any{"cloudgateway": map[string]any{"hostNetwork": false}}}
	working := render(t, "kube-system", changes)
	changes["plan"] = true
	looking := render(t, "kube-system", changes)
	for _, name := range []string{"lbcontroller", "nodecontroller", "routecontroller"} {
		if looking["Deployment "+name] != "" || looking["ConfigMap "+name] != working["ConfigMap "+name] {
			t.Errorf("%s runs, or has another configuration", name)
		}
		job := decode[batchv1.Job](t, looking["Job "+name+"-plan-0"])
		pod, usual := job.Spec.Template.Spec, decode[appsv1.Deployment](t, working["Deployment "+name])
		container := pod.Containers[0]
		if pod.RestartPolicy != corev1.RestartPolicyNever || pod.ServiceAccountName != name ||
			!slices.Equal(container.Args, []string{"plan", "--config=/etc/" + name + "/config.yaml"}) {
			t.Errorf("%s: restartPolicy %s, account %s, args %q", job.Name, pod.RestartPolicy, pod.ServiceAccountName, container.Args)
		}
		if container.LivenessProbe != nil || container.Lifecycle != nil ||
			len(container.VolumeMounts) != len(usual.Spec.Template.Spec.Containers[0].VolumeMounts) {
			t.Errorf("%s: %+v", job.Name, container)
		}
		if ttl := job.Spec.TTLSecondsAfterFinished; ttl == nil || *ttl != 7*24*60*60 {
			t.Errorf("%s stays for ever after its end", job.Name)
		}
		label := job.Spec.Template.Labels["app.kubernetes.io/name"]
		if label == usual.Spec.Selector.MatchLabels["app.kubernetes.io/name"] {
			t.Errorf("the pods of %s are those of the Deployment %s", job.Name, usual.Name)
		}
		policy := decode[networkingv1.NetworkPolicy](t, looking["NetworkPolicy cloudgateway"])
		if callers := policy.Spec.Ingress[1].From[0].PodSelector.MatchExpressions[0].Values; !slices.Contains(callers, label) {
			t.Errorf("the gateway lets %q in, not %s", callers, label)
		}
	}
	if looking["Deployment cloudgateway"] != working["Deployment cloudgateway"] {
		t.Error("the gateway differs")
	}
}
