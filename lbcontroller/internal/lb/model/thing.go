package model

import "fmt"

// ThingKind is a kind of things that stand beside load balancers: each by itself, so that it can be there before the
// load balancer of its Service, and outlive it.
type ThingKind int

// The kinds.
const (
	// ThingList is a list of who may connect.
	ThingList ThingKind = iota + 1
	// ThingBound is what was made to be bound to a load balancer: an elastic IP address.
	ThingBound
	// ThingGroup is a server group of a kind of load balancers whose groups stand by themselves.
	ThingGroup
	// ThingFailed is a load balancer that could not be made.
	ThingFailed
	// ThingLeft is what Services that are gone have left on a load balancer of a user's.
	ThingLeft
)

// String is a thing of the kind, for people.
func (k ThingKind) String() string {
	return map[ThingKind]string{
		0: "load balancer", ThingList: "access list", ThingBound: "EIP", ThingGroup: "server group",
		ThingFailed: "load balancer that could not be made", ThingLeft: "what is left on load balancer",
	}[k]
}

// Thing is a thing beside a load balancer that was made for a Service: by its tags, and by its name where its kind
// has one of its own.
type Thing struct {
	Kind     ThingKind
	ID, Name string
	// Mark is the default name of the Service.
	Mark string
	// UsedBy is the load balancer or whatever else uses it, as far as its list says that; empty for nothing.
	UsedBy string
	// Held says that the cloud has refused to delete it.
	Held bool
}

// String is the thing, for people.
func (t Thing) String() string { return fmt.Sprintf("%s %s (%s)", t.Kind, t.ID, t.Name) }
