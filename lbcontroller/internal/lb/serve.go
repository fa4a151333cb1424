package lb

import (
	"context"
	"errors"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// serve keeps the servers right of the load balancer that a Service has which can't have what it asks for, so that a
// mistake in an annotation doesn't leave traffic on nodes and pods that are gone. The instance, its listeners and what
// is written on the Service stay as they are.
func (e *engine) serve(ctx context.Context, s pass, backends *model.Desired, why error) controller.Outcome {
	var done result
	recalled := s.entry
	if backends != nil && isHeld(e.Product, s.svc) && s.policy != PolicyReport {
		s, done = e.follow(ctx, s, backends)
		if done.err != nil {
			o := outcomeOfFailure(s, done.changed, done.err)
			o.Wake = done.wake
			return o
		}
	}
	if _, refused := errors.AsType[*reuse.Refusal](why); refused {
		s.entry = s.entry.Compared(recalled)
	}
	o := outcomeOfRefusal(s, why)
	o.Changed, o.Wake = done.changed, done.wake
	return e.gates.open(ctx, o, s, done.observed)
}

// refuse is serve for a Service that can't have the load balancer that it asks for: it has its servers on the one that
// it has now, if any.
func (e *engine) refuse(ctx context.Context, s pass, why *reuse.Refusal) controller.Outcome {
	backends := reuse.Anywhere(s.want.Desired, s.want.OwnGroups, s.claims())
	if last, _ := s.memory.Last(string(s.svc.UID), time.Now()); backends == nil && knowledge.There(last.Known).InstanceID != "" {
		backends = s.want.Desired // It is on its own one.
	}
	return e.serve(ctx, s, backends, why)
}

// awaitConfirmation keeps the servers right of a Service of which it isn't confirmed that its load balancer may go, and
// nothing else.
func (e *engine) awaitConfirmation(ctx context.Context, s pass, backends *model.Desired) controller.Outcome {
	text := unconfirmed(s.svc)
	o := e.serve(ctx, s, backends, &desired.InvalidError{Problems: []string{text}})
	if o.Reason == controller.ReasonInvalid {
		o.Reason, o.Events = controller.ReasonRefused, []controller.Event{controller.Warningf(controller.ReasonUnconfirmed, "%s", text)}
	}
	return o
}

// follow brings the servers in the server groups that there are to what is wanted.
func (e *engine) follow(ctx context.Context, s pass, backends *model.Desired) (pass, result) {
	s.entry, s.recalled = s.memory.Last(string(s.svc.UID), time.Now()) // The configuration isn't compared, so a doubt about it stays.
	observed, err := e.present(ctx, s, backends)
	if err != nil {
		return s, result{err: err}
	}
	if observed.InstanceID == "" {
		if _, ok := knowledge.Meanwhile(s.entry.Known).(knowledge.Absent); !ok {
			s.entry.Known = knowledge.Having(s.entry.Known, knowledge.Absent{})
		}
		s.entry = keep(s, s.entry, true)
		return s, result{}
	}
	pods, lookup := e.Shared.enis.Find(ctx, &s.memory.pods, desired.PodAddresses(backends.Groups), nil, backend.Holders(s.slices))
	s.pods = pods
	resolved := *backends
	resolved.Groups = desired.Resolve(backends.Groups, s.pods.IDs, s.pods.Pending)
	s.want.Desired = &resolved
	p := plan.FollowServers(reuse.WithFilled(&resolved, s.claims(), observed), observed)
	if s.memory.Full() {
		p.RemoveFirst()
	}
	s, done := e.carryOut(ctx, s, decision{known: knowledge.Of(observed), plan: p})
	if done.err == nil {
		s.entry.Known = knowledge.Having(s.entry.Known, knowledge.Now(knowledge.Meanwhile(s.entry.Known), done.observed))
		s.entry = keep(s, s.entry, true)
		done.err = lookup
	}
	return s, done
}
