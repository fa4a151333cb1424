package lb

import (
	"context"
	"errors"
	"iter"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// share is a user's CLB while one of the Services on it changes it.
type share struct {
	key    string
	owner  ownership.Owner
	before model.Observed
	// losers are the other Services that the change may take servers from. What it put into a group that they fill, too, counted as theirs.
	losers []string
}

// shareOf finds out which other Services the change of a Service may hurt.
func (k *Kind) shareOf(ctx context.Context, key string, owner ownership.Owner, p plan.Plan, before model.Observed) share {
	s := share{key: key, owner: owner, before: before}
	if !before.Reused {
		return s
	}
	taken := takenServers(owner, before, folded(before, p.Actions()))
	if len(taken) == 0 {
		return s
	}
	known := k.memory.Sharing(key, before.InstanceID)
	for other, e := range known {
		if loses(e, taken) {
			s.losers = append(s.losers, other)
		}
	}
	for _, other := range k.Records.Sharing(ctx, before.InstanceID) {
		if _, ok := known[other]; !ok && other != key { // This leader hasn't met it yet, or its last pass failed.
			s.losers = append(s.losers, other)
		}
	}
	slices.Sort(s.losers)
	return s
}

// wake returns the keys of the other Services on the CLB that must look at it now, after a change that has maybe failed: those that don't have
// all they ask for, if a listener is free, and the losers. What a change that failed has done isn't known. So they read then what is there.
// A Service of which nothing is remembered will read it anyway, and keeps its own time for that: the delays of two that fail must go on growing.
func (k *Kind) wake(s share, after model.Observed, err error) []string {
	failed, _ := errors.AsType[apply.Failures](err)
	maybe := folded(after, func(yield func(plan.Action) bool) {
		for _, f := range failed {
			if !yield(f.Action) {
				return
			}
		}
	})
	freed, taken := freesListener(s.before, maybe), takenServers(s.owner, s.before, maybe)
	if !freed && len(taken)+len(s.losers) == 0 {
		return nil // What is remembered of the others is long, and mostly a Service changes only what is its own.
	}
	return k.memory.Wake(s.key, s.before.InstanceID, func(key string, e memory.Entry) (memory.Entry, bool) {
		switch {
		case freed && e.Named == s.before.InstanceID && (e.Hash == "" || e.Refused.Text != ""):
			return memory.Entry{}, true
		case !loses(e, taken): // What it may have lost is recorded anew.
			return e, slices.Contains(s.losers, key)
		case e.Trusted != "" || len(failed) > 0:
			return memory.Entry{}, true
		}
		e.Observed.Groups = withoutServers(e.Observed.Groups, taken)
		return e, true
	})
}

// folded is what is there after actions whose answers aren't known.
func folded(o model.Observed, actions iter.Seq[plan.Action]) model.Observed {
	o = o.Clone()
	for a := range actions {
		a.Effect(&o, plan.Result{})
	}
	return o
}

// freesListener reports whether a listener of a CLB is gone: others that share it and were refused something may have it now. A vServer group
// that others use may be tried again and again, and makes no room.
func freesListener(before, after model.Observed) bool {
	kept := make(map[model.ListenerKey]bool, len(after.Listeners))
	for _, l := range after.Listeners {
		kept[l.Key] = true
	}
	return slices.ContainsFunc(before.Listeners, func(l model.Listener) bool { return !kept[l.Key] })
}

// takenServers are the servers that are gone, by the id of their group. No other Service fills a group that is the owner's by its name.
func takenServers(owner ownership.Owner, before, after model.Observed) map[string]map[model.ServerKey]bool {
	taken := map[string]map[model.ServerKey]bool{}
	for _, g := range before.Groups {
		if owner.Owns(g.Name) {
			continue
		}
		gone := make(map[model.ServerKey]bool, len(g.Servers))
		for _, s := range g.Servers {
			gone[s.ServerKey] = true
		}
		for _, a := range after.Groups {
			for _, s := range a.Servers {
				if a.ID == g.ID {
					delete(gone, s.ServerKey)
				}
			}
		}
		if len(gone) > 0 {
			taken[g.ID] = gone
		}
	}
	return taken
}

// loses reports whether a Service fills a group out of which servers were taken that are remembered to be there. What a trusted one fills isn't
// known.
func loses(e memory.Entry, taken map[string]map[model.ServerKey]bool) bool {
	return len(taken) > 0 && e.Trusted != "" || slices.ContainsFunc(e.Observed.Groups, func(g model.Group) bool {
		return slices.ContainsFunc(g.Servers, func(s model.Server) bool { return taken[g.ID][s.ServerKey] })
	})
}

// withoutServers returns groups without servers that are gone.
func withoutServers(groups []model.Group, gone map[string]map[model.ServerKey]bool) []model.Group {
	rest := slices.Clone(groups)
	for i := range rest {
		g := &rest[i]
		if gone[g.ID] == nil {
			continue
		}
		g.Servers = slices.DeleteFunc(slices.Clone(g.Servers), func(s model.Server) bool { return gone[g.ID][s.ServerKey] })
	}
	return rest
}
