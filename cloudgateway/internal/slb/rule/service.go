// Package rule serves ForwardingRuleService: forwarding rules of HTTP and HTTPS listeners.
package rule

import (
	"context"
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Service implements slbv1.ForwardingRuleServiceServer.
type Service struct {
	slbv1.UnimplementedForwardingRuleServiceServer

	product *slb.Product
	rules   *batch.Reader[string, []*slbv1.ForwardingRule] // by listener
	owners  *slb.Owners
	ledger  *write.Ledger
}

// New makes a Service.
func New(p *slb.Product) *Service {
	s := &Service{
		product: p, rules: cloud.NewCache[[]*slbv1.ForwardingRule](p.Shared, "forwarding_rules"),
		ledger: write.NewLedger(),
	}
	s.owners = slb.NewOwners(p, "forwarding rule", s.findOwner)
	p.OnWrite(func(loadBalancerID string) { s.rules.InvalidateFunc(slb.OfListeners(loadBalancerID)) })
	return s
}

// ListForwardingRules reads the rules of one listener, ordered by id.
func (s *Service) ListForwardingRules(
	ctx context.Context, r *slbv1.ListForwardingRulesRequest,
) (*slbv1.ListForwardingRulesResponse, error) {
	found, err := s.rules.Do(ctx, slb.ListenerName(r.GetKey()), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*slbv1.ForwardingRule, error) { return s.describe(ctx, r.GetKey()) })
	return cloud.Answer(&slbv1.ListForwardingRulesResponse{Rules: found}, err)
}

// describe reads the rules of one listener now; the cloud has no pages for them.
func (s *Service) describe(ctx context.Context, key *slbv1.ListenerKey) ([]*slbv1.ForwardingRule, error) {
	var rules []*slbv1.ForwardingRule
	err := s.product.Read(ctx, "DescribeRules", slb.StateParams(key), rulesInto(&rules))
	for _, r := range rules {
		s.owners.Learn(r.GetRuleId(), key.GetLoadBalancerId())
	}
	return cloud.SortedBy(rules, (*slbv1.ForwardingRule).GetRuleId), err
}

// rulesInto decodes the answers about rules.
func rulesInto(rules *[]*slbv1.ForwardingRule) *cloud.Fields {
	return &cloud.Fields{"Rules": cloud.Fields{"Rule": cloud.Each(rules, decode)}}
}

// findOwner reads of which load balancer a rule is; "" if there is no such rule.
func (s *Service) findOwner(ctx context.Context, id, _ string) (string, error) {
	of := ""
	err := s.product.Read(ctx, "DescribeRuleAttribute", cloud.Params{"RuleId": id}, &cloud.Fields{"LoadBalancerId": &of})
	return of, cloud.Unless(err, rpcerr.ForwardingRuleNotFound)
}

// UpdateForwardingRule changes the attributes that are present.
func (s *Service) UpdateForwardingRule(
	ctx context.Context, r *slbv1.UpdateForwardingRuleRequest,
) (*slbv1.UpdateForwardingRuleResponse, error) {
	params := cloud.Params{"RuleId": r.GetRuleId()}.Merge(configParams(r.GetConfig()))
	err := s.owners.Exclusively(ctx, r.GetRuleId(), r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		if r.GetConfig().ServerGroupId != nil {
			defer s.product.Release(r.GetLoadBalancerId())
		}
		return w.Set(ctx, "SetRule", params)
	})
	return cloud.Answer(&slbv1.UpdateForwardingRuleResponse{}, err)
}

// BatchDeleteForwardingRules removes rules from a listener; the results are in the order of the ids. The error means that nothing was
// tried.
func (s *Service) BatchDeleteForwardingRules(
	ctx context.Context, r *slbv1.BatchDeleteForwardingRulesRequest,
) (*slbv1.BatchDeleteForwardingRulesResponse, error) {
	key, ids := r.GetKey(), r.GetRuleIds()
	byID := map[string]*item{}
	err := s.product.Exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		defer s.product.Release(key.GetLoadBalancerId())
		var all []*item
		for _, id := range cloud.Sorted(ids) {
			byID[id] = &item{id: id}
			all = append(all, byID[id])
		}
		// One id that the cloud does not know fails a call, and one of another listener would be none of ours to delete.
		if err := s.finishGone(ctx, key, all); err != nil {
			return err
		}
		inCalls(all, perCall, func(some []*item) error { return s.deleteSome(ctx, w, key, some) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]*slbv1.ForwardingRuleResult, len(ids))
	for i, id := range ids {
		results[i] = &slbv1.ForwardingRuleResult{RuleId: id, Error: rpcerr.ToItem(byID[id].err)}
	}
	return &slbv1.BatchDeleteForwardingRulesResponse{Results: results}, nil
}

// finishGone finishes the removal of rules that the listener does not have.
func (s *Service) finishGone(ctx context.Context, key *slbv1.ListenerKey, removals []*item) error {
	rules, err := s.describe(ctx, key)
	if err = cloud.Unless(cloud.Unless(err, rpcerr.ListenerNotFound), rpcerr.LoadBalancerNotFound); err != nil {
		return err
	}
	for _, r := range removals {
		if !slices.ContainsFunc(rules, func(rule *slbv1.ForwardingRule) bool { return rule.GetRuleId() == r.id }) {
			r.finish(nil)
		}
	}
	return nil
}

// deleteSome deletes some rules in one call. If the answer is lost, or the cloud says that one is gone, it looks which are.
func (s *Service) deleteSome(ctx context.Context, w *slb.Writer, key *slbv1.ListenerKey, removals []*item) error {
	gone := func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ForwardingRuleNotFound }
	return write.Attempt{
		Send: func(ctx context.Context) error {
			rest := unfinished(removals)
			ids := make([]string, len(rest))
			for i, r := range rest {
				ids[i] = r.id
			}
			err := w.SetOnce(ctx, "DeleteRules", cloud.Params{}.JSONList("RuleIds", ids))
			if err == nil {
				finishAll(rest, nil)
			}
			return err
		},
		Doubtful: gone,
		Done: func(ctx context.Context) (bool, error) {
			err := s.finishGone(ctx, key, removals)
			return len(unfinished(removals)) == 0, err
		},
		Again: gone,
		Doubt: "a rule is gone already, but reading which one failed",
	}.Run(ctx)
}
