// Package gatewayapi turns each Gateway with its ListenerSets and routes into a Service of type LoadBalancer without a selector and its
// EndpointSlices, which the engine serves as any other, and says on the former what became of the latter. Translate decides; it has no
// client, no clock and no logger. Controller watches, writes, and has the events.
package gatewayapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The values of spec.controllerName of GatewayClasses whose Gateways get a load balancer.
const (
	NLBController gatewayv1.GatewayController = "alibabacloud.com/nlb"
	CLBController gatewayv1.GatewayController = "alibabacloud.com/clb"
)

// The kinds of objects that are read.
const (
	kindGatewayClass = "GatewayClass"
	kindGateway      = "Gateway"
	kindListenerSet  = "ListenerSet"
	kindTCPRoute     = "TCPRoute"
	kindUDPRoute     = "UDPRoute"
	kindTLSRoute     = "TLSRoute"
	kindService      = "Service"
	kindSecret       = "Secret"
)

// Options are what the configuration says.
type Options struct {
	// PodBackends says that pods are servers where a Gateway doesn't say.
	PodBackends bool
	// CLBClass is the class of Services that get a CLB, "" for those without a class.
	CLBClass string
	// NoNLB says that Services of the class of NLBs are not served.
	NoNLB bool
}

// World is what the cluster says.
type World struct {
	Options
	Classes      []*gatewayv1.GatewayClass
	Gateways     []*gatewayv1.Gateway
	ListenerSets []*gatewayv1.ListenerSet
	Routes       []Route
	Grants       []*gatewayv1.ReferenceGrant
	// Namespaces are their labels, by name.
	Namespaces map[string]map[string]string
	// Service gives a Service, nil for none, and Slices give the EndpointSlices of one.
	Service func(types.NamespacedName) *corev1.Service
	Slices  func(types.NamespacedName) []*discoveryv1.EndpointSlice
	// Lacks are the custom resources that the API server doesn't have; empty if it has all.
	Lacks string
	// Secret says why the certificate of a Secret can't be used, "" if it can; lasting if it never can with this configuration.
	Secret func(types.NamespacedName) (problem string, lasting bool)
}

// Add makes an object part of the World, unless Service, Slices or Secret give those of its kind.
func (w *World) Add(obj any) {
	switch o := obj.(type) {
	case *gatewayv1.GatewayClass:
		w.Classes = append(w.Classes, o)
	case *gatewayv1.Gateway:
		w.Gateways = append(w.Gateways, o)
	case *gatewayv1.ListenerSet:
		w.ListenerSets = append(w.ListenerSets, o)
	case *gatewayv1.ReferenceGrant:
		w.Grants = append(w.Grants, o)
	case *corev1.Namespace:
		if w.Namespaces == nil {
			w.Namespaces = map[string]map[string]string{}
		}
		w.Namespaces[o.Name] = o.Labels
	default:
		if route, ok := RouteOf(o); ok {
			w.Routes = append(w.Routes, route)
		}
	}
}

// Route is a TCPRoute, a UDPRoute or a TLSRoute.
type Route struct {
	Kind string
	Meta metav1.ObjectMeta
	// Object is what it was made of.
	Object    runtime.Object
	Parents   []gatewayv1.ParentReference
	Hostnames []gatewayv1.Hostname
	Backends  []gatewayv1.BackendRef
	Status    []gatewayv1.RouteParentStatus
	// Said is what our Gateways say of it; nothing of a route that has nothing to do with any.
	Said []gatewayv1.RouteParentStatus
}

// RouteOf is a route of any kind; false for what is none. Routes have one rule.
func RouteOf(obj any) (Route, bool) {
	switch r := obj.(type) {
	case *gatewayv1.TCPRoute:
		return Route{Kind: kindTCPRoute, Meta: r.ObjectMeta, Object: r, Parents: r.Spec.ParentRefs,
			Backends: first(r.Spec.Rules).BackendRefs, Status: r.Status.Parents}, true
	case *gatewayv1.UDPRoute:
		return Route{Kind: kindUDPRoute, Meta: r.ObjectMeta, Object: r, Parents: r.Spec.ParentRefs,
			Backends: first(r.Spec.Rules).BackendRefs, Status: r.Status.Parents}, true
	case *gatewayv1.TLSRoute:
		return Route{Kind: kindTLSRoute, Meta: r.ObjectMeta, Object: r, Parents: r.Spec.ParentRefs,
			Hostnames: r.Spec.Hostnames, Backends: first(r.Spec.Rules).BackendRefs, Status: r.Status.Parents}, true
	}
	return Route{}, false
}

func first[T any](list []T) (one T) {
	for _, one = range list {
		break
	}
	return one
}

// Translation is what Translate makes of a World. Conditions have no times.
type Translation struct {
	// Classes are the conditions of the GatewayClasses that are ours, by name.
	Classes  map[string][]metav1.Condition
	Gateways []Translated
	// ListenerSets are those of our Gateways.
	ListenerSets map[types.NamespacedName]gatewayv1.ListenerSetStatus
	Routes       []Route
	// Foreign are the UIDs of the Gateways whose class is another controller's.
	Foreign map[types.UID]bool
}

// Translated is a Gateway of ours.
type Translated struct {
	Gateway *gatewayv1.Gateway
	// Service is what it asks for, and Name its name. It is nil if it asks for nothing that can be made: what is there stays then.
	Name    types.NamespacedName
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
	Status  gatewayv1.GatewayStatus
	// listeners are those of it and of its ListenerSets.
	listeners []*listener
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// admits reports whether a namespace is one of those that an object in another namespace, home, selects.
func (w *World) admits(from gatewayv1.FromNamespaces, selector *metav1.LabelSelector, home, namespace string) bool {
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return home == namespace
	case gatewayv1.NamespacesFromSelector:
		s, err := metav1.LabelSelectorAsSelector(selector)
		set, known := w.Namespaces[namespace]
		return err == nil && known && s.Matches(labels.Set(set))
	case gatewayv1.NamespacesFromNone:
	}
	return false
}

// granted reports whether a ReferenceGrant lets objects of a kind in a namespace refer to another object.
func (w *World) granted(kind, namespace, toKind string, to types.NamespacedName) bool {
	return namespace == to.Namespace || slices.ContainsFunc(w.Grants, func(g *gatewayv1.ReferenceGrant) bool {
		return g.Namespace == to.Namespace &&
			slices.ContainsFunc(g.Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
				return f.Group == gatewayv1.GroupName && string(f.Kind) == kind && string(f.Namespace) == namespace
			}) &&
			slices.ContainsFunc(g.Spec.To, func(t gatewayv1.ReferenceGrantTo) bool {
				return t.Group == "" && string(t.Kind) == toKind && (t.Name == nil || string(*t.Name) == to.Name)
			})
	})
}
