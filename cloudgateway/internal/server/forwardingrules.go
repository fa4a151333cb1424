package server

import (
	"context"
	"fmt"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

type forwardingRules struct {
	slbv1.UnimplementedForwardingRuleServiceServer

	slb *slb.Client
}

func (s *forwardingRules) ListForwardingRules(
	ctx context.Context, r *slbv1.ListForwardingRulesRequest,
) (*slbv1.ListForwardingRulesResponse, error) {
	var c check
	c.ruleListener(r.GetKey())
	c.maxAge(r.GetMaxAge())
	if err := c.err(); err != nil {
		return nil, err
	}
	rules, err := s.slb.ListForwardingRules(ctx, r.GetKey(), r.GetMaxAge().AsDuration())
	if err != nil {
		return nil, err
	}
	return &slbv1.ListForwardingRulesResponse{Rules: rules}, nil
}

func (s *forwardingRules) BatchCreateForwardingRules(
	ctx context.Context, r *slbv1.BatchCreateForwardingRulesRequest,
) (*slbv1.BatchCreateForwardingRulesResponse, error) {
	var c check
	c.requestID(r.GetRequestId())
	c.ruleListener(r.GetKey())
	c.newRules("rules", r.GetRules())
	if err := c.err(); err != nil {
		return nil, err
	}
	results, err := s.slb.CreateForwardingRules(ctx, r)
	if err != nil {
		return nil, err
	}
	return &slbv1.BatchCreateForwardingRulesResponse{Results: results}, nil
}

func (s *forwardingRules) UpdateForwardingRule(
	ctx context.Context, r *slbv1.UpdateForwardingRuleRequest,
) (*slbv1.UpdateForwardingRuleResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.id("load_balancer_id", r.GetLoadBalancerId())
	c.id("rule_id", r.GetRuleId())
	c.ruleConfig("config", r.GetConfig())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := s.slb.UpdateForwardingRule(ctx, r); err != nil {
		return nil, err
	}
	return &slbv1.UpdateForwardingRuleResponse{}, nil
}

func (s *forwardingRules) BatchDeleteForwardingRules(
	ctx context.Context, r *slbv1.BatchDeleteForwardingRulesRequest,
) (*slbv1.BatchDeleteForwardingRulesResponse, error) {
	var c check
	c.optionalRequestID(r.GetRequestId())
	c.ruleListener(r.GetKey())
	c.ids("rule_ids", r.GetRuleIds())
	if err := c.err(); err != nil {
		return nil, err
	}
	results, err := s.slb.DeleteForwardingRules(ctx, r.GetKey(), r.GetRuleIds())
	if err != nil {
		return nil, err
	}
	return &slbv1.BatchDeleteForwardingRulesResponse{Results: results}, nil
}

func (c *check) ruleListener(key *slbv1.ListenerKey) {
	c.listenerKey(key)
	switch key.GetProtocol() {
	case slbv1.Protocol_PROTOCOL_TCP, slbv1.Protocol_PROTOCOL_UDP:
		c.addf("key.protocol", "only HTTP and HTTPS listeners have forwarding rules")
	case slbv1.Protocol_PROTOCOL_HTTP, slbv1.Protocol_PROTOCOL_HTTPS, slbv1.Protocol_PROTOCOL_UNSPECIFIED:
	}
}

// newRules checks each rule, and that none is there twice.
func (c *check) newRules(field string, rules []*slbv1.NewForwardingRule) {
	if !c.items(field, len(rules), maxItems) {
		return
	}
	seen := map[slb.RuleKey]string{}
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.newRule(at, rule)
		if first, ok := seen[slb.RuleKeyOf(rule)]; ok {
			c.addf(at, "has the domain and the URL of %s", first)
			continue
		}
		seen[slb.RuleKeyOf(rule)] = at
	}
}

func (c *check) newRule(field string, rule *slbv1.NewForwardingRule) {
	const longestName, longestURL = 80, 80
	c.text(field+".name", rule.GetName(), 1, longestName)
	if rule.GetDomain() == "" && rule.GetUrl() == "" {
		c.addf(field+".domain", "is required, unless url is set")
	}
	if rule.GetDomain() != "" {
		c.domain(field+".domain", rule.GetDomain())
	}
	if url := rule.GetUrl(); url != "" {
		c.text(field+".url", url, 1, longestURL)
		switch {
		case url == "/":
			c.addf(field+".url", `must say more than "/", which every path begins with; leave it out for a rule that is for all`)
		case !strings.HasPrefix(url, "/"):
			c.addf(field+".url", `%q does not begin with "/"`, shorten(url))
		}
	}
	c.id(field+".server_group_id", rule.GetServerGroupId())
}

func (c *check) ruleConfig(field string, cfg *slbv1.ForwardingRuleConfig) {
	for _, v := range slb.CheckForwardingRuleConfig(cfg) {
		c.addf(field+"."+v.Field, "%s", v.Description)
	}
	if !slb.HasRuleSettings(cfg) {
		c.addf(field, "the request changes nothing; at least one attribute is required")
	}
}
