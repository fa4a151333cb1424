package plan

import (
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// DeleteFailed deletes a load balancer that could not be made.
type DeleteFailed struct{ ID, Name string }

// About implements Action.
func (DeleteFailed) About() (Part, Verb) { return PartInstance, VerbDelete }

func (a DeleteFailed) String() string {
	return "delete load balancer " + a.ID + ", which could not be made"
}

// Effect implements Action.
func (a DeleteFailed) Effect(o *model.Observed, r Result) {
	var left []model.Thing
	for _, t := range o.Failed {
		if t.ID != a.ID || r.Held {
			t.Held = t.Held || t.ID == a.ID
			left = append(left, t)
		}
	}
	o.Failed = left
}

// Beside says whose things beside a load balancer are given up, and which of them stay.
type Beside struct {
	Owner ownership.Owner
	// Binding is what the Service may have bound to a load balancer of the Kind; nil for nothing.
	Binding *model.Binding
	Kind    Differ
	// Preserve leaves to the user what belongs to a load balancer that is preserved.
	Preserve bool
	// GroupsApart says that server groups stand by themselves. Those in Wanted are wanted elsewhere, and those in Used,
	// by their ids, belong to a load balancer that stays.
	GroupsApart bool
	Wanted      []model.Group
	Used        map[string]bool
}

// Release is the way to give up what stands beside a load balancer and was read just now: first what leads to it, which
// goes before it, then what it uses, which goes after it. Listeners on any load balancer may use a group.
func (b Beside) Release(o model.Observed) (first, last Plan) {
	if b.Binding != nil && !b.Preserve {
		first = ReleaseBound(b.Kind, b.Binding, o)
	}
	if b.GroupsApart && !b.Preserve && !o.Reused {
		var groups []model.Group
		for _, g := range o.Groups {
			if !b.Used[g.ID] && !Wants(b.Wanted, g) {
				groups = append(groups, g)
			}
		}
		last.add(surplusGroups(&model.Desired{Owner: b.Owner}, groups, nil))
	}
	var failed Phase
	for _, t := range o.Failed {
		failed = append(failed, DeleteFailed{ID: t.ID, Name: t.Name})
	}
	last.add(failed)
	last.Phases = append(last.Phases, ReleaseLists(o.Lists, b.Preserve).Phases...)
	return first, last
}

// Left names what of it stays, as something uses it or nobody knows whose it is; empty for nothing.
func (b Beside) Left(o model.Observed) (left []string) {
	for _, g := range o.Groups {
		switch {
		case b.Used[g.ID] && b.Owner.Owns(g.Name):
			left = append(left, "server group "+g.Name+" with its servers, as a listener of that load balancer uses it")
		case g.Held && b.Owner.Owns(g.Name):
			left = append(left, "server group "+g.Name+" without the servers of the Service, as something else uses it")
		case b.GroupsApart && !b.Preserve && !o.Reused && len(g.Servers) > 0 && b.Owner.Owns(g.Name):
			left = append(left, "server group "+g.Name+" without the servers of the Service, as it has others")
		}
	}
	for _, t := range o.Failed {
		if t.Held {
			left = append(left, "load balancer "+t.ID+", which could not be made, and which the cloud protects")
		}
	}
	return append(left, LeftLists(o.Lists)...)
}

// LeftLists names the access lists that stay though their Service doesn't need them any more.
func LeftLists(lists []model.AccessList) (left []string) {
	for _, l := range lists {
		switch {
		case l.Held:
			left = append(left, "access list "+l.Name+" ("+l.ID+"), as something else uses it")
		case len(lists) > 1:
			left = append(left, "access list "+l.Name+" ("+l.ID+"), as several have its name and its tags")
		}
	}
	return left
}
