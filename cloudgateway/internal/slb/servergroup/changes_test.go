package servergroup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func servers(first, count int) []*slbv1.Server {
	list := make([]*slbv1.Server, count)
	for i := range list {
		list[i] = &slbv1.Server{
			Type: slbv1.ServerType_SERVER_TYPE_ECS, ServerId: fmt.Sprintf("i-%d", first+i), Port: 80, Weight: new(int32(100)),
		}
	}
	return list
}

// callsFor gives what the calls do that make changes.
func callsFor(todo changes, perCall int, canReplace bool) (verbs []verb) {
	for !todo.empty() {
		next := todo.next(perCall, canReplace).first(perCall)
		verbs, todo = append(verbs, next.verb), todo.after(next)
	}
	return verbs
}

func TestPlanTakesTheFewestCalls(t *testing.T) {
	tests := []struct {
		name                string
		add, remove, update int
		removeFirst, single bool // single: the cloud can't replace servers
		want                []verb
	}{
		{name: "nothing"},
		{name: "one more", add: 1, want: []verb{add}},
		{name: "a full call", add: 20, want: []verb{add}},
		{name: "one over", add: 21, want: []verb{add, add}},
		{name: "one less", remove: 1, want: []verb{remove}},
		{name: "one replaced", add: 1, remove: 1, want: []verb{replace}},
		{name: "twenty replaced", add: 20, remove: 20, want: []verb{replace}},
		{name: "two calls of replacements", add: 40, remove: 40, want: []verb{replace, replace}},
		{name: "more come than go", add: 25, remove: 20, want: []verb{replace, add}},
		{name: "one goes, twenty-one come", add: 21, remove: 1, want: []verb{replace, add}},
		{name: "more go than come", add: 5, remove: 25, want: []verb{replace, remove}},
		{name: "weights", update: 41, want: []verb{set, set, set}},
		{name: "three come and two go", add: 3, remove: 2, want: []verb{add, remove}},
		{name: "one comes and two go", add: 1, remove: 2, want: []verb{replace, remove}},
		{name: "everything", add: 2, remove: 2, update: 1, want: []verb{replace, set}},
		{name: "at the quota", add: 3, remove: 2, update: 1, removeFirst: true, want: []verb{remove, add, set}},
		{name: "a replacement where there is none", add: 3, remove: 2, update: 1, single: true, want: []verb{add, set, remove}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := callsFor(changes{
				add: servers(0, tt.add), remove: servers(1000, tt.remove), update: servers(2000, tt.update), removeFirst: tt.removeFirst,
			}, 20, !tt.single)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoPlanTakesFewerCalls: whatever number of servers were replaced by a call instead.
func TestNoPlanTakesFewerCalls(t *testing.T) {
	const perCall = 20
	calls := func(servers int) int { return (servers + perCall - 1) / perCall }
	come, leave := servers(0, 3*perCall), servers(1000, 3*perCall)
	for add := range 3 * perCall {
		for remove := range 3 * perCall {
			fewest := calls(add) + calls(remove)
			for replaced := range min(add, remove) + 1 {
				fewest = min(fewest, calls(replaced)+calls(add-replaced)+calls(remove-replaced))
			}
			if got := len(callsFor(changes{add: come[:add], remove: leave[:remove]}, perCall, true)); got != fewest {
				t.Fatalf("%d calls to add %d servers and remove %d, want %d", got, add, remove, fewest)
			}
		}
	}
}

// TestPlanDoesWhatWasAsked replays plans of any changes on a group.
func TestPlanDoesWhatWasAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group, c := drawChanges(t)
		perCall, canReplace := rapid.IntRange(1, 40).Draw(t, "perCall"), rapid.Bool().Draw(t, "canReplace")
		want := map[serverKey]int32{}
		for _, s := range group {
			want[keyOf(s)] = s.GetWeight()
		}
		for _, s := range c.remove {
			delete(want, keyOf(s))
		}
		for _, s := range slices.Concat(c.add, c.update) {
			want[keyOf(s)] = s.GetWeight()
		}
		got := map[serverKey]int32{}
		for _, s := range group {
			got[keyOf(s)] = s.GetWeight()
		}
		for todo := normalize(c); !todo.empty(); {
			// Planning again after each call, as apply does, must come to the same end.
			next := todo.next(perCall, canReplace).first(perCall)
			if len(next.out) > perCall || len(next.into) > perCall || next.size() == 0 {
				t.Fatalf("a call of %d and %d servers, at most %d are allowed", len(next.out), len(next.into), perCall)
			}
			if next.verb == replace && len(next.out) != len(next.into) {
				t.Fatalf("%d servers replaced by %d", len(next.out), len(next.into))
			}
			for _, s := range next.out {
				delete(got, keyOf(s))
			}
			for _, s := range next.into {
				got[keyOf(s)] = s.GetWeight()
			}
			todo = todo.after(next)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("group (-want +got):\n%s", diff)
		}
	})
}

