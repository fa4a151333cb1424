package model

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

// ListUser is a kind of load balancers, which are guarded by access lists.
type ListUser interface {
	// Uses reports whether a load balancer or one of its listeners has an access list, in force or not, and whether it
	// keeps one that is not wanted any more.
	Uses(there Observed, list string) (has, keeps bool)
}

// List is the list that guards what is wanted: of several that bear the marks of the Service the one that is in use,
// or else the first.
func (o Observed) List(kind ListUser) (list AccessList, isThere bool) {
	if len(o.Lists) == 0 {
		return AccessList{ID: ComingList}, false
	}
	for _, l := range o.Lists {
		if has, _ := kind.Uses(o, l.ID); has {
			return l, true
		}
	}
	return o.Lists[0], true
}
