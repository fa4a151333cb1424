package lb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// findEIPs reads the EIPs that concern a Service with the load balancer that was found.
func (r reader) findEIPs(ctx context.Context, found *model.Observed, mark observe.Mark, w *model.WantedEIP) error {
	store, ok := r.Reader.(observe.EIPReader)
	if !ok {
		return nil
	}
	eips, err := store.FindEIPs(ctx, mark, found.InstanceID, w)
	found.EIPs, found.EIPsKnown = eips, err == nil
	return err
}

// releaseEIPs gives up the EIPs of a load balancer that the Service has no more, as it was deleted by hand before the Service moved.
func (c changer) releaseEIPs(ctx context.Context, s pass) error {
	if !s.policy.allowsDeletions() {
		return nil
	}
	eips, there, err := c.eipsToRelease(ctx, s, model.Nothing())
	if err != nil || eips.Empty() {
		return err
	}
	if _, err := s.confirmed(ctx); err != nil {
		return err
	}
	_, err = c.releaseBeside(ctx, s.key, eips, there)
	return err
}

// eipsToRelease reads the EIPs that are noted on a Service which gives up a load balancer, or has none any more, and
// returns the way to give them up, too. With what is preserved they stay.
func (c changer) eipsToRelease(ctx context.Context, s pass, there model.Observed) (plan.Plan, model.Observed, error) {
	w := s.view.EIP()
	if w == nil || s.view.Preserved() {
		return plan.Plan{}, there, nil
	}
	w.ID, w.Allocate = "", false
	if err := c.findEIPs(ctx, &there, c.markOf(string(s.svc.UID)), w); err != nil {
		return plan.Plan{}, there, err
	}
	return plan.ReleaseEIPs(c.product, w, there), there, nil
}

// tellEIPs says of EIPs that were allocated for a Service which doesn't ask for them and doesn't note them that they
// are there. Nothing is done about one: the user may have named it by its id, so that it is the user's, and its
// address can't be had back.
func (w *orphans) tellEIPs(view desired.View, mine []model.Thing) {
	asked := view.EIP()
	var ids []string
	for _, t := range mine {
		if t.Kind == model.ThingEIP && (asked == nil || !asked.Made && !slices.Contains(asked.Users, t.ID)) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		w.events.Resolve(view.Service, controller.ReasonEIPLeft)
		return
	}
	w.events.Warning(view.Service, controller.ReasonEIPLeft, fmt.Sprintf("EIP %s was allocated for the Service, which "+
		"doesn't ask for it any more: unbind and release it in the console, or take its tag %s off if it is yours",
		strings.Join(ids, ", "), ownership.TagService))
}
