package writetest

import (
	"context"
	"fmt"
	"path"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
)

func ruleOperations() []Operation {
	create := func(ctx context.Context, c *gateway.Client, s *Site) error {
		return s.createRules(ctx, c, s.newRules())
	}
	return []Operation{
		{
			Name: "BatchCreateForwardingRules", Actions: []string{"CreateRules"}, Prepare: withWebListener, Run: create, Resume: resumeRules,
		},
		{
			Name: "UpdateForwardingRule", Actions: []string{"SetRule"}, Prepare: withRules,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.ForwardingRules.UpdateForwardingRule(ctx, &slbv1.UpdateForwardingRuleRequest{
					LoadBalancerId: s.lb, RuleId: s.rules[0],
					Config: &slbv1.ForwardingRuleConfig{
						ListenerSync: new(false), Scheduler: new("rr"), StickySession: new(false),
						HealthCheck: &slbv1.HealthCheck{Enabled: new(true), Interval: proto.Int32(9)},
					},
				})
				return err
			},
		},
		{
			Name: "BatchDeleteForwardingRules", Actions: []string{"DeleteRules"}, Prepare: withRules,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				r, err := c.ForwardingRules.BatchDeleteForwardingRules(ctx,
					&slbv1.BatchDeleteForwardingRulesRequest{Key: s.key(), RuleIds: s.rules[:2]})
				return FirstFailure(err, r.GetResults())
			},
		},
		{
			Name: "CreateDomainExtension", Actions: []string{"CreateDomainExtension"}, Prepare: withWebListener,
			Run: createExtension, Resume: resumeExtension,
		},
		{
			Name: "UpdateDomainExtension", Actions: []string{"SetDomainExtensionAttribute"}, Prepare: withExtension,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.DomainExtensions.UpdateDomainExtension(ctx, &slbv1.UpdateDomainExtensionRequest{
					LoadBalancerId: s.lb, DomainExtensionId: s.extension, ServerCertificateId: otherCertificate,
				})
				return err
			},
		},
		{
			Name: "DeleteDomainExtension", Actions: []string{"DeleteDomainExtension"}, Prepare: withExtension,
			Run: func(ctx context.Context, c *gateway.Client, s *Site) error {
				_, err := c.DomainExtensions.DeleteDomainExtension(ctx,
					&slbv1.DeleteDomainExtensionRequest{LoadBalancerId: s.lb, DomainExtensionId: s.extension})
				return err
			},
		},
	}
}

// newRules are more than one call takes.
func (s *Site) newRules() []*slbv1.NewForwardingRule {
	const count = 12
	list := make([]*slbv1.NewForwardingRule, count)
	for i := range list {
		list[i] = &slbv1.NewForwardingRule{
			Name: fmt.Sprintf("rule-%02d", i), Domain: fmt.Sprintf("%02d.example.com", i), Url: "/app", ServerGroupId: s.group,
		}
	}
	return list
}

func (s *Site) createRules(ctx context.Context, c *gateway.Client, rules []*slbv1.NewForwardingRule) error {
	r, err := c.ForwardingRules.BatchCreateForwardingRules(ctx, &slbv1.BatchCreateForwardingRulesRequest{
		RequestId: path.Join(s.Name, "rules"), Key: s.key(), Rules: rules,
	})
	return FirstFailure(err, r.GetResults())
}

// resumeRules creates the rules that the listener lacks.
func resumeRules(ctx context.Context, c *gateway.Client, s *Site) error {
	listed, err := c.ForwardingRules.ListForwardingRules(ctx, &slbv1.ListForwardingRulesRequest{Key: s.key()})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, rule := range listed.GetRules() {
		there[rule.GetDomain()+rule.GetUrl()] = true
	}
	var missing []*slbv1.NewForwardingRule
	for _, rule := range s.newRules() {
		if !there[rule.GetDomain()+rule.GetUrl()] {
			missing = append(missing, rule)
		}
	}
	return s.createRules(ctx, c, missing)
}

func createExtension(ctx context.Context, c *gateway.Client, s *Site) error {
	answer, err := c.DomainExtensions.CreateDomainExtension(ctx, &slbv1.CreateDomainExtensionRequest{
		RequestId: path.Join(s.Name, "extension"), Key: s.key(), Domain: "www.example.com", ServerCertificateId: certificate,
	})
	s.extension = answer.GetDomainExtensionId()
	return err
}

// resumeExtension creates the domain extension if the listener has none.
func resumeExtension(ctx context.Context, c *gateway.Client, s *Site) error {
	listed, err := c.DomainExtensions.ListDomainExtensions(ctx, &slbv1.ListDomainExtensionsRequest{Key: s.key()})
	if err != nil || len(listed.GetDomainExtensions()) > 0 {
		return err
	}
	return createExtension(ctx, c, s)
}

// withWebListener makes a listener that can have rules and domain extensions.
func withWebListener(ctx context.Context, c *gateway.Client, s *Site) error {
	return ofProtocol(slbv1.Protocol_PROTOCOL_HTTPS, withListener)(ctx, c, s)
}

func withRules(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withWebListener(ctx, c, s); err != nil {
		return err
	}
	r, err := c.ForwardingRules.BatchCreateForwardingRules(ctx, &slbv1.BatchCreateForwardingRulesRequest{
		RequestId: path.Join(s.Name, "rules"), Key: s.key(), Rules: s.newRules()[:3],
	})
	for _, result := range r.GetResults() {
		s.rules = append(s.rules, result.GetRuleId())
	}
	return FirstFailure(err, r.GetResults())
}

func withExtension(ctx context.Context, c *gateway.Client, s *Site) error {
	if err := withWebListener(ctx, c, s); err != nil {
		return err
	}
	return createExtension(ctx, c, s)
}
