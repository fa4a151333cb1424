package lb

import (
	"context"
	"slices"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
)

// partly decides about a Service that its user has changed, where each server group takes a call to read: no server of groups is read that
// stay. Of a change that concerns none of them the load balancer, its listeners, the access list and the groups that go are read; of any
// other the list of the groups, too, which has how many servers are in each. Of the rest counts what is remembered, as when nodes come and
// go. It isn't enough where there is more to do, where anything isn't as remembered, or where nothing is to be done: a Service that is only
// touched is compared whole.
func (e *engine) partly(ctx context.Context, s pass) (d decision, enough bool, err error) {
	last, known, ok := remembered(s)
	if !ok || !e.Product.Marks().GroupsApart {
		return d, false, nil
	}
	expected, _ := decide(s, known, false)
	if !expected.isWhole() {
		return d, false, nil
	}
	going := expected.plan.DeletedGroups()
	isGoing := func(g model.Group) bool { return slices.Contains(going, g.ID) }
	stay := slices.DeleteFunc(slices.Clone(known.Groups), isGoing)
	leaves := !expected.plan.UsesGroups()
	extent := observe.Extent{View: observe.Full, Known: stay}
	if leaves {
		extent = observe.Extent{View: observe.Config, Groups: going}
	}
	found, ok, err := e.Recorded(ctx, e.hint(s.svc, nil), extent)
	if err != nil || !ok {
		return d, false, err
	}
	if leaves {
		if len(found.Groups) != len(going) {
			return d, false, nil
		}
		found.Groups, found.OtherGroups = append(stay, found.Groups...), known.OtherGroups
	}
	if !isOfKnownGroups(found) {
		return d, false, nil
	}
	if err := e.complete(ctx, &found, s.want.Desired); err != nil {
		return d, false, err
	}
	d, _ = decide(s, knowledge.All{Observed: s.memory.withHeld(found)}, true)
	d.entry = last.Compared(s.entry) // All is read again when it was due before.
	isUnread := func(id string) bool { return !slices.Contains(going, id) }
	return d, d.refusal() == nil && d.isWhole() && (!leaves || !d.plan.UsesGroups()) &&
		!slices.ContainsFunc(d.plan.DeletedGroups(), isUnread), nil
}

// remembered is what is known of the load balancer of a Service's own, from before its user has changed it. Who takes the hash
// off a Service asks for a comparison.
func remembered(s pass) (last knowledge.Entry, known knowledge.All, ok bool) {
	if s.recalled != knowledge.Doubted || s.view.Reused() != "" || len(s.claims()) > 0 {
		return last, known, false
	}
	last, state := s.memory.Last(string(s.svc.UID), time.Now())
	known, isAll := last.Known.(knowledge.All)
	return last, known, state == knowledge.Current && isAll && !known.Reused && known.InstanceID != "" &&
		known.InstanceID == s.svc.Labels[LabelLoadBalancerID] && s.svc.Labels[LabelHash] != ""
}

// isWhole reports that something is to be done, and that it is all that the Service asks for.
func (d decision) isWhole() bool { return !d.plan.Empty() && d.complete() }

// isOfKnownGroups reports whether every listener forwards to a server group that is known.
func isOfKnownGroups(o model.Observed) bool {
	return !slices.ContainsFunc(o.Listeners, func(l model.Listener) bool {
		_, isOther := o.OtherGroups[l.GroupID()]
		return l.GroupID() != "" && !isOther && !slices.ContainsFunc(o.Groups, func(g model.Group) bool { return g.ID == l.GroupID() })
	})
}
