package gatewayapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// target is a port of a Service to which a route leads.
type target struct {
	service types.NamespacedName
	port    corev1.ServicePort
	weight  int64
}

// name tells backends apart.
func (b target) name() string { return fmt.Sprintf("%s:%d", b.service, b.port.Port) }

// attach decides about each reference of the routes to a Gateway and its ListenerSets, and gives each listener its
// routes. These are taken by age: the first that a listener accepts has its traffic.
func (w *World) attach(g *gatewayv1.Gateway, controller gatewayv1.GatewayController, list []*listener,
	podServers bool) {
	for i := range w.Routes {
		route := &w.Routes[i]
		for _, ref := range route.Parents {
			of, ok := parentOf(ref, route.Meta.Namespace, g, list)
			if !ok {
				continue
			}
			backends, resolved := w.backends(route)
			backends = slices.DeleteFunc(backends, func(b target) bool { return b.weight == 0 })
			refused, notes := route.join(w, ref, of)
			if refused.Reason == "" && !podServers && len(backends) > 1 {
				notes = append(notes, "nodes are the servers, and kube-proxy takes all pods alike: weights other than 0 have no "+
					"effect; with annotation service.beta.kubernetes.io/backend-type: eni in spec.infrastructure of the Gateway, pods are")
			}
			said := gatewayv1.RouteParentStatus{ParentRef: ref, ControllerName: controller, Conditions: []metav1.Condition{
				shadow.Condition(route.Meta.Generation, gatewayv1.RouteConditionAccepted, refused, strings.Join(notes, "; ")),
				shadow.Condition(route.Meta.Generation, gatewayv1.RouteConditionResolvedRefs, resolved, ""),
			}}
			route.Said = append(route.Said, said)
		}
	}
}

// parentOf gives the listeners of the parent that a reference names; not ok if that isn't the Gateway nor one of its ListenerSets.
func parentOf(ref gatewayv1.ParentReference, namespace string, g *gatewayv1.Gateway, list []*listener) (of []*listener, ok bool) {
	kind := string(value(ref.Kind, kindGateway))
	to := types.NamespacedName{Namespace: string(value(ref.Namespace, gatewayv1.Namespace(namespace))), Name: string(ref.Name)}
	if value(ref.Group, gatewayv1.GroupName) != gatewayv1.GroupName {
		return nil, false
	}
	of = listenersIn(list, kind, to)
	return of, len(of) > 0 || kind == kindGateway && to == shadow.NameOf(g)
}

// join attaches the route to the listeners that a reference means and that take it.
func (r *Route) join(w *World, ref gatewayv1.ParentReference, of []*listener) (refused shadow.Verdict, notes []string) {
	of = slices.DeleteFunc(slices.Clone(of), func(l *listener) bool {
		return ref.SectionName != nil && l.Name != *ref.SectionName || ref.Port != nil && l.Port != *ref.Port
	})
	if len(of) == 0 {
		return shadow.Refuse(gatewayv1.RouteReasonNoMatchingParent,
			"no listener has the name and the port of the parentRef"), nil
	}
	refused = shadow.Refuse(gatewayv1.RouteReasonNotAllowedByListeners,
		"no listener lets routes of this kind and namespace in")
	joined := false
	for _, l := range of {
		if !l.takes(w, r) {
			continue
		}
		if !l.accepted() {
			if !joined && refused.Reason == string(gatewayv1.RouteReasonNotAllowedByListeners) {
				refused.Message = fmt.Sprintf("listener %s is not accepted: %s", l.Name, l.refused.Message)
			}
			continue
		}
		if r.Kind == kindTLSRoute && !intersect(value(l.Hostname, ""), r.Hostnames) {
			refused = shadow.Refuse(gatewayv1.RouteReasonNoMatchingListenerHostname, "listener %s is for %s", l.Name,
				*l.Hostname)
			continue
		}
		if other := first(l.routes); other != nil && other != r && (r.Kind == kindTLSRoute || other.Kind == kindTLSRoute) {
			refused = shadow.Refuse(gatewayv1.RouteReasonUnsupportedValue, "listener %s is that of %s %s, which is older: "+
				"the load balancer doesn't choose routes by the name that clients ask for (SNI)", l.Name, other.Kind,
				shadow.NameOf(&other.Meta))
			continue
		}
		joined = true
		if !slices.Contains(l.routes, r) { // Another reference of the route may mean the same listener.
			l.routes = append(l.routes, r)
		}
		switch serves := l.routes[0]; {
		case serves != r:
			notes = append(notes, fmt.Sprintf("listener %s serves %s %s, which is older", l.Name, serves.Kind,
				shadow.NameOf(&serves.Meta)))
		case r.Kind == kindTLSRoute:
			notes = append(notes, fmt.Sprintf("listener %s serves every name that clients ask for (SNI): "+
				"the load balancer doesn't look at it", l.Name))
		}
	}
	if joined {
		return shadow.Verdict{}, notes
	}
	return refused, nil
}

