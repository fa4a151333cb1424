package gatewayapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// Translate decides what all Gateways ask for, and what is said on them and on what belongs to them.
func (w *World) Translate() Translation {
	t := Translation{
		Classes: map[string][]metav1.Condition{}, ListenerSets: map[types.NamespacedName]gatewayv1.ListenerSetStatus{},
		Foreign: map[types.UID]bool{}, Routes: w.Routes,
	}
	slices.SortFunc(w.Routes, func(a, b Route) int { return shadow.Older(&a.Meta, &b.Meta) })
	classes := map[string]*gatewayv1.GatewayClass{}
	for _, class := range w.Classes {
		classes[class.Name] = class
		if c := class.Spec.ControllerName; c != NLBController && c != CLBController {
			continue
		}
		var refused, version shadow.Verdict
		switch {
		case w.Lacks != "":
			version = shadow.Refuse(gatewayv1.GatewayClassReasonUnsupportedVersion,
				"install the custom resources of the Gateway API, 1.6 or later; these are missing: %s", w.Lacks)
			refused = version
		case class.Spec.ParametersRef != nil:
			refused = shadow.Refuse(gatewayv1.GatewayClassReasonInvalidParameters,
				"parametersRef has no meaning here; see spec.infrastructure of Gateways")
		case w.NoNLB && class.Spec.ControllerName == NLBController:
			refused = shadow.Refuse(gatewayv1.GatewayClassReasonUnsupported,
				"nlb.enabled is false in the configuration of lbcontroller")
		}
		t.Classes[class.Name] = []metav1.Condition{
			shadow.Condition(class.Generation, gatewayv1.GatewayClassConditionStatusAccepted, refused, ""),
			shadow.Condition(class.Generation, gatewayv1.GatewayClassConditionStatusSupportedVersion, version, ""),
		}
	}
	slices.SortFunc(w.Gateways, func(a, b *gatewayv1.Gateway) int { return shadow.Older(a, b) }) // What is said has an order.
	for _, g := range w.Gateways {
		class := classes[string(g.Spec.GatewayClassName)]
		switch {
		case class == nil: // It may come back.
		case t.Classes[class.Name] == nil:
			t.Foreign[g.UID] = true
		case g.DeletionTimestamp == nil && meta.IsStatusConditionTrue(t.Classes[class.Name],
			string(gatewayv1.GatewayClassConditionStatusAccepted)):
			t.Gateways = append(t.Gateways, w.gateway(g, class.Spec.ControllerName, &t))
		}
	}
	return t
}

// gateway decides about one Gateway.
func (w *World) gateway(g *gatewayv1.Gateway, controller gatewayv1.GatewayController, t *Translation) Translated {
	isNLB := controller == NLBController
	list, sets, barred := w.listenersOf(g, isNLB)
	annotations, refused := annotationsFor(g, list, isNLB)
	servers := annotations[annotation.BackendType]
	podServers := servers == "eni" || servers == "" && w.PodBackends
	w.attach(g, controller, list, podServers)
	if !isNLB && podServers {
		schedule(annotations, list)
	}
	result := Translated{Gateway: g, Name: serviceName(shadow.NameOf(g), controller), listeners: list}
	if refused.Reason == "" && slices.ContainsFunc(list, (*listener).made) {
		result.Service = w.service(g, controller, list, annotations)
		result.Slices = w.slices(result.Service, list, podServers)
	}
	live := w.Service(result.Name)
	pending, unaccepted := programmed(live, g), refused
	switch {
	case refused.Reason != "":
		pending = shadow.Refuse(gatewayv1.GatewayReasonInvalid, "%s", refused.Message)
	case !slices.ContainsFunc(list, (*listener).made):
		unaccepted = shadow.Refuse(gatewayv1.GatewayReasonListenersNotValid, "no listener can be made; see their conditions")
		pending = shadow.Refuse(gatewayv1.GatewayReasonInvalid,
			"no listener can be made; a load balancer that is there stays")
	}
	for _, set := range barred {
		t.ListenerSets[shadow.NameOf(set)] = setStatus(set, nil, shadow.Refuse(gatewayv1.ListenerSetReasonNotAllowed,
			"spec.allowedListeners of the Gateway doesn't let it in"), pending)
	}
	if refused.Reason != "" {
		refused = shadow.Refuse(gatewayv1.ListenerSetReasonParentNotAccepted, "the Gateway is not accepted: %s",
			refused.Message)
	}
	attached := int32(0)
	for _, set := range sets {
		status := setStatus(set, listenersIn(list, kindListenerSet, shadow.NameOf(set)), refused, pending)
		t.ListenerSets[shadow.NameOf(set)] = status
		if meta.IsStatusConditionTrue(status.Conditions, string(gatewayv1.ListenerSetConditionAccepted)) {
			attached++
		}
	}
	own := listenersIn(list, kindGateway, shadow.NameOf(g))
	result.Status = gatewayv1.GatewayStatus{
		AttachedListenerSets: &attached,
		Conditions: []metav1.Condition{
			accepted(g.Generation, unaccepted, own),
			shadow.Condition(g.Generation, gatewayv1.GatewayConditionProgrammed, pending, ""),
		},
	}
	for _, l := range own {
		result.Status.Listeners = append(result.Status.Listeners, l.status(g.Generation, pending))
	}
	if live != nil && shadow.IsOf(live, g) {
		for _, ingress := range live.Status.LoadBalancer.Ingress {
			kind := gatewayv1.IPAddressType
			if ingress.IP == "" {
				kind = gatewayv1.HostnameAddressType
			}
			result.Status.Addresses = append(result.Status.Addresses,
				gatewayv1.GatewayStatusAddress{Type: &kind, Value: cmp.Or(ingress.IP, ingress.Hostname)})
		}
	}
	return result
}

