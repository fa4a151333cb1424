package model

import (
	"cmp"
	"slices"
)

// WantedEIP is the elastic IP address that a Service asks for, and what it may have from before.
type WantedEIP struct {
	// ID is that of the user's EIP that is to be bound. Allocate asks for one of the Service's own, with Bandwidth and ChargeType, both of
	// which may be zero for the cloud's. Neither: there is to be none any more.
	ID         string
	Allocate   bool
	Bandwidth  int32
	ChargeType int32
	// Users are the ids of the user's EIPs that the Service may have bound, and Made says that one may have been allocated for it.
	Users []string
	Made  bool
	// Forbidden is why the cluster doesn't allow to bind one, as text for users; empty if it does.
	Forbidden string
}

// IsAsked reports that the load balancer is to have an EIP.
func (w *WantedEIP) IsAsked() bool { return w != nil && (w.ID != "" || w.Allocate) }

// EIP is one that there is.
type EIP struct {
	ID string
	// BoundTo is what it is bound to, and BoundType what that is; empty if it is free.
	BoundTo, BoundType string
	// Ours says that it has the marks of the Service, and Others that it has those of another.
	Ours, Others bool
	Bandwidth    int32
	ChargeType   int32
}

// EIP is the one that is to be bound: the one that the user names, or else the one that was allocated. Of several that crashes have left it
// is the one that is bound, or the first.
func (o Observed) EIP(w *WantedEIP) (e EIP, isThere bool) {
	for _, have := range o.EIPs {
		fits := have.ID == w.ID || w.ID == "" && w.Allocate && have.Ours
		if fits && (!isThere || have.BoundTo == o.InstanceID && e.BoundTo != o.InstanceID) {
			e, isThere = have, true
		}
	}
	return e, isThere
}

// IsOf reports whether an EIP is one that the Service has bound or allocated.
func (w *WantedEIP) IsOf(e EIP) bool { return slices.Contains(w.Users, e.ID) || w.Made && e.Ours }

// Compare orders EIPs by their ids.
func (e EIP) Compare(other EIP) int { return cmp.Compare(e.ID, other.ID) }
