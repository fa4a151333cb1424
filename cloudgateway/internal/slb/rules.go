package slb

import (
	"context"
	"slices"
	"strings"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ListForwardingRules reads the rules of one listener, ordered by id.
func (c *Client) ListForwardingRules(ctx context.Context, key *slbv1.ListenerKey, maxAge time.Duration) ([]*slbv1.ForwardingRule, error) {
	return c.caches.rules.Get(ctx, listenerName(key), maxAge, func(ctx context.Context) ([]*slbv1.ForwardingRule, error) {
		return c.describeRules(ctx, key)
	})
}

// describeRules reads the rules of one listener now; the cloud has no pages for them.
func (c *Client) describeRules(ctx context.Context, key *slbv1.ListenerKey) ([]*slbv1.ForwardingRule, error) {
	var answer struct{ Rules struct{ Rule []ruleAnswer } }
	if err := c.read(ctx, "DescribeRules", stateParams(key), &answer); err != nil {
		return nil, err
	}
	rules := make([]*slbv1.ForwardingRule, len(answer.Rules.Rule))
	for i, a := range answer.Rules.Rule {
		rules[i] = a.decode()
	}
	slices.SortFunc(rules, func(a, b *slbv1.ForwardingRule) int { return strings.Compare(a.GetRuleId(), b.GetRuleId()) })
	return rules, nil
}

// UpdateForwardingRule changes the attributes that are present.
func (c *Client) UpdateForwardingRule(ctx context.Context, r *slbv1.UpdateForwardingRuleRequest) error {
	params := cloud.Params{"RuleId": r.GetRuleId()}.Merge(ruleParams(r.GetConfig()))
	return c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		if r.GetConfig().ServerGroupId != nil {
			defer c.releases.Put(r.GetLoadBalancerId(), struct{}{}, releaseLife)
		}
		return w.set(ctx, "SetRule", params)
	})
}

// removal is a rule to be deleted.
type removal struct {
	outcome

	id string
}

// DeleteForwardingRules removes rules from a listener; the results are in the order of the ids. The error tells that nothing was
// tried.
func (c *Client) DeleteForwardingRules(
	ctx context.Context, key *slbv1.ListenerKey, ids []string,
) ([]*slbv1.ForwardingRuleResult, error) {
	byID := map[string]*removal{}
	err := c.exclusively(ctx, key.GetLoadBalancerId(), func(ctx context.Context, w *writer) error {
		defer c.releases.Put(key.GetLoadBalancerId(), struct{}{}, releaseLife)
		var all []*removal
		for _, id := range cloud.Sorted(ids) {
			byID[id] = &removal{id: id}
			all = append(all, byID[id])
		}
		// One id that the cloud does not know fails a call, and one of another listener would be none of ours to delete.
		if err := c.settleGone(ctx, key, all); err != nil {
			return err
		}
		inCalls(all, rulesPerCall, func(some []*removal) error { return c.deleteRules(ctx, w, key, some) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]*slbv1.ForwardingRuleResult, len(ids))
	for i, id := range ids {
		results[i] = &slbv1.ForwardingRuleResult{RuleId: id, Error: rpcerr.ToItem(byID[id].err)}
	}
	return results, nil
}

// settleGone settles the removal of rules that the listener does not have.
func (c *Client) settleGone(ctx context.Context, key *slbv1.ListenerKey, removals []*removal) error {
	rules, err := c.describeRules(ctx, key)
	if err = cloud.Unless(cloud.Unless(err, rpcerr.ListenerNotFound), rpcerr.LoadBalancerNotFound); err != nil {
		return err
	}
	for _, r := range removals {
		if !slices.ContainsFunc(rules, func(rule *slbv1.ForwardingRule) bool { return rule.GetRuleId() == r.id }) {
			r.settle(nil)
		}
	}
	return nil
}

// deleteRules deletes some rules in one call. If the answer is lost, or the cloud says that one is gone, it looks which are.
func (c *Client) deleteRules(ctx context.Context, w *writer, key *slbv1.ListenerKey, removals []*removal) error {
	gone := func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ForwardingRuleNotFound }
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) || gone(err) }
	return cloud.Retry(ctx, again, func(ctx context.Context) error {
		rest := unsettled(removals)
		if len(rest) == 0 {
			return nil
		}
		ids := make([]string, len(rest))
		for i, r := range rest {
			ids[i] = r.id
		}
		err := w.setOnce(ctx, "DeleteRules", cloud.Params{}.JSONList("RuleIds", ids))
		switch {
		case err == nil:
			settleAll(rest, nil)
		case cloud.Unclear(err) || gone(err):
			if c.settleGone(ctx, key, rest) == nil && len(unsettled(rest)) == 0 {
				return nil
			}
		}
		return err
	})
}
