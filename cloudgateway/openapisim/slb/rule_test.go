package slb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ruleID returns the id of the seeded rule.
func (c *cloud) ruleID() string { return c.listener(protoHTTP, 81).Rules[0].ID }

func TestRules(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "81"}
	rule := func(members string) params { return key.with("RuleList", "[{"+members+"}]") }
	ok := `"RuleName":"n","Domain":"c.example.com","VServerGroupId":"rsp-1"`
	eleven := "[" + strings.TrimSuffix(strings.Repeat("{"+ok+"},", 11), ",") + "]"
	testCodes(t, "CreateRules", []codeTest{
		{"domain", rule(ok), ""},
		{"URL", rule(`"RuleName":"n","Url":"/c","VServerGroupId":"rsp-1"`), ""},
		{"dry run", rule(ok).with("DryRun", "true"), "DryRunOperation"},
		{"TCP listener", rule(ok).with("ListenerPort", "80"), "OperationFailed.ActionNotSupport"},
		{"no JSON", key.with("RuleList", "x"), "InvalidParameter"},
		{"none", key.with("RuleList", "[]"), "InvalidParameter"},
		{"eleven", key.with("RuleList", eleven), "InvalidParameter"},
		{"no name", rule(`"Domain":"c.example.com","VServerGroupId":"rsp-1"`), "MissingParameter.RuleName"},
		{"neither domain nor URL", rule(`"RuleName":"n","VServerGroupId":"rsp-1"`), "MissingParameter"},
		{"URL without slash", rule(`"RuleName":"n","Url":"c","VServerGroupId":"rsp-1"`), "InvalidParameter"},
		{"root URL", rule(`"RuleName":"n","Url":"/","VServerGroupId":"rsp-1"`), "InvalidParameter"},
		{"exists", rule(`"RuleName":"n","Domain":"b.example.com","Url":"/b","VServerGroupId":"rsp-1"`), "DomainExist"},
		{"unknown group", rule(`"RuleName":"n","Domain":"c.example.com","VServerGroupId":"rsp-x"`), "InvalidParameter"},
	})
	t.Run("life", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		id := c.ruleID()
		shown := func() answer { return c.call("DescribeRuleAttribute", params{"RuleId": id}) }
		if got := shown(); got["ListenerSync"] != on || got["ListenerPort"] != "81" || got["LoadBalancerId"] != "lb-1" ||
			got["Scheduler"] != nil {
			t.Errorf("a new rule: %v", got)
		}
		c.call("SetRule", params{"RuleId": id, "RuleName": "new", "VServerGroupId": "rsp-1", "ListenerSync": off,
			"Scheduler": "rr", "HealthCheck": on, "HealthCheckInterval": "7"})
		want := map[string]any{"RuleName": "new", "VServerGroupId": "rsp-1", "ListenerSync": off, "Scheduler": "rr",
			"HealthCheck": on, "HealthCheckInterval": 7.0}
		got := shown()
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %v, want %v", name, got[name], value)
			}
		}
		if diff := cmp.Diff([]string{"new"}, c.call("DescribeRules", key).texts("Rules.Rule", "RuleName")); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		c.call("DeleteVServerGroup", params{"VServerGroupId": "rsp-rule"})
		c.call("DeleteRules", params{"RuleIds": fmt.Sprintf("[%q]", id)})
		for action, p := range map[string]params{"DescribeRuleAttribute": {"RuleId": id}, "SetRule": {"RuleId": id},
			"DeleteRules": {"RuleIds": fmt.Sprintf("[%q]", id)}} {
			if got := c.code(action, p); got != "InvalidRuleId.NotFound" {
				t.Errorf("%s of a deleted rule: got code %q, want InvalidRuleId.NotFound", action, got)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		id := params{"RuleId": c.ruleID()}
		one := fmt.Sprintf("[%q]", c.ruleID())
		for name, tt := range map[string]struct {
			action string
			params params
			want   string
		}{
			"unknown group":      {"SetRule", id.with("VServerGroupId", "rsp-x"), "InvalidParameter"},
			"bad value":          {"SetRule", id.with("Scheduler", "x"), "InvalidParameter"},
			"dry run":            {"SetRule", id.with("Scheduler", "rr", "DryRun", "true"), "DryRunOperation"},
			"one of two unknown": {"DeleteRules", params{"RuleIds": strings.Replace(one, "]", `,"rule-x"]`, 1)}, "InvalidRuleId.NotFound"},
			"no ids":             {"DeleteRules", params{"RuleIds": "[]"}, "InvalidParameter"},
			"no JSON":            {"DeleteRules", params{"RuleIds": "x"}, "InvalidParameter"},
		} {
			if got := c.code(tt.action, tt.params); got != tt.want {
				t.Errorf("%s: got code %q, want %q", name, got, tt.want)
			}
		}
		c.listener(protoHTTP, 81).Status = starting
		for action, p := range map[string]params{"CreateRules": rule(ok), "SetRule": id, "DeleteRules": {"RuleIds": one}} {
			if got := c.code(action, p); got != "OperationFailed.ListenerStatusNotSupport" {
				t.Errorf("%s on a starting listener: got code %q, want OperationFailed.ListenerStatusNotSupport", action, got)
			}
		}
	})
	t.Run("quota", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		var items []map[string]string
		for i := range 10 {
			items = append(items, map[string]string{"RuleName": "n", "Domain": fmt.Sprintf("%d.example.com", i), "VServerGroupId": "rsp-1"})
		}
		raw, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		c.settings.Quotas.Rules = 10
		if got := c.code("CreateRules", key.with("RuleList", string(raw))); got != "TooManyRules" {
			t.Errorf("eleven rules of ten: got code %q, want TooManyRules", got)
		}
		c.settings.Quotas.Rules = 11
		c.call("CreateRules", key.with("RuleList", string(raw)))
	})
}

