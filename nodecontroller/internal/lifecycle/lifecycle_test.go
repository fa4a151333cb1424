package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

var policy = lifecycle.Policy{ConfirmAfter: time.Minute, Window: 10 * time.Minute, Minimum: 3, Percent: 5}

func gone(name string) lifecycle.Sighting {
	return lifecycle.Sighting{Node: name, UID: "1", Answer: lifecycle.Absent, Silent: true}
}

func there(name string) lifecycle.Sighting {
	return lifecycle.Sighting{Node: name, UID: "1", Answer: lifecycle.Present}
}

// with changes a sighting.
func with(s lifecycle.Sighting, edit func(*lifecycle.Sighting)) lifecycle.Sighting {
	edit(&s)
	return s
}

func TestObserve(t *testing.T) {
	t.Parallel()
	type pass struct {
		after     time.Duration // since the first
		sightings []lifecycle.Sighting
		want      lifecycle.Verdict
	}
	talks := func(s *lifecycle.Sighting) { s.Silent = false }
	unclear := func(s *lifecycle.Sighting) { s.Answer = lifecycle.Unclear }
	anew := func(s *lifecycle.Sighting) { s.UID = "2" }
	tests := []struct {
		name   string
		passes []pass
	}{
		{name: "two answers a minute apart", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Delete: []string{"a"}}},
		}},
		{name: "two answers too close", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: 59 * time.Second, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
		}},
		{name: "found again", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: time.Minute, sightings: []lifecycle.Sighting{there("a"), there("b")}},
			{after: 2 * time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
		}},
		{name: "the kubelet talks", passes: []pass{
			{sightings: []lifecycle.Sighting{with(gone("a"), talks), there("b")}},
			{after: time.Minute, sightings: []lifecycle.Sighting{with(gone("a"), talks), there("b")}},
			{after: 5 * time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Delete: []string{"a"}}},
		}},
		{name: "an error is no answer", passes: []pass{
			{sightings: []lifecycle.Sighting{with(gone("a"), unclear), there("b")}},
			{after: time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: 2 * time.Minute, sightings: []lifecycle.Sighting{with(gone("a"), unclear), there("b")}},
			{after: 3 * time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Delete: []string{"a"}}},
		}},
		{name: "another node of the same name", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: time.Minute, sightings: []lifecycle.Sighting{with(gone("a"), anew), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
		}},
		{name: "all gone is a fault, and no evidence", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("a"), gone("b")}, want: lifecycle.Verdict{Fault: true}},
			{after: time.Minute, sightings: []lifecycle.Sighting{gone("a"), gone("b"), with(gone("c"), unclear)}, want: lifecycle.Verdict{Fault: true}},
			{after: 2 * time.Minute, sightings: []lifecycle.Sighting{gone("a"), there("b")}, want: lifecycle.Verdict{Waiting: 1}},
		}},
		{name: "nothing known is no fault", passes: []pass{{sightings: []lifecycle.Sighting{with(gone("a"), unclear)}}}},
		{name: "the budget", passes: []pass{
			{sightings: []lifecycle.Sighting{gone("e"), there("z")}, want: lifecycle.Verdict{Waiting: 1}},
			{after: 30 * time.Second, sightings: []lifecycle.Sighting{gone("a"), gone("b"), gone("c"), gone("d"), gone("e"), there("z")},
				want: lifecycle.Verdict{Waiting: 5}},
			{after: 2 * time.Minute, sightings: []lifecycle.Sighting{gone("a"), gone("b"), gone("c"), gone("d"), gone("e"), there("z")},
				want: lifecycle.Verdict{Delete: []string{"e", "a", "b"}, Deferred: []string{"c", "d"}}}, // Longest gone first.
			{after: 11 * time.Minute, sightings: []lifecycle.Sighting{gone("c"), gone("d"), there("z")},
				want: lifecycle.Verdict{Deferred: []string{"c", "d"}}},
			{after: 12 * time.Minute, sightings: []lifecycle.Sighting{gone("c"), gone("d"), there("z")},
				want: lifecycle.Verdict{Delete: []string{"c", "d"}}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tracker := lifecycle.New(policy)
			start := time.Unix(0, 0)
			for i, p := range tt.passes {
				got := tracker.Observe(start.Add(p.after), p.sightings)
				if diff := cmp.Diff(p.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestDeletionsStayInsideTheirBounds plays random histories: whatever the cloud answers, a deleted node was absent twice, was
// never seen in between, and the window holds no more deletions than allowed.
func TestDeletionsStayInsideTheirBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 100).Draw(t, "nodes")
		tracker := lifecycle.New(policy)
		now := time.Unix(0, 0)
		firstAbsent := map[string]time.Time{}
		var deletions []time.Time
		for range rapid.IntRange(1, 12).Draw(t, "passes") {
			now = now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
			sightings := make([]lifecycle.Sighting, total)
			present, anyAbsent := false, false
			for i := range sightings {
				answer := lifecycle.Answer(rapid.SampledFrom([]int{0, 1, 1, 2, 2, 2}).Draw(t, "answer"))
				present = present || answer == lifecycle.Present
				anyAbsent = anyAbsent || answer == lifecycle.Absent
				sightings[i] = lifecycle.Sighting{Node: fmt.Sprint(i), Answer: answer, Silent: rapid.Bool().Draw(t, "silent")}
			}
			verdict := tracker.Observe(now, sightings)
			for _, s := range sightings {
				deleted := slices.Contains(verdict.Delete, s.Node)
				first, absent := firstAbsent[s.Node]
				if deleted && (!present || !s.Silent || s.Answer != lifecycle.Absent || !absent || now.Sub(first) < policy.ConfirmAfter) {
					t.Fatalf("deletes %+v, absent since %v (%v)", s, first, absent)
				}
				switch {
				case !present && anyAbsent || s.Answer == lifecycle.Present:
					delete(firstAbsent, s.Node)
				case s.Answer == lifecycle.Absent && !absent:
					firstAbsent[s.Node] = now
				}
			}
			for range verdict.Delete {
				deletions = append(deletions, now)
			}
			deletions = slices.DeleteFunc(deletions, func(at time.Time) bool { return now.Sub(at) >= policy.Window })
			if most := max(policy.Minimum, total*policy.Percent/100); len(deletions) > most {
				t.Fatalf("%d deletions within the window, at most %d are allowed", len(deletions), most)
			}
		}
	})
}
