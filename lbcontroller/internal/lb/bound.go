package lb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// noteBound adds what is bound to notes: once all that the Service asks for is in place, or while it is being put in
// place.
func noteBound(n controller.Notes, b *model.Binding, isDone bool) {
	switch {
	case isDone && b.IsAsked():
		n.Annotations[annotation.Bound] = cmp.Or(b.ID, annotation.BoundOwn)
	case isDone:
		n.Annotations[annotation.Bound] = ""
	case b != nil:
		items := slices.Clone(b.Users)
		if b.Made {
			items = append(items, annotation.BoundOwn)
		}
		n.Annotations[annotation.Bound] = strings.Join(slices.Sorted(slices.Values(items)), ",")
	}
}

// findBound reads the bound things that concern a Service with the load balancer that was found.
func (r reader) findBound(ctx context.Context, found *model.Observed, mark observe.Mark, b *model.Binding) error {
	store, ok := r.Reader.(observe.BoundReader)
	if !ok {
		return nil
	}
	bound, err := store.FindBound(ctx, mark, found.InstanceID, b)
	found.Bound, found.BoundKnown = bound, err == nil
	return err
}

// releaseBound gives up what was bound to a load balancer that the Service has no more, as it was deleted by hand
// before the Service moved.
func (c changer) releaseBound(ctx context.Context, s pass) error {
	if !s.policy.allowsDeletions() {
		return nil
	}
	bound, there, err := c.boundToRelease(ctx, s, model.Nothing())
	if err != nil || bound.Empty() {
		return err
	}
	if _, err := s.confirmed(ctx); err != nil {
		return err
	}
	_, err = c.releaseBeside(ctx, s.key, bound, there)
	return err
}

// boundToRelease reads what is noted as bound on a Service which gives up a load balancer, or has none any more, and
// returns the way to give that up, too. With what is preserved it stays.
func (c changer) boundToRelease(ctx context.Context, s pass, there model.Observed) (
	plan.Plan, model.Observed, error) {
	b := s.want.Desired.Binding.Over()
	if b == nil || s.view.Preserved() {
		return plan.Plan{}, there, nil
	}
	if err := c.findBound(ctx, &there, c.markOf(string(s.svc.UID)), b); err != nil {
		return plan.Plan{}, there, err
	}
	return plan.ReleaseBound(c.product, b, there), there, nil
}

// reportUnused says of things that were made for a Service to be bound, and that it neither asks for nor notes, that
// they are there. Nothing is done about one: the user may have named it by its id, so that it is the user's, and its
// address can't be had back.
func (w *orphans) reportUnused(view desired.View, mine []model.Thing) {
	b, _ := w.product.Bound(view)
	var ids []string
	for _, t := range mine {
		if t.Kind == model.ThingBound && !b.Notes(t.ID) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		w.events.Resolve(view.Service, controller.ReasonUnused)
		return
	}
	w.events.Warning(view.Service, controller.ReasonUnused, fmt.Sprintf("%s %s was allocated for the Service, which "+
		"doesn't ask for it any more: unbind and release it in the console, or take its tag %s off if it is yours",
		model.ThingBound, strings.Join(ids, ", "), ownership.TagService))
}
