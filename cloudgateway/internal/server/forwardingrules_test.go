package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

// webSite is a listener that can have rules and domain extensions, and a vServer group for them.
type webSite struct {
	*world

	key   *slbv1.ListenerKey
	group string
}

func newWebSite(t *testing.T, adjust ...func(*openapisim.Config)) webSite {
	t.Helper()
	w := newWorld(t, adjust...)
	lb := w.createBalancer(t, "lb-1")
	s := webSite{world: w, key: &slbv1.ListenerKey{LoadBalancerId: lb, Port: 443, Protocol: slbv1.Protocol_PROTOCOL_HTTPS}}
	group := w.createGroup(t, lb)
	if _, err := w.Listeners.CreateListener(t.Context(), &slbv1.CreateListenerRequest{
		Key: s.key, Config: &slbv1.ListenerConfig{ServerGroupId: new(group), ServerCertificateId: new(testCert)},
	}); err != nil {
		t.Fatal(err)
	}
	other, err := w.ServerGroups.CreateServerGroup(t.Context(), &slbv1.CreateServerGroupRequest{
		RequestId: "group-2", LoadBalancerId: lb, Name: "rules",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.group = other.GetServerGroupId()
	w.forget()
	return s
}

// rules makes rules with numbers in their names and domains.
func (s webSite) rules(first, count int) []*slbv1.NewForwardingRule {
	list := make([]*slbv1.NewForwardingRule, count)
	for i := range list {
		list[i] = &slbv1.NewForwardingRule{
			Name: fmt.Sprintf("rule-%d", first+i), Domain: fmt.Sprintf("%d.example.com", first+i), Url: "/app", ServerGroupId: s.group,
		}
	}
	return list
}

func (s webSite) create(t *testing.T, rules []*slbv1.NewForwardingRule) []*slbv1.ForwardingRuleResult {
	t.Helper()
	answer, err := s.ForwardingRules.BatchCreateForwardingRules(t.Context(), &slbv1.BatchCreateForwardingRulesRequest{
		RequestId: fmt.Sprintf("rules-%d", s.key.GetPort()), Key: s.key, Rules: rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetResults()
}

func (s webSite) list(t *testing.T, age time.Duration) []*slbv1.ForwardingRule {
	t.Helper()
	answer, err := s.ForwardingRules.ListForwardingRules(t.Context(),
		&slbv1.ListForwardingRulesRequest{Key: s.key, MaxAge: durationpb.New(age)})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetRules()
}

func (s webSite) delete(t *testing.T, ids ...string) []*slbv1.ForwardingRuleResult {
	t.Helper()
	answer, err := s.ForwardingRules.BatchDeleteForwardingRules(t.Context(),
		&slbv1.BatchDeleteForwardingRulesRequest{Key: s.key, RuleIds: ids})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetResults()
}

func (s webSite) wantActions(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.actions(true), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// wantReasons checks the results of a creation, "" for a success, and that the ids are those of the rules.
func (s webSite) wantReasons(t *testing.T, rules []*slbv1.NewForwardingRule, results []*slbv1.ForwardingRuleResult, want ...rpcerr.Reason) {
	t.Helper()
	byID := map[string]string{}
	for _, rule := range s.list(t, 0) {
		byID[rule.GetRuleId()] = rule.GetDomain() + rule.GetUrl()
	}
	var got []rpcerr.Reason
	for i, r := range results {
		got = append(got, rpcerr.ReasonOf(rpcerr.FromItem(r.GetError())))
		if is, asked := byID[r.GetRuleId()], rules[i].GetDomain()+rules[i].GetUrl(); r.GetError() == nil && is != asked {
			t.Errorf("rule %d for %s has the id of the one for %q", i, asked, is)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestLifeOfForwardingRules(t *testing.T) {
	s := newWebSite(t)
	rules := s.rules(0, 12)
	rules[3].Domain, rules[4].Url = "", ""
	results := s.create(t, rules)
	s.wantActions(t, "CreateRules", "CreateRules")
	s.wantReasons(t, rules, results, slices.Repeat([]rpcerr.Reason{""}, 12)...)
	ids := make([]string, len(results))
	for i, r := range results {
		ids[i] = r.GetRuleId()
	}

	config := &slbv1.ForwardingRuleConfig{
		Name: new("renamed"), ServerGroupId: new(s.group), ListenerSync: new(false), Scheduler: new("rr"), StickySession: new(true),
		StickySessionType: new("insert"), CookieTimeout: proto.Int32(600),
		HealthCheck: &slbv1.HealthCheck{
			Enabled: new(true), Uri: new("/healthz"), Domain: new("example.com"), HttpCode: new("http_2xx"), ConnectPort: proto.Int32(8080),
			Interval: proto.Int32(7), HealthyThreshold: proto.Int32(4), UnhealthyThreshold: proto.Int32(5), Timeout: proto.Int32(9),
		},
	}
	s.forget()
	if _, err := s.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
		LoadBalancerId: s.key.GetLoadBalancerId(), RuleId: ids[0], Config: config,
	}); err != nil {
		t.Fatal(err)
	}
	s.wantActions(t, "SetRule")
	listed := s.list(t, 0)
	if !slices.IsSortedFunc(listed, func(a, b *slbv1.ForwardingRule) int { return strings.Compare(a.GetRuleId(), b.GetRuleId()) }) {
		t.Errorf("not in the order of the ids: %v", listed)
	}
	for _, rule := range listed {
		want := &slbv1.ForwardingRuleConfig{ListenerSync: new(true), ServerGroupId: new(s.group), Name: new(rule.GetConfig().GetName())}
		if rule.GetRuleId() == ids[0] {
			want = config
		}
		if diff := cmp.Diff(want, rule.GetConfig(), protocmp.Transform()); diff != "" {
			t.Errorf("rule %s (-want +got):\n%s", rule.GetDomain(), diff)
		}
	}

	s.forget()
	for i, r := range s.delete(t, append(ids, ids[0])...) {
		if r.GetError() != nil || r.GetRuleId() != append(ids, ids[0])[i] {
			t.Errorf("deletion of %s: %v", ids[i], r)
		}
	}
	s.wantActions(t, "DescribeRules", "DeleteRules", "DeleteRules")
	if left := s.list(t, 0); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCreationOfForwardingRules(t *testing.T) {
	const create, look = "CreateRules", "DescribeRules"
	lost := fault.Rule{Action: create, Times: 1, When: fault.After, Error: &fault.Error{Status: 500, Code: "InternalError"}}
	tests := []struct {
		name   string
		rules  func(s webSite) []*slbv1.NewForwardingRule
		before func(t *testing.T, s webSite)
		want   []rpcerr.Reason
		calls  []string
	}{
		{
			name:  "none",
			rules: func(webSite) []*slbv1.NewForwardingRule { return nil },
		},
		{
			name: "names that do not say which rule has which id",
			rules: func(s webSite) []*slbv1.NewForwardingRule {
				rules := s.rules(0, 2)
				rules[1].Name = rules[0].GetName()
				return rules
			},
			want: []rpcerr.Reason{"", ""}, calls: []string{create, look},
		},
		{
			name:   "another request has made the same",
			rules:  func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 4) },
			before: func(t *testing.T, s webSite) { s.byHand(t, "1.example.com", s.group) },
			want:   []rpcerr.Reason{"", rpcerr.AlreadyExists, "", ""}, calls: []string{create, look, create},
		},
		{
			name: "a group that does not exist",
			rules: func(s webSite) []*slbv1.NewForwardingRule {
				rules := s.rules(0, 4)
				rules[1].ServerGroupId = "rsp-gone"
				return rules
			},
			want:  []rpcerr.Reason{"", rpcerr.ServerGroupNotFound, "", ""},
			calls: []string{create, create, create, create, create}, // 4, then 2, 1 and 1 of them, then the other 2
		},
		{
			name:   "an answer is lost",
			rules:  func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 4) },
			before: func(t *testing.T, s webSite) { s.strike(t, lost) },
			want:   []rpcerr.Reason{"", "", "", ""}, calls: []string{create, look},
		},
		{
			name:  "an answer is lost, and so is the look",
			rules: func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 2) },
			before: func(t *testing.T, s webSite) {
				s.strike(t, lost, fault.Rule{Action: look, Times: 1, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM"}})
			},
			want: []rpcerr.Reason{"", ""}, calls: []string{create, look, create, look},
		},
		{
			name:  "an answer is lost, and nobody can look",
			rules: func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 2) },
			before: func(t *testing.T, s webSite) {
				s.strike(t, lost, fault.Rule{Action: look, Times: 2, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM"}})
			},
			want: []rpcerr.Reason{rpcerr.CloudForbidden, rpcerr.CloudForbidden}, calls: []string{create, look, create, look},
		},
		{
			name:  "an answer is lost, and another one was faster",
			rules: func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 2) },
			before: func(t *testing.T, s webSite) {
				s.byHand(t, "1.example.com", s.otherGroup(t))
				s.strike(t, fault.Rule{Action: create, Times: 1, Drop: true})
			},
			want: []rpcerr.Reason{"", rpcerr.AlreadyExists}, calls: []string{create, look, create},
		},
		{
			name:  "throttled half-way",
			rules: func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 22) },
			before: func(t *testing.T, s webSite) {
				s.strike(t, fault.Rule{Action: create, Nth: 2, Times: 1, Error: &fault.Error{Status: 400, Code: "Throttling.User"}})
			},
			want:  slices.Concat(slices.Repeat([]rpcerr.Reason{""}, 10), slices.Repeat([]rpcerr.Reason{rpcerr.Throttled}, 12)),
			calls: []string{create, create},
		},
		{
			name:  "more than a listener can have",
			rules: func(s webSite) []*slbv1.NewForwardingRule { return s.rules(0, 45) },
			want:  slices.Concat(slices.Repeat([]rpcerr.Reason{""}, 40), slices.Repeat([]rpcerr.Reason{rpcerr.QuotaExceeded}, 5)),
			calls: slices.Repeat([]string{create}, 5),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newWebSite(t)
			if tt.before != nil {
				tt.before(t, s)
			}
			s.forget()
			rules := tt.rules(s)
			results := s.create(t, rules)
			s.wantActions(t, tt.calls...)
			s.wantReasons(t, rules, results, tt.want...)
		})
	}
}

