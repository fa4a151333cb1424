package lb

import (
	"cmp"
	"context"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// possessions are all that a Service has which gives it up, and the ways to that, in the order in which they are gone:
// what leads to its load balancer, the load balancer, what it has on those of users, and what all of these have used.
type possessions struct {
	observed model.Observed
	// another is a load balancer that the Service's label names and that isn't its own, nor one that it named; it stays.
	another model.Observed
	claims  ownership.Claims
	beside  plan.Beside

	first, instance, last plan.Plan
}

// possessions reads them.
func (e *engine) possessions(ctx context.Context, r controller.Request, view desired.View) (p possessions, err error) {
	if e.isReleased(r.Service) {
		p.observed, p.claims = model.Nothing(), view.Claims()
		return p, nil
	}
	if p.observed, err = e.releasable(ctx, r, view); err != nil {
		return p, err
	}
	if p.claims, p.another, err = e.claimsLeft(ctx, r, view, p.observed); err != nil {
		return p, err
	}
	p.beside = plan.Beside{
		Owner: ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: e.Desired.ClusterID},
		Kind:  e.Product, Preserve: view.Preserved(), GroupsApart: e.Product.Marks().GroupsApart, Used: p.another.UsedGroups(),
	}
	p.instance = plan.Release(e.Product, p.observed, keptFor(view, p.beside.Owner))
	b, _ := e.Product.Bound(view)
	if p.observed, p.beside.Binding, err = e.beside(ctx, view, b, p.observed); err != nil {
		return p, err
	}
	p.first, p.last = p.beside.Release(p.observed)
	return p, nil
}

// whole is all that is done to the cloud but for the load balancers of users.
func (p possessions) whole() plan.Plan {
	return plan.Plan{Phases: slices.Concat(p.first.Phases, p.instance.Phases, p.last.Phases)}
}

// release gives up first the Service's own load balancer, then what it has on those of users.
func (e *engine) release(ctx context.Context, r controller.Request) controller.Outcome {
	view := e.Desired.View(r.Service)
	policy := policyOf(view, e.Policy)
	if policy == PolicyReport {
		return e.holdRelease(r, policy, "releasing the load balancer "+r.Service.Labels[LabelLoadBalancerID])
	}
	p, err := e.possessions(ctx, r, view)
	if err != nil {
		return releaseFailed(controller.Outcome{}, err)
	}
	if what := e.kept(policy, r, view, p.claims, p.whole()); what != "" {
		return e.holdRelease(r, policy, what)
	}
	leaves := len(p.claims) > 0 && !view.Preserved() && !e.isReleased(r.Service)
	var o controller.Outcome
	if r.Service.DeletionTimestamp == nil && (leaves || p.hasAny()) {
		svc, err := e.beginRelease(ctx, r)
		if controller.Superseded(err) {
			return controller.Outcome{Err: err}
		}
		if err != nil {
			return releaseFailed(o, err)
		}
		r.Service, o.Service = svc, svc
	}
	address := p.observed.Address()
	if o, err = e.giveUp(ctx, r, p, leaves, o); err != nil {
		return releaseFailed(o, err)
	}
	return e.allReleased(ctx, r, view, address, o)
}

// hasAny reports whether the Service has anything of its own.
func (p possessions) hasAny() bool { return !p.whole().Empty() || len(p.observed.Groups) > 0 }

// releaseFailed is the outcome of a release that ended so.
func releaseFailed(o controller.Outcome, err error) controller.Outcome {
	calls := causes(err)
	o.Err, o.Retry = err, controller.Retry{After: judge(calls).retry.After}
	o.Events = append(o.Events, controller.Failure(controller.ReasonCleanFailed, calls...))
	return o
}

// giveUp gives up what a Service has, in order: its load balancer, what it leaves on those of users, and what all of
// these have used.
func (e *engine) giveUp(ctx context.Context, r controller.Request, p possessions, leaves bool, o controller.Outcome) (
	controller.Outcome, error) {
	o.Changed = !p.instance.Empty() || !p.first.Empty()
	events, err := e.releaseInstance(ctx, r.Key, &p)
	if o.Events = append(o.Events, events...); err != nil {
		return o, err
	}
	if leaves {
		left := e.leave(ctx, r.Key, r.Service, r.Exists, p.claims)
		o.Changed, o.Events, o.Wake = o.Changed || left.changed, append(o.Events, left.events...), left.wake
		if left.err != nil {
			return o, left.err
		}
	}
	if p.beside.Preserve {
		kept, err := e.keep(ctx, r.Key, p)
		if o.Events = append(o.Events, kept...); err != nil {
			return o, err
		}
	}
	if p.observed, err = e.releaseBeside(ctx, r.Key, p.last, p.observed); err != nil {
		return o, err
	}
	if left := p.beside.Left(p.observed); len(left) > 0 {
		o.Events = append(o.Events, controller.Donef(controller.ReasonPreserved,
			"what was made for the Service stays: %s; delete by hand what nobody needs", strings.Join(left, "; ")))
	}
	return o, nil
}

