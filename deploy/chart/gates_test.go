package chart_test

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// renderOn renders the chart for an API server with the given APIs.
func renderOn(t *testing.T, changes map[string]any, apis ...string) map[string]string {
	t.Helper()
	c, there := load(t), chartutil.DefaultCapabilities.Copy()
	there.APIVersions = apis
	all, err := chartutil.ToRenderValues(c, values(changes), chartutil.ReleaseOptions{Name: "alicloud", Namespace: "kube-system"}, there)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(c, all, cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGatesOfPods: the policy is there if it is asked for, lbcontroller runs and the API server knows such policies, in
// the version that it knows.
// Otherwise the notes say so. It never keeps a pod from being made.
func TestGatesOfPods(t *testing.T) {
	t.Parallel()
	const api = "admissionregistration.k8s.io/"
	on := map[string]any{"readinessGates": map[string]any{"enabled": true}}
	for name, tt := range map[string]struct {
		changes map[string]any
		apis    []string
		version string // of the policy; empty for none
		notes   string
	}{
		"by default": {changes: nil, apis: []string{api + "v1/MutatingAdmissionPolicy"}},
		"1.36": {on, []string{api + "v1/MutatingAdmissionPolicy", api + "v1beta1/MutatingAdmissionPolicy"}, "v1",
			"kubectl label namespace"},
		"1.34 with the API on": {on, []string{api + "v1beta1/MutatingAdmissionPolicy"}, "v1beta1", "kubectl label namespace"},
		"an older one":         {on, []string{api + "v1"}, "", "readinessGates.enabled has no effect"},
		"plan": {map[string]any{"readinessGates": on["readinessGates"], "plan": true},
			[]string{api + "v1/MutatingAdmissionPolicy"}, "", ""},
		"without lbcontroller": {map[string]any{"readinessGates": on["readinessGates"],
			"components": map[string]any{"lbcontroller": map[string]any{"enabled": false}}}, []string{api + "v1/MutatingAdmissionPolicy"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := renderOn(t, tt.changes, tt.apis...)
			text := files["alicloud-controllers/templates/gates.yaml"]
			if got := strings.Count(text, "apiVersion: "+api+tt.version+"\n"); tt.version != "" && got != 2 ||
				tt.version == "" && strings.TrimSpace(text) != "" {
				t.Errorf("the policy:\n%s", text)
			}
			notes := files["alicloud-controllers/templates/NOTES.txt"]
			if !strings.Contains(notes, tt.notes) || tt.notes == "" && strings.Contains(notes, "readinessGates") {
				t.Errorf("the notes:\n%s", notes)
			}
			if tt.version != "v1" {
				return
			}
			policy := decode[admissionv1.MutatingAdmissionPolicy](t, strings.Split(text, "\n---")[0])
			rules := policy.Spec.MatchConstraints.ResourceRules
			if *policy.Spec.FailurePolicy != admissionv1.Ignore || len(rules) != 1 || !slices.Equal(rules[0].Operations,
				[]admissionv1.OperationType{admissionv1.Create}) {
				t.Errorf("policy %+v", policy.Spec)
			}
			binding := decode[admissionv1.MutatingAdmissionPolicyBinding](t, strings.Split(text, "\n---")[1])
			if *binding.Spec.ParamRef.ParameterNotFoundAction != admissionv1.AllowAction || binding.Spec.PolicyName != policy.Name ||
				len(binding.Spec.MatchResources.NamespaceSelector.MatchLabels) != 1 {
				t.Errorf("binding %+v", binding.Spec)
			}
		})
	}
}
