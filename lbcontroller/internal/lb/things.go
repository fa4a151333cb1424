package lb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"

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

// What stands beside load balancers (access lists, what is bound to them, server groups of a kind where these stand by
// themselves, load balancers that could not be made) has one way for all its kinds. Its marks in the cloud say whose it is: both
// tags, and its name. What is noted on a Service only spares looking: a note can be lost, and is written again by the
// marks.

// sharedAge is how old the list may be by which is found out whether a Service has what nothing is noted of: for the
// hundreds of Services that go together it is one call. What it shows is read anew before anything is done about it.
const sharedAge = time.Minute

// things lists the things of the kinds that were made for Services of the cluster. Kinds that the gateway may not
// read are left out: where the permission was never given, none was made.
func (r reader) things(ctx context.Context, kinds []model.ThingKind, maxAge time.Duration) ([]model.Thing, error) {
	var all []model.Thing
	for _, kind := range kinds {
		list, err := r.Things(ctx, kind, r.clusterID, maxAge)
		if err != nil && !isUnreadable(err) {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// isUnreadable reports that the gateway may not or can't read something at all.
func isUnreadable(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Reason == rpcerr.CloudForbidden || e.Reason == rpcerr.CallerForbidden || e.Code == codes.Unimplemented)
}

// beside reads what stands beside the load balancer of a Service that gives up what it has, and says what the Service
// may have bound; nil for nothing. Server groups were read with the load balancer.
func (r reader) beside(ctx context.Context, view desired.View, b *model.Binding, there model.Observed) (
	model.Observed, *model.Binding, error) {
	mark := r.markOf(string(view.Service.UID))
	has := map[model.ThingKind]bool{model.ThingList: view.MayHaveList(), model.ThingBound: b != nil && b.Made}
	isKnown := func(kind model.ThingKind) bool { return kind == model.ThingGroup || has[kind] }
	things, err := r.things(ctx, slices.DeleteFunc(r.Beside(there), isKnown), sharedAge)
	if err != nil {
		return there, nil, err
	}
	for _, t := range things {
		// One to be bound that isn't noted may be the user's, who has named it by its id before: it goes only with the
		// load balancer that has it.
		isGiven := t.Kind != model.ThingBound || t.UsedBy == there.InstanceID && t.UsedBy != ""
		has[t.Kind] = has[t.Kind] || t.Mark == mark.DefaultName && isGiven
	}
	if has[model.ThingList] {
		if there.Lists, err = r.Lists(ctx, mark); err != nil {
			return there, nil, err
		}
	}
	if has[model.ThingFailed] {
		if there.Failed, err = r.failed(ctx, mark); err != nil {
			return there, nil, err
		}
	}
	if b = b.Over(); b == nil && !has[model.ThingBound] {
		return there, nil, nil
	}
	b = cmp.Or(b, &model.Binding{})
	b.Made = has[model.ThingBound]
	err = r.findBound(ctx, &there, mark, b)
	return there, b, err
}

// failed reads the load balancers that could not be made for a Service.
func (r reader) failed(ctx context.Context, mark observe.Mark) ([]model.Thing, error) {
	list, err := r.Things(ctx, model.ThingFailed, mark.ClusterID, 0)
	return slices.DeleteFunc(list, func(t model.Thing) bool { return t.Mark != mark.DefaultName }), err
}

// releaseBeside gives up things beside a load balancer, and returns what there is then.
func (c changer) releaseBeside(ctx context.Context, key string, p plan.Plan, there model.Observed) (model.Observed, error) {
	if p.Empty() {
		return there, nil
	}
	c.logger.Info("giving up what stands beside a load balancer", "service", key, "loadBalancer", there.InstanceID,
		"plan", p.String())
	if key != "" {
		c.services.Of(key).Forget()
	}
	return c.apply(ctx, apply.Work{Plan: p, Observed: there})
}

// isStripped reports that a Service publishes an address, and that nothing notes of which load balancer: somebody has
// put a manifest in its place while no controller led.
func isStripped(svc *corev1.Service) bool {
	return len(svc.Status.LoadBalancer.Ingress) > 0 && svc.Labels[LabelLoadBalancerID] == ""
}

// recollected is a Service with notes of what was made for it and stands beside its load balancer, by the marks in the
// cloud. Only one that is stripped, and of which nothing is remembered, costs calls.
func (e *engine) recollected(ctx context.Context, r controller.Request) (*corev1.Service, error) {
	svc := r.Service
	if !isStripped(svc) || e.services.Of(r.Key).Get(string(svc.UID)).UID != "" || isUnconfirmed(e.Product, svc) {
		return svc, nil
	}
	view := e.Desired.View(svc)
	if policyOf(view, e.Policy) == PolicyReport {
		return svc, nil
	}
	things, err := e.things(ctx, e.Beside(model.Nothing()), sharedAge)
	if err != nil {
		return nil, err
	}
	b, _ := e.Product.Bound(view)
	notes := unnoted(view, b, things)
	// It may have been on another load balancer of a user's. Where it names none, reclaim finds that out.
	if reused := view.Reused(); reused != "" && len(ownership.ParseClaims(svc.Annotations[annotation.Claims])) == 0 {
		claims, err := e.claimed(ctx, svc)
		if err != nil {
			return nil, err
		}
		if claims = claims.Without(reused); len(claims) > 0 {
			notes.Annotations[annotation.Claims] = claims.String()
			notes.Exact = append(notes.Exact, annotation.Claims)
		}
	}
	if len(notes.Annotations) == 0 {
		return svc, nil
	}
	return r.Writer.Note(ctx, svc, notes)
}

// reclaim notes on a Service that is stripped, and has no load balancer of its own, what it has on that of a user's. It
// reports whether there is something: the next pass knows of it.
func (e *engine) reclaim(ctx context.Context, s pass, d decision) (claimed bool, err error) {
	if !isStripped(s.svc) || d.there().InstanceID != "" || s.view.Reused() != "" || len(s.claims()) > 0 {
		return false, nil
	}
	claims, err := e.claimed(ctx, s.svc)
	if err != nil || len(claims) == 0 {
		return false, err
	}
	_, err = s.writer.Note(ctx, s.svc, controller.Notes{
		Annotations: map[string]string{annotation.Claims: claims.String()}, Exact: []string{annotation.Claims}})
	return true, err
}

// claimed are the claims of a Service whose notes are lost: on the load balancer of a user's whose address it publishes,
// if there is something that bears its name.
func (r reader) claimed(ctx context.Context, svc *corev1.Service) (ownership.Claims, error) {
	list, err := r.Search(ctx, observe.Query{Tag: ownership.TagReused, Value: "true"})
	if err != nil {
		return nil, fmt.Errorf("look for the load balancer of a user's that the Service is on: %w", err)
	}
	var claims ownership.Claims
	owner := ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: r.clusterID}
	published := r.marks.published(svc)
	for _, lb := range list {
		if !slices.Contains(published, lb.Address()) || lb.Address() == "" {
			continue
		}
		found, err := r.Read(ctx, lb.InstanceID, observe.Extent{View: observe.Whole})
		if err != nil {
			return nil, err
		}
		claim := claimOn(found, owner)
		if reuse.InVain(string(svc.UID), nil, found) || reuse.Remains(owner, found) == "" && len(claim.Groups) == 0 {
			continue
		}
		claims = claims.With(claim)
	}
	return claims, nil
}

// unnoted are the notes that a Service lacks of things that were made for it. Pure.
func unnoted(view desired.View, b *model.Binding, things []model.Thing) controller.Notes {
	svc, mark := view.Service, ownership.DefaultName(string(view.Service.UID))
	has := map[model.ThingKind]bool{}
	for _, t := range things {
		has[t.Kind] = has[t.Kind] || t.Mark == mark && (t.Kind != model.ThingBound || t.UsedBy != "")
	}
	n := controller.Notes{Annotations: map[string]string{}, Exact: []string{annotation.Applied, annotation.Bound}}
	with := func(key, item string) {
		items := append(strings.FieldsFunc(svc.Annotations[key], func(r rune) bool { return r == ',' }), item)
		slices.Sort(items)
		n.Annotations[key] = strings.Join(slices.Compact(items), ",")
	}
	if has[model.ThingList] && !view.MayHaveList() {
		with(annotation.Applied, annotation.SourceRanges)
	}
	isNoted := func(t model.Thing) bool { return t.Kind == model.ThingBound && b.Notes(t.ID) }
	if has[model.ThingBound] && !slices.ContainsFunc(things, isNoted) {
		with(annotation.Bound, annotation.BoundOwn)
	}
	if len(n.Annotations) > 0 { // Not all is in place.
		n.Labels = map[string]string{LabelHash: ""}
	}
	return n
}

// isReleased reports that a Service is known to have given up all that it had, which the cache doesn't show yet.
func (c changer) isReleased(svc *corev1.Service) bool {
	_, released := knowledge.Released(c.services.Of(keyOf(svc)).Get(string(svc.UID)).Known)
	return released
}