// byHand makes a rule for the URL of all others, by another request.
func (s webSite) byHand(t *testing.T, domain, group string) {
	t.Helper()
	answer, err := s.ForwardingRules.BatchCreateForwardingRules(t.Context(), &slbv1.BatchCreateForwardingRulesRequest{
		RequestId: "by-hand", Key: s.key,
		Rules: []*slbv1.NewForwardingRule{{Name: "rule-1", Domain: domain, Url: "/app", ServerGroupId: group}},
	})
	if err := writetest.FirstFailure(err, answer.GetResults()); err != nil {
		t.Fatal(err)
	}
}

// otherGroup is that of the listener itself.
func (s webSite) otherGroup(t *testing.T) string {
	t.Helper()
	answer, err := s.Listeners.ListListeners(t.Context(),
		&slbv1.ListListenersRequest{LoadBalancerIds: []string{s.key.GetLoadBalancerId()}})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetListeners()[0].GetConfig().GetServerGroupId()
}

// TestRepeatedCreationOfForwardingRules: what an earlier attempt of a request has made is found, and nobody else's rule is taken for it.
func TestRepeatedCreationOfForwardingRules(t *testing.T) {
	s := newWebSite(t)
	s.byHand(t, "1.example.com", s.group)
	s.strike(t, fault.Rule{Action: "CreateRules", Nth: 3, Times: 1, Error: &fault.Error{Status: 400, Code: "Throttling.User"}})
	rules := s.rules(0, 12)
	wrong := slices.Concat([]rpcerr.Reason{"", rpcerr.AlreadyExists}, slices.Repeat([]rpcerr.Reason{""}, 8))
	s.wantReasons(t, rules, s.create(t, rules), append(wrong, rpcerr.Throttled, rpcerr.Throttled)...)
	s.forget()
	results := s.create(t, rules)
	s.wantActions(t, "DescribeRules", "CreateRules")
	s.wantReasons(t, rules, results, append(wrong, "", "")...)
}

