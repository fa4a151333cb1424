package lb

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// reader reads what there is of Services.
type reader struct {
	observe.Observer
	clusterID string
	marks     Marks
}

// hint is what a Service says about the load balancer that was made for it.
func (r reader) hint(svc *corev1.Service, claims ownership.Claims) observe.Hint {
	h := observe.Hint{
		RecordedID: svc.Labels[LabelLoadBalancerID], DefaultName: ownership.DefaultName(string(svc.UID)), ClusterID: r.clusterID,
		Addresses: r.marks.published(svc),
	}
	for _, claim := range claims {
		h.Users = append(h.Users, claim.LoadBalancer)
	}
	return h
}

// partsOf are the server groups that concern a Service on the load balancer it names.
func partsOf(want *model.Desired) observe.Parts {
	p := observe.Parts{Mark: ownership.DefaultName(want.UID), Owner: want.Owner, IDs: want.Reuse.Filled}
	for _, g := range want.Groups {
		if g.ID != "" {
			p.IDs = append(p.IDs[:len(p.IDs):len(p.IDs)], g.ID)
		} else {
			p.Names = append(p.Names, g.Name)
		}
	}
	return p
}

// reused reads a user's load balancer with its listeners, and its server groups so far as they concern the Service:
// many Services may share it.
func (r reader) reused(ctx context.Context, id string, p observe.Parts) (model.Observed, error) {
	return r.Read(ctx, id, observe.Extent{View: observe.Full, User: &p})
}

// servers reads the server groups only. A load balancer that isn't there is nothing.
func (r reader) servers(ctx context.Context, s pass) (knowledge.Known, error) {
	groups := partsOf(s.want.Desired)
	found, err := r.Read(ctx, s.svc.Labels[LabelLoadBalancerID], observe.Extent{View: observe.Servers, User: &groups})
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return knowledge.Nothing{}, nil
	}
	if err != nil {
		return nil, err
	}
	found.Reused = s.view.Reused() != ""
	return knowledge.Servers{Observed: s.memory.withHeld(found)}, nil
}

// complete reads what it takes for a comparison: what the kind needs, and the access lists of a Service that has some or is to have some.
func (r reader) complete(ctx context.Context, found *model.Observed, want *model.Desired) error {
	if want.Access != nil {
		lists, err := r.Lists(ctx, r.markOf(want.UID))
		if found.Lists, found.ListsKnown = lists, err == nil; err != nil {
			return err
		}
	}
	if err := r.Complete(ctx, found, want); err != nil {
		return err
	}
	if want.Binding == nil || want.Reuse.ID != "" {
		found.BoundKnown = true
		return nil
	}
	return r.findBound(ctx, found, r.markOf(want.UID), want.Binding)
}

// markOf is what things made for a Service bear.
func (r reader) markOf(uid string) observe.Mark {
	return observe.Mark{DefaultName: ownership.DefaultName(uid), ClusterID: r.clusterID}
}

// all reads the load balancer that the Service names, or finds its own.
func (r reader) all(ctx context.Context, s pass) (knowledge.Known, error) {
	hint := r.hint(s.svc, s.view.ClaimsOf(s.svc))
	id := s.view.Reused()
	if id == "" {
		hint.RecordedID = cmp.Or(hint.RecordedID, s.memory.making.id)
		found, err := r.Find(ctx, hint, observe.Full)
		s.memory.stillMaking(err)
		if err == nil {
			err = r.complete(ctx, &found, s.want.Desired)
		}
		return knowledge.All{Observed: s.memory.withHeld(found)}, err
	}
	named, err := r.reused(ctx, id, partsOf(s.want.Desired))
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		refusal := reuse.Missing(id, r.marks.Others)
		refusal.Gone = s.svc.Labels[LabelLoadBalancerID] == id
		return knowledge.Refused{Refusal: refusal}, nil
	}
	if err == nil {
		err = r.complete(ctx, &named, s.want.Desired)
	}
	if err == nil {
		named, err = r.withNobodys(ctx, s.exists, s.want.Desired.Owner, named)
	}
	if err != nil {
		return nil, err
	}
	if refusal := cmp.Or(reuse.Made(named), reuse.Elsewhere(s.facts(), s.want.Desired, named)); refusal != nil {
		return knowledge.Refused{Refusal: refusal}, nil //nolint:nilerr // A refusal is an answer.
	}
	// The load balancer that was made for the Service before it named another. The label names the load balancer that
	// the Service has taken only when nothing else is left.
	var own model.Observed
	if !s.fresh && s.svc.Labels[LabelLoadBalancerID] != id {
		if own, err = r.Find(ctx, hint, observe.Basic); err != nil {
			return nil, err
		}
	}
	// What only the load balancer of before has goes with it: it may be in use there yet.
	named.Groups = slices.DeleteFunc(named.Groups, func(g model.Group) bool {
		return own.InstanceID != "" && s.want.Desired.Owner.Owns(g.Name) && !plan.Wants(s.want.Desired.Groups, g) &&
			slices.ContainsFunc(own.Groups, func(o model.Group) bool { return o.ID == g.ID })
	})
	if refusal := reuse.Taken(s.facts(), named, own); refusal != nil {
		return knowledge.Refused{Refusal: refusal}, nil //nolint:nilerr // A refusal is an answer.
	}
	return knowledge.All{Observed: s.memory.withHeld(named), Own: own}, nil
}

// present gives what is remembered, or else reads the instance that is written on the Service: it is not looked for, as nothing may
// be written there.
func (r reader) present(ctx context.Context, s pass, backends *model.Desired) (model.Observed, error) {
	there := knowledge.There(s.entry.Known)
	if _, isAbsent := knowledge.Meanwhile(s.entry.Known).(knowledge.Absent); isAbsent || there.InstanceID != "" {
		return there, nil
	}
	id := s.svc.Labels[LabelLoadBalancerID]
	switch claims := s.view.ClaimsOf(s.svc); {
	case id == "":
		return model.Nothing(), nil
	case !claims.Has(id):
		observed, err := r.Serving(ctx, r.hint(s.svc, claims))
		if err == nil {
			err = r.Complete(ctx, &observed, &model.Desired{Groups: backends.Groups})
		}
		return observed, err
	default:
		p := partsOf(backends)
		p.IDs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.IDs, claims.Of(id).Groups))))
		observed, err := r.reused(ctx, id, p)
		if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
			return model.Nothing(), nil
		}
		return model.Observed{InstanceID: observed.InstanceID, Reused: true, Groups: observed.Groups}, err
	}
}