// keptFor is the tag of a load balancer that keeps what was made for a Service; nil if that goes with the Service.
func keptFor(view desired.View, owner ownership.Owner) *commonv1.Tag {
	if !view.Preserved() {
		return nil
	}
	key, value := owner.Kept()
	return &commonv1.Tag{Key: key, Value: value}
}

// keep says on load balancers of users that they keep what was made there for the Service: without that it would look
// like what a Service has left that is gone. One that can't have the tag keeps it all the same.
func (e *engine) keep(ctx context.Context, key string, p possessions) (events []controller.Event, err error) {
	tagKey, value := p.beside.Owner.Kept()
	for _, claim := range p.claims {
		id := claim.LoadBalancer
		mark := plan.Plan{Phases: []plan.Phase{{e.Product.Tagged(nil, &commonv1.Tag{Key: tagKey, Value: value})}}}
		_, err := e.apply(ctx, apply.Work{Plan: mark, Observed: model.Observed{InstanceID: id, Reused: true}})
		switch {
		case isGone(err):
			continue
		case err != nil && !slices.ContainsFunc(causes(err), func(err error) bool { return !isFinal(err) }):
			e.Logger.Warn("a load balancer can't have the tag which says that it keeps what was made there", "service", key,
				"loadBalancer", id, "error", err)
		case err != nil:
			return events, err
		}
		events = append(events, controller.Normalf(controller.ReasonPreserved, "load balancer %s keeps what was made on it for "+
			"the Service, as annotation %s asks, and that is yours from now on: nothing follows nodes and pods there",
			id, annotation.Prefix+annotation.PreserveOnDelete))
	}
	return events, nil
}

// beginRelease notes on a Service that lives on that something is missing: a crash on the way must not look like
// success if the Service asks for its load balancer again, as it may do already.
func (e *engine) beginRelease(ctx context.Context, r controller.Request) (*corev1.Service, error) {
	svc, err := r.Writer.Live(ctx, r.Service)
	if err == nil && e.Product.Wants(svc) {
		err = controller.ErrStale
	}
	if err != nil {
		return nil, err
	}
	return r.Writer.Note(ctx, svc, controller.Notes{Labels: map[string]string{LabelHash: ""}})
}

// releaseInstance releases the Service's own load balancer, and before it what leads there.
func (e *engine) releaseInstance(ctx context.Context, key string, p *possessions) (events []controller.Event, err error) {
	if p.observed, err = e.releaseBeside(ctx, key, p.first, p.observed); err != nil {
		return nil, err
	}
	for _, stays := range p.first.Refused {
		events = append(events, controller.Donef(controller.ReasonPreserved, "%s", stays))
	}
	id := p.observed.InstanceID
	if !p.instance.Empty() {
		e.Logger.Info("releasing the load balancer", "service", key, "loadBalancer", id, "plan", p.instance.String())
		e.services.Of(key).Forget() // From here on it is wrong, however this ends.
		work := apply.Work{Plan: p.instance, Observed: p.observed}
		if _, err := e.apply(ctx, work); err != nil && !isGone(err) {
			return events, err
		}
	}
	switch {
	case id != "" && !p.observed.Reused && p.beside.Preserve:
		events = append(events, controller.Normalf(controller.ReasonPreserved,
			"load balancer %s stays with all that belongs to it, as annotation %s asks, and is yours from now on: nothing "+
				"follows nodes and pods there", id, annotation.Prefix+annotation.PreserveOnDelete))
	case !p.instance.Empty():
		events = append(events, controller.Normalf(controller.ReasonCleaned, "load balancer %s is released", id))
	}
	if p.another.InstanceID != "" {
		events = append(events, controller.Donef(controller.ReasonPreserved,
			"load balancer %s stays: by its tags it is a user's, or that of "+
				"another Service or cluster; delete it by hand if nobody needs it", p.another.InstanceID))
	}
	return events, nil
}

// allReleased is the outcome for a Service that has given up all. The cache may show the finalizer for a while yet;
// nothing must be looked up again for that.
func (e *engine) allReleased(ctx context.Context, r controller.Request, view desired.View, address string,
	o controller.Outcome) controller.Outcome {
	memory, uid := e.services.Of(r.Key), string(r.Service.UID)
	if released, ok := knowledge.Released(memory.Get(uid).Known); ok && address == "" {
		address = released
	}
	e.Records.Remove(ctx, r.Key)
	e.forget(memory)
	memory.Put(knowledge.Entry{UID: uid, Known: knowledge.Absent{Certain: true, Released: address}}, &e.packer)
	labels := map[string]string{LabelHash: "", LabelLoadBalancerID: ""}
	if label := e.Product.Marks().ListLabel; label != "" {
		labels[label] = ""
	}
	_, showsBound := e.Product.Bound(view)
	o.Publish = &controller.Publication{Notes: controller.Notes{
		Labels: labels,
		Annotations: map[string]string{annotation.OwnTags: "", annotation.Claims: "", annotation.Applied: "",
			annotation.Making: "", annotation.Bound: ""}, Exact: []string{annotation.Claims},
	}, KeepIngress: !showsBound && isAnothers(e.Product.Marks().published(r.Service), r.Service, address)}
	return o
}

