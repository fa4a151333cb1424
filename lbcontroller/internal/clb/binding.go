package clb

import (
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// wish is what a Service says of its EIP beside what is in a model.Binding.
type wish struct {
	// Bandwidth and ChargeType are those of one that is allocated; both may be zero for the cloud's.
	Bandwidth, ChargeType int32
	// Forbidden is why the cluster doesn't allow to bind one, as text for users; empty if it does.
	Forbidden string
}

// wishOf is that of a binding.
func wishOf(w *model.Binding) wish { return as[wish](w.Config) }

// eip is what is known of an EIP beside what is in a model.Bound.
type eip struct {
	// Type is that of what it is bound to.
	Type                  string
	Bandwidth, ChargeType int32
}

// eipOf is that of a bound thing.
func eipOf(e model.Bound) eip { return as[eip](e.Config) }

// as is a value of the kind, which is its zero value where there is none.
func as[T any](config any) T {
	value, _ := config.(T)
	return value
}

// boundTo is an EIP that was bound to a load balancer, or taken off one.
func boundTo(e model.Bound, loadBalancer string) model.Bound {
	config := eipOf(e)
	config.Type = ""
	e.To, e.Config = loadBalancer, config
	return e
}

// AllocateEIP buys an elastic IP address for the Service.
type AllocateEIP struct {
	EIP wish
	// Spec is the wanted load balancer.
	Spec model.Spec
}

// BindEIP binds an elastic IP address to the load balancer; without an id the one that is allocated by the same plan.
type BindEIP struct{ ID string }

// UnbindEIP takes an elastic IP address off the load balancer.
type UnbindEIP struct{ ID string }

// ReleaseEIP gives back an elastic IP address that was allocated for the Service.
type ReleaseEIP struct{ ID string }

// About implements plan.Action.
func (AllocateEIP) About() (plan.Part, plan.Verb) { return plan.PartBound, plan.VerbCreate }

// About implements plan.Action.
func (BindEIP) About() (plan.Part, plan.Verb) { return plan.PartBound, plan.VerbChange }

// About implements plan.Action.
func (UnbindEIP) About() (plan.Part, plan.Verb) { return plan.PartBound, plan.VerbDelete }

// About implements plan.Action.
func (ReleaseEIP) About() (plan.Part, plan.Verb) { return plan.PartBound, plan.VerbDelete }

func (AllocateEIP) String() string  { return "allocate an EIP" }
func (a UnbindEIP) String() string  { return "unbind EIP " + a.ID }
func (a ReleaseEIP) String() string { return "release EIP " + a.ID }

func (a BindEIP) String() string {
	if a.ID == "" {
		return "bind the allocated EIP"
	}
	return "bind EIP " + a.ID
}

// Resolve returns the id of the EIP.
func (a BindEIP) Resolve(o model.Observed) string {
	if a.ID != "" {
		return a.ID
	}
	made, _ := wantedEIP(o, &model.Binding{Own: true})
	return made.ID
}

// Effect implements plan.Action.
func (a AllocateEIP) Effect(o *model.Observed, r plan.Result) {
	if r.Bound != nil {
		o.Bound = append(o.Bound, *r.Bound)
	}
}

// Effect implements plan.Action.
func (a BindEIP) Effect(o *model.Observed, _ plan.Result) {
	id := a.Resolve(*o)
	for i := range o.Bound {
		if e := &o.Bound[i]; e.ID == id {
			*e = boundTo(*e, o.InstanceID)
		}
	}
}

// Effect implements plan.Action.
func (a UnbindEIP) Effect(o *model.Observed, _ plan.Result) {
	for i := range o.Bound {
		if e := &o.Bound[i]; e.ID == a.ID {
			*e = boundTo(*e, "")
		}
	}
}

// Effect implements plan.Action.
func (a ReleaseEIP) Effect(o *model.Observed, _ plan.Result) {
	o.Bound = slices.DeleteFunc(o.Bound, func(e model.Bound) bool { return e.ID == a.ID })
}

// Opens says that the load balancer can be reached from the internet then.
func (BindEIP) Opens() bool { return true }

// Needs is what Needs says of it: the load balancer takes one EIP.
func (BindEIP) Needs(earlier plan.Action) bool {
	part, _ := earlier.About()
	return part == plan.PartBound
}

// Needs is what Needs says of it: the cloud releases none that is bound.
func (a ReleaseEIP) Needs(earlier plan.Action) bool { return earlier == UnbindEIP(a) }

// Bindings implements plan.Binder. What is bound to something else, or is none of the Service's, is left alone, and
// nothing is unbound for an EIP that can't be had.
func (p Product) Bindings(d *model.Desired, o model.Observed, unguarded bool) (phases []plan.Phase, refused []string) {
	w := d.Binding
	there, isThere := wantedEIP(o, w)
	isMissing := w.IsAsked() && (!isThere || there.To == "" || there.To != o.InstanceID)
	if isMissing {
		if why := unfit(w, o, there, isThere); why != "" {
			return nil, []string{why}
		}
		if unguarded || p.Opener(d, o) != "" {
			return nil, nil
		}
	}
	unbind, release, refused := surplusEIPs(w, o, there.ID)
	phases = append(phases, unbind)
	if isMissing && !isThere {
		phases = append(phases, plan.Phase{AllocateEIP{EIP: wishOf(w), Spec: d.Instance.Spec}})
	}
	if isMissing {
		phases = append(phases, plan.Phase{BindEIP{ID: there.ID}})
	}
	return append(phases, release), refused
}

// wantedEIP is the one that is to be bound: the one that the user names, or else the one that was allocated. Of several
// that crashes have left it is the one that is bound, or the first.
func wantedEIP(o model.Observed, w *model.Binding) (e model.Bound, isThere bool) {
	for _, have := range o.Bound {
		fits := have.ID == w.ID || w.ID == "" && w.Own && have.Ours
		if fits && (!isThere || have.To == o.InstanceID && e.To != o.InstanceID) {
			e, isThere = have, true
		}
	}
	return e, isThere
}

// isOfService reports whether an EIP is one that the Service has bound or allocated.
func isOfService(w *model.Binding, e model.Bound) bool {
	return slices.Contains(w.Users, e.ID) || w.Made && e.Ours
}

// unfit says why the EIP that is asked for can't be bound, as text for users; empty if it can.
func unfit(w *model.Binding, o model.Observed, e model.Bound, isThere bool) string {
	others := slices.IndexFunc(o.Bound, func(e model.Bound) bool {
		return e.To != "" && e.To == o.InstanceID && !isOfService(w, e)
	})
	switch {
	case w.ID != "" && !isThere:
		return fmt.Sprintf("annotation eip-id names EIP %s, which is not in the region; name one that is there", w.ID)
	case e.Others:
		return fmt.Sprintf("annotation eip-id names EIP %s, which was allocated for another Service; name one that was allocated by hand", w.ID)
	case e.To != "" && w.ID != "":
		return fmt.Sprintf("annotation eip-id names EIP %s, which is bound to %s %s; unbind it there, or name another one", w.ID, eipOf(e).Type,
			e.To)
	case e.To != "":
		return fmt.Sprintf("EIP %s, which was allocated for the Service, is bound to %s %s; unbind it there, or remove annotation eip-allocate",
			e.ID, eipOf(e).Type, e.To)
	case others >= 0:
		return fmt.Sprintf("load balancer %s has EIP %s, which the Service has not bound; unbind it, or name it by annotation eip-id",
			o.InstanceID, o.Bound[others].ID)
	}
	return wishOf(w).Forbidden
}

// surplusEIPs returns the phases that take off what the load balancer is to have no more, and release what was allocated for it.
func surplusEIPs(w *model.Binding, o model.Observed, wanted string) (unbind, release plan.Phase, refused []string) {
	for _, e := range o.Bound {
		if e.ID == wanted {
			continue
		}
		isFree := e.To == ""
		if !isFree && e.To == o.InstanceID && isOfService(w, e) {
			unbind, isFree = append(unbind, UnbindEIP{ID: e.ID}), true
		}
		switch isMade := w.Made && e.Ours && !slices.Contains(w.Users, e.ID); {
		case isMade && isFree:
			release = append(release, ReleaseEIP{ID: e.ID})
		case isMade:
			refused = append(refused, fmt.Sprintf("EIP %s, which was allocated for the Service, stays, as it is bound to %s %s; release "+
				"it by hand, or take its tag %s off to keep it", e.ID, eipOf(e).Type, e.To, ownership.TagService))
		}
	}
	return unbind, release, refused
}
