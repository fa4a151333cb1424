package clb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/clb/reuse"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// Preview is what the controller would do about a Service now.
type Preview struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// LoadBalancer is the CLB that the Service has, "" for none.
	LoadBalancer string `json:"loadBalancer,omitempty"`
	// Actions are the changes in the cloud, in their order.
	Actions []string `json:"actions,omitempty"`
	// Withheld are changes that the policy holds back.
	Withheld []string `json:"withheld,omitempty"`
	// Refused is what the Service asks for and would not be done.
	Refused []string `json:"refused,omitempty"`
	// Warnings are about what would be left out or has no effect.
	Warnings []string `json:"warnings,omitempty"`
	// Error is why the cloud could not be read.
	Error string `json:"error,omitempty"`
}

// Previewer finds out what the controller would do. It reads, and writes nothing anywhere.
type Previewer struct{ kind *Kind }

// NewPreviewer makes a Previewer.
func NewPreviewer(cfg Config) (Previewer, error) {
	cfg.Records = nil // What is recorded is not what there is.
	kind, ok := New(cfg).Kind.(*Kind)
	if !ok {
		return Previewer{}, errors.New("the kind can't be previewed")
	}
	return Previewer{kind: kind}, nil
}

// Concerns reports whether a Service has a CLB or is to have one.
func (p Previewer) Concerns(svc *corev1.Service) bool { return p.kind.wants(svc) || isHeld(svc) }

// Service compares what a Service asks for with what the cloud holds. The Writer of the request isn't used.
func (p Previewer) Service(ctx context.Context, r controller.Request) Preview {
	result := Preview{Namespace: r.Service.Namespace, Service: r.Service.Name, LoadBalancer: r.Service.Labels[LabelLoadBalancerID]}
	var err error
	if p.kind.wants(r.Service) {
		err = p.ensure(ctx, r, &result)
	} else {
		err = p.release(ctx, r, &result)
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

func (p Previewer) ensure(ctx context.Context, r controller.Request, result *Preview) error {
	k := p.kind
	s := subject{key: r.Key, svc: r.Service, drift: k.Drift, view: k.Desired.View(r.Service)}
	s.policy = k.policyOf(s.view)
	result.Warnings = s.view.Unknown()
	var err error
	if s.want, err = desired.Build(k.Desired, desired.Input{View: s.view, Slices: r.Slices, Nodes: r.Nodes}); err == nil {
		s.hash, err = s.want.Hash()
	}
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		result.Refused = invalid.Problems
		return nil
	}
	if err != nil {
		return err
	}
	result.Warnings = append(result.Warnings, s.want.Warnings...)
	if s, err = k.withPods(ctx, s); err != nil {
		return err
	}
	have, err := k.readAll(ctx, s)
	if err != nil {
		return err
	}
	d, _ := settle(s, have)
	if d.known.extent == refused {
		result.Refused = []string{d.known.refusal.Text}
		return nil
	}
	observed := d.known.observed
	result.LoadBalancer = observed.InstanceID
	result.Warnings = append(result.Warnings, s.view.WithoutEffect(observed.Instance)...)
	if refusal := k.mayCreate(s, d); refusal != nil {
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

func (p Previewer) release(ctx context.Context, r controller.Request, result *Preview) error {
	view := p.kind.Desired.View(r.Service)
	observed, err := p.kind.observer.Find(ctx, p.kind.hint(r.Service, view.Claims()), slbv1.View_VIEW_BASIC)
	if err != nil {
		return err
	}
	result.LoadBalancer = observed.InstanceID
	if p.kind.isOverlooked(r.Service) {
		result.Refused = []string{overlooked(r.Service)}
		return nil
	}
	policy, released := p.kind.policyOf(view), plan.Release(observed, view.Preserved())
	list := &result.Actions
	if policy == PolicyReport || p.kind.kept(policy, r, view, released) != "" {
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

// Orphans lists the CLBs with the tags of this cluster that belong to none of its Services. The Services are listed anew: they must not be older
// than the CLBs.
func (p Previewer) Orphans(ctx context.Context, client kubernetes.Interface) ([]orphan.Orphan, error) {
	found, _, _, err := p.kind.orphans(ctx, func() ([]*corev1.Service, error) { return listServices(ctx, client) })
	return found, err
}

// mayCreate refuses a CLB to a Service that had one which is gone, and a public one where the cluster doesn't allow these.
func (k *Kind) mayCreate(s subject, d decision) *reuse.Refusal {
	if d.known.observed.InstanceID != "" {
		return nil
	}
	if refusal := reuse.Gone(s.facts()); refusal != nil {
		return refusal
	}
	if k.DisablePublic && s.want.Desired.Instance.Spec.GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return &reuse.Refusal{Text: "public CLBs are disabled in this cluster; set annotation " + annotation.Prefix + annotation.AddressType + " to intranet"}
	}
	return nil
}
