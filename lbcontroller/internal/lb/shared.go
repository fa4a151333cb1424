package lb

import (
	"errors"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

// wake makes other Services on a user's load balancer look at it now, after a change there that has maybe failed, and
// returns their keys: those that don't have all they ask for, if a listener is free, and those that may have lost a
// server which they fill in, too. What a change that failed has done isn't known, so they read what is there. A Service
// of which nothing is remembered will read it anyway, and keeps its own time for that: the delays of two that fail must
// go on growing.
func wake(services *seen.Services[state], key string, owner ownership.Owner, before, after model.Observed, err error) []string {
	failed, _ := errors.AsType[apply.Failures](err)
	maybe := after.Clone()
	for _, f := range failed {
		f.Action.Effect(&maybe, plan.Result{})
	}
	freed, taken := freesListener(before, maybe), takenServers(owner, before, maybe)
	if !freed && len(taken) == 0 {
		return nil // What is remembered of the others is long, and mostly a Service changes only what is its own.
	}
	var keys []string
	for other, s := range services.All() {
		if other != key && s.ForgetOn(before.InstanceID, func(e knowledge.Entry) bool {
			_, isRefused := e.Known.(knowledge.Refused)
			return freed && e.Named == before.InstanceID && (e.Noted == "" || isRefused) || loses(e.Known, taken)
		}) {
			keys = append(keys, other)
		}
	}
	return keys
}

// freesListener reports whether a listener of a load balancer is gone: others that share it and were refused something
// may have it now. A server group that others use may be tried again and again, and makes no room.
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

// loses reports whether a Service fills a group out of which servers were taken that are remembered to be there. What a
// trusted one fills isn't known.
func loses(known knowledge.Known, taken map[string]map[model.ServerKey]bool) bool {
	_, isTrusted := known.(knowledge.Trusted)
	return len(taken) > 0 && isTrusted || slices.ContainsFunc(knowledge.There(known).Groups, func(g model.Group) bool {
		return slices.ContainsFunc(g.Servers, func(s model.Server) bool { return taken[g.ID][s.ServerKey] })
	})
}
