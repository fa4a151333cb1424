// Package rule serves ForwardingRuleService: forwarding rules of HTTP and HTTPS listeners.
package rule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

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
	s.owners = slb.NewOwners(p, "forwarding rule", rpcerr.ForwardingRuleNotFound, s.findOwner)
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

// LoadBalancerOf finds the load balancer of a rule.
func (s *Service) LoadBalancerOf(ctx context.Context, id string) (string, error) {
	return s.owners.Find(ctx, id)
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
	if err = cloud.Unless(err, rpcerr.ListenerNotFound, rpcerr.LoadBalancerNotFound); err != nil {
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
		Sleep: w.StepAside,
	}.Run(ctx)
}

// perCall is how many rules CreateRules and DeleteRules take.
const perCall = 10

// creation is a request to create rules on its way.
type creation struct {
	service *Service
	writer  *slb.Writer
	key     *slbv1.ListenerKey
}

// BatchCreateForwardingRules creates rules on one listener; the results are in their order. The error means that nothing was tried.
func (s *Service) BatchCreateForwardingRules(
	ctx context.Context, r *slbv1.BatchCreateForwardingRulesRequest,
) (*slbv1.BatchCreateForwardingRulesResponse, error) {
	all := make([]*item, len(r.GetRules()))
	for i, rule := range r.GetRules() {
		all[i] = &item{rule: rule, key: write.KeyOf(ctx, r.GetRequestId(), slb.ListenerName(r.GetKey())+" "+keyOf(rule).String())}
	}
	err := s.product.Exclusively(ctx, r.GetKey().GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) error {
		request := &creation{service: s, writer: w, key: r.GetKey()}
		if err := request.recall(ctx, all); err != nil {
			return err
		}
		inCalls(all, perCall, func(some []*item) error { return request.send(ctx, some) })
		request.finish(all)
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]*slbv1.ForwardingRuleResult, len(all))
	for i, a := range all {
		results[i] = &slbv1.ForwardingRuleResult{RuleId: a.id, Error: rpcerr.ToItem(a.err)}
	}
	return &slbv1.BatchCreateForwardingRulesResponse{Results: results}, nil
}

// recall finishes what an earlier attempt of the request has done.
func (r *creation) recall(ctx context.Context, all []*item) error {
	if !slices.ContainsFunc(all, r.sent) {
		return nil
	}
	return r.look(ctx, all, &rpcerr.Error{API: "slb/DescribeRules"})
}

// send creates some rules in one call. The cloud makes all of them or none. If the answer is lost, or the cloud says that there is one
// already without saying which, it looks which are there.
func (r *creation) send(ctx context.Context, some []*item) error {
	var refusal *rpcerr.Error
	return write.Attempt{
		Send: func(ctx context.Context) error {
			err := r.create(ctx, unfinished(some))
			refusal, _ = rpcerr.From(err)
			return err
		},
		Doubtful: func(error) bool { return refusal != nil && refusal.Code == codes.AlreadyExists },
		Done: func(ctx context.Context) (bool, error) {
			err := r.look(ctx, unfinished(some), refusal)
			return len(unfinished(some)) == 0, err
		},
		Doubt: "a rule is there already, but reading which one failed",
		Sleep: r.writer.StepAside,
	}.Run(ctx)
}

func (r *creation) create(ctx context.Context, some []*item) error {
	rules := make([]newRule, len(some))
	for i, a := range some {
		rules[i] = newRuleOf(a.rule)
	}
	var made []*slbv1.ForwardingRule
	ledger := r.service.ledger
	fresh := slices.DeleteFunc(slices.Clone(some), r.sent)
	for _, a := range some {
		if err := ledger.Begin(a.key, write.Begun{}); err != nil {
			return err
		}
	}
	if err := r.writer.Send(ctx, "CreateRules", slb.StateParams(r.key).JSON("RuleList", rules), rulesInto(&made)); err != nil {
		if !cloud.Unclear(err) {
			for _, a := range fresh {
				ledger.End(a.key)
			}
		}
		return err
	}
	return finishCreated(some, made)
}

// finish forgets a creation that was seen to its end.
func (r *creation) finish(all []*item) {
	if slices.ContainsFunc(all, func(a *item) bool { return a.err != nil }) {
		return
	}
	for _, a := range all {
		r.service.ledger.End(a.key)
	}
}

