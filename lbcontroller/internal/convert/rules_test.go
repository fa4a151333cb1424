package convert

import (
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// sameMeaning are defaults of one meaning in other words.
var sameMeaning = map[string]string{
	annotation.HealthCheckDomain:      "the address of the backend",
	annotation.HealthCheckConnectPort: "the port of the backend",
	annotation.TLSCipherPolicy:        "tls_cipher_policy_1_0",
	annotation.HealthCheckTimeout:     "5",
	annotation.EstablishedTimeout:     "900 for tcp",
	annotation.CertID:                 "none",
	annotation.TLSSecret:              "none",
	annotation.DomainExtensions:       "none of a new one",
}

// TestRules: each annotation of a CLB has a rule, what it leads to is one of an NLB, and another default is told.
func TestRules(t *testing.T) {
	t.Parallel()
	nlb := map[string]annotation.Spec{}
	for _, s := range annotation.TableFor(annotation.NLB) {
		nlb[s.Key] = s
	}
	rules := rules()
	for _, s := range annotation.Table() {
		r, has := rules[s.Key]
		delete(rules, s.Key)
		switch to, is := nlb[r.to]; {
		case !has:
			t.Errorf("%s has no rule", s.Key)
		case r.own:
		case r.to == "" && r.note == "":
			t.Errorf("%s has neither a counterpart nor a reason", s.Key)
		case r.to == "":
		case !is:
			t.Errorf("%s leads to %s, which an NLB doesn't have", s.Key, r.to)
		case len(s.For) == 0 && s.Scope != annotation.Instance && bare(to.Default) != bare(s.Default) && r.other == "" &&
			sameMeaning[s.Key] == "":
			t.Errorf("%s: the default is %q, that of %s %q, and nothing is said", s.Key, s.Default, r.to, to.Default)
		}
	}
	for key := range rules {
		t.Errorf("%s has a rule and is no annotation", key)
	}
}
