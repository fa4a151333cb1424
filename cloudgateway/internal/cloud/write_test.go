package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

var errLost = &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}

// TestCreate: what has no token is sent again only if it is known that there is nothing yet.
func TestCreate(t *testing.T) {
	undecided := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "two of them"}
	tests := []struct {
		name  string
		sends []error // the last one is repeated
		looks []any   // nil: nothing is there; an error; or true: it is there
		sent  int
		want  error
		made  string
	}{
		{name: "made", sends: []error{nil}, sent: 1, made: "sent"},
		{name: "refused", sends: []error{errFinal}, sent: 1, want: errFinal},
		{name: "busy", sends: []error{errBusy, nil}, sent: 2, made: "sent"},
		{name: "lost, and there", sends: []error{errLost}, looks: []any{true}, sent: 1, made: "found"},
		{name: "lost, and not there", sends: []error{errLost, nil}, looks: []any{nil}, sent: 2, made: "sent"},
		{name: "lost twice", sends: []error{errLost, errLost}, looks: []any{nil, true}, sent: 2, made: "found"},
		{name: "lost, and nobody knows", sends: []error{errLost}, looks: []any{undecided}, sent: 1, want: undecided},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, looked := 0, 0
				made, err := Create(t.Context(), func(context.Context) (*string, error) {
					sent++
					if err := tt.sends[min(sent, len(tt.sends))-1]; err != nil {
						return nil, err
					}
					return new("sent"), nil
				}, func(context.Context) (*string, error) {
					looked++
					switch look := tt.looks[looked-1].(type) {
					case error:
						return nil, look
					case bool:
						return new("found"), nil
					}
					return nil, nil //nolint:nilnil // Absence is an answer.
				})
				if !errors.Is(err, tt.want) || sent != tt.sent || looked != len(tt.looks) {
					t.Errorf("%v after %d calls and %d looks, want %v after %d and %d", err, sent, looked, tt.want, tt.sent, len(tt.looks))
				}
				if made != nil && *made != tt.made || made == nil && tt.made != "" {
					t.Errorf("made %v, want %q", made, tt.made)
				}
			})
		})
	}
}

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
	var list TagList
	if err := json.Unmarshal([]byte(`{"Tag":[{"TagKey":"a","TagValue":"1"},{"TagKey":"b","TagValue":""}]}`), &list); err != nil {
		t.Fatal(err)
	}
	there := list.Decode()
	for name, tt := range map[string]struct {
		wanted []*commonv1.Tag
		want   bool
	}{
		"none":          {nil, true},
		"some":          {[]*commonv1.Tag{{Key: "b"}}, true},
		"all":           {[]*commonv1.Tag{{Key: "b"}, {Key: "a", Value: "1"}}, true},
		"another value": {[]*commonv1.Tag{{Key: "a", Value: "2"}}, false},
		"another key":   {[]*commonv1.Tag{{Key: "c"}}, false},
	} {
		if got := HasTags(there, tt.wanted); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	if HasTags(nil, []*commonv1.Tag{{Key: "a"}}) || !HasTags(nil, nil) {
		t.Error("without any tags")
	}
}