// finishCreated sets the id of each rule. The answer identifies rules by their names; where two have the same, only the
// rules of the listener show which rule has which id.
func finishCreated(some []*item, created []*slbv1.ForwardingRule) error {
	ids := map[string]string{}
	for _, rule := range created {
		ids[rule.GetConfig().GetName()] = rule.GetRuleId()
	}
	for _, a := range some {
		if ids[a.rule.GetName()] == "" || len(ids) != len(some) {
			return rpcerr.Errorf(rpcerr.OutcomeUnknown,
				"the rules are created, but the answer does not say which rule has which id").WithAPI("slb/CreateRules")
		}
	}
	for _, a := range some {
		a.id = ids[a.rule.GetName()]
		a.finish(nil)
	}
	return nil
}

// look finishes the rules that the listener has: one that this request has sent, and that has what was asked for, is its work.
func (r *creation) look(ctx context.Context, some []*item, cause *rpcerr.Error) error {
	rules, err := r.service.describe(ctx, r.key)
	if err != nil {
		return err
	}
	there := make(map[ruleKey]*slbv1.ForwardingRule, len(rules))
	for _, rule := range rules {
		there[keyOf(rule)] = rule
	}
	for _, a := range some {
		found := there[keyOf(a.rule)]
		switch {
		case found == nil:
		case r.sent(a) && found.GetConfig().GetName() == a.rule.GetName() && found.GetConfig().GetServerGroupId() == a.rule.GetServerGroupId():
			a.id = found.GetRuleId()
			a.finish(nil)
		default:
			exists := *cause
			exists.Code, exists.Reason, exists.RetryAfter = codes.AlreadyExists, rpcerr.AlreadyExists, 0
			exists.Message = fmt.Sprintf("the listener has rule %s with %s already", found.GetRuleId(), keyOf(a.rule))
			a.finish(&exists)
		}
	}
	return nil
}

// sent reports whether the creation of the rule was sent, by this attempt of the request or an earlier one.
func (r *creation) sent(a *item) bool {
	_, sent := r.service.ledger.Get(a.key)
	return sent
}

// item is a rule of a batch, and what becomes of it.
type item struct {
	id   string // of the rule; known beforehand if it is to be deleted
	rule *slbv1.NewForwardingRule
	key  write.Key // of its creation, see write.Unique

	finished bool
	err      error // nil: success
}

func (i *item) finish(err error) { i.finished, i.err = true, err }

func unfinished(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(i *item) bool { return i.finished })
}

func finishAll(items []*item, err error) {
	for _, i := range items {
		i.finish(err)
	}
}

// inCalls finishes all items with calls of at most perCall of them. Send finishes those whose end is known, and says why it left others.
// If that is the fault of one of them, halving the call finds it, so that the others need not suffer; else it concerns all that come
// after.
func inCalls(items []*item, perCall int, send func([]*item) error) {
	queue := slices.Collect(slices.Chunk(unfinished(items), perCall))
	for len(queue) > 0 {
		sent := queue[0]
		err := send(sent)
		rest := unfinished(sent)
		queue = queue[1:]
		switch {
		case len(rest) == 0:
		case !aboutOne(err):
			finishAll(rest, err)
			finishAll(slices.Concat(queue...), untried(err))
			return
		case len(rest) < len(sent):
			queue = slices.Insert(queue, 0, rest)
		case len(rest) == 1:
			rest[0].finish(err)
		default:
			half := len(rest) / 2
			queue = slices.Insert(queue, 0, rest[:half], rest[half:])
		}
	}
}

// untried is the error of what was not sent because a call before it failed. Its own outcome is not unknown.
func untried(err error) error {
	if e, ok := rpcerr.From(err); ok && cloud.Unclear(err) {
		known := *e
		known.Code, known.Reason, known.RetryAfter = codes.Unavailable, rpcerr.CloudUnavailable, time.Second
		err = &known
	}
	return fmt.Errorf("not tried, since a call before it failed: %w", err)
}

// aboutOne reports whether the refusal of a call may be about one of its items only.
func aboutOne(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Code == codes.InvalidArgument || e.Code == codes.AlreadyExists || strings.HasPrefix(e.CloudCode, "Invalid") ||
		e.Reason == rpcerr.ServerGroupNotFound || e.Reason == rpcerr.ForwardingRuleNotFound)
}
