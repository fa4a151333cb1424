package rule

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// fakeListener is the cloud's side of a listener with rules. It makes all rules of a call or none, and does not say which one it
// has something against.
type fakeListener struct {
	rules   []newRule // their places are their ids
	mishaps []string  // of the next calls
}

// What may happen to a call.
const (
	busy       = "busy"
	throttled  = "throttled"
	lostBefore = "lost before"
	lostAfter  = "lost after"
)

func (f *fakeListener) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	mishap := ""
	if len(f.mishaps) > 0 {
		mishap, f.mishaps = f.mishaps[0], f.mishaps[1:]
	}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "connection reset"}
	if !call.Mutating {
		lost = &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "connection reset"}
	}
	switch mishap {
	case busy:
		return openapi.Result{}, &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy}
	case throttled:
		return openapi.Result{}, &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled}
	case lostBefore:
		return openapi.Result{}, lost
	}
	first := 0
	if call.Action == "CreateRules" {
		first = len(f.rules)
		if err := f.add(call.Params["RuleList"]); err != nil {
			return openapi.Result{}, err
		}
	}
	if mishap == lostAfter {
		return openapi.Result{}, lost
	}
	answer := map[string]any{"Rules": map[string]any{"Rule": f.list()[first:]}}
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	return openapi.Result{}, err
}

func (f *fakeListener) add(list string) error {
	var added []newRule
	if err := json.Unmarshal([]byte(list), &added); err != nil {
		return err
	}
	for _, rule := range added {
		if rule.VServerGroupID == "rsp-gone" {
			return &rpcerr.Error{Code: codes.NotFound, Reason: rpcerr.ServerGroupNotFound}
		}
		for _, other := range f.rules {
			if other.Domain == rule.Domain && other.URL == rule.URL {
				return &rpcerr.Error{Code: codes.AlreadyExists, Reason: rpcerr.AlreadyExists, CloudCode: "DomainExist"}
			}
		}
	}
	f.rules = append(f.rules, added...)
	return nil
}

func (f *fakeListener) list() []any {
	list := make([]any, len(f.rules))
	for i, r := range f.rules {
		list[i] = map[string]string{
			"RuleId": fmt.Sprintf("rule-%d", i), "RuleName": r.RuleName, "Domain": r.Domain, "Url": r.URL, "VServerGroupId": r.VServerGroupID,
		}
	}
	return list
}

// place gives the rule of an id; an empty one for a wrong id.
func (f *fakeListener) place(id string) newRule {
	var i int
	if _, err := fmt.Sscanf(id, "rule-%d", &i); err != nil || i >= len(f.rules) {
		return newRule{}
	}
	return f.rules[i]
}

// TestEveryRuleIsCreatedOnce: whatever happens to the calls, a caller who repeats what failed for now has each rule once in the end,
// learns its id, and never gets that of somebody else.
func TestEveryRuleIsCreatedOnce(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		listener, request := &fakeListener{}, rulesRequest()
		want, final := map[string]string{}, map[string]rpcerr.Reason{}
		for i := range rapid.IntRange(1, 24).Draw(t, "rules") {
			rule := &slbv1.NewForwardingRule{
				Name: rapid.SampledFrom([]string{"a", "b", fmt.Sprint(i)}).Draw(t, "name"), Url: fmt.Sprintf("/%d", i), ServerGroupId: "rsp-1",
			}
			request.Rules = append(request.Rules, rule)
			want[rule.GetUrl()] = "rsp-1"
			switch rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0:
				listener.rules = append(listener.rules, newRule{RuleName: rule.GetName(), URL: rule.GetUrl(), VServerGroupID: "rsp-other"})
				want[rule.GetUrl()], final[rule.GetUrl()] = "rsp-other", rpcerr.AlreadyExists
			case 1:
				rule.ServerGroupId, final[rule.GetUrl()] = "rsp-gone", rpcerr.ServerGroupNotFound
				delete(want, rule.GetUrl())
			}
		}
		listener.mishaps = rapid.SliceOfN(rapid.SampledFrom([]string{"", busy, throttled, lostBefore, lostAfter}), 0, 12).Draw(t, "mishaps")
		var results []*slbv1.ForwardingRuleResult
		synctest.Test(outer, func(*testing.T) { results = createAll(newService(listener), request) })

		got := map[string]string{}
		for _, rule := range listener.rules {
			if _, twice := got[rule.URL]; twice {
				t.Fatalf("%s is there twice: %v", rule.URL, listener.rules)
			}
			got[rule.URL] = rule.VServerGroupID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("groups by URL (-want +got):\n%s", diff)
		}
		for i, r := range results {
			url := request.GetRules()[i].GetUrl()
			if rpcerr.Reason(r.GetError().GetReason()) != final[url] {
				t.Fatalf("%s: got %v, want %q", url, r.GetError(), final[url])
			}
			if r.GetError() == nil && listener.place(r.GetRuleId()).URL != url {
				t.Fatalf("%s has the id %s, of %v", url, r.GetRuleId(), listener.rules)
			}
		}
	})
}

func rulesRequest(rules ...*slbv1.NewForwardingRule) *slbv1.BatchCreateForwardingRulesRequest {
	return &slbv1.BatchCreateForwardingRulesRequest{
		RequestId: "r-1", Key: &slbv1.ListenerKey{LoadBalancerId: "lb-1", Port: 80, Protocol: slbv1.Protocol_PROTOCOL_HTTP}, Rules: rules,
	}
}

// createAll repeats the request as long as another attempt may mend something.
func createAll(c *Service, r *slbv1.BatchCreateForwardingRulesRequest) (results []*slbv1.ForwardingRuleResult) {
	for range 20 {
		passing := false
		response, err := c.BatchCreateForwardingRules(context.Background(), r)
		if err != nil {
			continue
		}
		results = response.GetResults()
		for _, result := range results {
			switch rpcerr.Reason(result.GetError().GetReason()) {
			case rpcerr.Throttled, rpcerr.OutcomeUnknown, rpcerr.CloudUnavailable:
				passing = true
			default:
			}
		}
		if !passing {
			break
		}
	}
	return results
}

// TestFinishedCreationOfRules: a request that was seen to its end is not taken for the reason why a rule is there.
func TestFinishedCreationOfRules(t *testing.T) {
	service := newService(&fakeListener{})
	request := rulesRequest(&slbv1.NewForwardingRule{Name: "n", Url: "/a", ServerGroupId: "rsp-1"})
	for _, want := range []rpcerr.Reason{"", rpcerr.AlreadyExists} {
		response, err := service.BatchCreateForwardingRules(t.Context(), request)
		results := response.GetResults()
		if err != nil || rpcerr.Reason(results[0].GetError().GetReason()) != want {
			t.Errorf("got %v, %v, want %q", results, err, want)
		}
	}
}

func newService(caller cloud.Caller) *Service {
	return New(slb.New(caller, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}, nil))
}
