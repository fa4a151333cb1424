package gatewayapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// write makes what the translation asks for, and says what became of it.
func (c *Controller) write(ctx context.Context, w *World, t Translation) (errs []error) {
	try := func(err error) { errs = append(errs, err) }
	wanted := map[types.UID]string{}
	for _, g := range t.Gateways {
		if g.Service != nil {
			wanted[g.Gateway.UID] = g.Service.Name
			try(c.keep(ctx, g))
		}
	}
	try(c.clear(ctx, wanted, t.Foreign))
	c.objects.Reset()
	client := c.Gateways.GatewayV1()
	for _, class := range w.Classes {
		if conditions, is := t.Classes[class.Name]; is {
			next := class.DeepCopy()
			c.settle("GatewayClass", class, "", &next.Status.Conditions, conditions)
			try(put(ctx, class, next, client.GatewayClasses().UpdateStatus))
		}
	}
	for _, g := range t.Gateways {
		next := g.Gateway.DeepCopy()
		c.settle(kindGateway, next, "", &next.Status.Conditions, g.Status.Conditions)
		next.Status.Listeners = settleListeners(c, kindGateway, next, next.Status.Listeners, g.Status.Listeners)
		next.Status.Addresses = g.Status.Addresses
		next.Status.AttachedListenerSets = g.Status.AttachedListenerSets
		c.count(kindGateway, next.Status.Conditions)
		try(put(ctx, g.Gateway, next, client.Gateways(next.Namespace).UpdateStatus))
	}
	for _, set := range w.ListenerSets {
		status, is := t.ListenerSets[nameOf(set)]
		if !is {
			continue
		}
		next := set.DeepCopy()
		c.settle(kindListenerSet, next, "", &next.Status.Conditions, status.Conditions)
		next.Status.Listeners = settleListeners(c, kindListenerSet, next, next.Status.Listeners, status.Listeners)
		c.count(kindListenerSet, next.Status.Conditions)
		try(put(ctx, set, next, client.ListenerSets(next.Namespace).UpdateStatus))
	}
	for _, route := range w.Routes {
		try(c.sayOnRoute(ctx, route, t.Routes[route.Key()]))
	}
	return errs
}

// sayOnRoute puts what our Gateways say of a route beside what other controllers do.
func (c *Controller) sayOnRoute(ctx context.Context, route Route, said []gatewayv1.RouteParentStatus) error {
	parents := []gatewayv1.RouteParentStatus{}
	for _, p := range route.Status {
		if p.ControllerName != NLBController && p.ControllerName != CLBController {
			parents = append(parents, p)
		}
	}
	for _, p := range said {
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
		return put(ctx, r, next, client.TCPRoutes(namespace).UpdateStatus)
	case *gatewayv1.UDPRoute:
		next := r.DeepCopy()
		next.Status.Parents = parents
		return put(ctx, r, next, client.UDPRoutes(namespace).UpdateStatus)
	case *gatewayv1.TLSRoute:
		next := r.DeepCopy()
		next.Status.Parents = parents
		return put(ctx, r, next, client.TLSRoutes(namespace).UpdateStatus)
	}
	return nil
}

// put writes the status of an object if it is another one.
func put[T any](ctx context.Context, old, next T, write func(context.Context, T, metav1.UpdateOptions) (T, error)) error {
	if equality.Semantic.DeepEqual(old, next) {
		return nil
	}
	_, err := write(ctx, next, metav1.UpdateOptions{})
	return err
}

// settle puts conditions in place of those of their types. What has not been said yet and a user can do something about is an event, too.
func (c *Controller) settle(kind string, about metav1.Object, prefix string, have *[]metav1.Condition, put []metav1.Condition) {
	for _, p := range put {
		old := meta.FindStatusCondition(*have, p.Type)
		passing := p.Reason == string(gatewayv1.GatewayReasonPending) || p.Reason == string(gatewayv1.GatewayReasonAddressNotAssigned)
		if p.Message != "" && !passing && (old == nil || old.Reason != p.Reason || old.Message != p.Message) {
			c.Recorder.Event(&corev1.ObjectReference{
				APIVersion: gatewayv1.GroupVersion.String(), Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(),
			}, corev1.EventTypeWarning, p.Reason, prefix+p.Message)
		}
		meta.SetStatusCondition(have, p)
	}
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
	state := string(gatewayv1.GatewayReasonAccepted)
	if i := slices.IndexFunc(conditions, func(p metav1.Condition) bool { return p.Status != metav1.ConditionTrue }); i >= 0 {
		state = conditions[i].Reason
	}
	c.objects.WithLabelValues(kind, state).Inc()
}