func TestForwardingRulesOfWhatIsNotThere(t *testing.T) {
	s := newWebSite(t)
	id := s.create(t, s.rules(0, 1))[0].GetRuleId()
	nowhere := webSite{world: s.world, group: s.group, key: proto.CloneOf(s.key)}
	nowhere.key.Port = 8443
	_, err := s.ForwardingRules.ListForwardingRules(t.Context(), &slbv1.ListForwardingRulesRequest{Key: nowhere.key})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
	_, err = s.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
		LoadBalancerId: s.key.GetLoadBalancerId(), RuleId: "rule-gone", Config: &slbv1.ForwardingRuleConfig{Name: new("x")},
	})
	wantNotFound(t, err, rpcerr.ForwardingRuleNotFound)
	_, err = s.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
		LoadBalancerId: s.key.GetLoadBalancerId(), RuleId: id, Config: &slbv1.ForwardingRuleConfig{ServerGroupId: new("rsp-gone")},
	})
	wantNotFound(t, err, rpcerr.ServerGroupNotFound)
	s.forget()
	for _, r := range nowhere.create(t, s.rules(0, 12)) {
		wantNotFound(t, rpcerr.FromItem(r.GetError()), rpcerr.ListenerNotFound)
	}
	s.wantActions(t, "CreateRules") // the first call is about all

	deletions := []struct {
		name  string
		site  webSite
		ids   []string
		calls []string
	}{
		{name: "the rule", site: s, ids: []string{"rule-gone"}, calls: []string{"DescribeRules"}},
		{name: "one of two rules", site: s, ids: []string{"rule-gone", id}, calls: []string{"DescribeRules", "DeleteRules"}},
		{name: "the listener", site: nowhere, ids: []string{id}, calls: []string{"DescribeRules"}},
	}
	for _, tt := range deletions {
		s.forget()
		for _, r := range tt.site.delete(t, tt.ids...) {
			if r.GetError() != nil {
				t.Errorf("%s is gone: %v", tt.name, r)
			}
		}
		s.wantActions(t, tt.calls...)
	}
}

