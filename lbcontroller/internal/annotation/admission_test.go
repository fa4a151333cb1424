package annotation

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestAdmissionPolicy: the chart has the policy of this table, with one rule for each annotation, and texts that are safe in CEL and YAML.
// That the API server takes it and judges as Parse does is tested end to end (deploy/test/e2e).
func TestAdmissionPolicy(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile("../../../deploy/chart/files/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(shipped), AdmissionPolicy()); diff != "" {
		t.Errorf("run make generate (-shipped +table):\n%s", diff)
	}
	var policy admissionv1.ValidatingAdmissionPolicy
	if err := yaml.UnmarshalStrict(shipped, &policy); err != nil {
		t.Fatal(err)
	}
	words := slices.Concat(accessWords(CLB), accessWords(NLB)) // Each has a rule for the kind that it isn't for.
	if want := len(sideBySide()) + len(words); len(policy.Spec.Validations) != want {
		t.Fatalf("%d rules, want %d", len(policy.Spec.Validations), want)
	}
	for i, word := range words {
		rule := policy.Spec.Validations[len(sideBySide())+i]
		if !strings.Contains(rule.Expression, "a.key == '"+word+"'") || !strings.Contains(rule.Message, "restricts nothing here") {
			t.Errorf("the rule of %s for the other kind is %+v", word, rule)
		}
	}
	for i, s := range sideBySide() {
		rule := policy.Spec.Validations[i]
		if !strings.Contains(rule.Expression, "'"+s.Key+"'") || !strings.Contains(rule.MessageExpression, "'"+s.Allowed()+"'") {
			t.Errorf("the rule of %s is %+v", s.Key, rule)
		}
		for _, value := range s.Values {
			if strings.ContainsAny(value, `+*?()|[]{}^$\'"`) {
				t.Errorf("%s: the value %q needs quotes in a regular expression: see oneOf", s.Key, value)
			}
		}
		if strings.ContainsAny(s.Key+s.Allowed()+s.Separator, `\'"`) {
			t.Errorf("%s: quotes in %q", s.Key, s.Allowed())
		}
	}
}

// TestOneOf: the policy takes each value in any case, and nothing else.
func TestOneOf(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(oneOf([]string{"HTTP1.0", "HTTP1.1"}))
	for value, taken := range map[string]bool{
		"HTTP1.0": true, "http1.1": true, "HTTP1x1": false, "HTTP1.1 ": false, "HTTP1.12": false, "": false,
	} {
		if pattern.MatchString(value) != taken {
			t.Errorf("%q: taken %t, want %t", value, !taken, taken)
		}
	}
}
