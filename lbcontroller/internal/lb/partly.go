package lb

import (
	"context"
	"slices"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// besideGroups decides about a Service whose user has changed nothing that concerns server groups, or has them deleted, where each of these
// takes a call to read: the load balancer, its listeners, the access list and the groups that go are read, and of the others
// counts what is remembered, as when nodes come and go. It isn't enough where there is more to do, where anything isn't as
// remembered, or where nothing is to be done: a Service that is only touched is compared whole.
func (e *engine) besideGroups(ctx context.Context, s pass) (d decision, enough bool, err error) {
	last, known, ok := remembered(s)
	if !ok || !e.Product.Marks().GroupsApart {
		return d, false, nil
	}
	expected, _ := decide(s, known, false)
	if !expected.leavesGroups() {
		return d, false, nil
	}
	going := expected.plan.DeletedGroups()
	found, ok, err := e.Recorded(ctx, e.hint(s.svc, nil), going)
	if err != nil || !ok || len(found.Groups) != len(going) {
		return d, false, err
	}
	isRead := func(g model.Group) bool { return slices.Contains(going, g.ID) }
	found.Groups = append(slices.DeleteFunc(slices.Clone(known.Groups), isRead), found.Groups...)
	found.OtherGroups = known.OtherGroups
	if !isOfKnownGroups(found) {
		return d, false, nil
	}
	if err := e.complete(ctx, &found, s.want.Desired); err != nil {
		return d, false, err
	}
	d, _ = decide(s, knowledge.All{Observed: s.memory.withHeld(found)}, true)
	d.entry = last.Compared(s.entry) // All is read again when it was due before.
	isUnread := func(id string) bool { return !slices.Contains(going, id) }
	return d, d.refusal() == nil && d.leavesGroups() && !slices.ContainsFunc(d.plan.DeletedGroups(), isUnread), nil
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

// leavesGroups reports that something is to be done, that it is all that the Service asks for, and that it concerns no server groups but
// those that it deletes.
func (d decision) leavesGroups() bool {
	for action := range d.plan.Actions() {
		if plan.UsesGroups(action) {
			return false
		}
	}
	return !d.plan.Empty() && d.complete()
}

// isOfKnownGroups reports whether every listener forwards to a server group that is known.
func isOfKnownGroups(o model.Observed) bool {
	return !slices.ContainsFunc(o.Listeners, func(l model.Listener) bool {
		_, isOther := o.OtherGroups[l.GroupID()]
		return l.GroupID() != "" && !isOther && !slices.ContainsFunc(o.Groups, func(g model.Group) bool { return g.ID == l.GroupID() })
	})
}