// kept is what a Service would give up that its policy keeps, for people; empty for nothing.
func (e *engine) kept(policy Policy, r controller.Request, view desired.View, claims ownership.Claims, p plan.Plan) string {
	if _, left := p.Without(func(action plan.Action) bool { return !policy.Allows(action) }); len(left) > 0 {
		return summary(plan.Plan{Phases: []plan.Phase{left}})
	}
	if len(claims) > 0 && !view.Preserved() && !e.isReleased(r.Service) && !policy.Allows(plan.DeleteGroup{}) {
		return "taking what is the Service's off load balancer " + claims[0].LoadBalancer
	}
	return ""
}

// isAnothers reports that a Service which went over to another controller shows that controller's address, not that of
// the load balancer which is released.
func isAnothers(shown []string, svc *corev1.Service, address string) bool {
	return svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && address != "" && len(shown) > 0 &&
		!slices.Contains(shown, address)
}

// releasable reads the instance to give up. What is remembered only says where to look: its marks may have changed
// since, and they decide whether the instance is still the Service's. Of server groups that have as many servers as are
// remembered it says which.
func (e *engine) releasable(ctx context.Context, r controller.Request, view desired.View) (model.Observed, error) {
	hint := e.hint(r.Service, view.Claims())
	there := knowledge.There(e.services.Of(r.Key).Get(string(r.Service.UID)).Known)
	hint.Known = there.Groups
	if hint.RecordedID == "" && !there.Reused {
		hint.RecordedID = there.InstanceID // The cache doesn't show the label yet.
	}
	memory := e.services.Of(r.Key)
	hint.RecordedID = cmp.Or(hint.RecordedID, memory.making.id)
	found, err := e.Find(ctx, hint, observe.Basic)
	memory.stillMaking(err)
	return found, err
}

// claimsLeft are where on load balancers of users there may be something of a Service that gives up all it has. Without
// notes, which another client may have taken off, the load balancer that the label names is looked at for what bears
// the Service's name. What is known is its own. If that load balancer is there, and neither the Service's nor one that
// it named, it is returned, too.
func (e *engine) claimsLeft(ctx context.Context, r controller.Request, view desired.View, own model.Observed) (
	claims ownership.Claims, another model.Observed, err error) {
	claims = view.Claims()
	if isStripped(r.Service) && own.InstanceID == "" && !view.Preserved() && len(claims.Without(view.Reused())) == 0 {
		found, err := e.claimed(ctx, r.Service)
		for _, claim := range found.Without(view.Reused()) {
			claims = claims.With(claim)
		}
		return claims, another, err
	}
	id := r.Service.Labels[LabelLoadBalancerID]
	if !annotation.IsID(id) || id == own.InstanceID || claims.Has(id) || view.Preserved() {
		return claims, another, nil
	}
	found, err := e.Read(ctx, id, observe.Extent{View: observe.Whole})
	if rpcerr.IsNotFound(err) {
		return claims, another, nil
	}
	if err != nil {
		return nil, another, err
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: e.Desired.ClusterID}
	claim := claimOn(found, owner)
	if _, marked := found.Tags()[ownership.TagReused]; !marked || reuse.InVain(string(r.Service.UID), claims, found) {
		return claims, found, nil // It was never named: what bears the name may be that of another Service before.
	}
	return claims.With(claim), another, nil
}

// claimOn is the claim by which all goes that a Service may have on a load balancer of a user's, which was read whole.
func claimOn(found model.Observed, owner ownership.Owner) ownership.Claim {
	claim := ownership.Claim{LoadBalancer: found.InstanceID, Listeners: true}
	for _, g := range found.Groups {
		if !owner.Owns(g.Name) && slices.ContainsFunc(g.Servers, func(s model.Server) bool { return owner.Owns(s.Description) }) {
			claim.Groups = append(claim.Groups, g.ID)
		}
	}
	return claim
}

// holdRelease keeps what a Service would give up, as its policy doesn't allow that.
func (e *engine) holdRelease(r controller.Request, policy Policy, what string) controller.Outcome {
	e.Shared.metrics.withhold(e.services.Of(r.Key), withheld{policy, 1})
	return heldRelease(policy, what)
}