// TestAChangeOfManyServersIsCutCheaply: what is left after each of the calls that fill a large group is not copied.
func TestAChangeOfManyServersIsCutCheaply(t *testing.T) {
	const size = 1000
	c, calls := changes{add: servers(0, size)}, 0
	got := testing.AllocsPerRun(10, func() { // Of one run, one that the runtime makes meanwhile would count.
		calls = 0
		for todo := c; !todo.empty(); calls++ {
			todo = todo.after(step{verb: add, into: todo.add[:maxServersPerCall]})
		}
	})
	if calls != size/maxServersPerCall || got > 0 {
		t.Errorf("%d calls with %v allocations, want %d with none", calls, got, size/maxServersPerCall)
	}
}

// TestRemainingIsNothingAfterTheChange: what was carried out is not sent again, and what was not is not forgotten.
func TestRemainingIsNothingAfterTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group, c := drawChanges(t)
		c = normalize(c)
		if rest := remaining(c, group); !sameKeys(rest.remove, c.remove) {
			t.Fatalf("before the change %d of %d removals remain", len(rest.remove), len(c.remove))
		}
		after := slices.Clone(group)
		after = slices.DeleteFunc(after, func(s *slbv1.Server) bool {
			gone := func(o *slbv1.Server) bool { return keyOf(o) == keyOf(s) }
			return slices.ContainsFunc(c.remove, gone) || slices.ContainsFunc(c.update, gone)
		})
		after = slices.Concat(after, c.add, c.update)
		if rest := remaining(c, after); !rest.empty() {
			t.Fatalf("after the change there remain %d additions, %d removals, %d updates",
				len(rest.add), len(rest.remove), len(rest.update))
		}
	})
}

// TestFullGroupStaysFull: what remains for a group that takes no more servers still takes one for each that it brings.
func TestFullGroupStaysFull(t *testing.T) {
	group := servers(10, 2)
	c := changes{add: servers(0, 3), remove: group}
	if next := remaining(c, group).next(20, true); next.verb != add {
		t.Errorf("with room: %v first", next.verb)
	}
	c.full = true
	if next := remaining(c, group).next(20, true); next.verb != replace || len(next.into) != 2 {
		t.Errorf("full: %v of %d servers first, want two to be replaced", next.verb, len(next.into))
	}
}

func sameKeys(a, b []*slbv1.Server) bool {
	return slices.EqualFunc(a, b, func(x, y *slbv1.Server) bool { return keyOf(x) == keyOf(y) })
}

// drawChanges makes a group and changes that fit it.
func drawChanges(t *rapid.T) (group []*slbv1.Server, c changes) {
	group = servers(0, rapid.IntRange(0, 60).Draw(t, "servers"))
	for _, s := range group {
		switch rapid.IntRange(0, 4).Draw(t, "fate") {
		case 0:
			c.remove = append(c.remove, s)
		case 1:
			changed := servers(0, 1)[0]
			changed.ServerId, changed.Weight = s.GetServerId(), new(int32(50))
			c.update = append(c.update, changed)
		case 2: // removed and added again with another weight
			changed := servers(0, 1)[0]
			changed.ServerId, changed.Weight = s.GetServerId(), new(int32(10))
			c.remove, c.add = append(c.remove, s), append(c.add, changed)
		default:
		}
	}
	c.add = append(c.add, servers(1000, rapid.IntRange(0, 60).Draw(t, "added"))...)
	c.removeFirst = rapid.Bool().Draw(t, "removeFirst")
	return group, c
}
