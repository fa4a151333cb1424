package plan

import "alicloud-controllers.dev/lbcontroller/internal/lb/model"

// Binder is a kind that binds things, which stand by themselves, to load balancers.
type Binder interface {
	// Bindings returns the phases that bind what is asked for, and take off and release what is not wanted any more. What
	// can't be done is refused, as text for users. Nothing is bound while the load balancer is unguarded: not as closed as
	// it is asked to be.
	Bindings(d *model.Desired, o model.Observed, unguarded bool) (phases []Phase, refused []string)
}

// bind adds the phases for what is bound to a load balancer of the Service's own.
func (p *Plan) bind(kind Differ, d *model.Desired, o model.Observed, unguarded bool) {
	binder, ok := kind.(Binder)
	if !ok || d.Binding == nil || d.Reuse.ID != "" {
		return
	}
	phases, refused := binder.Bindings(d, o, unguarded)
	for _, phase := range phases {
		p.add(phase)
	}
	p.Refused = append(p.Refused, refused...)
}

// ReleaseBound takes what a Service has bound, which asks for nothing any more, off a load balancer that it gives up,
// and releases what was made for it.
func ReleaseBound(kind Differ, b *model.Binding, o model.Observed) (p Plan) {
	p.bind(kind, &model.Desired{Binding: b}, o, false)
	return p
}
