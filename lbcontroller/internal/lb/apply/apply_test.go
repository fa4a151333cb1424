package apply

import (
	"context"
	"errors"
	"slices"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// partly is a cloud that makes a server group, and refuses its servers if err is set.
type partly struct {
	err    error
	called []string
}

func (*partly) Bind(action plan.Action, _ string) plan.Action { return action }

func (*partly) Prove(context.Context, model.Observed, plan.CreateListener) error { return nil }

func (p *partly) Call(_ context.Context, _ Work, _ model.Observed, action plan.Action) (plan.Result, error) {
	switch action.(type) {
	case plan.CreateGroup:
		p.called = append(p.called, "make the group")
		return plan.Result{GroupID: "sgp-new"}, p.err
	case plan.UpdateListener:
		p.called = append(p.called, "move the listener")
	case plan.CreateListener:
		p.called = append(p.called, "make another listener")
	}
	return plan.Result{}, nil
}

// TestGroupWithoutServers: a listener that serves does not move to a server group that was made without its servers.
// One on a free port, which has nothing to lose, goes there.
func TestGroupWithoutServers(t *testing.T) {
	t.Parallel()
	refused := errors.New("the cloud doesn't know a server")
	key := model.ListenerKey{Port: 80, Protocol: model.TCP}
	to := plan.GroupRef{Name: "new"}
	work := Work{
		Plan: plan.Plan{Phases: []plan.Phase{
			{plan.CreateGroup{Group: model.Group{Name: "new"}}},
			{plan.UpdateListener{Key: key, Group: to},
				plan.CreateListener{Listener: model.Listener{Key: model.ListenerKey{Port: 81, Protocol: model.TCP}, Group: "new"}, Group: to}},
		}},
		Observed: model.Observed{Listeners: []model.Listener{{Key: key}}},
	}
	for err, want := range map[error][]string{
		nil:     {"make the group", "move the listener", "make another listener"},
		refused: {"make the group", "make another listener"},
	} {
		cloud := &partly{err: err}
		if _, got := Apply(t.Context(), cloud, work); !errors.Is(got, err) || !slices.Equal(cloud.called, want) {
			t.Errorf("%v: called %q, want %q; %v", err, cloud.called, want, got)
		}
	}
}
