package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// callers answers calls with errors in their order, and then with success.
type callers struct {
	errors []error
	calls  []openapi.Call
}

func (c *callers) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	c.calls = append(c.calls, call)
	if text, ok := out.(*string); ok {
		*text = call.Action
	}
	if n := len(c.calls); n <= len(c.errors) {
		return openapi.Result{}, c.errors[n-1]
	}
	return openapi.Result{}, nil
}

func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &callers{errors: []error{errBusy, errBusy}}
		answer := ""
		err := Set(t.Context(), c, Write(openapi.SLB, "SetLoadBalancerName", Params{"A": "b"}), &answer)
		if err != nil || len(c.calls) != 3 || answer != "SetLoadBalancerName" {
			t.Errorf("%v and %q after %d calls, want success and the answer after 3", err, answer, len(c.calls))
		}
		for _, call := range c.calls {
			if !call.Idempotent || !call.Mutating {
				t.Errorf("call %+v", call)
			}
		}
		c = &callers{errors: []error{errFinal}}
		if err := Set(t.Context(), c, Write(openapi.SLB, "SetLoadBalancerName", nil), nil); !errors.Is(err, errFinal) || len(c.calls) != 1 {
			t.Errorf("%v after %d calls, want the refusal", err, len(c.calls))
		}
	})
}

func TestUnless(t *testing.T) {
	gone, other := &rpcerr.Error{Reason: rpcerr.EipNotFound}, &rpcerr.Error{Reason: rpcerr.AclNotFound}
	for _, tt := range []struct{ err, want error }{{nil, nil}, {gone, nil}, {other, other}, {errFinal, errFinal}} {
		if got := Unless(tt.err, rpcerr.EipNotFound); !errors.Is(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("got %v of %v, want %v", got, tt.err, tt.want)
		}
	}
}

func TestTagsOfAnswers(t *testing.T) {
	var there []*commonv1.Tag
	if err := json.Unmarshal(
		[]byte(`{"Tag":[{"TagKey":"a","TagValue":"1"},{"TagKey":"acs:rm:rgId","TagValue":"rg-1"},{"TagKey":"b",`+
			`"TagValue":""}]}`), TagsInto(&there)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		wanted []*commonv1.Tag
		want   bool
	}{
		"none":          {nil, false},
		"some":          {[]*commonv1.Tag{{Key: "b"}}, false},
		"all":           {[]*commonv1.Tag{{Key: "b"}, {Key: "a", Value: "1"}}, true},
		"another value": {[]*commonv1.Tag{{Key: "a", Value: "2"}}, false},
		"another key":   {[]*commonv1.Tag{{Key: "c"}}, false},
	} {
		if got := SameTags(there, tt.wanted); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	if SameTags(nil, []*commonv1.Tag{{Key: "a"}}) || !SameTags(nil, nil) {
		t.Error("without any tags")
	}
}
