package gatewayapi

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// write makes what the translation asks for, and says what became of it.
func (c *Controller) write(ctx context.Context, w *World, t Translation) (errs []error) {
	try := func(err error) { errs = append(errs, err) }
	wanted := map[types.UID]string{}
	for _, g := range t.Gateways {
		if g.Service != nil {
			wanted[g.Gateway.UID] = g.Service.Name
			try(c.Keep(ctx, g.Service, g.Slices))
		}
		c.Holds(g.Name, g.claims())
	}
	try(c.clear(ctx, wanted, t.Foreign))
	c.objects.Reset()
	client := c.Gateways.GatewayV1()
	for _, class := range w.Classes {
		if conditions, is := t.Classes[class.Name]; is {
			next := class.DeepCopy()
			c.settle(kindGatewayClass, class, "", &next.Status.Conditions, conditions)
			// Those of the conformance suite that it was run with, in the order that the Gateway API wants.
			next.Status.SupportedFeatures = []gatewayv1.SupportedFeature{
				{Name: "Gateway"}, {Name: "ReferenceGrant"}, {Name: "TCPRoute"}, {Name: "UDPRoute"},
			}
			try(shadow.Put(ctx, class, next, client.GatewayClasses().UpdateStatus))
		}
	}
	for _, g := range t.Gateways {
		next := g.Gateway.DeepCopy()
		c.settle(kindGateway, next, "", &next.Status.Conditions, g.Status.Conditions)
		next.Status.Listeners = settleListeners(c, kindGateway, next, next.Status.Listeners, g.Status.Listeners)
		next.Status.Addresses = g.Status.Addresses
		next.Status.AttachedListenerSets = g.Status.AttachedListenerSets
		c.count(kindGateway, next.Status.Conditions)
		try(shadow.Put(ctx, g.Gateway, next, client.Gateways(next.Namespace).UpdateStatus))
	}
	for _, set := range w.ListenerSets {
		status, is := t.ListenerSets[shadow.NameOf(set)]
		if !is {
			continue
		}
		next := set.DeepCopy()
		c.settle(kindListenerSet, next, "", &next.Status.Conditions, status.Conditions)
		next.Status.Listeners = settleListeners(c, kindListenerSet, next, next.Status.Listeners, status.Listeners)
		c.count(kindListenerSet, next.Status.Conditions)
		try(shadow.Put(ctx, set, next, client.ListenerSets(next.Namespace).UpdateStatus))
	}
	for _, route := range t.Routes {
		try(c.sayOnRoute(ctx, route))
	}
	return errs
}

// sayOnRoute puts what our Gateways say of a route beside what other controllers do.
func (c *Controller) sayOnRoute(ctx context.Context, route Route) error {
	parents := []gatewayv1.RouteParentStatus{}
	for _, p := range route.Status {
		if p.ControllerName != NLBController && p.ControllerName != CLBController {
			parents = append(parents, p)
		}
	}
	for _, p := range route.Said {
		var have []metav1.Condition
		for _, old := range route.Status {
			if old.ControllerName == p.ControllerName && equality.Semantic.DeepEqual(old.ParentRef, p.ParentRef) {
				have = slices.Clone(old.Conditions)
			}
		}
		c.settle(route.Kind, &route.Meta, fmt.Sprintf("%s %s: ", value(p.ParentRef.Kind, kindGateway), p.ParentRef.Name), &have, p.Conditions)
		p.Conditions = have
		c.count(route.Kind, have)
		parents = append(parents, p)
	}
	client, namespace := c.Gateways.GatewayV1(), route.Meta.Namespace
	switch r := route.Object.(type) {
	case *gatewayv1.TCPRoute:
		next := r.DeepCopy()
		next.Status.Parents = parents
		return shadow.Put(ctx, r, next, client.TCPRoutes(namespace).UpdateStatus)
	case *gatewayv1.UDPRoute:
		next := r.DeepCopy()
		next.Status.Parents = parents
		return shadow.Put(ctx, r, next, client.UDPRoutes(namespace).UpdateStatus)
	case *gatewayv1.TLSRoute:
		next := r.DeepCopy()
		next.Status.Parents = parents
		return shadow.Put(ctx, r, next, client.TLSRoutes(namespace).UpdateStatus)
	}
	return nil
}

// settle puts conditions in place of those of their types. What has not been said yet and a user can do something about
// is an event, too.
func (c *Controller) settle(kind string, about metav1.Object, prefix string, have *[]metav1.Condition, put []metav1.Condition) {
	ref := corev1.ObjectReference{APIVersion: gatewayv1.GroupVersion.String(), Kind: kind, Namespace: about.GetNamespace(),
		Name: about.GetName(), UID: about.GetUID()}
	passing := []string{string(gatewayv1.GatewayReasonPending), string(gatewayv1.GatewayReasonAddressNotAssigned), parentNotProgrammed}
	shadow.Settle(have, put, func(p metav1.Condition) {
		if p.Message != "" && !slices.Contains(passing, p.Reason) {
			c.Recorder.Event(&ref, corev1.EventTypeWarning, p.Reason, prefix+p.Message)
		}
	})
}

// settleListeners is settle for listeners, of which those that are wanted no more go.
func settleListeners[L gatewayv1.ListenerStatus | gatewayv1.ListenerEntryStatus](c *Controller, kind string,
	about metav1.Object, have, put []L) []L {
	list := make([]L, 0, len(put))
	for _, p := range put {
		next := gatewayv1.ListenerStatus(p)
		conditions := []metav1.Condition(nil)
		for _, old := range have {
			if old := gatewayv1.ListenerStatus(old); old.Name == next.Name {
				conditions = slices.Clone(old.Conditions)
			}
		}
		c.settle(kind, about, fmt.Sprintf("listener %s: ", next.Name), &conditions, next.Conditions)
		next.Conditions = conditions
		list = append(list, L(next))
	}
	return list
}

// count counts an object by how it stands.
func (c *Controller) count(kind string, conditions []metav1.Condition) {
	state := string(gatewayv1.RouteReasonAccepted)
	if i := slices.IndexFunc(conditions, func(p metav1.Condition) bool { return p.Status != metav1.ConditionTrue }); i >= 0 {
		state = conditions[i].Reason
	}
	c.objects.WithLabelValues(kind, state).Inc()
}

// clear deletes the Services of Gateways that have another controller or another kind of load balancer now, if the API
// server says so, too. Those of deleted Gateways are the garbage collector's.
func (c *Controller) clear(ctx context.Context, wanted map[types.UID]string, foreign map[types.UID]bool) error {
	list, err := c.Known.Services(shadow.LabelManagedBy, backend.SlicesManager)
	if err != nil {
		return err
	}
	for _, svc := range list {
		owner := metav1.GetControllerOf(svc)
		if owner == nil || svc.DeletionTimestamp != nil || !foreign[owner.UID] && (wanted[owner.UID] == "" || wanted[owner.UID] == svc.Name) {
			continue
		}
		live, err := c.Gateways.GatewayV1().Gateways(svc.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		class, err := c.Gateways.GatewayV1().GatewayClasses().Get(ctx, string(live.Spec.GatewayClassName), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.UID != owner.UID || serviceName(shadow.NameOf(live), class.Spec.ControllerName) == shadow.NameOf(svc) {
			continue
		}
		if err := c.Delete(ctx, svc); err != nil {
			return err
		}
	}
	return nil
}
