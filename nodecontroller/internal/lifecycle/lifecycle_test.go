package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
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

func gone(name string) lifecycle.Observation {
	return lifecycle.Observation{Node: name, UID: name + "-1", Answer: lifecycle.Absent, Silent: true}
}

func there(name string) lifecycle.Observation {
	return lifecycle.Observation{Node: name, UID: name + "-1", Answer: lifecycle.Present}
}

// with changes a observation.
func with(s lifecycle.Observation, edit func(*lifecycle.Observation)) lifecycle.Observation {
	edit(&s)
	return s
}

// named gives the names of the nodes of observations.
func named(observations []lifecycle.Observation) (names []string) {
	for _, s := range observations {
		names = append(names, s.Node)
	}
	return names
}

func TestDecide(t *testing.T) {
	t.Parallel()
	// outcome is a verdict with names, and with the time until the next look.
	type outcome struct {
		confirmed, stale []string
		next             time.Duration
	}
	type pass struct {
		after        time.Duration // since the start
		observations []lifecycle.Observation
		want         outcome
	}
	at := func(after time.Duration, want outcome, observations ...lifecycle.Observation) pass {
		return pass{after: after, observations: observations, want: want}
	}
	talks := func(s *lifecycle.Observation) { s.Silent = false }
	unclear := func(s *lifecycle.Observation) { s.Answer = lifecycle.Unclear }
	unasked := func(s *lifecycle.Observation) { s.Answer = lifecycle.Unasked }
	announced := func(s *lifecycle.Observation) { s.Announced = true }
	anew := func(s *lifecycle.Observation) { s.UID = "another" }
	old := func(s *lifecycle.Observation) { s.At = start }
	lately := func(s *lifecycle.Observation) { s.SilentSince = start.Add(30 * time.Second) }
	none := outcome{}
	waits := func(next time.Duration) outcome { return outcome{next: next} }
	goes := func(names ...string) outcome { return outcome{confirmed: names} }
	otherMachine := func(names ...string) outcome { return outcome{stale: names} }
	tests := []struct {
		name   string
		passes []pass
	}{
		{"two proofs a minute apart", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"two proofs too close", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(59*time.Second, waits(time.Second), gone("a"), there("b")),
		}},
		{"one proof looked at twice", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(time.Minute, waits(0), with(gone("a"), old), there("b")),
		}},
		{"silent for too short a time", []pass{
			at(0, waits(90*time.Second), with(gone("a"), lately), there("b")), at(time.Minute, waits(30*time.Second),
				with(gone("a"), lately), there("b")),
			at(90*time.Second, goes("a"), with(gone("a"), lately), there("b")),
		}},
		{"found again", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(time.Minute, none, there("a"), there("b")),
			at(2*time.Minute, waits(time.Minute), gone("a"), there("b")),
		}},
		{"announced", []pass{at(0, goes("a"), with(gone("a"), announced), there("b"))}},
		{"announced, and the kubelet talks", []pass{
			at(0, waits(time.Minute), with(with(gone("a"), announced), talks)),
			at(time.Minute, otherMachine("a"), with(with(gone("a"), announced), talks)),
		}},
		{"announced, and nothing is proven", []pass{
			at(0, waits(time.Minute), with(with(gone("a"), announced), unclear)), at(time.Minute, goes("a"), with(gone("a"), announced)),
		}},
		{"the kubelet talks", []pass{
			at(0, waits(time.Minute), with(gone("a"), talks), there("b")), at(time.Minute, otherMachine("a"), with(gone("a"), talks), there("b")),
			at(5*time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"the kubelet talks again", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(30*time.Second, waits(30*time.Second),
				with(with(gone("a"), talks), unasked), there("b")),
			at(time.Minute, otherMachine("a"), with(gone("a"), talks), there("b")),
		}},
		{"nothing proven is no answer", []pass{
			at(0, waits(time.Minute), with(gone("a"), unclear), there("b")), at(time.Minute, waits(time.Minute), gone("a"), there("b")),
			at(2*time.Minute, waits(time.Minute), with(gone("a"), unclear), there("b")), at(3*time.Minute, goes("a"), gone("a"), there("b")),
		}},
		{"nothing proven of a node that talks is no reason to ask again", []pass{at(0, none, with(with(gone("a"), unclear), talks))}},
		{"nobody asked", []pass{
			at(0, none, with(gone("a"), unasked)), at(time.Minute, waits(time.Minute), gone("a")),
			at(90*time.Second, waits(30*time.Second), with(gone("a"), unasked)),
		}},
		{"another node of the same name", []pass{
			at(0, waits(time.Minute), gone("a"), there("b")), at(time.Minute, waits(time.Minute), with(gone("a"), anew), there("b")),
		}},
		{"the longest gone first", []pass{
			at(0, waits(time.Minute), gone("c"), there("z")), at(30*time.Second, waits(30*time.Second), gone("a"), gone("b"), gone("c"), there("z")),
			at(2*time.Minute, goes("c", "a", "b"), gone("a"), gone("b"), gone("c"), there("z")),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var state lifecycle.State
			for i, p := range tt.passes {
				now := start.Add(p.after)
				for j := range p.observations {
					if p.observations[j].At.IsZero() {
						p.observations[j].At = now
					}
				}
				var got lifecycle.Verdict
				got, state = lifecycle.Decide(now, p.observations, state, policy)
				seen := outcome{confirmed: named(got.Confirmed), stale: named(got.Stale)}
				if !got.Next.IsZero() {
					seen.next = got.Next.Sub(now)
				}
				if diff := cmp.Diff(p.want, seen, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	state := lifecycle.State{Absent: map[string]time.Time{}}
	observations := []lifecycle.Observation{
		gone("new"), gone("old"), with(gone("silent lately"), func(s *lifecycle.Observation) { s.SilentSince = start.Add(-time.Second) }),
		with(gone("announced"), func(s *lifecycle.Observation) { s.Announced = true }), gone("nothing is known"),
	}
	for i, since := range []time.Duration{59 * time.Second, time.Minute, time.Minute, 0} {
		state.Absent[observations[i].Key()] = start.Add(-since)
	}
	if got := state.Due(start, observations, policy); !slices.Equal(got, []string{"old", "announced"}) {
		t.Errorf("got %v", got)
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
		observations := make([]lifecycle.Observation, most+2)
		for i := range observations {
			observations[i] = with(gone(fmt.Sprintf("n%05d", i)), func(s *lifecycle.Observation) { s.At = now })
		}
		var verdict lifecycle.Verdict
		verdict, state = lifecycle.Decide(now, observations, state, policy)
		if confirmed := len(verdict.Confirmed); confirmed != most*pass {
			t.Errorf("pass %d: %d are confirmed", pass, confirmed)
		}
		if len(state.Absent) != most {
			t.Errorf("pass %d: %d are remembered, want %d", pass, len(state.Absent), most)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	ago := func(minutes ...time.Duration) lifecycle.State {
		var state lifecycle.State
		for _, m := range minutes {
			state.Deleted = append(state.Deleted, start.Add(-m*time.Minute))
		}
		return state
	}
	tests := []struct {
		name string
		// confirmed are names of one letter; capital ones are announced.
		confirmed string
		total     int
		state     lifecycle.State
		want      string
		deferred  string
	}{
		{name: "nothing to delete", total: 100},
		{name: "within the budget", confirmed: "ab", total: 20, want: "ab"},
		{name: "more than the budget", confirmed: "abcd", total: 20, want: "abc", deferred: "d"},
		{name: "half of a small cluster", confirmed: "abc", total: 4, want: "ab", deferred: "c"},
		{name: "by another leader", confirmed: "ab", total: 20, state: ago(9, 5), want: "a", deferred: "b"},
		{name: "long ago", confirmed: "ab", total: 20, state: ago(15, 11, 10), want: "ab"},
		{name: "announced", confirmed: "ABCDEFGH", total: 16, state: ago(9, 8, 7), want: "ABCDEFGH"},
		{name: "announced and others", confirmed: "aBcDeFg", total: 20, want: "aBcDeF", deferred: "g"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var confirmed []lifecycle.Observation
			for name := range strings.SplitSeq(tt.confirmed, "") {
				confirmed = append(confirmed, with(gone(name), func(s *lifecycle.Observation) { s.Announced = name != strings.ToLower(name) }))
			}
			remove, deferred, next := lifecycle.Allow(start, confirmed, tt.total, tt.state, policy)
			if got, held := strings.Join(named(remove), ""), strings.Join(named(deferred), ""); got != tt.want || held != tt.deferred {
				t.Errorf("removes %s and defers %s, want %s and %s", got, held, tt.want, tt.deferred)
			}
			counted := slices.DeleteFunc(remove, func(s lifecycle.Observation) bool { return s.Announced })
			if n := len(next.Deleted) - len(tt.state.Deleted); n != len(counted) || len(next.Counted) != n {
				t.Errorf("%d deletions are counted for %v, want %d", n, next.Counted, len(counted))
			}
			for _, s := range counted {
				if at := next.Counted[s.Key()]; !at.Equal(start) || !slices.ContainsFunc(next.Deleted, at.Equal) {
					t.Errorf("%s counts at %v, want %v", s.Node, at, start)
				}
			}
		})
	}
}

// TestUncount takes back one of two deletions that were counted at the same time, one that was not counted, and one that counts no more.
func TestUncount(t *testing.T) {
	t.Parallel()
	now, before := start, start.Add(-9*time.Minute)
	state := lifecycle.State{
		Deleted: []time.Time{before, now, now}, Counted: map[string]time.Time{"a a-1": before, "b b-1": now, "c c-1": now},
	}
	uncounted := state.Uncount("b b-1").Uncount("b b-2").Uncount("b b-1")
	want := lifecycle.State{Deleted: []time.Time{before, now}, Counted: map[string]time.Time{"a a-1": before, "c c-1": now}}
	if diff := cmp.Diff(want, uncounted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = lifecycle.State{Deleted: []time.Time{now, now}, Counted: map[string]time.Time{"b b-1": now, "c c-1": now}}
	if diff := cmp.Diff(want, state.Uncount("a a-1")); diff != "" {
		t.Errorf("the first one (-want +got):\n%s", diff)
	}
	_, later := lifecycle.Decide(start.Add(time.Minute), nil, uncounted, policy)
	want = lifecycle.State{Deleted: []time.Time{now}, Counted: map[string]time.Time{"c c-1": now}}
	if diff := cmp.Diff(want, later.Uncount("a a-1"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after the window (-want +got):\n%s", diff)
	}
	if len(state.Deleted) != 3 || len(state.Counted) != 3 {
		t.Errorf("the state itself has changed: %+v", state)
	}
}

// TestDeletionsStayInsideTheirBounds plays random histories: whatever the cloud answers and whenever the leader changes, a deleted node was
// absent twice or announced, was never seen in between, and the window holds no more unannounced deletions than
// allowed. Some deletions fail, which is found out sooner or later, and a node that went is made anew.
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
			observations := make([]lifecycle.Observation, total)
			for i := range observations {
				name := fmt.Sprint(i)
				observations[i] = lifecycle.Observation{
					Node: name, UID: fmt.Sprint(made[i]), At: now,
					Answer: lifecycle.Answer(rapid.SampledFrom([]int{0, 1, 2, 2, 3, 3, 3}).Draw(t, "answer")),
					Silent: rapid.Bool().Draw(t, "silent"), Announced: i%7 == 6,
				}
			}
			verdict, next := lifecycle.Decide(now, observations, state, policy)
			for _, s := range observations {
				if _, counted := next.Counted[s.Key()]; counted && rapid.Bool().Draw(t, "found") {
					next = next.Uncount(s.Key())
				}
			}
			remove, _, next := lifecycle.Allow(now, verdict.Confirmed, total, next, policy)
			for i, s := range observations {
				first, absent := firstAbsent[s.Node]
				removed := slices.Contains(remove, s)
				if removed && (!s.Silent || s.Answer != lifecycle.Absent || !s.Announced && (!absent || now.Sub(first) < policy.ConfirmAfter)) {
					t.Fatalf("deletes %+v, absent since %v (%v)", s, first, absent)
				}
				switch {
				case s.Answer == lifecycle.Present:
					delete(firstAbsent, s.Node)
				case s.Answer == lifecycle.Absent && !absent:
					firstAbsent[s.Node] = now
				}
				if removed && rapid.Bool().Draw(t, "succeeds") {
					if !s.Announced {
						deletions = append(deletions, now)
					}
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
		other lifecycle.State
		equal bool
	}{
		"the same in another zone": {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now.UTC()},
			Deleted: []time.Time{now.UTC()}}, equal: true},
		"absent since later": {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now.Add(1)}, Deleted: []time.Time{now}}},
		"deleted later":      {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now}, Deleted: []time.Time{now.Add(1)}}},
		"nothing deleted":    {other: lifecycle.State{Absent: map[string]time.Time{"a 1": now}}},
		"nothing absent":     {other: lifecycle.State{Deleted: []time.Time{now}}},
		"another node counted": {other: lifecycle.State{
			Absent: map[string]time.Time{"a 1": now}, Deleted: []time.Time{now}, Counted: map[string]time.Time{"b 1": now},
		}},
		"nothing": {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := state.Equal(tt.other); got != tt.equal {
				t.Errorf("Equal = %t", got)
			}
		})
	}
}
