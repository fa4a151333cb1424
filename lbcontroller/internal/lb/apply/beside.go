package apply

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// mostBeside is how many server groups of one plan are worked on at once. Each takes a job of the cloud, so that 50 groups take two jobs'
// time.
const mostBeside = 25

// Room bounds the calls that all plans together make beside the one that each of them has under way anyway: the calls of one Service with
// many ports must not fill what the gateway takes of all. There is no room in nil.
type Room chan struct{}

// take takes up to so many places, as many as are free now.
func (r Room) take(most int) (taken int) {
	for taken < most {
		select {
		case r <- struct{}{}:
			taken++
		default:
			return taken
		}
	}
	return taken
}

// step is an action of a plan on its way.
type step struct {
	action plan.Action
	// phase is the place of its phase in the plan.
	phase int
	// ended is nil before the step is begun, and closed when it has its answer.
	ended  chan struct{}
	result plan.Result
	err    error
	// panicked is the value of a panic of the call, with its stack.
	panicked string
}

func stepsOf(p plan.Plan) (steps []*step) {
	for i, phase := range p.Phases {
		for _, action := range phase {
			steps = append(steps, &step{action: action, phase: i})
		}
	}
	return steps
}

func (s *step) isBegun() bool { return s.ended != nil }

// answer makes the call of a step, or waits for the one that was begun. A panic of that goes on here.
func (s *step) answer(ctx context.Context, c Caller, w Work, now model.Observed) (plan.Result, error) {
	if !s.isBegun() {
		return c.Call(ctx, w, now, s.action)
	}
	<-s.ended
	if s.panicked != "" {
		panic(s.panicked)
	}
	return s.result, s.err
}

// run makes the call of a step that was begun.
func (s *step) run(ctx context.Context, c Caller, w Work, now model.Observed) {
	defer close(s.ended)
	defer func() {
		if value := recover(); value != nil {
			s.panicked = fmt.Sprintf("%v\n%s", value, debug.Stack())
		}
	}()
	s.result, s.err = c.Call(ctx, w, now, s.action)
}

// besideInstance begins to make the server groups of a load balancer while it is made itself. Where there is no room they come after it.
func (w Work) besideInstance(ctx context.Context, c Caller, steps []*step) {
	if !w.GroupsApart || !w.Plan.CreatesInstance() {
		return
	}
	var groups [][]*step
	for _, s := range steps {
		if plan.Is(s.action, plan.PartGroup, plan.VerbCreate) {
			groups = append(groups, []*step{s})
		}
	}
	w.begin(ctx, c, w.Observed, groups, 0)
}

// besideEachOther begins the first step, if it is about a server group that stands by itself, and beside it those of its phase that
// follow and are about others: actions of one phase don't depend on each other. What is done to one group keeps its order.
func (w Work) besideEachOther(ctx context.Context, c Caller, now model.Observed, steps []*step, isHeld func(plan.Action) bool) {
	if !w.GroupsApart || steps[0].isBegun() {
		return
	}
	var groups [][]*step
	places := map[string]int{}
	for _, s := range steps {
		id, isOfGroup := plan.GroupOf(s.action)
		if !isOfGroup || s.phase != steps[0].phase {
			break
		}
		if s.isBegun() || isHeld(s.action) {
			continue
		}
		place, isAgain := places[id]
		if id == "" || !isAgain {
			places[id], groups = len(groups), append(groups, []*step{s})
			continue
		}
		groups[place] = append(groups[place], s)
	}
	if len(groups) > 1 {
		w.begin(ctx, c, now.Clone(), groups, 1)
	}
}

// begin works on several server groups at once: on one that the plan may work on anyway, if own is 1, and on as many more as there is
// room for. Without either nothing is begun.
func (w Work) begin(ctx context.Context, c Caller, now model.Observed, groups [][]*step, own int) {
	lent := w.Room.take(min(len(groups), mostBeside) - own)
	if own+lent == 0 {
		return
	}
	for _, group := range groups {
		for _, s := range group {
			s.ended = make(chan struct{})
		}
	}
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(groups); i = int(next.Add(1)) - 1 {
			for _, s := range groups[i] {
				s.run(ctx, c, w, now)
			}
		}
	}
	for range own {
		go work()
	}
	for range lent {
		go func() {
			defer func() { <-w.Room }()
			work()
		}()
	}
}
