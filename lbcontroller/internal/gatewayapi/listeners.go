package gatewayapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// OptionCertificate is the key in tls.options of a listener by which it names a certificate of the cloud in place of a Secret.
const OptionCertificate = "alibabacloud.com/cert-id"

// listener is one of a Gateway or of a ListenerSet, and what is said about it.
type listener struct {
	gatewayv1.Listener
	// kind and owner say whose it is.
	kind  string
	owner types.NamespacedName
	// kinds are those of the routes that it takes.
	kinds []string
	// refused says why it is not accepted, and conflict whether another one is the reason; unresolved, what it names and can't have.
	refused, unresolved shadow.Verdict
	conflict            bool
	// left says that it can't be made without what it names.
	left bool
	// certificates are the Secrets that it ends TLS with.
	certificates []types.NamespacedName
	// routes are attached. The backends of the first get its traffic.
	routes []*Route
}

// accepted reports whether it is.
func (l *listener) accepted() bool { return l.refused.Reason == "" }

// made reports whether the Service has a port for it.
func (l *listener) made() bool { return l.accepted() && !l.left }

// terminates reports whether TLS ends at the load balancer.
func (l *listener) terminates() bool {
	return l.Protocol == gatewayv1.TLSProtocolType && (l.TLS == nil || value(l.TLS.Mode,
		gatewayv1.TLSModeTerminate) == gatewayv1.TLSModeTerminate)
}

// transport is the protocol of the port; empty if it isn't known.
func (l *listener) transport() corev1.Protocol {
	switch l.Protocol {
	case gatewayv1.TCPProtocolType, gatewayv1.TLSProtocolType, gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType:
		return corev1.ProtocolTCP
	case gatewayv1.UDPProtocolType:
		return corev1.ProtocolUDP
	}
	return ""
}

// portName names the port of the Service, its target and the port of the slices. It is the same whatever the listener's name.
func (l *listener) portName() string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(l.transport())), l.Port)
}

// judge decides what can be said about the listener by itself.
func (l *listener) judge(w *World, isNLB bool) {
	switch l.Protocol {
	case gatewayv1.TCPProtocolType:
		l.kinds = []string{kindTCPRoute}
	case gatewayv1.UDPProtocolType:
		l.kinds = []string{kindUDPRoute}
	case gatewayv1.TLSProtocolType:
		l.kinds = []string{kindTLSRoute}
		if l.terminates() {
			l.kinds = append(l.kinds, kindTCPRoute)
			l.findCertificates(w, isNLB)
		}
	case gatewayv1.HTTPProtocolType:
		l.unresolved = shadow.Refuse(gatewayv1.ListenerReasonInvalidRouteKinds,
			"no kind of route can be attached to a listener of protocol HTTP here: use TCP and a TCPRoute")
	default:
		l.refused = shadow.Refuse(gatewayv1.ListenerReasonUnsupportedProtocol,
			"protocol %s is not served: use TCP, UDP or TLS", l.Protocol)
	}
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		return
	}
	var kinds, unknown []string
	for _, k := range l.AllowedRoutes.Kinds {
		if name := string(k.Kind); value(k.Group, gatewayv1.GroupName) == gatewayv1.GroupName && slices.Contains(l.kinds, name) {
			kinds = append(kinds, name)
		} else {
			unknown = append(unknown, name)
		}
	}
	if l.kinds = kinds; len(unknown) > 0 && l.unresolved.Reason == "" {
		l.unresolved = shadow.Refuse(gatewayv1.ListenerReasonInvalidRouteKinds, "a listener of protocol %s takes no %s",
			l.Protocol, strings.Join(unknown, ", "))
	}
}

// findCertificates looks at what TLS ends with. A listener whose Secret is only missing or wrong is made: one that serves keeps the
// certificate that it has.
func (l *listener) findCertificates(w *World, isNLB bool) {
	wrong := func(left bool, reason gatewayv1.ListenerConditionReason, format string, args ...any) {
		if l.unresolved.Reason == "" {
			l.unresolved = shadow.Refuse(reason, format, args...)
		}
		l.left = l.left || left
	}
	if l.TLS == nil {
		wrong(true, gatewayv1.ListenerReasonInvalidCertificateRef, "tls is missing")
		return
	}
	id := string(l.TLS.Options[OptionCertificate])
	switch refs := len(l.TLS.CertificateRefs); {
	case (refs > 0) == (id != "") || strings.ContainsAny(id, ",: "):
		wrong(true, gatewayv1.ListenerReasonInvalidCertificateRef,
			"one of certificateRefs and tls.options[%s] has to name a certificate", OptionCertificate)
	case refs > 1 && !isNLB:
		wrong(true, gatewayv1.ListenerReasonInvalidCertificateRef, "a listener of a CLB has one certificateRef")
	}
	for _, ref := range l.TLS.CertificateRefs {
		to := types.NamespacedName{Namespace: string(value(ref.Namespace, gatewayv1.Namespace(l.owner.Namespace))), Name: string(ref.Name)}
		switch {
		case value(ref.Group, "") != "" || value(ref.Kind, kindSecret) != kindSecret ||
			len(validation.IsDNS1123Subdomain(to.Name)) > 0: // It might say something of other ports in the annotation.
			wrong(true, gatewayv1.ListenerReasonInvalidCertificateRef, "%s is no Secret", to.Name)
		case !w.granted(l.kind, l.owner.Namespace, kindSecret, to):
			wrong(true, gatewayv1.ListenerReasonRefNotPermitted, "no ReferenceGrant lets the Secret %s be used", to)
		default:
			if problem, lasting := w.Secret(to); problem != "" {
				wrong(lasting, gatewayv1.ListenerReasonInvalidCertificateRef, "Secret %s: %s", to, problem)
			}
		}
		l.certificates = append(l.certificates, to)
	}
}

