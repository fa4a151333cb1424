package plan

import (
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// CreateList makes the access list of a Service with its entries.
type CreateList struct {
	Access model.Access
	// Owner is the Service, and Spec the wanted load balancer.
	Owner ownership.Owner
	Spec  model.Spec
}

// ChangeList changes the entries of an access list.
type ChangeList struct {
	ID, Name    string
	Add, Remove []string
	// Owner is the Service.
	Owner ownership.Owner
	// Stays is how many entries stay.
	Stays int
	// RemoveFirst makes room before adding, in a list that is full.
	RemoveFirst bool
}

// Steps are the changes by which a list becomes what it is to be: one, or two if room is made first. Only entries that let somebody in go
// then, as lets tells, and never the last one of all: the cloud takes a list without entries for one that lets everybody in.
func (a ChangeList) Steps(lets func(entry string) bool) []ChangeList {
	first, rest := a, a
	first.Add, first.Remove, rest.Remove = nil, nil, nil
	for _, entry := range a.Remove {
		if lets(entry) {
			first.Remove = append(first.Remove, entry)
		} else {
			rest.Remove = append(rest.Remove, entry)
		}
	}
	if last := len(first.Remove) - 1; last >= 0 && a.Stays+len(rest.Remove) == 0 {
		rest.Remove, first.Remove = append(rest.Remove, first.Remove[last]), first.Remove[:last]
	}
	if !a.RemoveFirst || len(a.Add) == 0 || len(first.Remove) == 0 {
		return []ChangeList{a}
	}
	return []ChangeList{first, rest}
}

// DeleteList deletes an access list that guards nothing any more.
type DeleteList struct{ ID, Name string }

// KeepList takes the marks off an access list that stays with what its Service leaves.
type KeepList struct{ ID, Name string }

// About implements Action.
func (KeepList) About() (Part, Verb) { return PartAccess, VerbChange }

// About implements Action.
func (CreateList) About() (Part, Verb) { return PartAccess, VerbCreate }

// About implements Action.
func (ChangeList) About() (Part, Verb) { return PartAccess, VerbChange }

// About implements Action.
func (DeleteList) About() (Part, Verb) { return PartAccess, VerbDelete }

func (a CreateList) String() string {
	return fmt.Sprintf("create access list %s with %d entries", a.Access.Name, len(a.Access.Entries))
}

func (a ChangeList) String() string {
	return fmt.Sprintf("change access list %s: add %d, remove %d", a.Name, len(a.Add), len(a.Remove))
}

func (a DeleteList) String() string { return "delete access list " + a.Name }

func (a KeepList) String() string { return "take the marks off access list " + a.Name }

// Effect implements Action.
func (a CreateList) Effect(o *model.Observed, r Result) {
	o.Lists = append(o.Lists, model.AccessList{ID: r.ListID, Name: a.Access.Name, Entries: a.Access.Entries})
}

// Effect implements Action.
func (a ChangeList) Effect(o *model.Observed, _ Result) {
	for i, l := range o.Lists {
		if l.ID == a.ID {
			left := slices.DeleteFunc(slices.Clone(l.Entries), func(e string) bool { return slices.Contains(a.Remove, e) })
			o.Lists[i].Entries = slices.Sorted(slices.Values(append(left, a.Add...)))
		}
	}
}

// Effect implements Action.
func (a DeleteList) Effect(o *model.Observed, r Result) {
	if r.Held {
		for i := range o.Lists {
			o.Lists[i].Held = o.Lists[i].Held || o.Lists[i].ID == a.ID
		}
		return
	}
	o.Lists = slices.DeleteFunc(o.Lists, func(l model.AccessList) bool { return l.ID == a.ID })
}

// Effect implements Action.
func (a KeepList) Effect(o *model.Observed, _ Result) { DeleteList(a).Effect(o, Result{}) }

// access adds the phase for the access list, and returns what is wanted with the list in it. Where access can't be restricted as asked,
// nothing of that is changed.
func (p *Plan) access(kind Differ, d *model.Desired, o model.Observed) (guarded *model.Desired, isRefused bool) {
	guarded, refused := kind.Guard(d, o)
	if refused != "" {
		p.refuse("%s", refused)
		return guarded, true
	}
	if d.Access == nil || d.Access.IsOver() {
		return guarded, false
	}
	if len(o.Lists) > 1 {
		p.refuse("%s", severalLists(o.Lists))
	}
	have, isThere := o.List(kind)
	if !isThere {
		p.add(Phase{CreateList{Access: *d.Access, Owner: d.Owner, Spec: d.Instance.Spec}})
		return guarded, false
	}
	add := slices.DeleteFunc(slices.Clone(d.Access.Entries), func(e string) bool { return slices.Contains(have.Entries, e) })
	remove := slices.DeleteFunc(slices.Clone(have.Entries), func(e string) bool { return slices.Contains(d.Access.Entries, e) })
	if len(add)+len(remove) > 0 {
		p.add(Phase{ChangeList{ID: have.ID, Name: have.Name, Add: add, Remove: remove, Owner: d.Owner,
			Stays: len(have.Entries) - len(remove)}})
	}
	return guarded, false
}

// surplusLists deletes the access lists that are not wanted any more. Guard has switched off what they guarded. The cloud
// deletes none that a listener names, in force or not, and a listener can't be made to name none: such a list goes when
// another look finds it free, or with the load balancer.
func surplusLists(kind Differ, d *model.Desired, o model.Observed) Phase {
	if !d.Access.IsOver() {
		return nil
	}
	return deleteLists(o.Lists, func(list string) bool { _, keeps := kind.Uses(o, list); return keeps })
}

// deleteLists deletes access lists but those that are kept.
func deleteLists(lists []model.AccessList, isKept func(list string) bool) (phase Phase) {
	if len(lists) != 1 { // Of several, nobody knows which isn't a copy that somebody made.
		return nil
	}
	for _, l := range lists {
		if !l.Held && !isKept(l.ID) {
			phase = append(phase, DeleteList{ID: l.ID, Name: l.Name})
		}
	}
	return phase
}

// severalLists says, as text for users, that more than one access list bears the marks of a Service.
func severalLists(lists []model.AccessList) string {
	var ids []string
	for _, l := range lists {
		ids = append(ids, l.ID)
	}
	return fmt.Sprintf("%s have the name and the tags of the Service's access list %s, which only one can be; one is "+
		"used, and none is deleted: rename the others, or delete them", strings.Join(ids, ", "), lists[0].Name)
}

// ReleaseLists deletes access lists whose Service goes, after all that they guarded. With what is preserved they stay, as the user's.
func ReleaseLists(lists []model.AccessList, preserve bool) Plan {
	var p Plan
	if preserve {
		var phase Phase
		for _, l := range lists {
			phase = append(phase, KeepList{ID: l.ID, Name: l.Name})
		}
		p.add(phase)
		return p
	}
	p.add(deleteLists(lists, func(string) bool { return false }))
	return p
}

// KeepLists leaves access lists for later, as something that the Service is about to leave may have them yet.
func (p *Plan) KeepLists() {
	*p, _ = p.Without(func(a Action) bool { return Is(a, PartAccess, VerbDelete) })
}