// domainID returns the id of the seeded domain extension.
func (c *cloud) domainID() string { return c.listener(protoHTTPS, 443).Domains[0].ID }

func TestDomainExtensions(t *testing.T) {
	t.Parallel()
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "443"}
	create := key.with("Domain", "c.example.com", "ServerCertificateId", "cert-2")
	testCodes(t, "CreateDomainExtension", []codeTest{
		{"ok", create, ""},
		{"wildcard", create.with("Domain", "*.example.com"), ""},
		{"one label", create.with("Domain", "example"), "InvalidParameter.Domain"},
		{"bad letters", create.with("Domain", "a_b.example.com"), "InvalidParameter.Domain"},
		{"exists", create.with("Domain", "A.example.com"), "DomainExist"},
		{"no certificate", create.with("ServerCertificateId", ""), "MissingParam.ServerCertificates"},
		{"unknown certificate", create.with("ServerCertificateId", "x"), "InvalidParameter.ServerCertificateId"},
		{"HTTP listener", create.with("ListenerPort", "81"), "ResourceNotFound.Listener"},
	})
	t.Run("life", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		id := params{"DomainExtensionId": c.domainID()}
		if got := c.code("SetDomainExtensionAttribute", id.with("ServerCertificateId", "x")); got != "InvalidParameter.ServerCertificateId" {
			t.Errorf("unknown certificate: got code %q", got)
		}
		if got := c.code("SetDomainExtensionAttribute", id); got != "MissingParam.ServerCertificates" {
			t.Errorf("no certificate: got code %q", got)
		}
		c.call("SetDomainExtensionAttribute", id.with("ServerCertificateId", "cert-1"))
		want := map[string]any{
			"DomainExtensionId": c.domainID(), "Domain": "a.example.com", "ServerCertificateId": "cert-1",
			"LoadBalancerId": "lb-1", "ListenerPort": 443.0,
		}
		if diff := cmp.Diff(answer(want), c.call("DescribeDomainExtensionAttribute", id)); diff != "" {
			t.Errorf("attribute (-want +got):\n%s", diff)
		}
		if n := len(c.call("DescribeDomainExtensions", key.with("DomainExtensionId", "de-x")).list("DomainExtensions.DomainExtension")); n != 0 {
			t.Errorf("an unknown id gives %d", n)
		}
		rule := params{"LoadBalancerId": "lb-1", "ListenerPort": "443",
			"RuleList": `[{"RuleName":"n","Domain":"a.example.com","VServerGroupId":"rsp-1"}]`}
		ruleID := c.call("CreateRules", rule).text("Rules.Rule.0.RuleId")
		if got := c.code("DeleteDomainExtension", id); got != "DomainExtensionRelatedRuleExist" {
			t.Errorf("used by a rule: got code %q, want DomainExtensionRelatedRuleExist", got)
		}
		c.call("DeleteRules", params{"RuleIds": fmt.Sprintf("[%q]", ruleID)})
		c.call("DeleteDomainExtension", id)
		for _, action := range []string{"DeleteDomainExtension", "SetDomainExtensionAttribute", "DescribeDomainExtensionAttribute"} {
			if got := c.code(action, id); got != "InvalidParameter.DomainExtensionId" {
				t.Errorf("%s of a deleted one: got code %q, want InvalidParameter.DomainExtensionId", action, got)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.settings.Quotas.DomainExtensions = 1
		if got := c.code("CreateDomainExtension", create); got != "DomainExtensionNumberOverLimit" {
			t.Errorf("got code %q, want DomainExtensionNumberOverLimit", got)
		}
		c.state.LoadBalancers["lb-1"].InstanceChargeType = payBySpec // an old one, without a specification
		if got := c.code("CreateDomainExtension", create); got != "DomainExtensionNotSupport" {
			t.Errorf("got code %q, want DomainExtensionNotSupport", got)
		}
	})
}