// TestForwardingRuleGoneMeanwhile: one that somebody else deletes in the last moment does not keep the others.
func TestForwardingRuleGoneMeanwhile(t *testing.T) {
	s := newWebSite(t)
	var ids []string
	for _, r := range s.create(t, s.rules(0, 3)) {
		ids = append(ids, r.GetRuleId())
	}
	s.strike(t, fault.Rule{Action: "DeleteRules", Times: 1, Error: &fault.Error{Status: 404, Code: "InvalidRuleId.NotFound"}})
	s.forget()
	for _, r := range s.delete(t, ids...) {
		if r.GetError() != nil {
			t.Errorf("got %v", r)
		}
	}
	s.wantActions(t, "DescribeRules", "DeleteRules", "DescribeRules", "DeleteRules")
}

// TestGroupOfAForwardingRule can't be deleted before the rule, and has to be waited for a while after it.
func TestGroupOfAForwardingRule(t *testing.T) {
	s := newWebSite(t, func(c *openapisim.Config) { c.Settings.GroupReleased = 300 * time.Millisecond })
	ids := []string{s.create(t, s.rules(0, 1))[0].GetRuleId()}
	group := &slbv1.DeleteServerGroupRequest{LoadBalancerId: s.key.GetLoadBalancerId(), ServerGroupId: s.group}
	if _, err := s.ServerGroups.DeleteServerGroup(t.Context(), group); rpcerr.ReasonOf(err) != rpcerr.ServerGroupInUse {
		t.Errorf("got %v, want SERVER_GROUP_IN_USE", err)
	}
	s.delete(t, ids...)
	if _, err := s.ServerGroups.DeleteServerGroup(t.Context(), group); err != nil {
		t.Errorf("after the rule: %v", err)
	}
}

