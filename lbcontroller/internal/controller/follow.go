package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// followOn keeps the servers of a CLB right whose Service can't have what it asks for, and tells why it can't.
func (e *ensuring) followOn(ctx context.Context, why error, backends *model.Desired) (changed bool, err error) {
	if backends != nil && hasFinalizer(e.svc) {
		e.desired = backends
		if changed, err = e.follow(ctx); err != nil {
			return changed, e.failed(e.svc, err)
		}
	}
	e.rememberRefusal(why)
	return changed, e.failed(e.svc, why)
}

// invalidBackends returns the wanted servers of an invalid Service, if they can be told.
func invalidBackends(err error) *model.Desired {
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return invalid.Backends
	}
	return nil
}

// anyGroups are the vServer groups that a Service wants on the CLB that it names together with those that it would have on one of its
// own: it has either, as long as it is refused to move from one to the other. Nothing is known of a CLB where that isn't so.
func (e *ensuring) anyGroups() *model.Desired {
	stay := *e.desired
	if e.desired.Reuse.ID == "" {
		if len(e.claims()) == 0 {
			return nil
		}
		return &stay
	}
	svc := e.svc.DeepCopy()
	maps.DeleteFunc(svc.Annotations, func(key, _ string) bool {
		return key == annotation.Prefix+annotation.ID || key == annotation.LegacyPrefix+annotation.ID
	})
	slicesOf, err := e.informers.slicesOf(keyOf(svc))
	if err != nil {
		return &stay
	}
	own, err := desired.Build(e.Build, desired.Input{Service: svc, Slices: slicesOf, Nodes: e.nodes.Load()})
	if err != nil {
		return &stay
	}
	for _, g := range own.Desired.Groups {
		if !slices.ContainsFunc(stay.Groups, func(have model.Group) bool { return have.Name == g.Name }) {
			stay.Groups = append(stay.Groups[:len(stay.Groups):len(stay.Groups)], g)
		}
	}
	return &stay
}

// follow keeps the servers right of the CLB that the Service has, so that a mistake in an annotation doesn't leave traffic on nodes and
// pods that are gone. The instance, its listeners and what is written on the Service stay as they are.
func (e *ensuring) follow(ctx context.Context) (changed bool, err error) {
	observed, err := e.present(ctx)
	if err != nil || observed.InstanceID == "" {
		return false, err
	}
	unresolved, err := e.enis.Resolve(ctx, keyOf(e.svc), e.desired.Groups)
	if err != nil {
		return false, err
	}
	p := e.ordered(plan.FollowServers(e.withFilled(observed), observed))
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

// withFilled adds the user's vServer groups that were filled where the Service is and that it names no more. Their servers tell by their
// description for which port. The weight they share with others may have gone with the annotations, so it is that of a server there.
func (e *ensuring) withFilled(observed model.Observed) *model.Desired {
	d := *e.desired
	for _, g := range observed.Groups {
		i := slices.IndexFunc(g.Servers, func(s model.Server) bool { return d.Owner.Owns(s.Description) })
		if i < 0 || d.Owner.Owns(g.Name) || slices.ContainsFunc(d.Groups, func(want model.Group) bool { return want.ID == g.ID }) {
			continue
		}
		for _, want := range e.desired.Groups {
			if want.Name != g.Servers[i].Description {
				continue
			}
			want.ID, want.Name, want.KeepWeights, want.Servers = g.ID, g.ID, true, slices.Clone(want.Servers)
			for n := range want.Servers {
				want.Servers[n].Weight = g.Servers[i].Weight
			}
			d.Groups = append(d.Groups[:len(d.Groups):len(d.Groups)], want)
		}
	}
	return &d
}

// present gives what is remembered, or else reads the instance that is written on the Service: it is not looked for, as nothing may
// be written there.
func (e *ensuring) present(ctx context.Context) (model.Observed, error) {
	if observed, known, _ := e.remembered(); known && observed.InstanceID != "" {
		return observed, nil
	}
	id := e.svc.Labels[LabelLoadBalancerID]
	switch claims := claimed(e.svc); {
	case id == "":
		return model.Nothing(), nil
	case !claims.Has(id):
		return e.observer.Serving(ctx, e.hint(e.svc))
	default:
		parts := e.parts()
		parts.IDs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(parts.IDs, claims.Of(id).Groups))))
		observed, err := e.observer.Reused(ctx, id, parts)
		if rpcerr.IsNotFound(err) {
			return model.Nothing(), nil
		}
		return model.Observed{InstanceID: observed.InstanceID, Reused: true, Groups: observed.Groups}, err
	}
}

// saying is all that a refusal of the CLB that the Service names depends on, except that CLB.
func (e *ensuring) saying() string {
	said := []any{e.hash, e.built.EIP, e.svc.Labels[LabelLoadBalancerID], e.svc.Annotations[annotation.Claims]}
	for _, ingress := range e.svc.Status.LoadBalancer.Ingress {
		said = append(said, ingress.IP, ingress.Hostname)
	}
	return fmt.Sprintf("%q", said)
}

// refusedBefore tells why the Service was refused for what it says, or "".
func (e *ensuring) refusedBefore() string {
	if _, known, _ := e.remembered(); known && e.entry.RefusedFor == e.saying() {
		return e.entry.Refused
	}
	return ""
}

// rememberRefusal spares the reads until the Service says something else, or for the time of a check for drift.
func (e *ensuring) rememberRefusal(why error) {
	refused, ok := errors.AsType[*refusedError](why)
	if !ok || refused.again > 0 || e.desired.Reuse.ID == "" {
		return
	}
	e.entry.Refused, e.entry.RefusedFor = refused.text, e.saying()
	e.keep(e.entry.Observed, true)
}
