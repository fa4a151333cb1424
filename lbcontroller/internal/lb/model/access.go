package model

import "slices"

// Access says who may connect, where the controller keeps that in a list of its own in the cloud: the list stands by itself, is made before
// what it guards, and goes after it.
type Access struct {
	// Name is that of the list.
	Name string
	// Entries are its entries in the words of the kind, sorted; empty if there is to be no list any more.
	Entries []string
}

// IsOver reports that there is to be no list any more, where there was one.
func (a *Access) IsOver() bool { return a != nil && len(a.Entries) == 0 }

// AccessList is a list of a Service that there is.
type AccessList struct {
	ID, Name string
	Entries  []string // sorted
	// Held says that the cloud has refused to delete it: something else uses it.
	Held bool
}

// ComingList stands for the id of the list until it is made.
const ComingList = "list-that-is-being-made"

// List is the list that guards what is wanted: of several that bear the marks of the Service the one that is in use,
// or else the first.
func (o Observed) List() (list AccessList, isThere bool) {
	if len(o.Lists) == 0 {
		return AccessList{ID: ComingList}, false
	}
	for _, l := range o.Lists {
		if o.Uses(l.ID) {
			return l, true
		}
	}
	return o.Lists[0], true
}

// Uses reports whether the load balancer or one of its listeners has an access list, in force or not.
func (o Observed) Uses(list string) bool {
	names := func(m any) bool {
		acls, _ := m.(interface{ GetAclIds() []string })
		groups, _ := m.(interface{ GetSecurityGroupIds() []string })
		return acls != nil && slices.Contains(acls.GetAclIds(), list) ||
			groups != nil && slices.Contains(groups.GetSecurityGroupIds(), list)
	}
	return names(o.Instance) || slices.ContainsFunc(o.Listeners, func(l Listener) bool { return names(l.Config) })
}
