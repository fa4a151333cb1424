package gatewayapi

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// mayUse is MayUse by the caches. Before these are complete nothing is proved.
func (c *Controller) mayUse(svc *corev1.Service, secret types.NamespacedName) certificate.Claim {
	if w, complete := c.world(c.Known.Service); complete {
		return w.MayUse(svc, secret)
	}
	return certificate.Unproven
}

// MayUse says whether a Service may use a Secret of another namespace. Nothing that the Service says proves it. The Service
// has to be the one that is made for a Gateway that is there, just as it is made now, and a listener has to name the Secret
// with a ReferenceGrant. What may not be used is withdrawn, unless the Service only trails behind its Gateway. Where nothing
// is made for that one just now, as after an edit that can't be, what a grant still allows is not withdrawn either.
func (w *World) MayUse(svc *corev1.Service, secret types.NamespacedName) certificate.Claim {
	one := *w
	one.Routes, one.Gateways = slices.Clone(w.Routes), slices.Clone(w.Gateways)
	one.Gateways = slices.DeleteFunc(one.Gateways, func(g *gatewayv1.Gateway) bool {
		return g.Namespace != svc.Namespace || !shadow.IsOf(svc, g)
	})
	for _, g := range one.Translate().Gateways {
		granted := func(l *listener) bool { return w.granted(l.kind, l.owner.Namespace, kindSecret, secret) }
		is := func(allowed bool) bool {
			return slices.ContainsFunc(g.listeners, func(l *listener) bool {
				return slices.Contains(l.certificates, secret) && granted(l) == allowed
			})
		}
		switch isMade := g.Service != nil; {
		case g.Name != shadow.NameOf(svc):
			return certificate.Refused
		case is(true) && isMade && shadow.IsAsWanted(svc, g.Service) &&
			annotation.SameSecrets(svc.Annotations, g.Service.Annotations):
			return certificate.Proven
		case !is(true) && (is(false) || !isMade && !slices.ContainsFunc(g.listeners, granted)):
			return certificate.Withdrawn
		}
	}
	switch {
	case len(one.Gateways) > 0:
		return certificate.Unproven
	case shadow.IsOurs(svc): // Its Gateway is gone.
		return certificate.Withdrawn
	}
	return certificate.Refused
}

// claims are, as text, what MayUse says of the Secrets that the listeners name; empty if they name none.
func (t Translated) claims() (text string) {
	for _, l := range t.listeners {
		if len(l.certificates) > 0 {
			text += fmt.Sprint(t.Service != nil, l.portName(), l.certificates, l.unresolved.Reason)
		}
	}
	return text
}