// schedule has listeners of a CLB with several backends look at weights, which they don't by default, unless the Gateway says how servers
// are chosen.
func schedule(annotations map[string]string, list []*listener) {
	var values []string
	for _, l := range list {
		if l.made() && len(l.routes) > 0 && len(l.routes[0].Backends) > 1 {
			values = append(values, fmt.Sprintf("%d:wrr", l.Port))
		}
	}
	if key := annotation.Prefix + annotation.Scheduler; annotations[key] == "" && len(values) > 0 {
		slices.Sort(values)
		annotations[key] = strings.Join(slices.Compact(values), ",")
	}
}

// listenersIn are those of a Gateway or of a ListenerSet.
func listenersIn(list []*listener, kind string, owner types.NamespacedName) (in []*listener) {
	for _, l := range list {
		if l.kind == kind && l.owner == owner {
			in = append(in, l)
		}
	}
	return in
}

// accepted is the condition of that name, which is true where only some of the listeners are not accepted.
func accepted(generation int64, refused shadow.Verdict, list []*listener) metav1.Condition {
	c, names := shadow.Condition(generation, gatewayv1.GatewayConditionAccepted, refused, ""), []string(nil)
	for _, l := range list {
		if !l.accepted() {
			names = append(names, string(l.Name))
		}
	}
	if c.Status == metav1.ConditionTrue && len(names) > 0 {
		c.Reason, c.Message = string(gatewayv1.GatewayReasonListenersNotValid), "not accepted: "+strings.Join(names, ", ")
	}
	return c
}

// programmed says why the load balancer of a Gateway is not as it asks, by what the engine says of its Service.
func programmed(svc *corev1.Service, g *gatewayv1.Gateway) shadow.Verdict {
	if svc == nil {
		return shadow.Refuse(gatewayv1.GatewayReasonPending, "its Service is being made")
	}
	if !shadow.IsOf(svc, g) {
		return shadow.Refuse(gatewayv1.GatewayReasonInvalid, "Service %s is in the way: it was not made for this Gateway",
			svc.Name)
	}
	synced, text := meta.FindStatusCondition(svc.Status.Conditions, "Synced"), "its load balancer is being made"
	if synced != nil && synced.Status == metav1.ConditionFalse {
		text = fmt.Sprintf("Service %s: %s: %s", svc.Name, synced.Reason, synced.Message)
		switch {
		case synced.Reason == "Refused" && slices.ContainsFunc(g.Spec.Addresses, func(a gatewayv1.GatewaySpecAddress) bool {
			return value(a.Type, gatewayv1.IPAddressType) != AddressKind && a.Value != "" && strings.Contains(synced.Message, a.Value)
		}):
			return shadow.Refuse(gatewayv1.GatewayReasonAddressNotUsable, "%s", text)
		case synced.Reason == "Invalid" || synced.Reason == "Refused":
			return shadow.Refuse(gatewayv1.GatewayReasonInvalid, "%s", text)
		case strings.Contains(synced.Reason, "Quota"):
			return shadow.Refuse(gatewayv1.GatewayReasonNoResources, "%s", text)
		case len(svc.Status.LoadBalancer.Ingress) > 0:
			return shadow.Refuse(gatewayv1.GatewayReasonPending, "%s", text)
		}
	}
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		return shadow.Refuse(gatewayv1.GatewayReasonAddressNotAssigned, "%s", text)
	}
	return shadow.Verdict{}
}