// listenersOf are those of a Gateway and of the ListenerSets that it lets in, in their order of precedence.
func (w *World) listenersOf(g *gatewayv1.Gateway, isNLB bool) (list []*listener, sets, barred []*gatewayv1.ListenerSet) {
	for _, l := range g.Spec.Listeners {
		list = append(list, &listener{Listener: l, kind: kindGateway, owner: shadow.NameOf(g)})
	}
	for _, set := range w.ListenerSets {
		parent := set.Spec.ParentRef
		if string(value(parent.Group, gatewayv1.GroupName)) != gatewayv1.GroupName || value(parent.Kind, kindGateway) != kindGateway ||
			string(parent.Name) != g.Name || string(value(parent.Namespace, gatewayv1.Namespace(set.Namespace))) != g.Namespace {
			continue
		}
		if allowed := g.Spec.AllowedListeners; allowed == nil || allowed.Namespaces == nil ||
			!w.admits(value(allowed.Namespaces.From, gatewayv1.NamespacesFromNone), allowed.Namespaces.Selector, g.Namespace, set.Namespace) {
			barred = append(barred, set)
			continue
		}
		sets = append(sets, set)
	}
	slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int { return shadow.Older(a, b) })
	for _, set := range sets {
		for _, e := range set.Spec.Listeners {
			list = append(list, &listener{kind: kindListenerSet, owner: shadow.NameOf(set), Listener: gatewayv1.Listener(e)})
		}
	}
	for _, l := range list {
		l.judge(w, isNLB)
	}
	settleConflicts(list)
	return list, sets, barred
}

// settleConflicts lets one listener have each port. That of the object with precedence has it; of several in one object
// none, as the Gateway API wants it, unless they differ only by their host names, of which the load balancer knows
// nothing: then it is the first.
func settleConflicts(list []*listener) {
	holders := map[string]*listener{}
	for _, l := range list {
		if l.transport() == "" {
			continue
		}
		holder, taken := holders[l.portName()]
		if !taken {
			holders[l.portName()] = l
			continue
		}
		reason := gatewayv1.ListenerConditionReason(gatewayv1.ListenerEntryReasonListenerConflict)
		switch {
		case l.Protocol != holder.Protocol || l.terminates() != holder.terminates():
			reason = gatewayv1.ListenerReasonProtocolConflict
		case value(l.Hostname, "") != value(holder.Hostname, ""):
			l.refused = shadow.Refuse(gatewayv1.ListenerReasonUnsupportedValue,
				"listener %s of %s %s has port %d, and the load balancer doesn't route connections by host name",
				holder.Name, holder.kind, holder.owner, l.Port)
			continue
		case l.Protocol != gatewayv1.TCPProtocolType && l.Protocol != gatewayv1.UDPProtocolType:
			reason = gatewayv1.ListenerReasonHostnameConflict
		}
		l.collide(reason, holder)
		if holder.kind == l.kind && holder.owner == l.owner {
			holder.collide(reason, l)
		}
	}
}

// collide refuses the listener because of another one.
func (l *listener) collide(reason gatewayv1.ListenerConditionReason, other *listener) {
	l.conflict = true
	l.refused = shadow.Refuse(reason, "port %d is that of listener %s of %s %s, too", l.Port, other.Name, other.kind,
		other.owner)
}

// takes reports whether routes of a kind in a namespace may be attached.
func (l *listener) takes(w *World, route *Route) bool {
	from, selector := gatewayv1.NamespacesFromSame, (*metav1.LabelSelector)(nil)
	if l.AllowedRoutes != nil && l.AllowedRoutes.Namespaces != nil {
		from, selector = value(l.AllowedRoutes.Namespaces.From, from), l.AllowedRoutes.Namespaces.Selector
	}
	return slices.Contains(l.kinds, route.Kind) && w.admits(from, selector, l.owner.Namespace, route.Meta.Namespace)
}
