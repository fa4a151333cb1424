package chart_test

import (
	"regexp"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
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
		job := decode[batchv1.Job](t, jobOf(t, looking, name))
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

// jobOf returns the Job with the plan of a component.
func jobOf(t *testing.T, documents map[string]string, component string) string {
	t.Helper()
	for key, document := range documents {
		if regexp.MustCompile("^Job " + component + "-plan-[0-9a-f]{8}$").MatchString(key) {
			return document
		}
	}
	t.Fatalf("there is no plan of %s", component)
	return ""
}

// TestPlanOfChangedValues: a Job can't be changed, so one with other pods has another name, also where Helm doesn't
// count upgrades; the same values give the same Job there.
func TestPlanOfChangedValues(t *testing.T) {
	t.Parallel()
	name := func(changes map[string]any) string {
		t.Helper()
		changes["plan"] = true
		return decode[batchv1.Job](t, jobOf(t, render(t, "kube-system", changes), "lbcontroller")).Name
	}
	seen := map[string]string{}
	for what, changes := range map[string]map[string]any{
		"nothing": {}, "region": {"region": "cn-beijing"}, "image": {"image": map[string]any{"tag": "next"}},
		"labels": {"podLabels": map[string]any{"team": "edge"}}, "pull secrets": {"imagePullSecrets": []any{map[string]any{"name": "pull"}}},
	} {
		if other, ok := seen[name(changes)]; ok {
			t.Errorf("%s and %s make one Job of two", what, other)
		}
		seen[name(changes)] = what
	}
	if seen[name(map[string]any{})] != "nothing" {
		t.Error("the same values make another Job")
	}
	next := renderRelease(t, chartutil.ReleaseOptions{Name: "alicloud", Namespace: "kube-system", Revision: 2}, map[string]any{"plan": true},
		cluster(t))
	if again := decode[batchv1.Job](t, jobOf(t, next, "lbcontroller")).Name; seen[again] != "" {
		t.Error("helm upgrade with the same values makes no new Job, so nothing is compared again")
	}
}
