package lb

import (
	"context"
	"slices"

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

// release gives up first the Service's own load balancer, then what it has on those of users.
func (e *engine) release(ctx context.Context, r controller.Request) controller.Outcome {
	view := e.Desired.View(r.Service)
	fail := func(o controller.Outcome, err error) controller.Outcome {
		calls := causes(err)
		o.Err, o.Retry = err, controller.Retry{After: judge(calls).retry.After}
		o.Events = append(o.Events, controller.Failure(controller.ReasonCleanFailed, calls...))
		return o
	}
	var o controller.Outcome
	policy := policyOf(view, e.Policy)
	if policy == PolicyReport {
		return e.holdRelease(r, policy, "releasing the load balancer "+r.Service.Labels[LabelLoadBalancerID])
	}
	observed, err := e.releasable(ctx, r, view)
	if err != nil {
		return fail(o, err)
	}
	p := plan.Release(e.Product, observed, view.Preserved())
	eips, observed, err := e.eipsToDrop(ctx, view, observed)
	if err != nil {
		return fail(o, err)
	}
	claims, another, err := e.claimsLeft(ctx, r, view, observed)
	if err != nil {
		return fail(o, err)
	}
	lists, err := e.listsLeft(ctx, r, view)
	if err != nil {
		return fail(o, err)
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: e.Desired.ClusterID}
	whole := plan.Plan{Phases: slices.Concat(eips.Phases, p.Phases, e.groupsToDrop(owner, observed, view.Preserved()).Phases,
		plan.DropLists(lists, view.Preserved()).Phases)}
	if what := e.kept(policy, r, view, claims, whole); what != "" {
		return e.holdRelease(r, policy, what)
	}
	leaves := len(claims) > 0 && !view.Preserved() && !e.released(r)
	if r.Service.DeletionTimestamp == nil && (leaves || !p.Empty() || !eips.Empty() || len(observed.Groups)+len(lists) > 0) {
		// A crash on the way must not look like success if the Service asks for its load balancer again, as it may do
		// already.
		svc, err := r.Writer.Live(ctx, r.Service)
		if err == nil && e.Product.Wants(svc) {
			err = controller.ErrStale
		}
		if err == nil {
			svc, err = r.Writer.Note(ctx, svc, controller.Notes{Labels: map[string]string{LabelHash: ""}})
		}
		if controller.Superseded(err) {
			return controller.Outcome{Err: err}
		}
		if err != nil {
			return fail(o, err)
		}
		r.Service, o.Service = svc, svc
	}
	o.Changed = !p.Empty() || !eips.Empty()
	if err := e.dropEIPs(ctx, r.Key, eips, observed); err != nil {
		return fail(o, err)
	}
	for _, stays := range eips.Refused {
		o.Events = append(o.Events, controller.Donef(controller.ReasonPreserved, "%s", stays))
	}
	if !p.Empty() {
		e.Logger.Info("releasing the load balancer", "service", r.Key, "loadBalancer", observed.InstanceID, "plan", p.String())
		e.services.Of(r.Key).Forget() // From here on it is wrong, however this ends.
		if _, err := apply.Apply(ctx, e.Product, apply.Work{Plan: p, Observed: observed}); err != nil && !isGone(err) {
			return fail(o, err)
		}
		o.Events = append(o.Events, controller.Normalf(controller.ReasonCleaned, "load balancer %s is released", observed.InstanceID))
	}
	if another != "" {
		o.Events = append(o.Events, controller.Donef(controller.ReasonPreserved,
			"load balancer %s stays: by its tags it is a user's, or that of "+
				"another Service or cluster; delete it by hand if nobody needs it", another))
	}
	if leaves {
		left := e.leave(ctx, r.Key, r.Service, claims)
		o.Changed, o.Events, o.Wake = o.Changed || left.changed, append(o.Events, left.events...), left.wake
		if left.err != nil {
			return fail(o, left.err)
		}
	}
	if err := e.dropGroups(ctx, r.Key, owner, observed, view.Preserved()); err != nil {
		return fail(o, err)
	}
	if err := e.dropLists(ctx, r.Key, lists, view.Preserved()); err != nil {
		return fail(o, err)
	}
	// The cache may show the finalizer for a while yet; nothing must be looked up again for that.
	address := observed.Address()
	memory, uid := e.services.Of(r.Key), string(r.Service.UID)
	if released, ok := knowledge.Released(memory.Get(uid).Known); ok && address == "" {
		address = released
	}
	e.Records.Remove(ctx, r.Key)
	e.drop(memory)
	memory.Put(knowledge.Entry{UID: uid, Known: knowledge.Absent{Certain: true, Released: address}}, &e.packer)
	o.Publish = &controller.Publication{Notes: controller.Notes{
		Labels: map[string]string{LabelHash: "", LabelLoadBalancerID: ""},
		Annotations: map[string]string{annotation.OwnTags: "", annotation.Claims: "", annotation.Applied: "",
			annotation.Making: "", annotation.EIPs: ""}, Exact: []string{annotation.Claims},
	}, KeepIngress: isAnothers(e.Product.Marks().published(r.Service), r.Service, view, address)}
	return o
}

// kept is what a Service would give up that its policy keeps, for people; empty for nothing.
func (e *engine) kept(policy Policy, r controller.Request, view desired.View, claims ownership.Claims, p plan.Plan) string {
	if _, left := p.Without(func(action plan.Action) bool { return !policy.Allows(action) }); len(left) > 0 {
		return summary(plan.Plan{Phases: []plan.Phase{left}})
	}
	if len(claims) > 0 && !view.Preserved() && !e.released(r) && !policy.Allows(plan.DeleteGroup{}) {
		return "taking what is the Service's off load balancer " + claims[0].LoadBalancer
	}
	return ""
}

// isAnothers reports that a Service which went over to another controller shows that controller's address, not that of
// the load balancer which is released.
func isAnothers(shown []string, svc *corev1.Service, view desired.View, address string) bool {
	return svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && address != "" && len(shown) > 0 &&
		!slices.Contains(shown, address) && !view.PublishesEIP()
}

// released reports that the Service has given up all it had, which the cache doesn't show yet.
func (e *engine) released(r controller.Request) bool {
	_, ok := knowledge.Released(e.services.Of(r.Key).Get(string(r.Service.UID)).Known)
	return ok
}

// releasable reads the instance to give up. What is remembered only says where to look: its marks may have changed
// since, and they decide whether the instance is still the Service's.
func (e *engine) releasable(ctx context.Context, r controller.Request, view desired.View) (model.Observed, error) {
	if e.released(r) {
		return model.Nothing(), nil
	}
	hint := e.hint(r.Service, view.Claims())
	there := knowledge.There(e.services.Of(r.Key).Get(string(r.Service.UID)).Known)
	if hint.RecordedID == "" && !there.Reused {
		hint.RecordedID = there.InstanceID // The cache doesn't show the label yet.
	}
	return e.Find(ctx, hint, observe.Basic)
}

// listsLeft are the access lists of a Service that gives up all it has.
func (e *engine) listsLeft(ctx context.Context, r controller.Request, view desired.View) ([]model.AccessList, error) {
	if !view.MayHaveList() || e.released(r) {
		return nil, nil
	}
	return e.Lists(ctx, e.markOf(string(r.Service.UID)))
}

// claimsLeft are where on load balancers of users there may be something of a Service that gives up all it has. Without
// notes, which another client may have taken off, the load balancer that the label names is looked at for what bears
// the Service's name. What is known is its own. If that load balancer is there, and neither the Service's nor one that
// it named, its id is returned, too.
func (e *engine) claimsLeft(ctx context.Context, r controller.Request, view desired.View, own model.Observed) (
	claims ownership.Claims, another string, err error) {
	claims = view.Claims()
	id := r.Service.Labels[LabelLoadBalancerID]
	if !ownership.IsID(id) || id == own.InstanceID || claims.Has(id) || view.Preserved() || e.released(r) {
		return claims, "", nil
	}
	found, err := e.Read(ctx, id, observe.Extent{View: observe.Whole})
	if rpcerr.IsNotFound(err) {
		return claims, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: e.Desired.ClusterID}
	claim := ownership.Claim{LoadBalancer: id, Listeners: true}
	for _, g := range found.Groups {
		if !owner.Owns(g.Name) && slices.ContainsFunc(g.Servers, func(s model.Server) bool { return owner.Owns(s.Description) }) {
			claim.Groups = append(claim.Groups, g.ID)
		}
	}
	if _, marked := found.Tags()[ownership.TagReused]; !marked || reuse.InVain(string(r.Service.UID), claims, found) {
		return claims, id, nil // It was never named: what bears the name may be that of another Service before.
	}
	return claims.With(claim), "", nil
}

// holdRelease keeps what a Service would give up, as its policy doesn't allow that.
func (e *engine) holdRelease(r controller.Request, policy Policy, what string) controller.Outcome {
	e.Shared.metrics.withhold(e.services.Of(r.Key), withheld{policy, 1})
	return heldRelease(policy, what)
}
