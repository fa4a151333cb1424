package orphan_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/services/budget"

	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

var (
	now    = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	policy = orphan.Policy{GoneGrace: 2 * time.Minute, Grace: time.Hour, Policy: budget.Policy{Window: 10 * time.Minute,
		Minimum: 3, Percent: 5}}
)

// aged makes the orphan 10.0.i.0/24 of a given age.
func aged(i byte, age time.Duration, instance orphan.Answer, watched bool) orphan.Orphan {
	entry := table.Entry{Key: table.Key{CIDR: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, i, 0}), 24),
		InstanceID: "i-" + string('0'+rune(i%10))}}
	return orphan.Orphan{Entry: entry, Since: now.Add(-age), Watched: watched, Instance: instance}
}

func ago(durations ...time.Duration) []time.Time {
	var times []time.Time
	for _, d := range durations {
		times = append(times, now.Add(-d))
	}
	return times
}

func TestDecide(t *testing.T) {
	t.Parallel()
	all := func(orphans ...orphan.Orphan) []orphan.Orphan { return orphans }
	blocking := func(o orphan.Orphan, moved bool) orphan.Orphan {
		o.InTheWay, o.Moved = true, moved
		return o
	}
	failed := func(o orphan.Orphan, ago time.Duration) orphan.Orphan {
		o.Failed = now.Add(-ago)
		return o
	}
	tests := []struct {
		name    string
		orphans []orphan.Orphan
		claimed int
		deleted []time.Time
		want    []byte // third bytes of the deleted ranges
		held    int
		fault   bool
		wait    time.Duration
	}{
		{name: "nothing", claimed: 9},
		{name: "nothing, and no node", claimed: 0},
		{name: "no node claims anything", orphans: all(aged(1, 9*time.Hour, orphan.Gone, true)), fault: true},
		{name: "its Node was deleted before our eyes", orphans: all(aged(1, 0, orphan.Unclear, true)), claimed: 9, want: []byte{1}},
		{name: "its Node was deleted before our eyes, the instance lives", orphans: all(aged(1, 0, orphan.Living, true)),
			claimed: 9, want: []byte{1}},
		{name: "missing for a moment", orphans: all(aged(1, 0, orphan.Unclear, false)), claimed: 9, wait: 2 * time.Minute},
		{name: "instance gone, short grace", orphans: all(aged(1, time.Minute, orphan.Gone, false)), claimed: 9, wait: time.Minute},
		{name: "instance gone, grace over", orphans: all(aged(1, 2*time.Minute, orphan.Gone, false)), claimed: 9, want: []byte{1}},
		{name: "instance lives", orphans: all(aged(1, 59*time.Minute, orphan.Living, false)), claimed: 9, wait: time.Minute},
		{name: "instance lives, long grace over", orphans: all(aged(1, time.Hour, orphan.Living, false)), claimed: 9, want: []byte{1}},
		{name: "instance unclear, long grace over", orphans: all(aged(1, time.Hour, orphan.Unclear, false)), claimed: 9, want: []byte{1}},
		{name: "in the way, the instance lives", orphans: all(blocking(aged(1, 0, orphan.Living, false), false)), claimed: 9, wait: time.Hour},
		{name: "in the way, the instance lives, almost an hour",
			orphans: all(blocking(aged(1, 59*time.Minute, orphan.Living, false), false)), claimed: 9, wait: time.Minute},
		{name: "in the way, long grace over", orphans: all(blocking(aged(1, time.Hour, orphan.Living, false), false)),
			claimed: 9, want: []byte{1}},
		{name: "in the way, instance gone", orphans: all(blocking(aged(1, 0, orphan.Gone, false), false)), claimed: 9, want: []byte{1}},
		{name: "in the way, its Node was deleted before our eyes",
			orphans: all(blocking(aged(1, 0, orphan.Living, true), false)), claimed: 9, want: []byte{1}},
		{name: "in the way, its Node has another range", orphans: all(blocking(aged(1, 0, orphan.Unclear, false), true)),
			claimed: 9, want: []byte{1}},
		{
			name: "with a second fact the budget is no matter",
			orphans: all(blocking(aged(1, 0, orphan.Unclear, false), true), aged(2, 0, orphan.Living, true),
				aged(3, 2*time.Minute, orphan.Gone, false)),
			claimed: 9, deleted: ago(9*time.Minute, 5*time.Minute, time.Minute), want: []byte{1, 3, 2},
		},
		{
			name: "with a second fact many go at once", orphans: all(aged(1, 0, 0, true), aged(2, 0, 0, true),
				aged(3, 0, 0, true), aged(4, 0, 0, true), aged(5, 0, 0, true)),
			claimed: 1, want: []byte{1, 2, 3, 4, 5},
		},
		{
			name: "those in the way first",
			orphans: all(aged(1, 2*time.Hour, 0, false), aged(2, 4*time.Hour, 0, false), aged(3, 3*time.Hour, 0, false),
				blocking(aged(4, 0, 0, true), false)),
			claimed: 9, want: []byte{4, 2, 3, 1},
		},
		{
			name: "those whose deletion failed last, the longest ago first",
			orphans: all(failed(aged(1, 4*time.Hour, 0, false), time.Minute), failed(blocking(aged(2, 3*time.Hour, 0, false), false), time.Second),
				failed(aged(3, 2*time.Hour, 0, false), time.Hour), aged(4, time.Hour, 0, false)),
			claimed: 9, want: []byte{4, 3, 1}, held: 1, wait: 10 * time.Minute,
		},
		{
			name: "of those whose deletion failed three at a time",
			orphans: all(failed(aged(1, 0, 0, true), 4*time.Second), failed(aged(2, 0, 0, true), 3*time.Second),
				failed(aged(3, 0, 0, true), time.Second),
				failed(aged(4, 0, 0, true), 2*time.Second), aged(5, 0, 0, true)),
			claimed: 9, want: []byte{5, 1, 2, 4}, wait: 10 * time.Second,
		},
		{
			name: "the oldest first, within the budget",
			orphans: all(aged(1, 2*time.Hour, 0, false), aged(2, 4*time.Hour, 0, false), aged(3, 3*time.Hour, 0, false),
				aged(4, 5*time.Hour, 0, false)),
			claimed: 9, want: []byte{4, 2, 3}, held: 1, wait: 10 * time.Minute,
		},
		{
			name:    "the budget is used up",
			orphans: all(aged(1, 2*time.Hour, 0, false)), claimed: 9, deleted: ago(9*time.Minute, 5*time.Minute, time.Minute),
			held: 1, wait: time.Minute,
		},
		{
			name:    "the budget was used up long ago",
			orphans: all(aged(1, 2*time.Hour, 0, false)), claimed: 9, deleted: ago(30*time.Minute, 20*time.Minute, 10*time.Minute), want: []byte{1},
		},
		{
			name: "a large cluster has a large budget",
			orphans: all(aged(1, 2*time.Hour, 0, false), aged(2, 2*time.Hour, 0, false), aged(3, 2*time.Hour, 0, false),
				aged(4, 2*time.Hour, 0, false)),
			claimed: 100, want: []byte{1, 2, 3, 4},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := orphan.Decide(now, tt.orphans, orphan.Facts{Claimed: tt.claimed, Deleted: tt.deleted}, policy)
			var deleted []byte
			for _, entry := range got.Delete {
				deleted = append(deleted, entry.CIDR.Addr().As4()[2])
			}
			if diff := cmp.Diff(tt.want, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			want := orphan.Verdict{Held: tt.held, Fault: tt.fault, Wait: tt.wait}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(orphan.Verdict{}, "Delete", "Counted")); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever happens within any ten minutes, the budget holds for what has no second fact, and everything that is due goes in the end.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claimed := rapid.IntRange(1, 200).Draw(t, "claimed")
		left := map[byte]orphan.Orphan{}
		for i := range rapid.IntRange(0, 30).Draw(t, "orphans") {
			left[byte(i)] = aged(byte(i), time.Duration(rapid.IntRange(0, 120).Draw(t, "age"))*time.Minute,
				orphan.Answer(rapid.IntRange(0, 2).Draw(t, "instance")), rapid.Bool().Draw(t, "watched"))
		}
		var deleted []time.Time
		at := now
		for range 100 {
			orphans := make([]orphan.Orphan, 0, len(left))
			for _, o := range left {
				orphans = append(orphans, o)
			}
			verdict := orphan.Decide(at, orphans, orphan.Facts{Claimed: claimed, Deleted: deleted}, policy)
			for _, entry := range verdict.Counted {
				if o := left[entry.CIDR.Addr().As4()[2]]; o.Proven() || !slices.Contains(verdict.Delete, entry) {
					t.Fatalf("%v counts for the budget", o)
				}
				deleted = append(deleted, at)
			}
			for _, entry := range verdict.Delete {
				if o := left[entry.CIDR.Addr().As4()[2]]; !o.Proven() && !slices.Contains(verdict.Counted, entry) {
					t.Fatalf("%v does not count for the budget", o)
				}
				delete(left, entry.CIDR.Addr().As4()[2])
			}
			if n, most := len(policy.Within(at, deleted)), max(3, (len(orphans)+claimed)*5/100); len(verdict.Counted) > 0 && n > most {
				t.Fatalf("%d deletions within %s, at most %d are right", n, policy.Window, most)
			}
			if verdict.Wait == 0 {
				break
			}
			at = at.Add(verdict.Wait)
		}
		if len(left) != 0 {
			t.Fatalf("%d orphans are left for ever", len(left))
		}
		if !slices.IsSortedFunc(deleted, time.Time.Compare) {
			t.Fatal("time runs backwards")
		}
	})
}
