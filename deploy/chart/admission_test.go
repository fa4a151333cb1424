package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// TestAdmissionPolicy: it is there if it is asked for and lbcontroller runs, never keeps a Service from being deleted,
// and does what the values say.
func TestAdmissionPolicy(t *testing.T) {
	t.Parallel()
	on := map[string]any{"enabled": true}
	for name, changes := range map[string]map[string]any{
		"by default": nil,
		"plan":       {"admissionPolicy": on, "plan": true},
		"without lbcontroller": {
			"admissionPolicy": on, "components": map[string]any{"lbcontroller": map[string]any{"enabled": false}},
		},
	} {
		for key := range render(t, "kube-system", changes) {
			if strings.HasPrefix(key, "ValidatingAdmissionPolicy") {
				t.Errorf("%s: there is %s", name, key)
			}
		}
	}
	const object = " service-annotations.lbcontroller.alibabacloud.com"
	documents := render(t, "kube-system", map[string]any{"admissionPolicy": on})
	policy := decode[admissionv1.ValidatingAdmissionPolicy](t, documents["ValidatingAdmissionPolicy"+object])
	if *policy.Spec.FailurePolicy != admissionv1.Ignore {
		t.Errorf("what can't be judged is %s", *policy.Spec.FailurePolicy)
	}
	rules := policy.Spec.MatchConstraints.ResourceRules
	if len(rules) != 1 || !slices.Equal(rules[0].Resources, []string{"services"}) || slices.Contains(rules[0].Operations, admissionv1.Delete) {
		t.Errorf("rules %+v", rules)
	}
	if !slices.ContainsFunc(policy.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool {
		return c.Expression == "!has(object.metadata.deletionTimestamp)"
	}) {
		t.Errorf("a Service that is deleted is looked at: %+v", policy.Spec.MatchConditions)
	}
	for _, actions := range [][]any{{"Deny"}, {"Warn", "Audit"}} {
		changes := maps.Clone(on)
		changes["actions"] = actions
		binding := decode[admissionv1.ValidatingAdmissionPolicyBinding](t,
			render(t, "kube-system", map[string]any{"admissionPolicy": changes})["ValidatingAdmissionPolicyBinding"+object])
		var got []any
		for _, action := range binding.Spec.ValidationActions {
			got = append(got, string(action))
		}
		if !slices.Equal(got, actions) || binding.Spec.PolicyName != policy.Name {
			t.Errorf("binding %+v, want actions %v", binding.Spec, actions)
		}
	}
}

// TestAdmissionPolicyByClass: the policy judges the Services that the configuration gives to lbcontroller, and no others.
func TestAdmissionPolicyByClass(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config  map[string]any
		classes string
		names   []string
	}{
		"by default": {nil, "'alibabacloud.com/clb', 'alibabacloud.com/nlb'", []string{"served", "stays"}},
		"another class": {
			map[string]any{"clb": map[string]any{"class": "example.com/clb"}}, "'example.com/clb', 'alibabacloud.com/nlb'",
			[]string{"served", "stays"},
		},
		"no class for CLBs": {map[string]any{"clb": map[string]any{"class": ""}}, "'', 'alibabacloud.com/nlb'", []string{"served", "stays"}},
		"only with a class": {map[string]any{"clb": map[string]any{"withoutClass": false}}, "'alibabacloud.com/clb', 'alibabacloud.com/nlb'",
			[]string{"served", "stays", "class"}},
		"no NLBs": {map[string]any{"nlb": map[string]any{"enabled": false}}, "'alibabacloud.com/clb', 'alibabacloud.com/nlb'",
			[]string{"served", "stays", "no-nlb"}},
	} {
		policy := decode[admissionv1.ValidatingAdmissionPolicy](t, render(t, "kube-system", map[string]any{
			"admissionPolicy": map[string]any{"enabled": true},
			"components":      map[string]any{"lbcontroller": map[string]any{"config": tt.config}},
		})["ValidatingAdmissionPolicy service-annotations.lbcontroller.alibabacloud.com"])
		var names []string
		for _, c := range policy.Spec.MatchConditions {
			names = append(names, c.Name)
		}
		text := policy.Spec.MatchConditions[0].Expression + policy.Spec.Variables[1].Expression
		if n := strings.Count(text, "loadBalancerClass in ["+tt.classes+"]"); n != 2 || !slices.Equal(names, tt.names) {
			t.Errorf("%s: conditions %q, expressions\n%s", name, names, text)
		}
	}
}
