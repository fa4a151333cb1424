package lb

import (
	"context"
	"fmt"
	"slices"

	"alicloud-controllers.dev/proto/rpcerr"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// release gives up first the Service's own CLB, then what it has on those of users.
func (k *Kind) release(ctx context.Context, r controller.Request) controller.Outcome {
	view := k.Desired.View(r.Service)
	fail := func(o controller.Outcome, err error) controller.Outcome {
		calls := causes(err)
		o.Err, o.Retry = err, controller.Retry{After: judge(calls).retry.After}
		o.Events = append(o.Events, controller.Failure(controller.ReasonCleanFailed, calls...))
		return o
	}
	var o controller.Outcome
	policy := k.policyOf(view)
	if policy == PolicyReport {
		return k.holdRelease(r, policy, "releasing the CLB "+r.Service.Labels[LabelLoadBalancerID])
	}
	observed, err := k.releasable(ctx, r, view)
	if err != nil {
		return fail(o, err)
	}
	p := plan.Release(k.Product, observed, view.Preserved())
	claims, err := k.claimsLeft(ctx, r, view, observed)
	if err != nil {
		return fail(o, err)
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: k.Desired.ClusterID}
	if what := k.kept(policy, r, view, claims, plan.Plan{Phases: slices.Concat(p.Phases, k.groupsToDrop(owner, observed, view.Preserved()).Phases)}); what != "" {
		return k.holdRelease(r, policy, what)
	}
	leaves := len(claims) > 0 && !view.Preserved() && !k.released(r)
	if r.Service.DeletionTimestamp == nil && (leaves || !p.Empty() || len(observed.Groups) > 0) {
		// A crash on the way must not look like success if the Service asks for its CLB again, as it may do already.
		svc, err := r.Writer.Live(ctx, r.Service)
		if err == nil && k.Product.Wants(svc) {
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
	if o.Changed = !p.Empty(); o.Changed {
		k.Logger.Info("releasing the load balancer", "service", r.Key, "loadBalancer", observed.InstanceID, "plan", p.String())
		k.memory.Forget(r.Key) // From here on it is wrong, however this ends.
		if _, err := apply.Apply(ctx, k.Product, apply.Work{Plan: p, Observed: observed}); err != nil && !isGone(err) {
			return fail(o, err)
		}
		o.Events = append(o.Events, controller.Normalf(controller.ReasonCleaned, "CLB %s is released", observed.InstanceID))
	}
	if leaves {
		left := k.leave(ctx, r.Key, r.Service, claims)
		o.Changed, o.Events, o.Wake = o.Changed || left.changed, append(o.Events, left.events...), left.wake
		if left.err != nil {
			return fail(o, left.err)
		}
	}
	if err := k.dropGroups(ctx, r.Key, owner, observed, view.Preserved()); err != nil {
		return fail(o, err)
	}
	// The cache may show the finalizer for a while yet; nothing must be looked up again for that.
	address := observed.Address()
	if entry, ok := k.memory.Get(r.Key, string(r.Service.UID)); ok && address == "" {
		address = entry.Released
	}
	k.Records.Remove(ctx, r.Key)
	k.certs.Use(r.Key, nil)
	k.Shared.metrics.forget(r.Key)
	k.memory.Put(r.Key, memory.Entry{UID: string(r.Service.UID), Observed: model.Nothing(), None: true, Released: address})
	o.Publish = &controller.Publication{Notes: controller.Notes{
		Labels:      map[string]string{LabelHash: "", LabelLoadBalancerID: ""},
		Annotations: map[string]string{annotation.OwnTags: "", annotation.Claims: "", annotation.Applied: "", annotation.Making: ""}, Exact: []string{annotation.Claims},
	}, KeepIngress: k.isAnothers(r.Service, view, address)}
	return o
}

// groupsToDrop is the way to delete the server groups of a Service that stand by themselves, but those that are wanted elsewhere. It comes after all
// load balancers are left: listeners on any of them may use a group.
func (k *Kind) groupsToDrop(owner ownership.Owner, o model.Observed, preserve bool, wanted ...model.Group) plan.Plan {
	if !k.Product.Marks().GroupsApart || preserve || o.Reused {
		return plan.Plan{}
	}
	return plan.DropGroups(owner, o.Groups, wanted)
}

// dropGroups goes that way.
func (k *Kind) dropGroups(ctx context.Context, key string, owner ownership.Owner, o model.Observed, preserve bool, wanted ...model.Group) error {
	p := k.groupsToDrop(owner, o, preserve, wanted...)
	if p.Empty() {
		return nil
	}
	k.Logger.Info("deleting server groups", "service", key, "plan", p.String())
	k.memory.Forget(key)
	_, err := apply.Apply(ctx, k.Product, apply.Work{Plan: p, Observed: model.Observed{Groups: o.Groups}})
	return err
}

// kept is what a Service would give up that its policy keeps, for people; empty for nothing.
func (k *Kind) kept(policy Policy, r controller.Request, view desired.View, claims ownership.Claims, p plan.Plan) string {
	if _, withheld := policy.split(p); len(withheld) > 0 {
		return summary(plan.Plan{Phases: []plan.Phase{withheld}})
	}
	if len(claims) > 0 && !view.Preserved() && !k.released(r) && !policy.Allows(plan.DeleteGroup{}) {
		return "taking what is the Service's off CLB " + claims[0].LoadBalancer
	}
	return ""
}

// isUnconfirmed reports that a Service which stays one of type LoadBalancer no longer asks for the CLB that it has, because it got a class, a tunnel
// type or another kind. That may be a mistake, and address and CLB can't be had back; or it was so before the takeover, as the existing CCM
// overlooks it and serves on.
func (k *Kind) isUnconfirmed(svc *corev1.Service) bool {
	has := svc.Labels[LabelHash] != "" || svc.Labels[LabelLoadBalancerID] != "" || len(claimsOf(svc)) > 0 || len(k.published(svc)) > 0
	return has && k.isHeld(svc) && svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && !k.Product.Wants(svc) &&
		svc.Annotations[annotation.ConfirmRelease] != "true"
}

// unconfirmed says what to do about such a Service.
func unconfirmed(svc *corev1.Service) string {
	return fmt.Sprintf("the Service has a class, a tunnel type or another type of load balancer, and CLB %s, which is kept and goes on serving until annotation %s: \"true\" "+
		"confirms that nobody needs it; otherwise take back what was changed", svc.Labels[LabelLoadBalancerID], annotation.ConfirmRelease)
}

// awaitConfirmation keeps the servers of such a Service right, and nothing else.
func (k *Kind) awaitConfirmation(ctx context.Context, s subject, backends *model.Desired) controller.Outcome {
	text := unconfirmed(s.svc)
	o := k.serve(ctx, s, backends, &desired.InvalidError{Problems: []string{text}})
	if o.Reason == controller.ReasonInvalid {
		o.Reason, o.Events = controller.ReasonRefused, []controller.Event{controller.Warningf(controller.ReasonUnconfirmed, "%s", text)}
	}
	return o
}

// isAnothers reports that a Service which went over to another controller shows that controller's address, not that of the CLB which is
// released.
func (k *Kind) isAnothers(svc *corev1.Service, view desired.View, address string) bool {
	shown := k.published(svc)
	return svc.DeletionTimestamp == nil && svc.Spec.Type == corev1.ServiceTypeLoadBalancer && address != "" && len(shown) > 0 &&
		!slices.Contains(shown, address) && !view.PublishesEIP()
}

// released reports that the Service has given up all it had, which the cache doesn't show yet.
func (k *Kind) released(r controller.Request) bool {
	entry, ok := k.memory.Get(r.Key, string(r.Service.UID))
	return ok && entry.None
}

// releasable reads the instance to give up. What is remembered only says where to look: its marks may have changed since, and they decide whether
// the instance is still the Service's.
func (k *Kind) releasable(ctx context.Context, r controller.Request, view desired.View) (model.Observed, error) {
	if k.released(r) {
		return model.Nothing(), nil
	}
	hint := k.hint(r.Service, view.Claims())
	entry, _ := k.memory.Get(r.Key, string(r.Service.UID))
	if hint.RecordedID == "" && !entry.Observed.Reused {
		hint.RecordedID = entry.Observed.InstanceID // The cache doesn't show the label yet.
	}
	return k.observer.Find(ctx, hint, observe.Basic)
}

// claimsLeft are where on CLBs of users there may be something of a Service that gives up all it has. Without notes, which another client may have
// taken off, the CLB that the label names is looked at for what bears the Service's name. What is known is its own.
func (k *Kind) claimsLeft(ctx context.Context, r controller.Request, view desired.View, own model.Observed) (ownership.Claims, error) {
	claims, id := view.Claims(), r.Service.Labels[LabelLoadBalancerID]
	if !ownership.IsID(id) || id == own.InstanceID || claims.Has(id) || view.Preserved() || k.released(r) {
		return claims, nil
	}
	found, err := k.observer.Read(ctx, id, observe.Extent{View: observe.Whole})
	if rpcerr.IsNotFound(err) {
		return claims, nil
	}
	if err != nil {
		return nil, err
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: k.Desired.ClusterID}
	claim := ownership.Claim{LoadBalancer: id, Listeners: true}
	for _, g := range found.Groups {
		if !owner.Owns(g.Name) && slices.ContainsFunc(g.Servers, func(s model.Server) bool { return owner.Owns(s.Description) }) {
			claim.Groups = append(claim.Groups, g.ID)
		}
	}
	if _, marked := found.Tags()[ownership.TagReused]; !marked || reuse.InVain(string(r.Service.UID), claims, found) {
		return claims, nil // It was never named: what bears the name may be that of another Service before.
	}
	return claims.With(claim), nil
}

// leave takes what is the Service's off CLBs of users. What others have bound to it stays: a vServer group that is still used loses only
// its servers.
func (k *Kind) leave(ctx context.Context, key string, svc *corev1.Service, claims ownership.Claims) (result done) {
	owner := ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: k.Desired.ClusterID}
	for _, claim := range claims {
		id := claim.LoadBalancer
		before, err := k.readReused(ctx, id, observe.Parts{Owner: owner, IDs: claim.Groups})
		if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
			continue // Nothing can be left on it.
		}
		if result.err = err; err != nil {
			return result
		}
		if reuse.InVain(string(svc.UID), claimsOf(svc), before) {
			continue
		}
		after := before
		p := plan.Leave(owner, model.Reuse{ID: id, Listeners: claim.Listeners, Filled: claim.Groups}, before)
		if !p.Empty() {
			result.changed = true
			k.Logger.Info("leaving the load balancer", "service", key, "loadBalancer", id, "plan", p.String())
			k.memory.Forget(key) // It is wrong from here on.
			after, err = apply.Apply(ctx, k.Product, apply.Work{Plan: p, Observed: before})
			if isGone(err) {
				continue
			}
			result.wake = append(result.wake, k.wake(key, owner, before, after, err)...) // The next try doesn't see what went well.
			if result.err = err; err != nil {
				return result
			}
			result.events = append(result.events, controller.Normalf(controller.ReasonCleaned, "CLB %s stays, without what was made on it for the Service", id))
		}
		if rest := reuse.Remains(owner, after); rest != "" {
			result.events = append(result.events, controller.Donef(controller.ReasonPreserved, "CLB %s keeps %s, which others use; delete by hand what nobody needs", id, rest))
		}
	}
	return result
}
