package clb

import (
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/clb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/ownership"
)

// wake returns the keys of the other Services on a user's CLB that must look at it now, because one has given something up there: those that don't
// have all they ask for, if a listener is free, and those that fill a group out of which it took all its servers. What it put there counted as theirs.
func (k *Kind) wake(key string, owner ownership.Owner, before, after model.Observed) []string {
	freed, left := freesListener(before, after), leftGroups(owner, before, after)
	if !freed && len(left) == 0 {
		return nil
	}
	return k.memory.Wake(key, before.InstanceID, func(e memory.Entry) bool {
		fills := slices.ContainsFunc(e.Observed.Groups, func(g model.Group) bool { return slices.Contains(left, g.ID) })
		return freed && (e.Hash == "" || e.Refused.Text != "") || fills || e.Trusted != "" && len(left) > 0 // What a trusted one fills isn't known.
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

// leftGroups are the ids of the groups that have no server of the owner's any more.
func leftGroups(owner ownership.Owner, before, after model.Observed) []string {
	fills := func(g model.Group) bool {
		return slices.ContainsFunc(g.Servers, func(s model.Server) bool { return owner.Owns(s.Description) })
	}
	var ids []string
	for _, g := range before.Groups {
		fillsStill := slices.ContainsFunc(after.Groups, func(a model.Group) bool { return a.ID == g.ID && fills(a) })
		if !owner.Owns(g.Name) && fills(g) && !fillsStill {
			ids = append(ids, g.ID)
		}
	}
	return ids
}
