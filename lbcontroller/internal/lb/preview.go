package lb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

func (e *engine) previewEnsure(ctx context.Context, r controller.Request, result *controller.Preview) error {
	s, err := e.begin(r, nil)
	result.Warnings = s.view.Unknown()
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		result.Refused = invalid.Problems
		return nil
	}
	if err != nil {
		return err
	}
	result.Warnings = slices.Concat(result.Warnings, s.want.Warnings, s.want.WithoutEffect, s.want.Lacking)
	s.memory.needs.Store(needsOf(s.want.Desired, s.packer))
	s, d, err := e.compare(ctx, s)
	if err != nil {
		return err
	}
	observed := d.there()
	if observed.InstanceID != "" {
		result.LoadBalancer = observed.InstanceID
	}
	result.Warnings = append(result.Warnings, e.Product.WithoutEffect(s.view, observed)...)
	if refusal := d.refusal(); refusal != nil {
		result.Refused = []string{refusal.Text}
		return nil //nolint:nilerr // A refusal is an answer.
	}
	result.Refused = d.plan.Refused
	for action := range d.plan.Actions() {
		result.Actions = append(result.Actions, action.String())
	}
	for _, action := range d.withheld {
		result.Withheld = append(result.Withheld, action.String())
	}
	for _, action := range d.reported {
		result.Warnings = append(result.Warnings, "left as it is by the configuration (drift): "+action.String())
	}
	if own := d.own().InstanceID; own != "" {
		result.Actions = append(result.Actions, "release load balancer "+own)
	}
	if name := changedMode(s.want.Desired, observed); name != "" {
		result.Warnings = append(result.Warnings, fmt.Sprintf(
			"the backends would change between nodes and pods: load balancer %s has server group %s; "+
				"where the existing CCM ran with SERVICE_FORCE_BACKEND_ENI=true, set backendType: eni", observed.InstanceID, name))
	}
	return nil
}

// changedMode is the server group that a Service has for the other kind of backends, nodes or pods.
func changedMode(want *model.Desired, observed model.Observed) string {
	for _, g := range observed.Groups {
		if slices.Contains(want.Former, g.Name) && !slices.ContainsFunc(want.Groups, func(w model.Group) bool { return w.Name == g.Name }) {
			return g.Name
		}
	}
	return ""
}

func (e *engine) previewRelease(ctx context.Context, r controller.Request, result *controller.Preview) error {
	view := e.Desired.View(r.Service)
	if isUnconfirmed(e.Product, r.Service) {
		result.Refused = []string{unconfirmed(r.Service)}
		return nil
	}
	p, err := e.possessions(ctx, r, view)
	if err != nil {
		return err
	}
	result.LoadBalancer = p.observed.InstanceID
	policy := policyOf(view, e.Policy)
	list := &result.Actions
	if policy == PolicyReport || e.kept(policy, r, view, p.claims, p.whole()) != "" {
		list = &result.Withheld
	}
	for action := range p.whole().Actions() {
		*list = append(*list, action.String())
	}
	if !view.Preserved() {
		for _, claim := range p.claims {
			*list = append(*list, "take what is the Service's off load balancer "+claim.LoadBalancer)
		}
	}
	return nil
}
