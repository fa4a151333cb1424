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
	// Mark names its Service, where lists of all Services were asked for.
	Mark string
}

// ComingList stands for the id of the list until it is made.
const ComingList = "list-that-is-being-made"

// List is the list that guards what is wanted: of several that a crash has left, the first.
func (o Observed) List() (list AccessList, isThere bool) {
	if len(o.Lists) == 0 {
		return AccessList{ID: ComingList}, false
	}
	return o.Lists[0], true
}
