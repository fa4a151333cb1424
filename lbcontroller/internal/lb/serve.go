package lb

import (
	"context"
	"errors"
	"slices"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// serve keeps the servers right of the CLB that a Service has which can't have what it asks for, so that a mistake in an annotation doesn't
// leave traffic on nodes and pods that are gone. The instance, its listeners and what is written on the Service stay as they are.
func (k *Kind) serve(ctx context.Context, s subject, backends *model.Desired, why error) controller.Outcome {
	var result done
	recalled := s.entry
	if backends != nil && k.isHeld(s.svc) && s.policy != PolicyReport {
		s, result = k.follow(ctx, s, backends)
		if result.err != nil {
			o := k.outcomeOfFailure(s, result.changed, result.err)
			o.Wake = result.wake
			return o
		}
	}
	if _, refused := errors.AsType[*reuse.Refusal](why); refused {
		s.entry = memory.WithoutDoubts(s.entry, recalled)
	}
	o := k.outcomeOfRefusal(s, why)
	o.Changed, o.Wake = result.changed, result.wake
	return k.withGates(ctx, o, s, result.observed)
}

// refuse is serve for a Service that can't have the CLB that it asks for: it has its servers on the one that it has now, if any.
func (k *Kind) refuse(ctx context.Context, s subject, why *reuse.Refusal) controller.Outcome {
	return k.serve(ctx, s, reuse.Anywhere(s.want.Desired, s.want.OwnGroups, s.claims()), why)
}

// follow brings the servers in the vServer groups that there are to what is wanted.
func (k *Kind) follow(ctx context.Context, s subject, backends *model.Desired) (subject, done) {
	s.entry, s.state = k.memory.Last(s.key, string(s.svc.UID), time.Now()) // The configuration isn't compared, so a doubt about it stays.
	observed, err := k.present(ctx, s, backends)
	if err != nil {
		return s, done{err: err}
	}
	s.entry.Trusted, s.entry.Absent = "", observed.InstanceID == ""
	s.entry.None = s.entry.None && s.entry.Absent
	if s.entry.Absent {
		s.entry = k.keep(s, s.entry, true)
		return s, done{}
	}
	pods, lookup := k.Shared.enis.Find(ctx, s.key, desired.PodAddresses(backends.Groups), nil)
	s.pods = pods
	resolved := *backends
	resolved.Groups = desired.Resolve(backends.Groups, s.pods.IDs)
	s.want.Desired = &resolved
	p := plan.FollowServers(reuse.WithFilled(&resolved, s.claims(), observed), observed)
	if k.memory.Full(s.key) {
		p.RemoveFirst()
	}
	s, result := k.carryOut(ctx, s, decision{known: known(observed), plan: p})
	if result.err == nil {
		s.entry.Observed = result.observed
		s.entry = k.keep(s, s.entry, true)
		s.state = memory.Known
		result.err = lookup
	}
	return s, result
}

// present gives what is remembered, or else reads the instance that is written on the Service: it is not looked for, as nothing may
// be written there.
func (k *Kind) present(ctx context.Context, s subject, backends *model.Desired) (model.Observed, error) {
	if s.state == memory.Known && (s.entry.Observed.InstanceID != "" || s.entry.Absent) {
		return s.entry.Observed, nil
	}
	id := s.svc.Labels[LabelLoadBalancerID]
	switch claims := s.view.ClaimsOf(s.svc); {
	case id == "":
		return model.Nothing(), nil
	case !claims.Has(id):
		observed, err := k.observer.Serving(ctx, k.hint(s.svc, claims))
		if err == nil {
			err = k.Product.Complete(ctx, &observed, &model.Desired{Groups: backends.Groups})
		}
		return observed, err
	default:
		p := parts(backends)
		p.IDs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.IDs, claims.Of(id).Groups))))
		observed, err := k.readReused(ctx, id, p)
		if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
			return model.Nothing(), nil
		}
		return model.Observed{InstanceID: observed.InstanceID, Reused: true, Groups: observed.Groups}, err
	}
}

// outcomeOfRefusal is that of a Service that can't have what it asks for. A refusal is remembered: that spares the reads until the Service
// says something else, or until it is time to look again.
func (k *Kind) outcomeOfRefusal(s subject, why error) controller.Outcome {
	invalid, isInvalid := errors.AsType[*desired.InvalidError](why)
	refusal, isRefusal := errors.AsType[*reuse.Refusal](why)
	if !isInvalid && !isRefusal {
		return k.outcomeOfFailure(s, false, why)
	}
	o := controller.Outcome{Err: why, Reason: controller.ReasonRefused, Retry: controller.Retry{Mode: controller.RetryNever}, Events: []controller.Event{controller.Failure(controller.ReasonSyncFailed, why)}}
	if isInvalid {
		o.Err, o.Reason = invalid, controller.ReasonInvalid
	}
	if isRefusal {
		s.entry = k.keepRefused(s, *refusal)
	}
	o.Looks = s.looks()
	return o
}
