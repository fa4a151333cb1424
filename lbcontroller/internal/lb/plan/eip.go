package plan

import "alicloud-controllers.dev/lbcontroller/internal/lb/model"

// EIPDiffer is a kind that binds elastic IP addresses, which stand by themselves, to load balancers.
type EIPDiffer interface {
	// EIP returns the phases that bind the EIP that is asked for, and take off and release what is not wanted any more. What
	// can't be done is refused, as text for users. Nothing is bound while the load balancer is unguarded: not as closed as
	// it is asked to be.
	EIP(d *model.Desired, o model.Observed, unguarded bool) (phases []Phase, refused []string)
}

// eip adds the phases for the elastic IP address of a load balancer of the Service's own.
func (p *Plan) eip(kind Differ, d *model.Desired, o model.Observed, unguarded bool) {
	differ, ok := kind.(EIPDiffer)
	if !ok || d.EIP == nil || d.Reuse.ID != "" {
		return
	}
	phases, refused := differ.EIP(d, o, unguarded)
	for _, phase := range phases {
		p.add(phase)
	}
	p.Refused = append(p.Refused, refused...)
}

// ReleaseEIPs takes the elastic IP addresses of a Service, which asks for none, off a load balancer that it gives up, and
// releases those that were allocated for it.
func ReleaseEIPs(kind Differ, w *model.WantedEIP, o model.Observed) (p Plan) {
	p.eip(kind, &model.Desired{EIP: w}, o, false)
	return p
}
