package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// slow is a cloud whose calls take a second each.
type slow struct {
	mu             sync.Mutex
	underWay, most int
	begun          []string
	// refuse and panics are ids of server groups.
	refuse, panics string
}

func (*slow) Bind(action plan.Action, _ string) plan.Action { return action }

func (*slow) Prove(context.Context, model.Observed, plan.CreateListener) error { return nil }

func (s *slow) Call(_ context.Context, _ Work, _ model.Observed, action plan.Action) (plan.Result, error) {
	s.mu.Lock()
	s.begun = append(s.begun, action.String())
	s.underWay++
	s.most = max(s.most, s.underWay)
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
	switch id, _ := plan.GroupOf(action); {
	case s.panics != "" && id == s.panics:
		panic("no such call")
	case s.refuse != "" && id == s.refuse:
		return plan.Result{}, errors.New("refused")
	}
	return plan.Result{GroupID: "made"}, nil
}

// groups is a phase that gives a server to each of so many groups.
func groups(n int) (phase plan.Phase) {
	for i := range n {
		phase = append(phase, plan.ChangeServers{GroupID: fmt.Sprint("sgp-", i), Name: fmt.Sprint("g", i),
			Add: []model.Server{{ServerKey: model.ServerKey{ID: "i-1", Port: 80}, Weight: 100}}})
	}
	return phase
}

func there(n int) (o model.Observed) {
	for i := range n {
		o.Groups = append(o.Groups, model.Group{ID: fmt.Sprint("sgp-", i), Name: fmt.Sprint("g", i)})
	}
	return o
}

// TestRoom: one plan works on 25 server groups at once, and all plans together on no more than one each and what the room holds.
func TestRoom(t *testing.T) {
	for _, test := range []struct {
		name        string
		apart       bool
		room, plans int
		most        int
		takes       time.Duration
	}{
		{"a kind whose groups belong to its load balancers", false, 40, 1, 1, 50 * time.Second},
		{"no room", true, 0, 1, 1, 50 * time.Second},
		{"a plan", true, 40, 1, 25, 2 * time.Second},
		{"five plans", true, 40, 5, 45, 50 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud, room := &slow{}, make(Room, test.room)
				begin := time.Now()
				var plans sync.WaitGroup
				for range test.plans {
					plans.Go(func() {
						after, err := Apply(t.Context(), cloud, Work{Plan: plan.Plan{Phases: []plan.Phase{groups(50)}}, Observed: there(50),
							GroupsApart: test.apart, Room: room})
						if err != nil {
							t.Error(err)
						}
						for _, g := range after.Groups {
							if len(g.Servers) != 1 {
								t.Errorf("group %s has %d servers", g.Name, len(g.Servers))
							}
						}
					})
				}
				plans.Wait()
				synctest.Wait() // A place is given back after the last step has ended, and a plan waits for steps.
				if cloud.most != test.most || len(cloud.begun) != 50*test.plans {
					t.Errorf("%d calls, up to %d at once, want %d", len(cloud.begun), cloud.most, test.most)
				}
				if took := time.Since(begin); took > test.takes {
					t.Errorf("took %s, want %s", took, test.takes)
				}
				if len(room) != 0 {
					t.Errorf("%d places weren't given back", len(room))
				}
			})
		})
	}
}

// TestOrderBeside: what is done to one server group keeps its order, a phase waits for the one before, and a group that is refused holds
// back and hides none of the others.
func TestOrderBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := groups(3)
		first = slices.Insert(first, 1, plan.Action(plan.UpdateGroup{GroupID: "sgp-0", Name: "g0"}))
		phases := []plan.Phase{first, {plan.CreateListener{Listener: model.Listener{Key: model.ListenerKey{Port: 80, Protocol: model.TCP}}}},
			{plan.DeleteGroup{GroupID: "sgp-3", Name: "g3"}, plan.DeleteGroup{GroupID: "sgp-4", Name: "g4"}}}
		cloud := &slow{refuse: "sgp-0"}
		work := Work{Plan: plan.Plan{Phases: phases}, Observed: there(5), GroupsApart: true, Room: make(Room, 10)}
		after, err := Apply(t.Context(), cloud, work)
		var failures Failures
		if !errors.As(err, &failures) || len(failures) != 2 {
			t.Errorf("failures: %v", err)
		}
		var left []string
		for _, g := range after.Groups {
			left = append(left, fmt.Sprint(g.Name, " ", len(g.Servers)))
		}
		if got, want := strings.Join(left, ", "), "g0 0, g1 1, g2 1"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
		slices.Sort(cloud.begun[:3])
		slices.Sort(cloud.begun[5:])
		want := []string{"change servers of g0: add 1, remove 0, update 0", "change servers of g1: add 1, remove 0, update 0",
			"change servers of g2: add 1, remove 0, update 0", "change server group g0: ", "create listener 80/tcp",
			"delete server group g3", "delete server group g4"}
		if !slices.Equal(cloud.begun, want) {
			t.Errorf("calls:\n%s", strings.Join(cloud.begun, "\n"))
		}
	})
}

// TestPanicBeside: a panic of a call beside others ends the attempt of its Service, as any other does, and not the process.
func TestPanicBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "no such call\n") || !strings.Contains(got, "(*slow).Call") {
				t.Errorf("panic: %s", got)
			}
		}()
		_, err := Apply(t.Context(), &slow{panics: "sgp-1"},
			Work{Plan: plan.Plan{Phases: []plan.Phase{groups(3)}}, Observed: there(3), GroupsApart: true, Room: make(Room, 10)})
		t.Errorf("no panic, but %v", err)
	})
}
