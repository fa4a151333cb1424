package lb

import (
	"context"
	"slices"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// extent is how much is known of the cloud.
type extent int

// The extents.
const (
	// nothing: the cloud has to be read.
	nothing extent = iota
	// serversOnly: the vServer groups of the Service and their servers.
	serversOnly
	// all: the instance with its listeners, and the vServer groups.
	all
	// refused: the Service can't have the CLB that it names.
	refused
)

// knowledge is what is known of the cloud about one Service.
type knowledge struct {
	extent   extent
	observed model.Observed
	// read reports that the cloud was read completely just now: nothing more can be learnt.
	read bool
	// own is the CLB that was made for the Service, which it gives up for the one that it names.
	own     model.Observed
	refusal *reuse.Refusal
}

// known is the knowledge of what was observed.
func known(o model.Observed) knowledge {
	if o.ConfigKnown {
		return knowledge{extent: all, observed: o}
	}
	return knowledge{extent: serversOnly, observed: o}
}

// recall is what is known without a call.
func recall(s subject) knowledge {
	reused := s.view.Reused()
	switch {
	case s.state == memory.Known && s.entry.Refused.Text != "" && s.entry.RefusedFor == s.saying():
		return knowledge{extent: refused, refusal: &s.entry.Refused}
	case s.entry.Trusted != "" || s.entry.Absent: // Something has changed since, or little was looked at.
		return knowledge{}
	case s.state == memory.Known && s.entry.Refused.Text == "" && s.entry.Observed.Reused == (reused != "") &&
		(reused == "" || s.entry.Observed.InstanceID == reused): // What is remembered may be the CLB that the Service had before.
		return known(s.entry.Observed)
	case s.fresh && reused == "":
		return known(model.Nothing())
	default:
		return knowledge{}
	}
}

// decision is what to do about a Service, and what it is based on.
type decision struct {
	known knowledge
	plan  plan.Plan
	// reported is what others have changed and is left so, and withheld what the policy doesn't allow.
	reported, withheld []plan.Action
	// entry is what was remembered of the CLB and still holds.
	entry memory.Entry
	// begun reports that servers are left for the next pass.
	begun bool
}

// complete reports that the Service has all it asks for, once the plan is carried out.
func (d decision) complete() bool { return len(d.plan.Refused)+len(d.withheld) == 0 }

// tryDecide decides, if what is known is enough for that. What was only remembered is not enough to delete anything: others may have come to
// use it. Nor is it to refuse anything: what stands in the way may be gone. On a user's CLB anything may have been made.
func tryDecide(s subject, k knowledge) (d decision, enough bool) {
	d = decision{known: k, entry: s.entry}
	want := s.want.Desired
	switch k.extent {
	case nothing:
		return d, false
	case refused:
		return d, true
	case serversOnly:
		// After a restart the hash says that the configuration is in place; only the servers have to be compared.
		d.plan, enough = plan.DiffServers(want, k.observed) // A policy that allows no change of servers reads all.
		return d, enough && s.configured()
	case all:
	}
	d.plan, d.reported = s.drift.split(s, plan.Diff(s.product, want, k.observed))
	d.plan, d.withheld = s.policy.split(d.plan)
	if refusal := s.policy.keeps(s, k); refusal != nil {
		d.known = knowledge{extent: refused, refusal: refusal}
		return d, true
	}
	if !k.read {
		seen := len(d.plan.Refused) == 0 || s.entry.ComparedFor == s.hash
		return d, seen && plan.Knows(want, k.observed) && !d.plan.Deletes() && (want.Reuse.ID == "" || !d.plan.ChangesConfig())
	}
	d.entry = memory.Renew(s.entry) // What was read just now counts as verified.
	d.entry.ComparedFor = s.hash
	moving := k.own.InstanceID != "" || len(s.claims().Without(want.Reuse.ID)) > 0
	if want.Reuse.ID != "" && moving && len(d.plan.Refused) > 0 {
		// A Service moves as a whole or not at all: what it has now serves on.
		d.known = knowledge{extent: refused, refusal: &reuse.Refusal{Text: joined(d.plan.Refused)}}
	}
	return d, true
}

// decide finds out what is there, beyond what is known, as cheaply as is safe, and what to do. What the Service can't have is a *reuse.Refusal.
func (k *Kind) decide(ctx context.Context, s subject, have knowledge) (decision, error) {
	var err error
	if have.extent == nothing && s.state != memory.Due && s.configured() {
		if have, err = k.readServers(ctx, s); err != nil {
			return decision{}, err
		}
	}
	d, enough := tryDecide(s, have)
	if !enough {
		if have, err = k.readAll(ctx, s); err != nil {
			return decision{}, err
		}
		k.stillHeld(s, have.observed.Groups)
		d, _ = tryDecide(s, have)
	}
	if d.known.extent == refused {
		return d, d.known.refusal
	}
	if k.memory.Full(s.key) {
		d.plan.RemoveFirst() // The cloud has just refused more servers.
	}
	return d, nil
}

// stillHeld notes on groups that were read in a check for drift which of them the cloud has refused to delete. They are not tried again for that.
func (k *Kind) stillHeld(s subject, groups []model.Group) {
	if !s.idle {
		return
	}
	last, _ := k.memory.Get(s.key, string(s.svc.UID))
	for i := range groups {
		groups[i].Held = slices.ContainsFunc(last.Observed.Groups, func(g model.Group) bool { return g.Held && g.ID == groups[i].ID })
	}
}

// parts are the vServer groups that concern a Service on the CLB it names.
func parts(want *model.Desired) observe.Parts {
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

// readServers reads the vServer groups only. A CLB that isn't there is nothing.
func (k *Kind) readServers(ctx context.Context, s subject) (knowledge, error) {
	groups := parts(s.want.Desired)
	found, err := k.Product.Read(ctx, s.svc.Labels[LabelLoadBalancerID], observe.Extent{View: observe.Servers, User: &groups})
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return knowledge{}, nil
	}
	if err != nil {
		return knowledge{}, err
	}
	found.Reused = s.view.Reused() != ""
	return known(found), nil
}

// readReused reads a user's CLB with its listeners, and its vServer groups so far as they concern the Service: many Services may share it.
func (k *Kind) readReused(ctx context.Context, id string, p observe.Parts) (model.Observed, error) {
	return k.Product.Read(ctx, id, observe.Extent{View: observe.Full, User: &p})
}

// readAll reads the CLB that the Service names, or finds its own.
func (k *Kind) readAll(ctx context.Context, s subject) (knowledge, error) {
	hint := k.hint(s.svc, s.view.ClaimsOf(s.svc))
	id := s.view.Reused()
	if id == "" {
		found, err := k.observer.Find(ctx, hint, observe.Full)
		if err == nil {
			err = k.Product.Complete(ctx, &found, s.want.Desired)
		}
		return knowledge{extent: all, observed: found, read: true}, err
	}
	named, err := k.readReused(ctx, id, parts(s.want.Desired))
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		k.memory.Forget(s.key)
		return knowledge{extent: refused, read: true, refusal: reuse.Missing(id)}, nil
	}
	if err == nil {
		err = k.Product.Complete(ctx, &named, s.want.Desired)
	}
	if err != nil {
		return knowledge{}, err
	}
	if refusal := reuse.Made(named); refusal != nil {
		return knowledge{extent: refused, read: true, refusal: refusal}, nil //nolint:nilerr // A refusal is what is known, no failure to find it out.
	}
	if refusal := reuse.Elsewhere(s.facts(), s.want.Desired, named); refusal != nil {
		return knowledge{extent: refused, read: true, refusal: refusal}, nil //nolint:nilerr // A refusal is what is known, no failure to find it out.
	}
	// The CLB that was made for the Service before it named another. The label names the CLB that the Service has taken only when nothing
	// else is left.
	var own model.Observed
	if !s.fresh && s.svc.Labels[LabelLoadBalancerID] != id {
		if own, err = k.observer.Find(ctx, hint, observe.Basic); err != nil {
			return knowledge{}, err
		}
	}
	// What only the load balancer of before has goes with it: it may be in use there yet.
	named.Groups = slices.DeleteFunc(named.Groups, func(g model.Group) bool {
		return own.InstanceID != "" && s.want.Desired.Owner.Owns(g.Name) && !plan.Wants(s.want.Desired.Groups, g) &&
			slices.ContainsFunc(own.Groups, func(o model.Group) bool { return o.ID == g.ID })
	})
	if refusal := reuse.Taken(s.facts(), named, own); refusal != nil {
		return knowledge{extent: refused, read: true, refusal: refusal}, nil //nolint:nilerr // A refusal is what is known, no failure to find it out.
	}
	return knowledge{extent: all, observed: named, own: own, read: true}, nil
}