// TestGroupThatARuleLetsGo: a rule that was pointed to another group lets go of its own after a while, as one that was deleted does.
func TestGroupThatARuleLetsGo(t *testing.T) {
	s := newWebSite(t, func(c *openapisim.Config) { c.Settings.GroupReleased = 300 * time.Millisecond })
	id, lb := s.create(t, s.rules(0, 1))[0].GetRuleId(), s.key.GetLoadBalancerId()
	if _, err := s.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
		LoadBalancerId: lb, RuleId: id, Config: &slbv1.ForwardingRuleConfig{ServerGroupId: new(s.createGroup(t, lb))},
	}); err != nil {
		t.Fatal(err)
	}
	group := &slbv1.DeleteServerGroupRequest{LoadBalancerId: lb, ServerGroupId: s.group}
	if _, err := s.ServerGroups.DeleteServerGroup(t.Context(), group); err != nil {
		t.Errorf("after the rule: %v", err)
	}
}

// TestOwnWritesOfForwardingRulesAreSeen: whatever the gateway does to rules, or to their listener, ends what is remembered.
func TestOwnWritesOfForwardingRulesAreSeen(t *testing.T) {
	s := newWebSite(t)
	remembered := func() []*slbv1.ForwardingRule { return s.list(t, time.Hour) }
	if remembered(); len(remembered()) != 0 {
		t.Fatal("rules from nowhere")
	}
	s.wantActions(t, "DescribeRules")
	id := s.create(t, s.rules(0, 2))[0].GetRuleId()
	if got := remembered(); len(got) != 2 {
		t.Errorf("after the creation: %v", got)
	}
	if _, err := s.ForwardingRules.UpdateForwardingRule(t.Context(), &slbv1.UpdateForwardingRuleRequest{
		LoadBalancerId: s.key.GetLoadBalancerId(), RuleId: id, Config: &slbv1.ForwardingRuleConfig{Name: new("new")},
	}); err != nil {
		t.Fatal(err)
	}
	if got := remembered(); !slices.ContainsFunc(got, func(r *slbv1.ForwardingRule) bool { return r.GetConfig().GetName() == "new" }) {
		t.Errorf("after the update: %v", got)
	}
	s.delete(t, id)
	if got := remembered(); len(got) != 1 {
		t.Errorf("after the deletion: %v", got)
	}
	if _, err := s.Listeners.DeleteListener(t.Context(), &slbv1.DeleteListenerRequest{Key: s.key}); err != nil {
		t.Fatal(err)
	}
	_, err := s.ForwardingRules.ListForwardingRules(t.Context(),
		&slbv1.ListForwardingRulesRequest{Key: s.key, MaxAge: durationpb.New(time.Hour)})
	wantNotFound(t, err, rpcerr.ListenerNotFound)
}

// TestForwardingRulesOfABusyCloud: in a cloud that takes its time, and in one that is busy after every write as well, callers never
// hear of it.
func TestForwardingRulesOfABusyCloud(t *testing.T) {
	for _, settings := range []api.Settings{api.DefaultSettings(), api.BusySettings()} {
		synctest.Test(t, func(t *testing.T) {
			s := newWebSite(t, func(c *openapisim.Config) { c.Settings = &settings })
			rules := s.rules(0, 12)
			results := s.create(t, rules)
			s.wantReasons(t, rules, results, slices.Repeat([]rpcerr.Reason{""}, 12)...)
			for _, r := range s.delete(t, results[0].GetRuleId(), results[11].GetRuleId()) {
				if r.GetError() != nil {
					t.Errorf("delete: %v", r)
				}
			}
		})
	}
}
