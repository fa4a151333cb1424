package slb

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/services/rpcerr"
)

type testItem struct {
	outcome

	bad bool
}

// TestInCalls: whatever is wrong with some items, these are found with few calls, and all others get through.
func TestInCalls(t *testing.T) {
	wrong := &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField}
	rapid.Check(t, func(t *rapid.T) {
		const perCall = 10
		items := make([]*testItem, rapid.IntRange(0, 45).Draw(t, "items"))
		bad := 0
		for i := range items {
			items[i] = &testItem{bad: rapid.IntRange(0, 9).Draw(t, "luck") == 0}
			if items[i].bad {
				bad++
			}
		}
		calls := 0
		inCalls(items, perCall, func(some []*testItem) error {
			calls++
			if len(some) == 0 || len(some) > perCall {
				t.Fatalf("a call of %d items", len(some))
			}
			for _, i := range some {
				if i.bad {
					return wrong
				}
			}
			settleAll(some, nil)
			return nil
		})
		for i, it := range items {
			if !it.settled() || (it.err != nil) != it.bad {
				t.Fatalf("item %d, bad=%t: settled=%t, %v", i, it.bad, it.settled(), it.err)
			}
		}
		full := (len(items) + perCall - 1) / perCall
		if most := full + 2*bad*bits.Len(perCall); calls > most {
			t.Fatalf("%d calls to find %d of %d items, at most %d are right", calls, bad, len(items), most)
		}
	})
}

// TestInCallsEndsWithWhatConcernsAll: nothing more is sent, and who was not in the call is told so.
func TestInCallsEndsWithWhatConcernsAll(t *testing.T) {
	throttled := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, Message: "too fast"}
	items := make([]*testItem, 5)
	for i := range items {
		items[i] = &testItem{}
	}
	calls := 0
	inCalls(items, 2, func(some []*testItem) error {
		if calls++; calls == 2 {
			some[0].settle(nil) // found done
			return throttled
		}
		settleAll(some, nil)
		return nil
	})
	var got []string
	for _, it := range items {
		got = append(got, fmt.Sprint(it.err))
		if it.err != nil && !errors.Is(it.err, throttled) {
			t.Errorf("got %v", it.err)
		}
	}
	want := []string{
		"<nil>", "<nil>", "<nil>", "too fast (THROTTLED)", "not tried, since a call before it failed: too fast (THROTTLED)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || calls != 2 {
		t.Errorf("%d calls and %q, want 2 and %q", calls, got, want)
	}
}
