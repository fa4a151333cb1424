package rule

import (
	"strings"
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
)

func TestChecks(t *testing.T) {
	key := func(protocol slbv1.Protocol) *slbv1.ListenerKey {
		return &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: protocol}
	}
	http := key(slbv1.Protocol_PROTOCOL_HTTP)
	rule := func(domain, url string) *slbv1.NewForwardingRule {
		return &slbv1.NewForwardingRule{Name: "n", Domain: domain, Url: url, ServerGroupId: "rsp-1"}
	}
	create := func(rules ...*slbv1.NewForwardingRule) *slbv1.BatchCreateForwardingRulesRequest {
		return &slbv1.BatchCreateForwardingRulesRequest{RequestId: "r", Key: http, Rules: rules}
	}
	update := func(config *slbv1.ForwardingRuleConfig) *slbv1.UpdateForwardingRuleRequest {
		return &slbv1.UpdateForwardingRuleRequest{LoadBalancerId: "lb-1", RuleId: "rule-1", Config: config}
	}
	noKey := []string{"key.load_balancer_id: is required", "key.port: 0 is out of range, must be 1 to 65535", "key.protocol: is required"}
	const wrong = "key.protocol: only HTTP and HTTPS listeners have forwarding rules"
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.ListForwardingRulesRequest{Key: http}},
		{Name: "of HTTPS", Request: &slbv1.ListForwardingRulesRequest{Key: key(slbv1.Protocol_PROTOCOL_HTTPS)}},
		{Name: "of TCP", Request: &slbv1.ListForwardingRulesRequest{Key: key(slbv1.Protocol_PROTOCOL_TCP)}, Want: []string{wrong}},
		{Name: "of UDP", Request: &slbv1.ListForwardingRulesRequest{Key: key(slbv1.Protocol_PROTOCOL_UDP)}, Want: []string{wrong}},
		{Request: &slbv1.ListForwardingRulesRequest{}, Want: noKey},
		{Request: create(rule("example.com", ""), rule("", "/a"), rule("example.com", "/a"), rule("*.example.com", "/"+strings.Repeat("x", 79)))},
		{Request: &slbv1.BatchCreateForwardingRulesRequest{Rules: []*slbv1.NewForwardingRule{{}}}, Want: append([]string{
			"request_id: must be 1 to 64 printable ASCII characters", "rules[0].name: is 0 characters long, must be 1 to 80",
			"rules[0].domain: at least one of domain, url is required", "rules[0].server_group_id: is required",
		}, noKey...)},
		{Name: "of wrong forms", Request: create(rule("example", "a"), rule("example.com", "/"),
			rule("", "/"+strings.Repeat("x", 80))), Want: []string{
			`rules[0].domain: "example" is not of the form "www.example.com" or "*.example.com", with at most 253 characters`,
			`rules[0].url: "a" does not begin with "/"`,
			`rules[1].url: must say more than "/", which every path begins with; leave it out for a rule that is for all`,
			"rules[2].url: is 81 characters long, must be 0 to 80",
		}},
		{Name: "of the same twice", Request: create(rule("example.com", "/a"), rule("example.com", "/b"),
			rule("example.com", "/a")), Want: []string{
			"rules[2]: has the domain and the URL of rules[0]",
		}},
		{Name: "of too many", Request: create(make([]*slbv1.NewForwardingRule, check.MaxItems+1)...),
			Want: []string{"rules: has 20001 items, at most 20000 are allowed"}},
		{Name: "of the name", Request: update(&slbv1.ForwardingRuleConfig{Name: new("n")})},
		{Name: "to follow the listener", Request: update(&slbv1.ForwardingRuleConfig{ListenerSync: new(true)})},
		{Name: "to follow the listener, with settings", Request: update(&slbv1.ForwardingRuleConfig{ListenerSync: new(true),
			Scheduler: new("rr")}), Want: []string{
			"config.scheduler: has no effect on a rule that follows its listener, leave it out or set listener_sync to false",
		}},
		{Name: "not to follow the listener", Request: update(&slbv1.ForwardingRuleConfig{
			ListenerSync: new(false), StickySession: new(false), HealthCheck: &slbv1.HealthCheck{Enabled: new(false)},
		})},
		{Name: "not to follow the listener, without settings",
			Request: update(&slbv1.ForwardingRuleConfig{ListenerSync: new(false)}), Want: []string{
				"config.sticky_session: is required with listener_sync false", "config.health_check.enabled: is required with listener_sync false",
			}},
		{Name: "of settings alone", Request: update(&slbv1.ForwardingRuleConfig{Scheduler: new("rr")})},
		{Name: "of a wrong setting", Request: update(&slbv1.ForwardingRuleConfig{Scheduler: new("x")}),
			Want: []string{`config.scheduler: "x" is not one of wrr, rr, wlc`}},
		{Name: "of what rules lack", Request: update(&slbv1.ForwardingRuleConfig{Name: new("n"),
			HealthCheck: &slbv1.HealthCheck{Type: new("tcp")}}), Want: []string{
			"config.health_check.type: not supported by forwarding rules",
		}},
		{Request: &slbv1.UpdateForwardingRuleRequest{}, Want: []string{
			"rule_id: is required", "config: the request changes nothing; at least one attribute is required",
		}},
		{Request: &slbv1.BatchDeleteForwardingRulesRequest{Key: http, RuleIds: []string{"rule-1"}}},
		{Request: &slbv1.BatchDeleteForwardingRulesRequest{RuleIds: []string{""}}, Want: append([]string{"rule_ids[0]: is required"}, noKey...)},
	})
}