// keep makes the Service of a Gateway and its slices as they are wanted. What comes is there before what goes: a port never lacks the
// slices
// that say who is behind it.
func (c *Controller) keep(ctx context.Context, g Translated) error {
	services := c.Client.CoreV1().Services(g.Service.Namespace)
	live := c.Known.Service(nameOf(g.Service))
	if live == nil {
		made, err := services.Create(ctx, g.Service, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make the Service of Gateway %s: %w", nameOf(g.Gateway), err)
		}
		live = made
	}
	if !isOf(live, g.Gateway) || live.DeletionTimestamp != nil {
		return nil // The status of the Gateway says so.
	}
	stale := map[string]*discoveryv1.EndpointSlice{}
	for _, slice := range c.Known.Slices(nameOf(live)) {
		if slice.Labels[discoveryv1.LabelManagedBy] == backend.SlicesManager {
			stale[slice.Name] = slice
		}
	}
	slicesOf := c.Client.DiscoveryV1().EndpointSlices(live.Namespace)
	for _, want := range g.Slices {
		want.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kindService, Name: live.Name, UID: live.UID,
			Controller: new(true)}}
		have := stale[want.Name]
		delete(stale, want.Name)
		var err error
		switch {
		case have == nil:
			_, err = slicesOf.Create(ctx, want, metav1.CreateOptions{})
		case !sameSlice(have, want):
			want.ResourceVersion = have.ResourceVersion
			_, err = slicesOf.Update(ctx, want, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("write a slice of Gateway %s: %w", nameOf(g.Gateway), err)
		}
	}
	if patch := change(live, g.Service); patch != nil {
		text, err := json.Marshal(patch)
		if err == nil {
			_, err = services.Patch(ctx, live.Name, types.MergePatchType, text, metav1.PatchOptions{})
		}
		if err != nil {
			return fmt.Errorf("change the Service of Gateway %s: %w", nameOf(g.Gateway), err)
		}
	}
	for name := range stale {
		if err := slicesOf.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete a slice of Gateway %s: %w", nameOf(g.Gateway), err)
		}
	}
	return nil
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints) && equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		a.Annotations[backend.AnnotationWeight] == b.Annotations[backend.AnnotationWeight] &&
		equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// change is the patch that makes of a Service what is wanted; nil for none. What others have written on it stays.
func change(live, want *corev1.Service) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	before := strings.Split(live.Annotations[AnnotationKeys], ",")
	for field, maps := range map[string][2]map[string]string{"labels": {live.Labels, want.Labels},
		"annotations": {live.Annotations, want.Annotations}} {
		values := map[string]any{}
		for key, text := range maps[1] {
			if have, is := maps[0][key]; !is || have != text {
				values[key] = text
			}
		}
		for _, key := range before {
			if _, stays := maps[1][key]; !stays && maps[0][key] != "" {
				values[key] = nil
			}
		}
		if len(values) > 0 {
			metadata[field] = values
		}
	}
	ports, same := slices.Clone(want.Spec.Ports), len(want.Spec.Ports) == len(live.Spec.Ports)
	for i := range ports {
		at := slices.IndexFunc(live.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == ports[i].Name })
		if at < 0 {
			same = false
			continue
		}
		ports[i].NodePort = live.Spec.Ports[at].NodePort
		same = same && ports[i] == live.Spec.Ports[at]
	}
	if !same {
		spec["ports"] = ports
	}
	if len(live.Spec.Selector) > 0 {
		spec["selector"] = nil
	}
	if live.Spec.Type != want.Spec.Type {
		spec["type"], spec["loadBalancerClass"] = want.Spec.Type, want.Spec.LoadBalancerClass
	}
	if len(metadata)+len(spec) == 0 {
		return nil
	}
	metadata["resourceVersion"] = live.ResourceVersion
	return map[string]any{"metadata": metadata, "spec": spec}
}

// clear deletes the Services of Gateways that have another controller or another kind of load balancer now, if the API server says so, too.
// Those of deleted Gateways are the garbage collector's.
func (c *Controller) clear(ctx context.Context, wanted map[types.UID]string, foreign map[types.UID]bool) error {
	list, err := c.Known.Services(LabelManagedBy, backend.SlicesManager)
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
		if live.UID != owner.UID || serviceName(nameOf(live), class.Spec.ControllerName) == nameOf(svc) {
			continue
		}
		if err := c.Client.CoreV1().Services(svc.Namespace).Delete(ctx, svc.Name, metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(svc.UID)),
		}); err != nil {
			return err
		}
	}
	return nil
}
