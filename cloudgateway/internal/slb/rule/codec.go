package rule

import (
	"fmt"
	"slices"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb/attribute"
)

// rows lists what can be set on a rule (SLB API reference, SetRule): a name and a vServer group, and when it does not follow
// its listener, some of the attributes of HTTP listeners.
func rows() []attribute.Row {
	list := []attribute.Row{
		{Field: "name", Param: "RuleName", Max: 80},
		{Field: "listener_sync", Param: "ListenerSync", Kind: attribute.OnOff},
	}
	shared := append(listenerSettings(), "server_group_id")
	for _, a := range attribute.Rows() {
		if a.Protocols&attribute.HTTP != 0 && slices.Contains(shared, a.Field) {
			list = append(list, a)
		}
	}
	return list
}

// listenerSettings are the attributes that a rule takes from its listener unless it has its own.
func listenerSettings() []string {
	return []string{
		"scheduler", "sticky_session", "sticky_session_type", "cookie", "cookie_timeout", "health_check.enabled", "health_check.uri",
		"health_check.domain", "health_check.http_code", "health_check.connect_port", "health_check.interval",
		"health_check.healthy_threshold", "health_check.unhealthy_threshold", "health_check.timeout",
	}
}

// configParams encodes the fields that are present in cfg.
func configParams(cfg *slbv1.ForwardingRuleConfig) map[string]string {
	params := map[string]string{}
	for _, a := range rows() {
		if value, present := attribute.Lookup(cfg, a.Field); present {
			params[a.Param] = a.Encode(value)
		}
	}
	return params
}

// decode reads a rule in the answers about rules. Attributes the cloud did not report stay absent.
func decode(item []byte) (*slbv1.ForwardingRule, error) {
	fields, err := cloud.Members(item)
	rule := &slbv1.ForwardingRule{
		RuleId: cloud.Text(fields["RuleId"]), Domain: cloud.Text(fields["Domain"]), Url: cloud.Text(fields["Url"]),
		Config: &slbv1.ForwardingRuleConfig{},
	}
	for _, a := range rows() {
		a.Decode(rule.GetConfig(), fields[a.Param])
	}
	return rule, err
}

// ruleKey is the identity of a rule on its listener.
type ruleKey struct{ domain, url string }

// keyOf gives the identity of a rule. Names of hosts are the same in capitals.
func keyOf(rule interface {
	GetDomain() string
	GetUrl() string
},
) ruleKey {
	return ruleKey{domain: strings.ToLower(rule.GetDomain()), url: rule.GetUrl()}
}

// String identifies the rule in messages.
func (k ruleKey) String() string { return fmt.Sprintf("domain %q and URL %q", k.domain, k.url) }

// newRule is a rule in the JSON parameter RuleList.
type newRule struct {
	RuleName       string
	Domain         string `json:",omitempty"`
	URL            string `json:"Url,omitempty"`
	VServerGroupID string `json:"VServerGroupId"`
}

func newRuleOf(r *slbv1.NewForwardingRule) newRule {
	return newRule{RuleName: r.GetName(), Domain: r.GetDomain(), URL: r.GetUrl(), VServerGroupID: r.GetServerGroupId()}
}
