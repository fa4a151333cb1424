package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

func TestQueueOrder(t *testing.T) {
	tests := []struct {
		name    string
		push    string // caller and priority of each call, in the order of arrival
		budgets map[string]config.CallerBudget
		mayNo   string // the caller that may not call
		want    string // callers and priorities in the order they go
	}{
		{name: "first come, first served", push: "a1 a1 a1", want: "a1 a1 a1"},
		{name: "callers take turns", push: "a1 a1 a1 b1 b1 c1", want: "a1 b1 c1 a1 b1 a1"},
		{name: "callers with weights", push: "a1 a1 a1 b1 b1 b1", budgets: map[string]config.CallerBudget{"a": {Weight: 2}},
			want: "a1 a1 b1 a1 b1 b1"},
		{name: "who may not call keeps the turn", push: "a1 b1 b1 c0 a3", mayNo: "a", want: "b1 b1 c0"},
		{name: "the highest priority first", push: "a0 a1 b3 a2 a3", want: "b3 a3 a2 a1 a0"},
		{name: "nobody starves", push: "z0 " + strings.Repeat("a3 ", 12), want: strings.Repeat("a3 ", 8) + "z0 " + strings.Repeat("a3 ", 4)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := queue{budgets: tt.budgets}
			may := func(c Caller) bool { return c.Name != tt.mayNo }
			for call := range strings.FieldsSeq(tt.push) {
				q.push(&waiter{caller: Caller{Name: call[:1], Priority: Background + Priority(call[1]-'0')}})
			}
			var got []string
			for w := q.next(may); w != nil; w = q.next(may) {
				got = append(got, w.caller.Name+string(rune('0'+w.caller.Priority-Background)))
				q.pop(w)
			}
			if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if left := len(strings.Fields(tt.push)) - len(got); q.size != left {
				t.Errorf("size %d of a queue with %d calls", q.size, left)
			}
		})
	}
}

// TestWhoWaitsSeldomGoesNext: a caller with one call at a time goes before one that always waits, and takes no more than its turn.
func TestWhoWaitsSeldomGoesNext(t *testing.T) {
	const turns = 10
	q := queue{}
	push := func(caller string) { q.push(&waiter{caller: Caller{Name: caller, Priority: Backend}}) }
	pop := func() string {
		w := q.next(anyCaller)
		q.pop(w)
		return w.caller.Name
	}
	for range 5 * turns {
		push("bulk")
	}
	pop()
	push("one")
	if got := pop(); got != "one" {
		t.Errorf("%s goes before the caller that has not had a call yet", got)
	}
	push("one")
	push("other")
	calls := map[string]int{}
	for range 3 * turns {
		caller := pop()
		if calls[caller]++; caller != "bulk" {
			push(caller)
		}
	}
	if diff := cmp.Diff(map[string]int{"bulk": turns, "one": turns, "other": turns}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestQueueForgetsCallers: callers that come and go while another one always waits leave nothing behind for ever.
func TestQueueForgetsCallers(t *testing.T) {
	q := queue{}
	push := func(caller string) { q.push(&waiter{caller: Caller{Name: caller, Priority: Backend}}) }
	push("always")
	for i := range 3 * remembered {
		push(fmt.Sprint("caller-", i))
		q.pop(q.next(anyCaller))
		push("always")
		if len(q.classes[Backend].went) > remembered {
			t.Fatalf("%d callers are remembered, at most %d may be", len(q.classes[Backend].went), remembered)
		}
	}
}

// TestQueueKeepsEverybody removes and serves at random: nobody is lost or served twice, and size is right.
func TestQueueKeepsEverybody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		waiting := map[*waiter]bool{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				w := &waiter{caller: Caller{
					Name:     rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
					Priority: Priority(rapid.IntRange(int(Background), int(Backend)).Draw(t, "priority")),
				}}
				q.push(w)
				waiting[w] = true
			case 2:
				w := q.next(anyCaller)
				if (w == nil) != (len(waiting) == 0) || (w != nil && !waiting[w]) {
					t.Fatalf("next = %v with %d waiting", w, len(waiting))
				}
				if w != nil {
					q.pop(w)
					delete(waiting, w)
				}
			default:
				for w := range waiting {
					if !q.remove(w) || q.remove(w) {
						t.Fatal("remove does not take out a waiter exactly once")
					}
					delete(waiting, w)
					break
				}
			}
			if q.size != len(waiting) {
				t.Fatalf("size %d, want %d", q.size, len(waiting))
			}
		}
	})
}

func TestAhead(t *testing.T) {
	q := queue{budgets: map[string]config.CallerBudget{"h": {Weight: 3}, "s": {Share: 0.5}}}
	for call := range strings.FieldsSeq("a1 a1 a1 b1 c2 c0 " + strings.Repeat("s3 ", 100)) {
		q.push(&waiter{caller: Caller{Name: call[:1], Priority: Background + Priority(call[1]-'0')}})
	}
	tests := []struct {
		caller Caller
		want   int
	}{
		{Caller{"a", Deletion}, 12},   // c2, b1 and its own, as many of s, which may use half of the budget, and c0 in between
		{Caller{"b", Deletion}, 10},   // c2, its own, two of a, as many of s, and c0
		{Caller{"d", Deletion}, 7},    // c2, one each of a and b, and s
		{Caller{"h", Deletion}, 7},    // the same: its weight is for its own calls
		{Caller{"d", Backend}, 1},     // s
		{Caller{"d", Background}, 13}, // anybody, c0 since it was there before, and s
	}
	for _, tt := range tests {
		if got := q.ahead(tt.caller, anyCaller); got != tt.want {
			t.Errorf("ahead(%v) = %d, want %d", tt.caller, got, tt.want)
		}
	}
}
