package controller

import (
	"context"
	"errors"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/build"
	"alicloud-controllers.dev/lbcontroller/internal/model"
	"alicloud-controllers.dev/lbcontroller/internal/plan"
)

// follow keeps the servers of a CLB right whose Service has become invalid: a mistake in an annotation must not leave traffic on
// nodes and pods that are gone. The instance, its listeners and what is written on the Service stay as they are.
func (e *ensuring) follow(ctx context.Context, why error) (changed bool, err error) {
	invalid, ok := errors.AsType[*build.InvalidError](why)
	if !ok || invalid.Backends == nil || !hasFinalizer(e.svc) {
		return false, nil
	}
	e.desired = invalid.Backends
	observed, err := e.present(ctx)
	if err != nil || observed.InstanceID == "" {
		return false, err
	}
	unresolved, err := e.enis.Resolve(ctx, keyOf(e.svc), e.desired.Groups)
	if err != nil {
		return false, err
	}
	p := e.ordered(plan.FollowServers(e.desired, observed))
	if changed = !p.Empty(); changed {
		if observed, err = e.apply(ctx, p, observed); err != nil {
			return true, err
		}
	}
	e.keep(observed, true)
	if len(unresolved) > 0 {
		e.runner.AddAfter(keyOf(e.svc), reconcile.Endpoint, retryUnresolved)
	}
	return changed, nil
}

// present gives what is remembered, or else reads the instance that is written on the Service: it is not looked for, as nothing may
// be written there.
func (e *ensuring) present(ctx context.Context) (model.Observed, error) {
	if observed, known, _ := e.remembered(); known {
		return observed, nil
	}
	hint := e.hint(e.svc)
	if hint.RecordedID == "" {
		return model.Nothing(), nil
	}
	return e.observer.Serving(ctx, hint)
}