// intersect reports whether a listener's host name, which may be empty, has one in common with those of a route.
func intersect(of gatewayv1.Hostname, names []gatewayv1.Hostname) bool {
	within := func(name, pattern string) bool {
		rest, isWild := strings.CutPrefix(pattern, "*")
		return name == pattern || isWild && strings.HasSuffix(name, rest)
	}
	return of == "" || len(names) == 0 || slices.ContainsFunc(names, func(name gatewayv1.Hostname) bool {
		return within(strings.ToLower(string(name)), strings.ToLower(string(of))) || within(strings.ToLower(string(of)),
			strings.ToLower(string(name)))
	})
}

// protocol is that of the ports to which the route leads.
func (r *Route) protocol() corev1.Protocol {
	if r.Kind == kindUDPRoute {
		return corev1.ProtocolUDP
	}
	return corev1.ProtocolTCP
}

// backends are the ports of Services to which a route leads, each once, and what is wrong with the first that there isn't.
func (w *World) backends(r *Route) (list []target, unresolved shadow.Verdict) {
	for _, ref := range r.Backends {
		to := types.NamespacedName{Namespace: string(value(ref.Namespace, gatewayv1.Namespace(r.Meta.Namespace))), Name: string(ref.Name)}
		port, problem := w.backend(r, ref, to)
		if problem.Reason != "" {
			if unresolved.Reason == "" {
				unresolved = problem
			}
			continue
		}
		b := target{service: to, port: *port, weight: int64(value(ref.Weight, 1))}
		if at := slices.IndexFunc(list, func(have target) bool { return have.name() == b.name() }); at >= 0 {
			list[at].weight += b.weight
		} else {
			list = append(list, b)
		}
	}
	return list, unresolved
}

// backend finds the port of a Service that a reference names.
func (w *World) backend(r *Route, ref gatewayv1.BackendRef, to types.NamespacedName) (*corev1.ServicePort,
	shadow.Verdict) {
	if value(ref.Group, "") != "" || value(ref.Kind, kindService) != kindService {
		return nil, shadow.Refuse(gatewayv1.RouteReasonInvalidKind, "%s is no Service", to)
	}
	if !w.granted(r.Kind, r.Meta.Namespace, kindService, to) {
		return nil, shadow.Refuse(gatewayv1.RouteReasonRefNotPermitted, "no ReferenceGrant lets Service %s be used", to)
	}
	svc := w.Service(to)
	switch {
	case svc == nil:
		return nil, shadow.Refuse(gatewayv1.RouteReasonBackendNotFound, "there is no Service %s", to)
	case shadow.IsOurs(svc) || svc.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, shadow.Refuse(gatewayv1.RouteReasonInvalidKind,
			"Service %s has no endpoints of its own: it is of type ExternalName, or that of a Gateway", to)
	case ref.Port == nil:
		return nil, shadow.Refuse(gatewayv1.RouteReasonUnsupportedValue, "the reference to Service %s has no port", to)
	}
	for i, port := range svc.Spec.Ports {
		if port.Port == *ref.Port && cmp.Or(port.Protocol, corev1.ProtocolTCP) == r.protocol() {
			return &svc.Spec.Ports[i], shadow.Verdict{}
		}
	}
	return nil, shadow.Refuse(gatewayv1.RouteReasonBackendNotFound, "Service %s has no port %d/%s", to, *ref.Port,
		r.protocol())
}
