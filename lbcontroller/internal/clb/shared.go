package clb

import (
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/ownership"
)

// wake returns the keys of the other Services on a user's CLB that must look at it now, because one has given something up there: those that don't
// have all they ask for, if a listener is free, and those that fill a group out of which it took servers. What it put there counted as theirs, so
// they no longer remember that it is there.
func (k *Kind) wake(key string, owner ownership.Owner, before, after model.Observed) []string {
	freed, taken := freesListener(before, after), takenServers(owner, before, after)
	if !freed && len(taken) == 0 {
		return nil
	}
	return k.memory.Wake(key, before.InstanceID, func(e memory.Entry) (memory.Entry, bool) {
		if freed && (e.Hash == "" || e.Refused.Text != "") || e.Trusted != "" && len(taken) > 0 { // What a trusted one fills isn't known.
			return memory.Entry{}, true
		}
		groups, changed := withoutServers(e.Observed.Groups, taken)
		e.Observed.Groups = groups
		return e, changed
	})
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

// takenServers are the servers that are gone, by the id of their group. Nobody else fills a group that is the owner's by its name.
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

// withoutServers returns groups without servers that are gone, and whether there were any.
func withoutServers(groups []model.Group, gone map[string]map[model.ServerKey]bool) (rest []model.Group, changed bool) {
	rest = slices.Clone(groups)
	for i := range rest {
		g := &rest[i]
		isGone := func(s model.Server) bool { return gone[g.ID][s.ServerKey] }
		if slices.ContainsFunc(g.Servers, isGone) {
			g.Servers, changed = slices.DeleteFunc(slices.Clone(g.Servers), isGone), true
		}
	}
	return rest, changed
}
