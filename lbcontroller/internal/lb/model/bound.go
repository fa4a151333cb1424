package model

import "slices"

// Binding is what a Service asks to have bound to its load balancer, of what stands by itself there, and what it may
// have from before.
type Binding struct {
	// ID is that of a thing of the user's. Own asks for one that is made for the Service. Neither: there is to be none
	// any more.
	ID  string
	Own bool
	// Users are the ids of things of the user's that the Service may have bound, and Made says that one may have been
	// made for it.
	Users []string
	Made  bool
	// Config is what else the kind knows of it.
	Config any
}

// IsAsked reports that something is to be bound to the load balancer.
func (b *Binding) IsAsked() bool { return b != nil && (b.ID != "" || b.Own) }

// Over is what a Service may have that asks for nothing any more.
func (b *Binding) Over() *Binding {
	if b == nil {
		return nil
	}
	return &Binding{Users: b.Users, Made: b.Made}
}

// Notes reports whether it is noted that the Service may have a thing that was made for it: as such, or as the user's
// by its id.
func (b *Binding) Notes(id string) bool { return b != nil && (b.Made || slices.Contains(b.Users, id)) }

// Bound is a thing that there is, and that is or may be bound to the load balancer.
type Bound struct {
	ID string
	// To is what it is bound to; empty if it is free.
	To string
	// Ours says that it has the marks of the Service, and Others that it has those of another.
	Ours, Others bool
	// Config is what else the kind knows of it.
	Config any
}
