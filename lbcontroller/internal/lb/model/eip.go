package model

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