// status is what is said of a listener. pending says why the load balancer isn't as it should be.
func (l *listener) status(generation int64, pending shadow.Verdict) gatewayv1.ListenerStatus {
	s := gatewayv1.ListenerStatus{Name: l.Name, AttachedRoutes: int32(len(l.routes)),
		SupportedKinds: make([]gatewayv1.RouteGroupKind, 0, len(l.kinds))}
	for i := 0; l.accepted() && i < len(l.kinds); i++ {
		s.SupportedKinds = append(s.SupportedKinds, gatewayv1.RouteGroupKind{Group: new(gatewayv1.Group(gatewayv1.GroupName)),
			Kind: gatewayv1.Kind(l.kinds[i])})
	}
	conflicted := metav1.Condition{Type: string(gatewayv1.ListenerConditionConflicted), Status: metav1.ConditionFalse,
		Reason: string(gatewayv1.ListenerReasonNoConflicts), ObservedGeneration: generation}
	note := ""
	switch {
	case l.conflict:
		conflicted.Status, conflicted.Reason, conflicted.Message = metav1.ConditionTrue, l.refused.Reason, l.refused.Message
		pending = l.refused
	case !l.accepted():
		pending = shadow.Refuse(gatewayv1.ListenerReasonInvalid, "%s", l.refused.Message)
	case l.left:
		pending = shadow.Refuse(gatewayv1.ListenerReasonInvalid, "%s", l.unresolved.Message)
	case pending.Reason != "":
		pending.Reason = string(gatewayv1.ListenerReasonPending)
	}
	if l.terminates() && value(l.Hostname, "") != "" {
		note = "hostname only chooses routes: the load balancer doesn't look at the name that clients ask for (SNI)"
	}
	s.Conditions = []metav1.Condition{
		shadow.Condition(generation, gatewayv1.ListenerConditionAccepted, l.refused, note),
		shadow.Condition(generation, gatewayv1.ListenerConditionProgrammed, pending, ""),
		shadow.Condition(generation, gatewayv1.ListenerConditionResolvedRefs, l.unresolved, ""),
		conflicted,
	}
	return s
}

// parentNotProgrammed is a reason of the Gateway API that has no constant there.
const parentNotProgrammed = "ParentNotProgrammed"

// setStatus is what is said on a ListenerSet with its listeners.
func setStatus(set *gatewayv1.ListenerSet, own []*listener,
	refused, pending shadow.Verdict) gatewayv1.ListenerSetStatus {
	if refused.Reason == "" && !slices.ContainsFunc(own, (*listener).accepted) {
		refused = shadow.Refuse(gatewayv1.ListenerSetReasonListenersNotValid, "no listener is accepted; see their conditions")
	}
	unprogrammed := refused
	if refused.Reason == "" && pending.Reason != "" {
		unprogrammed = shadow.Refuse(parentNotProgrammed, "%s", pending.Message)
	}
	status := gatewayv1.ListenerSetStatus{Conditions: []metav1.Condition{
		accepted(set.Generation, refused, own),
		shadow.Condition(set.Generation, gatewayv1.ListenerSetConditionProgrammed, unprogrammed, ""),
	}}
	for _, l := range own {
		status.Listeners = append(status.Listeners, gatewayv1.ListenerEntryStatus(l.status(set.Generation, pending)))
	}
	return status
}
