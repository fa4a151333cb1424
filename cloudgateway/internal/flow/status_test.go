package flow

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestStatus: an operator sees who uses an action, who waits for it and what was learned, in the numbers that the budget itself goes by.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, nil)
		if got := b.Actions(); len(got) > 0 {
			t.Errorf("before the first call: %v", got)
		}
		call := func(caller string, p Priority) {
			t.Helper()
			if err := b.Acquire(as(t.Context(), caller, p), "slb", learned); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			call("one", Change)
		}
		for range 3 {
			call("other", Backend)
		}
		want := &commonv1.ActionStatus{
			Product: "slb", Action: learned, Window: durationpb.New(time.Minute), Limit: minuteWrites, Share: 63, Allowance: minuteWrites, Sent: 5,
			SentByCaller: []*commonv1.CallerCalls{{Caller: "other", Calls: 3}, {Caller: "one", Calls: 2}},
		}
		if diff := cmp.Diff([]*commonv1.ActionStatus{want}, b.Actions(), protocmp.Transform()); diff != "" {
			t.Errorf("five calls (-want +got):\n%s", diff)
		}

		pause := b.Throttled("slb", learned, 0)
		resumes := time.Now().Add(pause)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for _, c := range []Caller{{Name: "one", Priority: Background}, {Name: "one", Priority: Background}, {Name: "other", Priority: Change}} {
			work.Go(func() { _ = b.Acquire(WithCaller(ctx, c), "slb", learned) })
		}
		synctest.Wait()
		pass(time.Second)
		want.Throttled, want.Learned, want.Allowance, want.PausedUntil = 1, true, 63, timestamppb.New(resumes)
		want.Waiting = []*commonv1.WaitingCalls{
			{Caller: "other", Priority: Change, Calls: 1, Longest: durationpb.New(time.Second)},
			{Caller: "one", Priority: Background, Calls: 2, Longest: durationpb.New(time.Second)},
		}
		if diff := cmp.Diff([]*commonv1.ActionStatus{want}, b.Actions(), protocmp.Transform()); diff != "" {
			t.Errorf("after a refusal (-want +got):\n%s", diff)
		}
		cancel()
		work.Wait()
		if diff := cmp.Diff([]*commonv1.CallerStatus{
			{Caller: "one", Priority: Change, Sent: 2}, {Caller: "one", Priority: Background, GaveUp: 2},
			{Caller: "other", Priority: Backend, Sent: 3}, {Caller: "other", Priority: Change, GaveUp: 1},
		}, b.Callers(), protocmp.Transform()); diff != "" {
			t.Errorf("callers (-want +got):\n%s", diff)
		}

		pass(2 * time.Minute)
		got := b.Actions()[0]
		if got.GetSent() != 0 || got.GetSentByCaller() != nil || got.GetPausedUntil() != nil || got.GetThrottled() != 1 {
			t.Errorf("two windows later: %+v", got)
		}
	})
}

// TestStatusOfBuckets: a limit of a second is shown for the ten seconds in which calls are counted.
func TestStatusOfBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, func(cfg *config.Budget) {
			cfg.Overrides = map[string]config.Limit{"slb/" + learned: override(20, time.Second)}
		})
		if err := b.Acquire(t.Context(), "slb", learned); err != nil {
			t.Fatal(err)
		}
		want := []*commonv1.ActionStatus{{
			Product: "slb", Action: learned, Window: durationpb.New(10 * time.Second), Limit: 200, Share: 140, Allowance: 200, Sent: 1,
			SentByCaller: []*commonv1.CallerCalls{{Caller: "cloudgateway", Calls: 1}},
		}}
		if diff := cmp.Diff(want, b.Actions(), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
