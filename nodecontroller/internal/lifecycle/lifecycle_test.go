package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"alicloud-controllers.dev/services/budget"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

var policy = lifecycle.Policy{
	ConfirmAfter: time.Minute, Silence: time.Minute, Policy: budget.Policy{Window: 10 * time.Minute, Minimum: 3, Percent: 5},
}

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func gone(name string) lifecycle.Sighting {
	return lifecycle.Sighting{Node: name, UID: name + "-1", Answer: lifecycle.Absent, Silent: true}
}

func there(name string) lifecycle.Sighting {
	return lifecycle.Sighting{Node: name, UID: name + "-1", Answer: lifecycle.Present, Ready: true}
}

// with changes a sighting.
func with(s lifecycle.Sighting, edit func(*lifecycle.Sighting)) lifecycle.Sighting {
	edit(&s)
	return s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type pass struct {
		after     time.Duration // since the start
		sightings []lifecycle.Sighting
		want      lifecycle.Verdict
	}
	at := func(after time.Duration, want lifecycle.Verdict, sightings ...lifecycle.Sighting) pass {
		return pass{after: after, sightings: sightings, want: want}
	}
	talks := func(s *lifecycle.Sighting) { s.Silent = false }
	isReady := func(s *lifecycle.Sighting) { s.Silent, s.Ready = false, true }
	unclear := func(s *lifecycle.Sighting) { s.Answer = lifecycle.Unclear }
	anew := func(s *lifecycle.Sighting) { s.UID = "another" }
	none := lifecycle.Verdict{}
	waits := func(names ...string) lifecycle.Verdict { return lifecycle.Verdict{Waiting: names} }
	goes := func(names ...string) lifecycle.Verdict { return lifecycle.Verdict{Confirmed: names} }
	old := func(s *lifecycle.Sighting) { s.At = start }
	lately := func(s *lifecycle.Sighting) { s.SilentSince = start.Add(30 * time.Second) }
	tests := []struct {
		name   string
		passes []pass
	}{
		{"two answers a minute apart", []pass{
			at(0, waits("a"), gone("a"), there("b")), at(time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"two answers too close", []pass{
			at(0, waits("a"), gone("a"), there("b")), at(59*time.Second, waits("a"), gone("a"), there("b")),
		}},
		{"one answer looked at twice", []pass{
			at(0, waits("a"), gone("a"), there("b")), at(time.Minute, waits("a"), with(gone("a"), old), there("b")),
		}},
		{"silent for too short a time", []pass{
			at(0, waits("a"), with(gone("a"), lately), there("b")), at(time.Minute, waits("a"), with(gone("a"), lately), there("b")),
			at(90*time.Second, goes("a"), with(gone("a"), lately), there("b")),
		}},
		{"found again", []pass{
			at(0, waits("a"), gone("a"), there("b")), at(time.Minute, none, there("a"), there("b")),
			at(2*time.Minute, waits("a"), gone("a"), there("b")),
		}},
		{"the kubelet talks", []pass{
			at(0, none, with(gone("a"), talks), there("b")), at(time.Minute, none, with(gone("a"), talks), there("b")),
			at(5*time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"an error is no answer", []pass{
			at(0, none, with(gone("a"), unclear), there("b")), at(time.Minute, waits("a"), gone("a"), there("b")),
			at(2*time.Minute, none, with(gone("a"), unclear), there("b")), at(3*time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"another node of the same name", []pass{
			at(0, waits("a"), gone("a"), there("b")), at(time.Minute, waits("a"), with(gone("a"), anew), there("b")),
		}},
		{"one living node that the cloud does not know", []pass{
			at(0, waits("a"), gone("a"), with(gone("b"), isReady), there("c"), there("d")),
			at(time.Minute, lifecycle.Verdict{Confirmed: []string{"a"}, Contradicted: 1}, gone("a"), with(gone("b"), isReady), there("c"), there("d")),
		}},
		{"many living nodes that the cloud does not know", []pass{
			at(0, waits("a"), gone("a"), with(gone("b"), isReady), with(gone("c"), isReady), there("d")),
			at(time.Minute, none, gone("a"), with(gone("b"), isReady), with(gone("c"), isReady), with(gone("d"), isReady), with(gone("e"), isReady)),
		}},
		{"the longest gone first", []pass{
			at(0, waits("c"), gone("c"), there("z")), at(30*time.Second, waits("a", "b", "c"), gone("a"), gone("b"), gone("c"), there("z")),
			at(2*time.Minute, goes("c", "a", "b"), gone("a"), gone("b"), gone("c"), there("z")),
		}},
		{"living nodes that the cloud says no more about", []pass{
			at(0, none, with(gone("a"), isReady), there("b")), at(time.Minute, none, with(with(gone("a"), isReady), unclear), there("b")),
		}},
	}
	// The many are three, of which two were seen twice by the second pass, and of five nodes two may go.
	tests[9].passes = append(tests[9].passes, at(2*time.Minute, lifecycle.Verdict{Contradicted: 4, Fault: true},
		gone("a"), with(gone("b"), isReady), with(gone("c"), isReady), with(gone("d"), isReady), with(gone("e"), isReady)))
	tests[9].passes[1].want = lifecycle.Verdict{Confirmed: []string{"a"}, Contradicted: 2}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var state lifecycle.State
			for i, p := range tt.passes {
				now := start.Add(p.after)
				for j := range p.sightings {
					if p.sightings[j].At.IsZero() {
						p.sightings[j].At = now
					}
				}
				var got lifecycle.Verdict
				got, state = lifecycle.Decide(now, p.sightings, state, policy)
				if diff := cmp.Diff(p.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestAbsencesAreBounded: what is remembered is written to the API server, so that it must not grow without an end. What is remembered
// already isn't forgotten for that.
func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 5000
	var state lifecycle.State
	for pass := range 2 {
		now := start.Add(time.Duration(pass) * time.Minute)
		sightings := make([]lifecycle.Sighting, most+2)
		for i := range sightings {
			sightings[i] = with(gone(fmt.Sprintf("n%05d", i)), func(s *lifecycle.Sighting) { s.At = now })
		}
		var verdict lifecycle.Verdict
		verdict, state = lifecycle.Decide(now, sightings, state, policy)
		if waiting, confirmed := len(verdict.Waiting), len(verdict.Confirmed); waiting != most*(1-pass) || confirmed != most*pass {
			t.Errorf("pass %d: %d wait and %d are confirmed", pass, waiting, confirmed)
		}
		if len(state.Absent) != most {
			t.Errorf("pass %d: %d are remembered, want %d", pass, len(state.Absent), most)
		}
	}
}

func TestSpend(t *testing.T) {
	t.Parallel()
	ago := func(minutes ...time.Duration) lifecycle.State {
		var state lifecycle.State
		for _, m := range minutes {
			state.Deleted = append(state.Deleted, start.Add(-m*time.Minute))
		}
		return state
	}
	tests := []struct {
		name      string
		confirmed []string
		total     int
		state     lifecycle.State
		want      []string
		deferred  []string
	}{
		{name: "nothing to delete", total: 100},
		{name: "within the budget", confirmed: []string{"a", "b"}, total: 20, want: []string{"a", "b"}},
		{name: "more than the budget", confirmed: []string{"a", "b", "c", "d"}, total: 20, want: []string{"a", "b", "c"}, deferred: []string{"d"}},
		{name: "half of a small cluster", confirmed: []string{"a", "b", "c"}, total: 4, want: []string{"a", "b"}, deferred: []string{"c"}},
		{name: "by another leader", confirmed: []string{"a", "b"}, total: 20, state: ago(9, 5), want: []string{"a"}, deferred: []string{"b"}},
		{name: "long ago", confirmed: []string{"a", "b"}, total: 20, state: ago(15, 11, 10), want: []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sightings := make([]lifecycle.Sighting, tt.total)
			for i := range sightings {
				sightings[i] = gone(string(rune('a' + i)))
			}
			remove, deferred, next := lifecycle.Spend(start, tt.confirmed, sightings, tt.state, policy)
			if diff := cmp.Diff([][]string{tt.want, tt.deferred}, [][]string{remove, deferred}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := len(next.Deleted) - len(tt.state.Deleted); n != len(tt.want) || len(next.Charged) != n {
				t.Errorf("%d deletions are counted for %v, want %d", n, next.Charged, len(tt.want))
			}
			for _, name := range remove {
				if at := next.Charged[gone(name).Key()]; !at.Equal(start) || !slices.ContainsFunc(next.Deleted, at.Equal) {
					t.Errorf("%s counts at %v, want %v", name, at, start)
				}
			}
		})
	}
}

// TestRefund takes back one of two deletions that were counted at the same time, one that was not counted, and one that counts no more.
func TestRefund(t *testing.T) {
	t.Parallel()
	now, before := start, start.Add(-9*time.Minute)
	state := lifecycle.State{
		Deleted: []time.Time{before, now, now}, Charged: map[string]time.Time{"a a-1": before, "b b-1": now, "c c-1": now},
	}
	refunded := state.Refund("b b-1").Refund("b b-2").Refund("b b-1")
	want := lifecycle.State{Deleted: []time.Time{before, now}, Charged: map[string]time.Time{"a a-1": before, "c c-1": now}}
	if diff := cmp.Diff(want, refunded); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = lifecycle.State{Deleted: []time.Time{now, now}, Charged: map[string]time.Time{"b b-1": now, "c c-1": now}}
	if diff := cmp.Diff(want, state.Refund("a a-1")); diff != "" {
		t.Errorf("the first one (-want +got):\n%s", diff)
	}
	_, later := lifecycle.Decide(start.Add(time.Minute), nil, refunded, policy)
	want = lifecycle.State{Deleted: []time.Time{now}, Charged: map[string]time.Time{"c c-1": now}}
	if diff := cmp.Diff(want, later.Refund("a a-1"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after the window (-want +got):\n%s", diff)
	}
	if len(state.Deleted) != 3 || len(state.Charged) != 3 {
		t.Errorf("the state itself has changed: %+v", state)
	}
}

func TestCredible(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answers []lifecycle.Answer
		want    bool
	}{
		{nil, true},
		{[]lifecycle.Answer{lifecycle.Unclear}, true},
		{[]lifecycle.Answer{lifecycle.Absent, lifecycle.Unclear}, false},
		{[]lifecycle.Answer{lifecycle.Absent, lifecycle.Present}, true},
	} {
		if got := lifecycle.Credible(tt.answers); got != tt.want {
			t.Errorf("%v: %v", tt.answers, got)
		}
	}
}

// TestDeletionsStayInsideTheirBounds plays random histories: whatever the cloud answers and whenever the leader changes, a deleted node was
// absent twice, was never seen in between, and the window holds no more deletions than allowed. Some deletions fail, which is found out sooner or
// later, and a node that went is made anew.
func TestDeletionsStayInsideTheirBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 100).Draw(t, "nodes")
		var state lifecycle.State
		now := start
		firstAbsent := map[string]time.Time{}
		var deletions []time.Time
		made := make([]int, total) // how often each node was made
		for range rapid.IntRange(1, 12).Draw(t, "passes") {
			now = now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
			sightings := make([]lifecycle.Sighting, total)
			for i := range sightings {
				name := fmt.Sprint(i)
				sightings[i] = lifecycle.Sighting{
					Node: name, UID: fmt.Sprint(made[i]), At: now, Answer: lifecycle.Answer(rapid.SampledFrom([]int{0, 1, 1, 2, 2, 2}).Draw(t, "answer")),
					Silent: rapid.Bool().Draw(t, "silent"),
				}
			}
			verdict, next := lifecycle.Decide(now, sightings, state, policy)
			for _, s := range sightings {
				if _, counted := next.Charged[s.Key()]; counted && rapid.Bool().Draw(t, "found") {
					next = next.Refund(s.Key())
				}
			}
			remove, _, next := lifecycle.Spend(now, verdict.Confirmed, sightings, next, policy)
			for i, s := range sightings {
				first, absent := firstAbsent[s.Node]
				if slices.Contains(remove, s.Node) &&
					(!s.Silent || s.Answer != lifecycle.Absent || !absent || now.Sub(first) < policy.ConfirmAfter) {
					t.Fatalf("deletes %+v, absent since %v (%v)", s, first, absent)
				}
				switch {
				case s.Answer == lifecycle.Present:
					delete(firstAbsent, s.Node)
				case s.Answer == lifecycle.Absent && !absent:
					firstAbsent[s.Node] = now
				}
				if slices.Contains(remove, s.Node) && rapid.Bool().Draw(t, "succeeds") {
					deletions = append(deletions, now)
					delete(firstAbsent, s.Node)
					made[i]++
				}
			}
			deletions = slices.DeleteFunc(deletions, func(at time.Time) bool { return now.Sub(at) >= policy.Window })
			if most := policy.Limit(total); len(deletions) > most {
				t.Fatalf("%d deletions within the window, at most %d are allowed", len(deletions), most)
			}
			state = next
		}
	})
}

func TestState(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	state := lifecycle.State{Absent: map[string]time.Time{"a 1": now}, Deleted: []time.Time{now}}
	tests := map[string]struct {
		other        lifecycle.State
		equal, empty bool
	}{
		"the same in another zone": {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now.UTC()}, Deleted: []time.Time{now.UTC()}}, equal: true},
		"absent since later":       {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now.Add(1)}, Deleted: []time.Time{now}}},
		"deleted later":            {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now}, Deleted: []time.Time{now.Add(1)}}},
		"nothing deleted":          {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now}}},
		"nothing absent":           {other: lifecycle.State{Deleted: []time.Time{now}}},
		"another node counted": {other: lifecycle.State{
			Absent: map[string]time.Time{"a 1": now}, Deleted: []time.Time{now}, Charged: map[string]time.Time{"b 1": now},
		}},
		"nothing": {empty: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := state.Equal(tt.other); got != tt.equal {
				t.Errorf("Equal = %t", got)
			}
			if got := tt.other.Empty(); got != tt.empty {
				t.Errorf("Empty = %t", got)
			}
		})
	}
}
