package controller

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/clb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// leave takes what is the Service's off CLBs of users, and tells whether anything was. What others have bound to it stays: a vServer
// group that is still used loses only its servers.
func (c *Controller) leave(ctx context.Context, svc *corev1.Service, claims ownership.Claims) (changed bool, err error) {
	owner := ownership.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: c.Build.ClusterID}
	for _, claim := range claims {
		id := claim.LoadBalancer
		observed, err := c.observer.Reused(ctx, id, observe.Parts{Owner: owner, IDs: claim.Groups})
		if rpcerr.IsNotFound(err) {
			continue // Nothing can be left on it.
		}
		if err != nil {
			return changed, err
		}
		if madeTag(observed) != "" && !claimsOf(svc).Has(id) || observed.Tags()[ownership.TagService] == ownership.DefaultName(string(svc.UID)) {
			continue // The Service names it in vain: it was never given anything there, or it is its own, whatever somebody has noted.
		}
		p := plan.Leave(owner, model.Reuse{ID: id, Listeners: claim.Listeners, Filled: claim.Groups}, observed)
		if !p.Empty() {
			changed = true
			c.Logger.Info("leaving the CLB", "service", keyOf(svc), "loadBalancer", id, "plan", p.String())
			c.memory.Forget(keyOf(svc)) // It is wrong from here on.
			before := observed
			if observed, err = c.applier.Apply(ctx, apply.Work{Plan: p, Observed: before}); err != nil {
				if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
					continue
				}
				return changed, err
			}
			c.announce.tell(svc, corev1.EventTypeNormal, reasonCleaned, "CLB %s stays, without what was made on it for the Service", id)
			c.wakeSharers(keyOf(svc), before, observed)
		}
		if rest := remains(owner, observed); rest != "" {
			c.announce.tell(svc, corev1.EventTypeWarning, reasonPreserved, "CLB %s keeps %s, which others use; delete by hand what nobody needs", id, rest)
		}
	}
	return changed, nil
}

// remains names what bears the owner's mark.
func remains(owner ownership.Owner, observed model.Observed) string {
	var names []string
	for _, g := range observed.Groups {
		if owner.Owns(g.Name) {
			names = append(names, "vServer group "+g.Name)
		}
	}
	for _, l := range observed.Listeners {
		if owner.Owns(l.Config.GetDescription()) {
			names = append(names, "listener "+l.Config.GetDescription())
		}
	}
	return strings.Join(names, ", ")
}

// wakeSharers lets Services look again that share the CLB and were refused something, if a listener has made room. A vServer group that
// others use may be tried again and again, and makes none.
func (c *Controller) wakeSharers(key string, before, after model.Observed) {
	kept := make(map[model.ListenerKey]bool, len(after.Listeners))
	for _, l := range after.Listeners {
		kept[l.Key] = true
	}
	services, err := c.informers.services.List(labels.Everything())
	if err != nil || !slices.ContainsFunc(before.Listeners, func(l model.Listener) bool { return !kept[l.Key] }) {
		return // The cache always answers; who isn't woken looks again by itself, later.
	}
	for _, svc := range services {
		other := keyOf(svc)
		if other == key || annotation.Reused(svc.Annotations) != before.InstanceID || !c.Gate.Wants(svc) {
			continue
		}
		if entry, ok := c.memory.Get(other, string(svc.UID)); ok && (entry.Hash == "" || entry.Refused != "") {
			c.memory.Forget(other)
			c.queue(other, reconcile.User)
		}
	}
}

// claimed are the claims of a Service that wants no CLB any more: those noted, and on the CLB that it names. A Service that was taken
// over from the existing CCM has no note.
func claimed(svc *corev1.Service) ownership.Claims {
	claims := claimsOf(svc)
	values, _ := annotation.Parse(svc.Annotations) // A wrong value must not keep the Service from going.
	id := values.Text(annotation.ID)
	if id == "" {
		return claims
	}
	claim := ownership.Claim{LoadBalancer: id, Listeners: values.On(annotation.ForceOverride)}
	for _, p := range values.Pairs(annotation.VGroupPort) {
		claim.Groups = append(claim.Groups, p.Key)
	}
	return claims.With(claim)
}
