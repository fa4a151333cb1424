package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/clb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// retryMissing is when a CLB that a Service names and that doesn't exist is looked for again.
const retryMissing = 5 * time.Minute

// named reads the user's CLB that the Service names, and refuses one that the Service must not take.
func (e *ensuring) named(ctx context.Context) (model.Observed, error) {
	id := e.desired.Reuse.ID
	observed, err := e.observer.Reused(ctx, id, e.parts())
	if rpcerr.IsNotFound(err) {
		e.memory.Forget(keyOf(e.svc))
		return model.Observed{}, &refusedError{text: fmt.Sprintf("there is no CLB %s; correct annotation %s%s, or make the CLB", id, annotation.Prefix, annotation.ID),
			again: retryMissing}
	}
	if err != nil {
		return model.Observed{}, err
	}
	if key := madeTag(observed); key != "" {
		return model.Observed{}, &refusedError{text: fmt.Sprintf("CLB %s belongs to a cluster or a Service, as its tag %s says, and can't be reused; "+
			"name one that was made by hand in annotation %s%s", id, key, annotation.Prefix, annotation.ID)}
	}
	if e.own, err = e.ownCLB(ctx); err != nil {
		return model.Observed{}, err
	}
	if e.own.InstanceID != "" && len(e.svc.Status.LoadBalancer.Ingress) > 0 {
		return model.Observed{}, &refusedError{text: fmt.Sprintf("the Service has CLB %s of its own; to move to CLB %s, clear status.loadBalancer, "+
			"and CLB %s is released: %s", e.own.InstanceID, id, e.own.InstanceID, clearStatus(e.svc))}
	}
	if shown := e.publishes(observed); shown != "" {
		return model.Observed{}, &refusedError{text: fmt.Sprintf("the Service publishes %s, which is not the address of CLB %s; to move there, "+
			"clear status.loadBalancer: %s", shown, id, clearStatus(e.svc))}
	}
	return observed, nil
}

// madeTag returns the tag of a CLB that wasn't made by hand but for a Service or a cluster, or "".
func madeTag(observed model.Observed) string {
	for _, key := range []string{ownership.TagService, ownership.TagCluster} {
		if _, ok := observed.Tags()[key]; ok {
			return key
		}
	}
	return ""
}

// ownCLB looks for the CLB that was made for the Service before it named another. The label names the CLB that the Service has taken
// only when nothing else is left.
func (e *ensuring) ownCLB(ctx context.Context) (model.Observed, error) {
	if e.fresh || e.svc.Labels[LabelLoadBalancerID] == e.desired.Reuse.ID {
		return model.Nothing(), nil
	}
	return e.observer.Find(ctx, e.hint(e.svc), slbv1.View_VIEW_BASIC)
}

// publishes returns the addresses that the Service publishes if they are those of another CLB: a Service must not change its address
// behind the back of those who use it.
func (e *ensuring) publishes(named model.Observed) string {
	if e.built.EIP {
		return ""
	}
	var shown []string
	for _, ingress := range e.svc.Status.LoadBalancer.Ingress {
		if ingress.IP == "" || ingress.IP == named.Instance.GetAddress() {
			return ""
		}
		shown = append(shown, ingress.IP)
	}
	return strings.Join(shown, ", ")
}

func clearStatus(svc *corev1.Service) string {
	return fmt.Sprintf(`kubectl -n %s patch service %s --subresource=status --type=merge -p '{"status":{"loadBalancer":null}}'`, svc.Namespace, svc.Name)
}

// parts are the vServer groups that concern the Service on the CLB it names.
func (e *ensuring) parts() observe.Parts {
	parts := observe.Parts{Owner: e.desired.Owner, IDs: e.desired.Reuse.Filled}
	for _, g := range e.desired.Groups {
		if g.ID != "" {
			parts.IDs = append(parts.IDs[:len(parts.IDs):len(parts.IDs)], g.ID)
		} else {
			parts.Names = append(parts.Names, g.Name)
		}
	}
	return parts
}

// moving tells whether the Service has something on another CLB that it gives up for the one it asks for now.
func (e *ensuring) moving() bool {
	return e.own.InstanceID != "" || len(e.claims().Without(e.desired.Reuse.ID)) > 0
}

// claims are what is noted on the Service.
func (e *ensuring) claims() ownership.Claims { return claimsOf(e.svc) }

func claimsOf(svc *corev1.Service) ownership.Claims {
	return ownership.ParseClaims(svc.Annotations[annotation.Claims])
}

// claim is what there will be of the Service on the CLB it names.
func (e *ensuring) claim() ownership.Claims {
	reuse := e.desired.Reuse
	if reuse.ID == "" {
		return nil
	}
	claim := ownership.Claim{LoadBalancer: reuse.ID, Listeners: reuse.Listeners}
	for _, g := range e.desired.Groups {
		if g.ID != "" {
			claim.Groups = append(claim.Groups, g.ID)
		}
	}
	return ownership.Claims{}.With(claim)
}

// kept is the claim as the CLB is now: groups that were filled before may still have servers of the Service, if its ports are frozen.
func (e *ensuring) kept(observed model.Observed) ownership.Claims {
	claims := e.claim()
	for _, g := range observed.Groups {
		for _, s := range g.Servers {
			if len(claims) > 0 && e.desired.Owner.Owns(s.Description) && !e.desired.Owner.Owns(g.Name) {
				claims = claims.With(ownership.Claim{LoadBalancer: observed.InstanceID, Groups: []string{g.ID}})
				break
			}
		}
	}
	return claims
}

// moveOut gives up what the Service had before it moved to the CLB that it has now.
func (e *ensuring) moveOut(ctx context.Context) error {
	if e.own.InstanceID != "" {
		if err := e.releaseOwn(ctx); err != nil {
			return err
		}
	}
	_, err := e.leave(ctx, e.svc, e.claims().Without(e.desired.Reuse.ID))
	return err
}

// releaseOwn gives up the Service's own CLB. Its address can't be had back, so the Service is read anew before.
func (e *ensuring) releaseOwn(ctx context.Context) error {
	if err := e.confirm(ctx); err != nil {
		return err
	}
	if len(e.svc.Status.LoadBalancer.Ingress) > 0 {
		return errStale
	}
	// The next CLB of its own must not be taken for this one.
	if err := e.patcher.note(ctx, e.svc, notes{annotations: map[string]string{annotationGeneration: nextGeneration(e.svc)}}); err != nil {
		return err
	}
	p := plan.Release(e.own, annotation.Preserved(e.svc.Annotations))
	e.Logger.Info("releasing the CLB", "service", keyOf(e.svc), "loadBalancer", e.own.InstanceID, "plan", p.String())
	if _, err := e.applier.Apply(ctx, apply.Work{Plan: p, Observed: e.own}); err != nil && rpcerr.ReasonOf(err) != rpcerr.LoadBalancerNotFound {
		return err
	}
	e.announce.tell(e.svc, corev1.EventTypeNormal, reasonCleaned, "CLB %s is released: the Service has moved to CLB %s", e.own.InstanceID, e.desired.Reuse.ID)
	return nil
}
