package lb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// Preview implements controller.Previewer.
func (k *Kind) Preview(ctx context.Context, r controller.Request) controller.Preview {
	result := controller.Preview{Namespace: r.Service.Namespace, Service: r.Service.Name, LoadBalancer: r.Service.Labels[LabelLoadBalancerID]}
	var err error
	if k.Product.Wants(r.Service) {
		err = k.previewEnsure(ctx, r, &result)
	} else {
		err = k.previewRelease(ctx, r, &result)
	}
	if err != nil {
		result.Error = err.Error()
	}
	return k.previewInWords(result)
}

func (k *Kind) previewEnsure(ctx context.Context, r controller.Request, result *controller.Preview) error {
	s, err := k.subjectOf(r, nil)
	result.Warnings = s.view.Unknown()
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		result.Refused = invalid.Problems
		return nil
	}
	if err != nil {
		return err
	}
	result.Warnings = slices.Concat(result.Warnings, s.want.Warnings, s.want.WithoutEffect)
	s, d, err := k.compare(ctx, s)
	if err != nil {
		return err
	}
	observed := d.known.observed
	if observed.InstanceID != "" {
		result.LoadBalancer = observed.InstanceID
	}
	result.Warnings = append(result.Warnings, k.Product.WithoutEffect(s.view, observed)...)
	if d.known.extent == refused {
		result.Refused = []string{d.known.refusal.Text}
		return nil
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
	if own := d.known.own.InstanceID; own != "" {
		result.Actions = append(result.Actions, "release CLB "+own)
	}
	if name := changedMode(s.want.Desired, observed); name != "" {
		result.Warnings = append(result.Warnings, fmt.Sprintf("the backends would change between nodes and pods: CLB %s has vServer group %s; "+
			"where the existing CCM ran with SERVICE_FORCE_BACKEND_ENI=true, set backendType: eni", observed.InstanceID, name))
	}
	return nil
}

// changedMode is the vServer group that a Service has for the other kind of backends, nodes or pods.
func changedMode(want *model.Desired, observed model.Observed) string {
	for _, g := range observed.Groups {
		if slices.Contains(want.Former, g.Name) && !slices.ContainsFunc(want.Groups, func(w model.Group) bool { return w.Name == g.Name }) {
			return g.Name
		}
	}
	return ""
}

func (k *Kind) previewRelease(ctx context.Context, r controller.Request, result *controller.Preview) error {
	view := k.Desired.View(r.Service)
	observed, err := k.observer.Find(ctx, k.hint(r.Service, view.Claims()), observe.Basic)
	if err != nil {
		return err
	}
	result.LoadBalancer = observed.InstanceID
	if k.isUnconfirmed(r.Service) {
		result.Refused = []string{unconfirmed(r.Service)}
		return nil
	}
	owner := ownership.Owner{Service: r.Service.Name, Namespace: r.Service.Namespace, ClusterID: k.Desired.ClusterID}
	policy, released := k.policyOf(view), plan.Release(k.Product, observed, view.Preserved())
	released.Phases = append(released.Phases, k.groupsToDrop(owner, observed, view.Preserved()).Phases...)
	list := &result.Actions
	if policy == PolicyReport || k.kept(policy, r, view, view.Claims(), released) != "" {
		list = &result.Withheld
	}
	for action := range released.Actions() {
		*list = append(*list, action.String())
	}
	if !view.Preserved() {
		for _, claim := range view.Claims() {
			*list = append(*list, "take what is the Service's off CLB "+claim.LoadBalancer)
		}
	}
	return nil
}

// ListOrphans implements controller.Previewer.
func (k *Kind) ListOrphans(ctx context.Context) ([]controller.Orphan, error) {
	found, _, _, err := k.orphans(ctx)
	list := make([]controller.Orphan, len(found))
	for i, o := range found {
		list[i] = controller.Orphan(o)
	}
	return list, err
}

// mayCreate refuses a CLB to a Service that had one which is gone, and a public one where the cluster doesn't allow these.
func (k *Kind) mayCreate(s subject, d decision) *reuse.Refusal {
	if d.known.observed.InstanceID != "" {
		return nil
	}
	if refusal := reuse.Gone(s.facts()); refusal != nil {
		return refusal
	}
	if why := s.want.Desired.Instance.Forbidden; why != "" {
		return &reuse.Refusal{Text: why}
	}
	return nil
}
