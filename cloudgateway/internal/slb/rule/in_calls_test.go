package rule

import (
	"math/bits"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestInCalls: whatever is wrong with some items, these are found with few calls, and all others get through.
func TestInCalls(t *testing.T) {
	wrong := &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField}
	rapid.Check(t, func(t *rapid.T) {
		const perCall = 10
		items := make([]*item, rapid.IntRange(0, 45).Draw(t, "items"))
		bad := 0
		for i := range items {
			items[i] = &item{}
			if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
				items[i].id = "bad"
				bad++
			}
		}
		calls := 0
		inCalls(items, perCall, func(some []*item) error {
			calls++
			if len(some) == 0 || len(some) > perCall {
				t.Fatalf("a call of %d items", len(some))
			}
			for _, i := range some {
				if i.id == "bad" {
					return wrong
				}
			}
			finishAll(some, nil)
			return nil
		})
		for i, it := range items {
			if !it.finished || (it.err != nil) != (it.id == "bad") {
				t.Fatalf("item %d %q: finished=%t, %v", i, it.id, it.finished, it.err)
			}
		}
		full := (len(items) + perCall - 1) / perCall
		if most := full + 2*bad*bits.Len(perCall); calls > most {
			t.Fatalf("%d calls to find %d of %d items, at most %d are right", calls, bad, len(items), most)
		}
	})
}

// TestInCallsEndsWithWhatConcernsAll: nothing more is sent, and the errors of the items that were not in a call say so.
func TestInCallsEndsWithWhatConcernsAll(t *testing.T) {
	tests := []struct {
		name string
		err  *rpcerr.Error
		rest rpcerr.Error // of what was not tried
	}{
		{
			name: "throttled", err: &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: time.Minute},
			rest: rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: time.Minute},
		},
		{
			name: "a lost answer", err: &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown},
			rest: rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, RetryAfter: time.Second},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items := []*item{{}, {}, {}, {}, {}}
			calls := 0
			inCalls(items, 2, func(some []*item) error {
				if calls++; calls == 2 {
					some[0].finish(nil) // found done
					return tt.err
				}
				finishAll(some, nil)
				return nil
			})
			if calls != 2 {
				t.Errorf("%d calls, want 2", calls)
			}
			tt.rest.Message = "not tried, since a call before it failed: "
			var got []*rpcerr.Error
			for _, it := range items {
				e, _ := rpcerr.From(it.err)
				got = append(got, e)
			}
			if diff := cmp.Diff([]*rpcerr.Error{nil, nil, nil, tt.err, &tt.rest}, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}
