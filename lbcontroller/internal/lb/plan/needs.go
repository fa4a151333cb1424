package plan

import (
	"iter"
	"slices"
)

// Actions are all actions of the plan, in an order in which each comes after those that it needs.
func (p Plan) Actions() iter.Seq[Action] {
	return func(yield func(Action) bool) {
		for _, phase := range p.Phases {
			for _, action := range phase {
				if !yield(action) {
					return
				}
			}
		}
	}
}

// Needs reports whether an action can't be tried, or would do harm, after an earlier one of the plan wasn't carried
// out. Everything else goes on: trouble with one server or listener is none of the others.
func Needs(action, earlier Action) bool {
	if Is(earlier, PartInstance, VerbCreate) {
		return true
	}
	if part, verb := action.About(); part == PartAccess && verb == VerbDelete { // What it guards may still have it.
		of, did := earlier.About()
		return of == PartListener || of == PartInstance && did != VerbCreate
	}
	if opens(action) && IsGuard(earlier) {
		return true
	}
	own, ok := action.(interface{ Needs(earlier Action) bool })
	return ok && own.Needs(earlier)
}

// Needs makes a listener after what it refers to, on a port that is free.
func (a CreateListener) Needs(earlier Action) bool {
	gone, ok := earlier.(DeleteListener)
	return a.refers(earlier) || ok && gone.Key.Meets(a.Listener.Key)
}

// Needs adds certificates to a listener that is there.
func (a AddCertificates) Needs(earlier Action) bool {
	create, ok := earlier.(CreateListener)
	return ok && create.Listener.Key == a.Key
}

// Needs takes a listener to a group that has its servers, and restricts it by a list that is there.
func (a UpdateListener) Needs(earlier Action) bool {
	return NeedsServers(a, earlier) || a.Guards && Is(earlier, PartAccess, VerbCreate)
}

// Needs lets a listener serve until what takes its place can be made. A redirect that is still there holds its target.
func (a DeleteListener) Needs(earlier Action) bool {
	redirect, ok := earlier.(DeleteListener)
	return ok && redirect.Old.LeadsTo == a.Key.Port && a.Key.Protocol.OverTCP() || NeedsServers(a, earlier) ||
		slices.ContainsFunc(a.Next, func(next CreateListener) bool { return next.refers(earlier) })
}

// Needs keeps a group that may still serve.
func (a DeleteGroup) Needs(earlier Action) bool { return mayServe(a.GroupID, earlier) }

// Needs keeps the servers of a group that may still serve.
func (a ChangeServers) Needs(earlier Action) bool { return mayServe(a.GroupID, earlier) }

// Needs deletes a load balancer after its protection was lifted.
func (DeleteInstance) Needs(earlier Action) bool { return Is(earlier, PartInstance, VerbChange) }

// closes reports whether an action keeps out whom a load balancer has let in so far: no listener is made before.
func closes(a Action) bool {
	change, ok := a.(interface{ Closes() bool })
	return ok && change.Closes()
}

// opens reports whether an action lets others connect than could so far.
func opens(a Action) bool {
	change, ok := a.(interface{ Opens() bool })
	return ok && change.Opens()
}

// IsGuard reports whether an action says who may connect: what opens a load balancer comes after it, and not at all if it fails.
func IsGuard(a Action) bool {
	change, isListener := a.(UpdateListener)
	part, verb := a.About()
	return closes(a) || part == PartAccess && verb != VerbDelete || isListener && change.Guards
}

// isAccess reports whether an action is about who may connect: nothing is opened before.
func isAccess(a Action) bool {
	part, _ := a.About()
	return part == PartAccess
}

func needsGroup(group GroupRef, earlier Action) bool {
	create, ok := earlier.(CreateGroup)
	return ok && group.ID == "" && group.Name == create.Group.Name
}

// refers reports what a new listener needs apart from its port.
func (a CreateListener) refers(earlier Action) bool {
	return closes(earlier) || isAccess(earlier) || needsGroup(a.Group, earlier) || needsListener(a.Listener.LeadsTo, earlier)
}

// NeedsServers reports whether an action takes a listener, or what was served by the one whose place it takes, to a group that didn't get
// all its servers. A listener on a free port needs only the group.
func NeedsServers(action, earlier Action) bool {
	var groups []GroupRef
	switch a := action.(type) {
	case UpdateListener:
		groups = append(groups, a.Group)
	case DeleteListener:
		for _, next := range a.Next {
			groups = append(groups, next.Group)
		}
	}
	change, isChange := earlier.(ChangeServers)
	return slices.ContainsFunc(groups, func(g GroupRef) bool {
		return g != (GroupRef{}) && (needsGroup(g, earlier) || isChange && g.ID == change.GroupID)
	})
}

// needsListener reports whether the target of a redirect is missing.
func needsListener(port int32, earlier Action) bool {
	create, ok := earlier.(CreateListener)
	return ok && create.Listener.Key.Port == port && create.Listener.Key.Protocol.OverTCP()
}

// mayServe reports whether a group still serves a listener that was to be changed or deleted. The servers that a group
// loses after the listeners were changed must not be missing there.
func mayServe(group string, earlier Action) bool {
	switch e := earlier.(type) {
	case DeleteListener:
		return e.GroupID == group
	case CreateListener, UpdateListener:
		return true
	}
	return false
}
