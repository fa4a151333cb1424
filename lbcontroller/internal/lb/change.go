package lb

import (
	"context"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

// changer changes the cloud. What is remembered and recorded is taken back before.
type changer struct {
	reader
	product  Product
	services *seen.Services[state]
	records  *knowledge.Record
	logger   *slog.Logger
	// room bounds the calls about server groups that go beside others.
	room apply.Room
}

// mostBeside is the room for calls beside others: with those of the Services that wait for the cloud (controller.maxWaiting) they are
// fewer than the 256 calls that the gateway takes on a connection.
const mostBeside = 40

// apply carries out a plan.
func (c changer) apply(ctx context.Context, w apply.Work) (model.Observed, error) {
	w.GroupsApart, w.Room = c.marks.GroupsApart, c.room
	return apply.Apply(ctx, c.product, w)
}

// carryOut notes on the Service what a crash must not lose, and makes the calls of the plan.
func (c changer) carryOut(ctx context.Context, s pass, d decision) (pass, result) {
	p, observed := d.plan, d.there()
	if p.Empty() {
		return s, result{observed: observed}
	}
	c.logger.Info("changing the load balancer", "service", s.key, "loadBalancer", observed.InstanceID, "plan", p.String())
	replaces := s.svc.Labels[LabelLoadBalancerID]
	n := controller.Notes{Annotations: map[string]string{}, Exact: []string{annotation.Claims, annotation.OwnTags, annotation.Applied}}
	want := s.want.Desired
	if p.ChangesConfig() {
		// A crash on the way must not look like success, nor leave tags that are not known to be ours.
		n.Labels = map[string]string{LabelHash: ""}
		tags := slices.Concat(annotation.ParseOwnTags(s.svc.Annotations), want.Instance.Tags)
		if p.Marks() { // The mark is set again if it alone fails.
			tags = append(tags, ownership.TagReused)
		}
		n.Annotations = ownTags(tags)
		_, n.Annotations[annotation.Applied] = s.view.Applied(false)
		n.Annotations[annotation.Making] = making(s, p)
		noteBound(n, want.Binding, false)
	}
	if p.FillsBuiltIn() {
		// Nor servers in the group that every load balancer has, if the Service doesn't ask for them any more afterwards.
		_, n.Annotations[annotation.Applied] = s.view.Applied(false)
	}
	// Nor leave anything on a user's load balancer that is not noted on the Service.
	claims := s.claims()
	for _, claim := range reuse.Claim(want) {
		if claim.LoadBalancer == observed.InstanceID {
			claims = claims.With(claim)
		}
	}
	n.Annotations[annotation.Claims] = claims.String()
	svc, err := s.writer.Note(ctx, s.svc, n)
	if err != nil {
		return s, result{changed: true, err: &noteError{err}}
	}
	work := apply.Work{
		Plan: p, Observed: observed,
		Life: apply.Life{ClusterID: c.clusterID, UID: string(s.svc.UID),
			Generation: svc.Annotations[controller.AnnotationGeneration], Replaces: replaces},
		Created: func(ctx context.Context, id string) error {
			noted, err := s.writer.Note(ctx, svc, controller.Notes{Labels: map[string]string{LabelLoadBalancerID: id}})
			if err == nil {
				svc = noted
			}
			return err
		},
	}
	var told []controller.Event
	work.Tell = func(text string) {
		told = append(told, controller.Normalf(controller.ReasonEnsured, "%s", text))
	}
	// From here on what is remembered and recorded is wrong, however this ends.
	s.memory.Forget()
	c.records.Change(ctx, s.key)
	after, err := c.apply(ctx, work)
	if err == nil && observed.Reused {
		err = c.clearNobodys(ctx, s.exists, want.Owner, observed, after)
	}
	done := result{changed: true, observed: after, err: err, events: told}
	if observed.Reused { // The next try finds gone what is, and has no Service to wake.
		done.wake = wake(c.services, s.key, want.Owner, observed, after, err)
	}
	return s.with(svc), done
}

// moveOut gives up what the Service had before it moved to the load balancer that it has now.
func (c changer) moveOut(ctx context.Context, s pass, own model.Observed, done result) (pass, result) {
	if own.InstanceID != "" {
		if s, done.err = c.releaseOwn(ctx, s, own); done.err != nil {
			return s, done
		}
		done.events = append(done.events, controller.Normalf(controller.ReasonCleaned,
			"load balancer %s is released: the Service has moved to load balancer %s",
			own.InstanceID, s.want.Desired.Reuse.ID))
	}
	elsewhere := s.claims().Without(s.want.Desired.Reuse.ID)
	left := c.leave(ctx, s.key, s.svc, s.exists, elsewhere)
	done.events, done.wake, done.err = append(done.events, left.events...), append(done.wake, left.wake...), left.err
	if isMove := own.InstanceID != "" || len(elsewhere) > 0; done.err == nil && isMove && s.want.Desired.Access.IsOver() {
		var left model.Observed
		lists := done.observed.Lists
		left, done.err = c.releaseBeside(ctx, s.key, plan.ReleaseLists(lists, false), model.Observed{Lists: lists})
		done.observed.Lists = left.Lists
	}
	return s, done
}

// releaseOwn gives up the Service's own load balancer. Its address can't be had back, so the Service is read anew
// before.
func (c changer) releaseOwn(ctx context.Context, s pass, own model.Observed) (pass, error) {
	s, err := s.confirmed(ctx)
	if err != nil {
		return s, err
	}
	if len(s.svc.Status.LoadBalancer.Ingress) > 0 {
		return s, controller.ErrStale
	}
	// The next load balancer of its own must not be taken for this one.
	svc, err := s.writer.Note(ctx, s.svc,
		controller.Notes{Annotations: map[string]string{controller.AnnotationGeneration: controller.NextGeneration(s.svc)}})
	if err != nil {
		return s, err
	}
	bound, own, err := c.boundToRelease(ctx, s, own)
	if err == nil {
		own, err = c.releaseBeside(ctx, s.key, bound, own)
	}
	if err != nil {
		return s, err
	}
	p := plan.Release(c.product, own, keptFor(s.view, s.want.Desired.Owner))
	c.logger.Info("releasing the load balancer", "service", s.key, "loadBalancer", own.InstanceID, "plan", p.String())
	if _, err := c.apply(ctx, apply.Work{Plan: p, Observed: own}); err != nil && !isGone(err) {
		return s, err
	}
	beside := plan.Beside{Owner: s.want.Desired.Owner, Preserve: s.view.Preserved(),
		GroupsApart: c.product.Marks().GroupsApart, Wanted: s.want.Desired.Groups}
	_, groups := beside.Release(model.Observed{Groups: own.Groups, Reused: own.Reused})
	_, err = c.releaseBeside(ctx, s.key, groups, own)
	return s.with(svc), err
}

// leave takes what is the Service's off load balancers of users. What others have bound to it stays: a server group
// that is still used loses only its servers.
func (c changer) leave(ctx context.Context, key string, svc *corev1.Service, exists controller.Exists,
	claims ownership.Claims) (done result) {
	owner := ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: c.clusterID}
	for _, claim := range claims {
		id := claim.LoadBalancer
		before, err := c.reused(ctx, id, observe.Parts{Owner: owner, IDs: claim.Groups})
		if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
			continue // Nothing can be left on it.
		}
		if done.err = err; err != nil {
			return done
		}
		if reuse.InVain(string(svc.UID), claimsOf(svc), before) {
			continue
		}
		after := before
		p := plan.Leave(owner, model.Reuse{ID: id, Listeners: claim.Listeners, Filled: claim.Groups}, before)
		if !p.Empty() {
			done.changed = true
			c.logger.Info("leaving the load balancer", "service", key, "loadBalancer", id, "plan", p.String())
			c.services.Of(key).Forget() // It is wrong from here on.
			after, err = c.apply(ctx, apply.Work{Plan: p, Observed: before})
			if isGone(err) {
				continue
			}
			done.wake = append(done.wake, wake(c.services, key, owner, before, after, err)...) // The next try doesn't see what went well.
			if done.err = err; err != nil {
				return done
			}
		}
		if done.err = c.clearNobodys(ctx, exists, owner, before, after); done.err != nil {
			return done
		}
		rest := reuse.Remains(owner, after)
		switch {
		case rest != "":
			done.events = append(done.events, controller.Donef(controller.ReasonPreserved,
				"load balancer %s keeps %s of the Service, which others use; delete by hand what nobody needs", id, rest))
		case !p.Empty():
			done.events = append(done.events, controller.Normalf(controller.ReasonCleaned,
				"load balancer %s stays, without what was made on it for the Service", id))
		}
	}
	return done
}
