package controller

import (
	"context"
	"errors"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
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
	e.keep(observed)
	if len(unresolved) > 0 {
		e.runner.AddAfter(keyOf(e.svc), reconcile.Endpoint, retryUnresolved)
	}
	return changed, nil
}

// present gives what is remembered, or else reads the instance, which must prove to be the Service's: the label that names it
// could have been copied. There is no instance if none is written on the Service: it is not looked for, as nothing may be written
// there.
func (e *ensuring) present(ctx context.Context) (model.Observed, error) {
	if observed, known, _ := e.remembered(); known {
		return observed, nil
	}
	if e.svc.Labels[LabelLoadBalancerID] == "" {
		return model.Nothing(), nil
	}
	return e.observer.Find(ctx, e.hint(e.svc), slbv1.View_VIEW_FULL)
}
