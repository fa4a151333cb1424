package slb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"
)

// ruleAttributes lists what can be set on a rule (SLB API reference, SetRule): a name and a vServer group, and when it does not follow
// its listener, some of the attributes of HTTP listeners.
func ruleAttributes() []attribute {
	rows := []attribute{
		{field: "name", param: "RuleName", max: 80},
		{field: "listener_sync", param: "ListenerSync", kind: onOff},
	}
	shared := append(listenerSettings(), "server_group_id")
	for _, a := range attributes() {
		if a.protocols&http != 0 && slices.Contains(shared, a.field) {
			rows = append(rows, a)
		}
	}
	return rows
}

// listenerSettings are the attributes that a rule takes from its listener unless it has its own.
func listenerSettings() []string {
	return []string{
		"scheduler", "sticky_session", "sticky_session_type", "cookie", "cookie_timeout", "health_check.enabled", "health_check.uri",
		"health_check.domain", "health_check.http_code", "health_check.connect_port", "health_check.interval",
		"health_check.healthy_threshold", "health_check.unhealthy_threshold", "health_check.timeout",
	}
}

// CheckForwardingRuleConfig names everything in cfg that the cloud would not take for a rule. The fields are relative to the
// configuration, e.g. "health_check.interval".
func CheckForwardingRuleConfig(cfg *slbv1.ForwardingRuleConfig) []rpcerr.FieldViolation {
	var wrong []rpcerr.FieldViolation
	report := func(field, format string, args ...any) {
		wrong = append(wrong, rpcerr.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
	}
	_, decides := lookup(cfg, "listener_sync")
	follows := cfg.GetListenerSync()
	for _, a := range ruleAttributes() {
		value, present := lookup(cfg, a.field)
		if !present {
			continue
		}
		if problem := a.check(value, false); problem != "" {
			report(a.field, "%s", problem)
		}
		if follows && slices.Contains(listenerSettings(), a.field) {
			report(a.field, "has no effect on a rule that follows its listener, leave it out or set listener_sync to false")
		}
	}
	probe := cfg.GetHealthCheck().ProtoReflect()
	for i := range probe.Descriptor().Fields().Len() {
		field := probe.Descriptor().Fields().Get(i)
		name := "health_check." + string(field.Name())
		if probe.Has(field) && !slices.Contains(listenerSettings(), name) {
			report(name, "not supported by forwarding rules")
		}
	}
	if decides && !follows {
		for _, field := range []string{"sticky_session", "health_check.enabled"} {
			if _, present := lookup(cfg, field); !present {
				report(field, "is required with listener_sync false")
			}
		}
	}
	return wrong
}

// HasRuleSettings tells whether cfg sets anything that a rule can have.
func HasRuleSettings(cfg *slbv1.ForwardingRuleConfig) bool { return len(ruleParams(cfg)) > 0 }

// ruleParams encodes the fields that are present in cfg.
func ruleParams(cfg *slbv1.ForwardingRuleConfig) map[string]string {
	params := map[string]string{}
	for _, a := range ruleAttributes() {
		if value, present := lookup(cfg, a.field); present {
			params[a.param] = a.encode(value)
		}
	}
	return params
}

// ruleAnswer is a rule in the answers about rules.
type ruleAnswer map[string]json.RawMessage

// decode turns the answer into a rule. Attributes the cloud did not report stay absent.
func (answer ruleAnswer) decode() *slbv1.ForwardingRule {
	rule := &slbv1.ForwardingRule{
		RuleId: looseText(answer["RuleId"]), Domain: looseText(answer["Domain"]), Url: looseText(answer["Url"]),
		Config: &slbv1.ForwardingRuleConfig{},
	}
	for _, a := range ruleAttributes() {
		a.decode(rule.GetConfig(), answer[a.param])
	}
	return rule
}

// RuleKey is the identity of a rule on its listener.
type RuleKey struct{ domain, url string }

// RuleKeyOf gives the identity of a rule. Names of hosts are the same in capitals.
func RuleKeyOf(rule interface {
	GetDomain() string
	GetUrl() string
},
) RuleKey {
	return RuleKey{domain: strings.ToLower(rule.GetDomain()), url: rule.GetUrl()}
}

// String tells people which rule it is.
func (k RuleKey) String() string { return fmt.Sprintf("domain %q and URL %q", k.domain, k.url) }

// newRule is a rule in the JSON parameter RuleList.
type newRule struct {
	RuleName       string
	Domain         string `json:",omitempty"`
	URL            string `json:"Url,omitempty"`
	VServerGroupID string `json:"VServerGroupId"`
}

func rulesParam(rules []*slbv1.NewForwardingRule) (string, error) {
	docs := make([]newRule, len(rules))
	for i, r := range rules {
		docs[i] = newRule{RuleName: r.GetName(), Domain: r.GetDomain(), URL: r.GetUrl(), VServerGroupID: r.GetServerGroupId()}
	}
	encoded, err := json.Marshal(docs)
	if err != nil {
		return "", fmt.Errorf("encode rules: %w", err)
	}
	return string(encoded), nil
}
