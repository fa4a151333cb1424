package lb

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// Kind is a kind of load balancers: the engine, with the Product of the kind. It implements controller.Kind.
type Kind struct {
	engine  *engine
	orphans *orphans
}

// New makes the kind, to be registered at a controller.
func New(cfg Config) controller.Registration {
	marks := cfg.Product.Marks()
	cfg.Desired.Fields = cfg.Product.Fields
	cfg.Desired.Parser, cfg.Desired.DottedNames = annotation.NewParser(marks.Name), marks.DottedNames
	cfg.Desired.BuiltInGroup = marks.BuiltInGroup
	if cfg.Shared == nil {
		cfg.Shared = NewShared(cfg.Gateway, cfg.Desired.VPCID, cfg.Registerer)
	}
	e := newEngine(cfg)
	kind := &Kind{engine: e, orphans: newOrphans(cfg, e.changer)}
	labels := []string{LabelLoadBalancerID}
	if marks.ListLabel != "" {
		labels = append(labels, marks.ListLabel)
	}
	return controller.Registration{
		MetricType: marks.MetricType, Finalizer: marks.Finalizer, Kind: kind, Previewer: kind, Run: kind.run,
		Labels: labels, Annotations: []string{annotation.OwnTags, annotation.Applied, annotation.Claims, annotation.Bound},
	}
}

// run does what belongs to no Service, as long as this replica leads.
func (k *Kind) run(ctx context.Context) error {
	beside, ctx := errgroup.WithContext(ctx)
	if records := k.engine.Records; records != nil {
		beside.Go(func() error { return records.Run(ctx) })
	}
	beside.Go(func() error { return k.engine.certs.Run(ctx) })
	beside.Go(func() error { return k.engine.uploads.run(ctx) })
	beside.Go(func() error { return k.orphans.watch(ctx) })
	beside.Go(func() error { return k.removeRules(ctx) })
	return beside.Wait()
}

// Interest implements controller.Kind.
func (k *Kind) Interest(svc *corev1.Service) controller.Interest {
	product := k.engine.Product
	i := controller.Interest{Wanted: product.Wants(svc) || isUnconfirmed(product, svc)}
	if !i.Wanted && !isHeld(product, svc) {
		return i
	}
	view := k.engine.Desired.View(svc)
	i.Policy = view.Policy()
	i.Unknown = k.engine.Shared.instances.Unknown()
	for _, claim := range view.Claims() {
		i.Shared = append(i.Shared, claim.LoadBalancer)
	}
	return i
}

// Changed implements controller.Kind. What a user changes is compared with what the cloud holds, and so is what another client took away
// that the controller had noted on the Service.
func (k *Kind) Changed(old, svc *corev1.Service) {
	unnoted := forgotten(old, svc)
	if !k.engine.Product.Wants(svc) || !unnoted && !controller.Touched(old, svc) {
		return
	}
	memory := k.engine.services.Of(keyOf(svc))
	if unnoted {
		memory.Forget()
	}
	memory.Doubt() // What a pass under way remembers was read before.
}

// forgotten reports whether another client took away what the controller had noted: the address, because the load
// balancer is gone, or the hash, to have the load balancer compared at once. The controller itself takes the hash away
// before it changes the load balancer, and notes then what it makes.
func forgotten(old, svc *corev1.Service) bool {
	cleared := len(old.Status.LoadBalancer.Ingress) > 0 && len(svc.Status.LoadBalancer.Ingress) == 0
	unmarked := old.Labels[LabelHash] != "" && svc.Labels[LabelHash] == "" && svc.Annotations[annotation.Making] == ""
	return cleared || unmarked
}

// Ensure implements controller.Kind.
func (k *Kind) Ensure(ctx context.Context, r controller.Request) controller.Outcome {
	lists := k.engine.lists.Lend()
	o := k.engine.ensure(ctx, r, lists)
	if o.Err == nil { // An error may name servers; nothing else of an outcome has any.
		lists.Return()
	}
	return k.engine.callNext(r.Key, o)
}

// Release implements controller.Kind: first the Service's own load balancer, then what it has on those of users.
func (k *Kind) Release(ctx context.Context, r controller.Request) controller.Outcome {
	return k.engine.calledForRoom(k.engine.callNext(r.Key, k.engine.release(ctx, r)))
}

// Forget implements controller.Kind.
func (k *Kind) Forget(key string) {
	k.engine.forget(k.engine.services.Of(key))
	k.engine.services.Forget(key)
	k.engine.Records.Set(key, "")
	k.engine.creations.Forget(key)
}

// Preview implements controller.Previewer.
func (k *Kind) Preview(ctx context.Context, r controller.Request) controller.Preview {
	preview := controller.Preview{Namespace: r.Service.Namespace, Service: r.Service.Name, LoadBalancer: r.Service.Labels[LabelLoadBalancerID]}
	fill := k.engine.previewRelease
	if k.engine.Product.Wants(r.Service) {
		fill = k.engine.previewEnsure
	}
	if err := fill(ctx, r, &preview); err != nil {
		preview.Error = err.Error()
	}
	return preview
}

// Quotas implements controller.Previewer.
func (k *Kind) Quotas() []controller.Quota {
	var list []controller.Quota
	for _, q := range k.engine.quotas() {
		list = append(list, controller.Quota{Kind: string(k.engine.Product.Marks().Name), Name: q.name, Needed: q.needed, Limit: q.limit})
	}
	return list
}

// ListOrphans implements controller.Previewer.
func (k *Kind) ListOrphans(ctx context.Context) ([]controller.Orphan, error) {
	found, _, _, err := k.orphans.list(ctx)
	list := make([]controller.Orphan, len(found))
	for i, o := range found {
		list[i] = controller.Orphan{
			LoadBalancer: o.LoadBalancer, Name: o.Name, Address: o.Address, Mark: o.Mark, Kept: o.Kept,
		}
		if o.Thing != 0 {
			list[i].Thing = o.Thing.String()
		}
	}
	return list, err
}
